"""The birth lab's controls: what they set, where a definition of the study puts them, and what they say in words."""

import json
from typing import Any

import altair as alt

from circuitcore.emergence.definitions import Definition, Definitions
from livingpaper.figures.rows import ColumnsError

BEHAVIOUR = "behaviour"
"""The motif with a threshold of its own."""
GATES = {"none": "none", "named": "worst named family", "published": "published"}
"""Value of the menu -> what it says."""
GATE_OF = {"none": "none", "named_families": "named", "published": "published"}
"""Gate of a ``BirthRule`` -> value of the menu."""
PARTS = 100
"""Steps of a slider from 0 to 1."""
OWN = "your own"
"""What the menu of definitions says once a control stands elsewhere."""
START = {"threshold": 0.85, "threshold_behaviour": 0.9, "gate": "published", "threshold_gate": 0.75, "held": 1}
"""Where the controls stand without a definition."""


def settings_of(definition: Definition) -> dict[str, Any]:
    """Where the controls stand under a definition, so that the lab dates births by its ``rules``.

    Raises:
        ColumnsError: rules that differ between motifs in what the lab has one control for, or a threshold between two
            steps of its slider.
    """
    rules = definition.rules
    gated = [rule for rule in rules.values() if rule.gate != "none"]
    every = {
        "threshold": {rule.threshold for motif, rule in rules.items() if motif != BEHAVIOUR},
        "threshold_behaviour": {rules[BEHAVIOUR].threshold} if BEHAVIOUR in rules else {START["threshold_behaviour"]},
        "gate": {GATE_OF[rule.gate] for rule in gated} or {"none"},
        "threshold_gate": {rule.gate_threshold for rule in gated} or {START["threshold_gate"]},
        "held": {rule.persistence for rule in rules.values()},
    }
    for control, values in every.items():
        if len(values) != 1:
            raise ColumnsError(f"{definition.name!r}: the lab has one {control!r} for all motifs; got {sorted(values)}")
    found = {control: values.pop() for control, values in every.items()}
    for control in ("threshold", "threshold_behaviour", "threshold_gate"):
        if abs(PARTS * found[control] - round(PARTS * found[control])) > 1e-6:
            raise ColumnsError(f"{definition.name!r}: the lab's {control!r} goes in steps of {1 / PARTS:g}; "
                               f"got {found[control]:g}")  # fmt: skip
    return {"scores": definition.scores, **found}


def controls(definitions: Definitions | None, *, own: bool) -> list[alt.Parameter]:
    """What the reader sets, in the order in which the page shows it; they stand at the first definition.

    Args:
        definitions: what the menu offers by name; None for no such menu.
        own: whether there is behaviour, with a threshold of its own.
    """
    start = settings_of(definitions.among[0]) if definitions else START
    share: dict[str, Any] = {"max": 1, "step": 1 / PARTS}
    binds = {
        "threshold": alt.binding_range(min=0.5, **share, name="score at least "),
        "threshold_behaviour": alt.binding_range(min=0.5, **share, name=f"{BEHAVIOUR} at least "),
        "gate": alt.binding_select(options=list(GATES), labels=list(GATES.values()), name="gate "),
        "threshold_gate": alt.binding_range(min=0, **share, name="gate at least "),
        "held": alt.binding_range(min=1, max=5, step=1, name="checkpoints it must hold "),
    }
    found = [alt.param(name=name, value=start[name], bind=bind) for name, bind in binds.items()]
    found = [param for param in found if own or param.name != "threshold_behaviour"]
    return [*_menus(definitions), *found] if definitions else found


def _menus(definitions: Definitions) -> list[alt.Parameter]:
    among = definitions.among
    names, scores = [definition.name for definition in among], [definition.scores for definition in among]
    whose = [definition.whose for definition in among]
    return [
        alt.param(
            name="definition", value=names[0], bind=alt.binding_select(options=[*names, OWN], name="born under ")
        ),
        alt.param(
            name="scores", value=scores[0], bind=alt.binding_select(options=scores, labels=whose, name="scores ")
        ),
    ]


def presets(definitions: Definitions, *, own: bool) -> dict[str, Any]:
    """What the page's script needs to move all controls when a definition is chosen, and to say when it is left."""
    settings = {definition.name: settings_of(definition) for definition in definitions.among}
    if not own:
        settings = {name: {k: v for k, v in at.items() if k != "threshold_behaviour"} for name, at in settings.items()}
    return {"by": "definition", "other": OWN, "settings": settings}


def in_words(definitions: Definitions | None, *, own: bool, wide: bool) -> list[str]:
    """What the controls say now, as expressions of Vega, a line each: paper has no controls."""
    whose = {definition.scores: f"{definition.whose} " for definition in definitions.among} if definitions else {}
    whose = f"{json.dumps(whose)}[scores] + " if whose else ""
    score = f"'Born: ' + {whose}'score at least ' + format(threshold, '.2f')"
    behaviour = f"'({BEHAVIOUR}: ' + format(threshold_behaviour, '.2f') + '),'" if own else ""
    gate = "gate === 'none' ? 'no gate, ' : " + json.dumps({**GATES, "published": "published gate"}) + "[gate]"
    gate = f"({gate} + ' at least ' + format(threshold_gate, '.2f') + ', ')"
    held = "'held for ' + held + (held > 1 ? ' checkpoints.' : ' checkpoint.')"
    name = [_name_in_words(definitions)] if definitions else []
    if wide:
        return [*name, f"{score} + ' ' + {behaviour}" if own else f"{score} + ','", f"{gate} + {held}"]
    if whose and own:
        return [*name, score, behaviour, gate, held]
    return [*name, f"{score} + ' ' + {behaviour}" if own else f"{score} + ','", gate, held]


def _name_in_words(definitions: Definitions) -> str:
    return f"definition === {json.dumps(OWN)} ? 'A definition of your own.' : definition + '.'"
