"""What causal tests of each network of the matrix say of its circuit.

This study patches no paths. It exchanges parts of a network between prompts: for carrying, matching and copying what
stands at the last position, as the chapter on symbols does for the last two; for tagging, the keys that layer 1 reads
at the values. That test finds the marks, not the head that made them.
"""

from functools import partial

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.explorer.moves import Tested
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.lookup_circuit import HEADS, by_head, of_each_seed

WHERE_MARKS_ARE_READ = "exchanged in the keys that layer 1 reads there, it moves the answer on {effect} of prompts"
NOTE = (
    "No path was patched here: ① is tested by exchanging what layer 1 reads as keys at the values, which does not tell "
    "the heads of layer 0 apart."
)
SEPARATING, SAME_KEY = "separating", "same_key"
"""Prompts whose key, slot and value point to three answers; prompts that ask for the same key in another slot."""


def link_tests(results: Results, arm: str) -> dict[int, dict[str, Tested]]:
    """Seed -> move -> whose it is in that network, and the share of answers that follow what was exchanged."""

    def shares(site: str, variable: str, family: str = SEPARATING) -> pd.Series:
        where = {"family": family, "site": site, "variable": variable, "edit": ""}
        return results.final_values("interchange", arm, **where)

    both = tuple(f"L0{head}" for head in HEADS)
    marks = {
        int(seed): Tested(
            heads=both, effect=float(mark), supported=MORE_OFTEN_THAN_NOT.reached(mark), found=WHERE_MARKS_ARE_READ
        )
        for seed, mark in shares("L1H*.k", "matching_slot", SAME_KEY).items()
    }
    return of_each_seed(
        {
            "tags": marks,
            "carries": by_head(0, "z", partial(shares, variable="query_key")),
            "matches": by_head(1, "q", partial(shares, variable="query_key")),
            "copies": by_head(1, "z", partial(shares, variable="selected_value")),
        }
    )
