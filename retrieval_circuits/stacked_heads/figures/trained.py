"""The table of what is trained on rows of vectors: look-ups, layers, steps and seeds."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.stacked_heads.design import (
    ALONE,
    FOLLOWED,
    FOUR,
    FRESH,
    FRESH_FOUR,
    FRESH_ONE,
    FRESH_SCARCE,
    LAST_ALONE,
    LONG_SCARCE,
    LONGER,
    ONE,
    ONE_DEEP,
    REWARDED,
    SIX_ALONE,
    TAUGHT,
    THREE,
    THREE_LAST,
    THREE_TAUGHT,
)
from retrieval_circuits.stacked_heads.design.wait import CHANGES
from retrieval_circuits.stacked_heads.readings import end_of

EVERY, FRESH_ONES, OTHER = "every symbol rewarded", "the same, fresh seeds", "other rewards or rows"
KINDS = (
    (EVERY, (*ONE, *ONE_DEEP)),
    (FRESH_ONES, (FRESH_ONE,)),
    ("longer rows", LONGER),
    (EVERY, REWARDED),
    (FRESH_ONES, (FRESH,)),
    ("training changed", CHANGES),
    ("the last alone rewarded", (*LAST_ALONE, *ALONE, SIX_ALONE)),
    (OTHER, TAUGHT),
    (EVERY, THREE),
    (FRESH_ONES, (FRESH_SCARCE,)),
    ("the same, trained on", (LONG_SCARCE,)),
    (OTHER, (THREE_LAST, *THREE_TAUGHT)),
    ("every symbol rewarded, or one left out", FOUR),
    (FRESH_ONES, (FRESH_FOUR,)),
)
"""What a reader calls some arms, and which they are."""


def trained(results: Results) -> View:
    """All arms on rows of vectors, those by the source's recipes left out; some stand in one row together."""
    found = []
    for words, arms in KINDS:
        for arm in (one for one in arms if str(one) in results.arms):
            shape = FOLLOWED if arm in CHANGES else arm
            found.append(
                {
                    "look-ups": shape.n_steps,
                    "networks": words,
                    "layers": shape.n_layers,
                    "steps": end_of(results, arm),
                    "seeds": _listed(results.seeds(str(arm))),
                }
            )
    rows = pd.DataFrame(found)
    table = rows.groupby(["look-ups", "networks", "seeds"], sort=False, as_index=False)[["layers", "steps"]].agg(_all)
    arms = tuple(str(arm) for _, of_kind in KINDS for arm in of_kind if str(arm) in results.arms)
    columns = ["look-ups", "networks", "layers", "steps", "seeds"]
    return View(table[columns], "training steps", "training rows", arms=arms)


def _all(values: pd.Series) -> str:
    return ", ".join(f"{value:,}" for value in sorted(set(values)))


def _listed(seeds: tuple[int, ...]) -> str:
    """Seeds in a row as their ends, and how many there are."""
    in_a_row = len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    named = f"{seeds[0]} to {seeds[-1]}" if in_a_row else ", ".join(map(str, seeds))
    return f"{len(seeds)} ({named})"


TRAINED_VIEWS = {"trained": trained}
