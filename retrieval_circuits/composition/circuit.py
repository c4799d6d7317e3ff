"""What exchanges say of how one network gets its answer. No plan of moves is looked for, and all arrows are attention.

Streams are exchanged in this study, not looks, and what they hold after a layer is not the same in all networks: no
arrow has one role in all of them.
"""

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
    query = ", ".join(_held(part) for _, part in rows.groupby("after"))
    doubled = holds(arm, MAPS, ASKED, 1, variable="maps_2", edit="hops_2")(results).loc[seed]
    share = "half or more" if IS_HELD.reached(float(doubled)) else "fewer than half"
    return (
        f"Streams exchanged at the end, {WORDS[ASKED]} asked for: layer by layer the query mostly holds {query}; words "
        f"of permutation 2 hold two hops after layer 1 in {share} of exchanges."
    )


def _held(rows: pd.DataFrame) -> str:
    best = rows.loc[rows["value"].idxmax()]
    return SO_FAR[str(best["variable"])] if IS_HELD.reached(float(best["value"])) else "no one thing that was predicted"
