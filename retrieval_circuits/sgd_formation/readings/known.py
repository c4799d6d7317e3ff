"""What claims and figures read of ``known``: which pairs networks know, and where the values stand that they read."""

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import BY_HALF, CUTS, FRESH, REPORTED, WITHOUT_KEY
from retrieval_circuits.sgd_formation.measures import cuts
from retrieval_circuits.sgd_formation.readings.networks import HALF, Timed, accuracy_curve

UNREAD = "late, not shown"
"""How reads are called whose value stands late, and in no earlier read."""


def before_look_up(metric: str) -> OfArms:
    """Values of a reading: what ``known`` says at the last checkpoint before a quarter of the reads is right.

    At the last of all where a network never gets there; one that gives no such answer then has no number.
    """

    @of_arms(FRESH)
    def values(results: Results) -> pd.Series:
        rows = known_curve(results, metric)
        at = rows["init_seed"].map(last_before(results, WITHOUT_KEY))
        return rows[rows["step"] == at].set_index("init_seed")["value"].dropna()

    return values


def last_before(results: Results, share: float, arm: str = FRESH) -> pd.Series:
    """By seed of an arm, the step of the last checkpoint before such a share of reads is right.

    The last of all where it never is; none where the first has it.
    """
    wide = accuracy_curve(arm)(results).pivot(index="init_seed", columns="step", values="value").sort_index(axis=1)
    early = (wide < share).cummin(axis=1)
    return early.apply(lambda row: row.index[row].max(), axis=1)


def known_curve(results: Results, metric: str, **where: str) -> pd.DataFrame:
    """What ``known`` says of networks on fresh rows through training: ``arm init_seed step value``."""
    rows = results.rows("known", arm=FRESH, metric=metric, **{"split": REPORTED[FRESH], **where})
    return rows[["arm", "init_seed", "step", "value"]]


def place_curve(results: Results, place: str) -> pd.DataFrame:
    """Share of reads answered right through training, by where the value stands: "late", "early", "shown", ``UNREAD``.

    As in ``known``, whose late reads hold those shown; the others are what is left of them.
    """
    if place != UNREAD:
        return known_curve(results, "right_by_place", variable=place)
    rows = results.rows("known", arm=FRESH, metric="right_by_place", variable=["late", "shown"])
    wide = rows.astype({"variable": str}).pivot(index=["arm", "init_seed", "step"], columns="variable")
    right = (wide["value"] * wide["n"]).diff(-1, axis=1)["late"]
    return (right / wide["n"].diff(-1, axis=1)["late"]).rename("value").reset_index()


def pair_time(split: str) -> Timed:
    """Values of a reading: when half of the reads of held-out pairs, or of their twins, are right."""
    return Timed(FRESH, lambda results: known_curve(results, "pairs_right", split=split), HALF)


def place_time(place: str) -> Timed:
    """Values of a reading: when half of the reads are right whose value stands "late", or "early"."""
    return Timed(FRESH, lambda results: place_curve(results, place), HALF)


def gives_one(cut: str, metric: str = "gives_one", *, before: float = WITHOUT_KEY) -> OfArms:
    """Values of a reading: how much more often one other value is given for a late one with a look cut.

    At the last checkpoint before a quarter, or a half, of the reads is right; a network none of whose reads is of the
    kind has no number. With the metric "gives_one_seen" of reads alone in which another key could see that value.
    """

    @of_arms(FRESH)
    def values(results: Results) -> pd.Series:
        wide = of_late_reads(results, metric, before, cut)
        return (wide[cut] - wide[cuts.NOTHING]).dropna()

    return values


def left_at_half(cut: str) -> OfArms:
    """Values of a reading: how many late reads are right with a look cut, in shares of those right with nothing cut.

    At the last checkpoint before half of the reads is right; a network that gets no late read right has no number.
    """

    @of_arms(FRESH)
    def values(results: Results) -> pd.Series:
        wide = of_late_reads(results, "right_without", HALF, cut)
        return (wide[cut] / wide[cuts.NOTHING].where(wide[cuts.NOTHING] > 0)).dropna()

    return values


def of_late_reads(results: Results, metric: str, before: float, cut: str) -> pd.DataFrame:
    """By seed, what is measured of late reads with a look cut and with nothing cut, before a share is right."""
    table = {WITHOUT_KEY: CUTS, HALF: BY_HALF}[before]
    rows = results.rows(table, arm=FRESH, metric=metric, family="late").astype({"variable": "str"})
    at = rows[rows["step"] == rows["init_seed"].map(last_before(results, before))]
    return at.pivot(index="init_seed", columns="variable", values="value").reindex(columns=sorted({cut, cuts.NOTHING}))
