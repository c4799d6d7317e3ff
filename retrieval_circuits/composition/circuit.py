"""What exchanges say of how one network gets its answer. No plan of moves is looked for, and all arrows are attention.

Streams are exchanged in this study, not looks, and what they hold after a layer is not the same in all networks: no
arrow has one role in all of them.
"""

from itertools import groupby

import pandas as pd

from livingpaper.claims.results import Results
from retrieval_circuits.composition.claims.shared import IS_HELD
from retrieval_circuits.composition.design import WORDS, Arm
from retrieval_circuits.composition.readings import MAPS, QUERY, exchanged, holds

ASKED = 3
"""Hops that are asked for where streams are exchanged."""
SO_FAR = {f"x_{hops}": words for hops, words in {0: "its start", **WORDS}.items()}


def streams_note(results: Results, arm: Arm, seed: int) -> str:
    """What the query and the words of the second permutation of one network hold, as sentences for the stage."""
    rows = exchanged(results, arm, QUERY, ASKED)
    rows = rows[(rows["init_seed"] == seed) & (rows["after"] > 0)]
    query = _by_layers([_held(part) for _, part in rows.groupby("after")])
    doubled = holds(arm, MAPS, ASKED, 1, variable="maps_2", edit="hops_2")(results).loc[seed]
    share = "half or more" if IS_HELD.reached(float(doubled)) else "fewer than half"
    return (
        f"Streams exchanged at the end, {WORDS[ASKED]} asked for: the query mostly holds {query}; words of permutation "
        f"2 hold two hops after one layer in {share} of exchanges."
    )


LAYERS = ("first", "second", "third", "fourth")


def _by_layers(held: list[str]) -> str:
    """What is held after each layer, layers with the same told together: "its start after the first layer"."""
    if len(set(held)) == 1:
        return f"{held[0]} after any layer"
    runs = [(what, [at for at, _ in run]) for what, run in groupby(enumerate(held), key=lambda one: one[1])]
    return ", ".join(f"{what} after the {' and '.join(LAYERS[at] for at in layers)} layer" for what, layers in runs)


def _held(rows: pd.DataFrame) -> str:
    best = rows.loc[rows["value"].idxmax()]
    return SO_FAR[str(best["variable"])] if IS_HELD.reached(float(best["value"])) else "nothing that was predicted"
