"""Claims on what the curriculum changes; both runs of a seed start from the same weights, so seeds are paired."""

from dataclasses import replace
from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, at_end
from livingpaper.claims.rules import Some
from livingpaper.claims.units import COUNT, POINTS, STEPS, Unit, at_least, at_most
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.six_run_matrix.claims.shared import ABOVE_GUESS, NONE_AT_ALL, both
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.readings import curriculum, per_seed
from retrieval_circuits.six_run_matrix.readings.per_seed import OOD, curriculum_less_none, untrained

HANDOFFS = Unit(name="handoffs", digits=1)
TENTHS = replace(POINTS, digits=1)  # for bounds of less than a point
CURRICULA = {"on": "with the curriculum", "off": "without the curriculum"}
DELAY = 2000.0  # optimizer steps


def _handed_off(column: str, how: str) -> tuple[Control, ...]:
    """Where nothing is handed off at all, neither is more handed off; heads that change only with it are an answer."""
    return tuple(
        Control(
            reading=both(f"{how} {CURRICULA[arm]}", partial(curriculum.handoffs_of, column=column, arm=arm), COUNT),
            rule=Some(each=at_least(1, "any")),
            bound=NONE_AT_ALL,
            spoils="no",
        )
        for arm in MATRIX
    )


def _answers(arm: str) -> Control:
    """A run without a birth is left out, which may move the mean either way."""
    return Control(
        reading=Reading(
            "number of a seed's runs in which behaviour is never born",
            COUNT,
            partial(per_seed.never_answers, arm=arm),
            arms=("off", arm),
        ),
        bound=at_most(0, "behaviour is born in every run of both"),
        spoils="either",
    )


CURRICULUM = (
    Claim(
        id="SR10.published",
        says=Says(
            holds="The curriculum makes slot matching causal: its patch is born more often.",
            fails="By the source's definition the slot's patch is not born more often by one seed in five with the "
            "curriculum.",
            whether="whether the slot's patch is born more often with the curriculum, by one seed in five or more",
        ),
        reading=both(
            "paired difference, with the curriculum less without, in births of the slot's patch as published",
            curriculum.more_slot_births,
            POINTS,
        ),
        bound=at_least(0.2, "one seed in five"),
        controls=tuple(
            Control(
                reading=both(
                    f"births of the slot's patch, {CURRICULA[arm]} and without the gate, of",
                    partial(curriculum.slot_born_without_gate, arm=arm),
                    COUNT,
                ),
                rule=Some(each=at_least(1, "born")),
                bound=NONE_AT_ALL,
                spoils="no",
            )
            for arm in MATRIX
        ),
        source="source",
        source_verdict="Supported: 3 of 3 against 1 of 3",
    ),
    Claim(
        id="SR10",
        says=Says(
            holds="The curriculum makes slot matching causal: attention follows the patched query to its slot.",
            fails="The curriculum does not make slot matching causal: attention follows the patched query to its slot "
            "about as often without it.",
            whether="whether the curriculum makes slot matching causal",
        ),
        reading=both(
            "paired difference, with the curriculum less without, in prompts on which attention follows the patched "
            "query",
            curriculum_less_none("attention_slot_follows"),
            POINTS,
        ),
        bound=at_least(0.05, "one prompt in twenty"),
        controls=(
            Control(
                reading=both(
                    "prompts on which attention follows the patched query in untrained networks",
                    untrained("attention_slot_follows"),
                ),
                bound=ABOVE_GUESS,
                spoils="either",
            ),
        ),
        source="source",
        source_verdict="Supported, under the published definition",
        source_stance="by another definition",
    ),
    Claim(
        id="SR11.published",
        says=Says(
            holds="Counted in file order, as the source counts, the curriculum makes the network reorganise more: its "
            "operators change heads more often.",
            fails="Counted in file order, as the source counts, the curriculum does not make the network reorganise "
            "more: its operators change heads about as often without it, or more often.",
            whether="whether the curriculum makes operators change heads more often, counted in file order",
        ),
        reading=both(
            "paired difference, with the curriculum less without, in changes of the leading head in file order",
            partial(curriculum.more_handoffs, column="file_order"),
            HANDOFFS,
        ),
        bound=at_least(1.0, "one handoff"),
        controls=_handed_off("file_order", "handoffs in file order"),
        source="source",
        source_verdict="Supported: 23 against 12 in the mean",
    ),
    Claim(
        id="SR11",
        says=Says(
            holds="The curriculum makes the network reorganise more: its operators change heads more often.",
            fails="The curriculum does not make the network reorganise more: its operators change heads about as often "
            "without it, or more often.",
            whether="whether the curriculum makes operators change heads more often by one change or more",
        ),
        reading=both(
            "paired difference, with the curriculum less without, in changes of the leading head beyond noise",
            partial(curriculum.more_handoffs, column="beyond_noise"),
            HANDOFFS,
        ),
        bound=at_least(1.0, "one handoff"),
        controls=_handed_off("beyond_noise", "handoffs beyond noise"),
        source="source",
        source_verdict="Supported, in file order",
        source_stance="by another definition",
    ),
    Claim(
        id="SR12",
        says=Says(
            holds="The curriculum costs accuracy on four pairs.",
            fails="The curriculum costs no noticeable accuracy on four pairs.",
            whether="whether the curriculum costs accuracy on four pairs, half a point or more",
        ),
        reading=both(
            "paired difference, with the curriculum less without, in accuracy on four pairs",
            curriculum_less_none("accuracy", split=OOD),
            TENTHS,
        ),
        bound=at_most(-0.005, "one prompt in two hundred"),
        controls=tuple(
            Control(
                reading=both(f"accuracy on four pairs {CURRICULA[arm]}", at_end("accuracy", arm, split=OOD)),
                bound=BEHAVIOUR,
                spoils="no",
            )
            for arm in MATRIX
        ),
        source="source",
        source_verdict="Shown: 0.992 against 0.999",
    ),
    Claim(
        id="SR13",
        says=Says(
            holds="The curriculum delays the birth of behaviour.",
            fails="The curriculum does not noticeably delay the birth of behaviour.",
            whether="whether the curriculum delays the birth of behaviour by two thousand steps or more",
        ),
        reading=both(
            "paired difference, with the curriculum less without, in time to validation accuracy 0.90",
            partial(per_seed.behaviour_delay, arm="on"),
            STEPS,
        ),
        bound=at_least(DELAY, "about four epochs of three pairs"),
        controls=(_answers("on"),),
        source="source",
        source_verdict="Shown: epochs 28, 15, 37 against 12, 17, 20",
        remark="One pair of 35 makes the mean open. That most pairs are delayed so long would be Supported.",
    ),
    Claim(
        id="SR14",
        says=Says(
            holds="It is the missing three-pair prompts that delay: with both lengths from the start there is no "
            "delay.",
            fails="It is not the missing three-pair prompts alone that delay: with both lengths from the start there "
            "is a delay, too.",
            whether="whether it is the missing three-pair prompts that delay",
        ),
        reading=Reading(
            "paired difference, both lengths throughout less three pairs, in time to validation accuracy 0.90",
            STEPS,
            partial(per_seed.behaviour_delay, arm="mixed"),
            arms=("off", "mixed"),
        ),
        bound=at_most(DELAY, "about four epochs of three pairs"),
        controls=(_answers("mixed"),),
        remark="Half of the steps of the mixed arm are on two pairs. Counted in steps on three pairs, mixing delays in "
        "none of the five seeds, and the claim would be supported; which was meant had not been written down. That was "
        "found in review.",
    ),
)
