"""The tables behind what networks go by before they look the key up, and behind how three read without that look."""

import math

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.design import FRESH, REPORTED, TRAINED_ON, WITHOUT_LOOKING
from retrieval_circuits.sgd_formation.figures.around import BY_ITS_OWN_TIME, around_half
from retrieval_circuits.sgd_formation.measures import cuts as made
from retrieval_circuits.sgd_formation.readings.known import (
    UNREAD,
    gives_one,
    known_curve,
    last_before,
    left_at_half,
    of_late_reads,
    place_curve,
)
from retrieval_circuits.sgd_formation.readings.networks import HALF, reads_at_end

PLACES = {
    "read before in the stream": "shown",
    "late, and not read before": UNREAD,
    "early, before training has reads": "early",
}
PAIRS = {"pairs trained on": "heldout_twins", "pairs never trained on": "heldout_pairs"}


def ways(results: Results) -> View:
    """Which reads are right around the step at which networks come to read: by where the value stands, and by pair."""
    by_place = {name: place_curve(results, place) for name, place in PLACES.items()}
    by_pair = {name: known_curve(results, "pairs_right", split=split) for name, split in PAIRS.items()}
    found = [
        around_half(rows, results).assign(panel=panel, series=name)
        for panel, curves in {"by where the value stands": by_place, "where only the pair differs": by_pair}.items()
        for name, rows in curves.items()
    ]
    table = pd.concat(found, ignore_index=True)
    return View(table, "share of reads answered right", REPORTED[FRESH], BAND, note=BY_ITS_OWN_TIME)


LATE, EARLY = "late", "early"
RIGHT, BEFORE, AFTER, ONE, BY_LOT = "right_without", "gives_before", "gives_after", "gives_one", "are_after"
CUT = {
    made.NOTHING: "nothing is cut", made.VALUES_FROM_KEYS: "values from their keys",
    made.LATER_FROM_VALUE: "the read from the value, later layers",
    made.FIRST_FROM_VALUE: "the read from the value, first layer",
    made.KEY_FROM_OTHERS: "its key's last place from other values",
    made.OTHER_KEY_FROM_OTHERS: "another key's place from other values",
    made.KEY_FROM_VALUE: "its key's last place from the value",
}  # fmt: skip
"""What is cut -> what its column is called."""


def cuts(results: Results) -> View:
    """How many late reads are right with some looks cut, network by network (see ``_networks``)."""
    found = [
        {**who, **{name: _share(shares[RIGHT, cut, LATE]) for cut, name in CUT.items()}}
        for who, shares in _networks(results)
    ]
    note = (
        "Shares of late reads answered right while the looks that a column names are cut, the last three in the first "
        "layer. Late: the value last stands where training has reads"
    )
    return View(pd.DataFrame(found), "share of late reads", "validation", note=note)


def ruled_out(results: Results) -> View:
    """What is given instead where looks are cut that may rule values out, network by network."""
    found = []
    for who, shares in _networks(results):
        after, before = (
            f"{_share(shares[RIGHT, cut, LATE])}; {_share(_after(shares, cut))} after"
            for cut in (made.FROM_AFTER, made.FROM_BEFORE)
        )
        one = [_share(shares[ONE, cut, LATE]) for cut in (made.NOTHING, made.KEY_FROM_ONE)]
        lot = _share(shares[BY_LOT, made.NOTHING, LATE])
        found.append({
            **who, "answers one other value": one[0], "the same, its key's last place cut from it": one[1],
            "the read cut from values after": after, "the read cut from values before": before, "after, by lot": lot,
        })  # fmt: skip
    note = (
        "Shares of late reads. The read is cut in later layers, from other values that stand after the one asked for, "
        "or before: the share right; then, of the other values of the row that are given, the share that stand after"
    )
    return View(pd.DataFrame(found), "shares", "validation", note=note)


LEFT = (made.VALUES_FROM_KEYS, made.LATER_FROM_VALUE, made.FIRST_FROM_VALUE, made.KEY_FROM_OTHERS)


def before_half(results: Results) -> View:
    """What late reads go by, network by network, at the last checkpoint before half of its reads is right."""
    right = of_late_reads(results, RIGHT, HALF, made.NOTHING)[made.NOTHING]
    shares = {"late reads right": right, **{CUT[cut]: left_at_half(cut)(results) for cut in LEFT}}
    shares["one other value, hidden"] = gives_one(made.KEY_FROM_ONE, before=HALF)(results)
    steps = last_before(results, HALF).map("{:,.0f}".format)
    table = pd.DataFrame(shares).map(_share)
    table.insert(0, "step", steps)
    table.insert(0, "network", [f"seed {seed}" for seed in table.index])
    note = (
        "Shares of late reads answered right, at that checkpoint or, of a network that never gets there, at its last; "
        "how many are right while the looks that a column names are cut, in shares of these; and how many more late "
        "reads get one other value where it is hidden from the place where the key last stood"
    )
    return View(table.reset_index(drop=True).assign(arm=FRESH), "share of late reads", "validation", note=note)


def _after(shares: pd.Series, cut: str) -> float:
    after, before = shares[AFTER, cut, LATE], shares[BEFORE, cut, LATE]
    return after / (after + before) if after + before else math.nan


def _networks(results: Results) -> list[tuple[dict[str, str], pd.Series]]:
    """Who, and its shares by metric, cut and family: networks that read, on average; who reads late values only.

    That is half of the late ones and fewer of the early ones, at a step at which looks are cut, and the last such. Of
    networks none of which reads, the mean is of all.
    """
    last, reads = results.curve("accuracy", FRESH)["step"].max(), reads_at_end(results)
    arms = [arm for arm in (FRESH, TRAINED_ON) if arm in results.arms]
    rows = results.rows("cuts", arm=arms).astype({"metric": str, "variable": str, "family": str, "arm": str})
    rows = rows[rows["step"].isin([WITHOUT_LOOKING, last])]
    rows["whole"] = rows["step"] + last * (rows["arm"] == TRAINED_ON)
    shares = rows.pivot(index=["init_seed", "whole"], columns=["metric", "variable", "family"], values="value")
    at_end = shares.xs(last, level="whole")
    who = at_end[reads.reindex(at_end.index)] if reads.any() else at_end
    named = f"{len(who)} that read" if reads.any() else f"all {len(who)}"
    found = [({"arm": FRESH, "network": f"mean of {named}", "step": f"{last:,}"}, who.mean())]
    late, early = (shares[RIGHT, made.NOTHING, family] for family in (LATE, EARLY))
    for seed, of_seed in shares[(late >= HALF) & (early < HALF)].groupby("init_seed"):
        step = of_seed.index[-1][1]
        found.append(({"arm": FRESH, "network": f"seed {seed}", "step": f"{step:,}"}, of_seed.iloc[-1]))
    return found


def _share(value: float) -> str:
    return "none" if math.isnan(value) else f"{round(value, 2) + 0:.0%}"  # without "-0%"


VIEWS = {view.__name__: view for view in (ways, cuts, before_half, ruled_out)}
