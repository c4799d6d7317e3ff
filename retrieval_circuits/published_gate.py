"""The published gate on the stage: births of one network by our rule, by the source's with its gate, and without."""

from collections.abc import Mapping
from dataclasses import replace

from livingpaper.explorer.exhibit import PathStep
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.figures.circuit import listed

OURS, SHUT, OPEN = "our rule", "published gate", "gate open"
"""The rules that a reader may choose among, as the buttons have them; the first is the one to open on."""


def gate_stop(
    shown: ShownRun, gated: Mapping[str, str], state: Mapping[str, object], claims: tuple[str, ...] = ()
) -> PathStep:
    """The births of a run while the gate is shut; the reader opens it.

    Args:
        shown: with births by all three rules.
        gated: label of each birth that waits until no longer prompt fails -> what is born, as a noun.
        state: what else differs from the opening.
        claims: as in ``PathStep``.
    """
    born = {
        birth.label: replace(birth, label=gated.get(birth.label, "")) for birth in shown.births if birth.rule == SHUT
    }
    return PathStep(
        title="The published gate.",
        text=f"By the source's rule {listed([*gated.values()])} are not born while they fail on any one of many longer "
        f"prompts: here {listed([born[label].told for label in gated])}. Press “{OPEN}”.",
        state={**state, "rule": SHUT},
        claims=claims,
    )
