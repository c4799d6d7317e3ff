"""Claims on the order of parts in permutation recall."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, Values, at_end
from livingpaper.claims.units import STEPS, at_least, share_of
from retrieval_circuits.emergence_laws import readings
from retrieval_circuits.emergence_laws.design import PERMUTATION, PERMUTATION_AGAIN, RECALLED_EVERY

PROBES, ROWS = (share_of(of) for of in ("probes", "rows"))


def in_permutations(identity: str, words: tuple[str, str], values: Values, *more: Control, arm: str) -> Claim:
    """A claim of ours on the order of two parts of permutation recall, suggested by that on bigrams.

    Args:
        identity: of the claim.
        words: what comes first, and what later.
        values: of the reading.
        more: controls beside the one on recall.
        arm: whose networks they are of.
    """
    first, later = words
    order = f"{first} {RECALLED_EVERY} steps or more before {later}"
    return Claim(
        id=identity,
        says=Says(
            holds=f"In permutation recall {order}, on average.",
            fails=f"In permutation recall it is not so that {order}, on average.",
            whether=f"whether in permutation recall {order}, on average",
        ),
        reading=Reading(f"time from when {first} to when {later},", STEPS, values),
        bound=at_least(RECALLED_EVERY, f"one measurement: {RECALLED_EVERY} steps"),
        controls=(
            Control(
                reading=Reading("final recall of networks of permutation recall,", PROBES, at_end("recall", arm)),
                bound=at_least(0.9, "they must have learnt it"),
            ),
            *more,
        ),
    )


MOVES, RECALLED = "a y that is seen moves its own logit", "its y is recalled"
ATTENDS, PICKED = "one head attends to the x asked for", "a head picks the x asked for among all x"
PICKS_AT_END = Control(
    reading=Reading(
        "final share of rows in which the best head looks to the x asked for more than to any other x,",
        ROWS,
        readings.looks_at_end(PERMUTATION_AGAIN, readings.PICKS),
    ),
    bound=at_least(0.5, "twice what chance gives: the look must have formed"),
)
PERMUTATIONS = (
    in_permutations(
        "EL26", (MOVES, ATTENDS), readings.told_first(PERMUTATION, readings.FINDS), arm=PERMUTATION
    ),
    in_permutations(
        "EL27", (ATTENDS, RECALLED), readings.recalled_last(PERMUTATION, readings.FINDS), arm=PERMUTATION
    ),
    in_permutations(
        "EL28", (MOVES, PICKED), readings.told_first(PERMUTATION_AGAIN, readings.PICKS), PICKS_AT_END,
        arm=PERMUTATION_AGAIN,
    ),
    in_permutations(
        "EL29", (PICKED, RECALLED), readings.recalled_last(PERMUTATION_AGAIN, readings.PICKS), PICKS_AT_END,
        arm=PERMUTATION_AGAIN,
    ),
)  # fmt: skip
