"""What claims and figures read: which numbers of hops a network answers, since when, and what its layers hold."""

import numpy as np
import pandas as pd

from circuitcore.emergence import crossing_times
from livingpaper.claims.reading import Less, OfArms, OfMetric, Values, at_end, ever, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.composition.design import HOPS, LOOK_UPS, Arm
from retrieval_circuits.stacked_heads.readings import LEARNT as LOOK_UP_LEARNT
from retrieval_circuits.stacked_heads.readings import final_losses

ANSWERED = 0.9
"""Accuracy from which a number of hops counts as answered; a guess is right in one of four."""
QUERY, MAPS = "query_holds", "maps_hold"


def final_accuracy(arm: Arm, hops: int) -> OfMetric:
    """Values of a reading: accuracy at a number of hops at the end of training."""
    return at_end("accuracy", str(arm), variable=f"hops_{hops}")


def mean_accuracy(hops: int, *arms: Arm) -> OfArms:
    """Values of a reading: the mean over arms of accuracy at a number of hops at the end, of seeds that all have."""

    @of_arms(*map(str, arms))
    def values(results: Results) -> pd.Series:
        return pd.concat([final_accuracy(arm, hops)(results) for arm in arms], axis=1, join="inner").mean(axis=1)

    return values


def best_accuracy(arm: Arm, hops: int) -> OfMetric:
    """Values of a reading: the best accuracy at a number of hops at any checkpoint."""
    return ever("accuracy", str(arm), variable=f"hops_{hops}")


def accuracy_curves(results: Results, arm: Arm) -> pd.DataFrame:
    """Accuracy through training: ``init_seed``, ``hops``, ``step``, ``value``."""
    rows = results.curve("accuracy", str(arm))
    hops = rows["variable"].astype(str).str.removeprefix("hops_").astype(int)
    return rows.assign(hops=hops)[["init_seed", "hops", "step", "value"]]


def times(results: Results, arm: Arm) -> pd.DataFrame:
    """When each number of hops is first answered, inf where it is not by the end: ``init_seed``, ``hops``, ``time``."""
    return crossing_times(accuracy_curves(results, arm), ANSWERED).rename("time").reset_index()


def last_steps(results: Results) -> dict[str, int]:
    """The last measured step of each arm."""
    rows = results.curve("loss")
    return rows.groupby(rows["arm"].astype(str))["step"].max().to_dict()


def end_of(results: Results, arm: Arm) -> int:
    """The last measured step of an arm."""
    return int(results.curve("accuracy", str(arm))["step"].max())


def time_between(arm: Arm, first: int, second: int) -> OfArms:
    """Values of a reading: steps from when one number of hops is answered to when another is.

    What is not answered by the end counts as if it were then: a difference that is too small, never too large. Networks
    that do not answer the first by the end are left out.
    """

    @of_arms(str(arm))
    def values(results: Results) -> pd.Series:
        wide = times(results, arm).pivot(index="init_seed", columns="hops", values="time")
        wide = wide[np.isfinite(wide[first])]
        return wide[second].clip(upper=end_of(results, arm)) - wide[first]

    return values


def sooner(first: Arm, second: Arm, hops: int) -> OfArms:
    """Values of a reading: by how many steps one arm answers a number of hops before another, seed by seed.

    What is not answered by the end counts as if it were then: 0 where neither answers it.
    """

    @of_arms(str(first), str(second))
    def values(results: Results) -> pd.Series:
        ends = []
        for arm in (first, second):
            found = times(results, arm)
            found = found[found["hops"] == hops].set_index("init_seed")["time"]
            ends.append(found.clip(upper=end_of(results, arm)))
        return (ends[1] - ends[0]).dropna()

    return values


def hops_answered(results: Results, *arms: Arm) -> pd.DataFrame:
    """The most hops up to which a network answers every number at the end: ``arm``, ``init_seed``, ``value``."""
    found = []
    for arm in arms:
        rows = results.at_final("accuracy", str(arm))
        rows = rows.assign(hops=rows["variable"].astype(str))
        wide = rows.pivot(index="init_seed", columns="hops", values="value")
        wide = wide[[f"hops_{hops}" for hops in range(1, HOPS + 1)]] >= ANSWERED
        found.append(wide.cummin(axis=1).sum(axis=1).rename("value").reset_index().assign(arm=str(arm)))
    return pd.concat(found, ignore_index=True)


def look_ups_learnt(results: Results) -> pd.DataFrame:
    """Of stacked heads' networks, by that chapter's threshold: ``arm``, ``n_layers``, ``init_seed``, ``value``.

    Chains have two look-ups, so that none can learn more. Empty where those networks are not drawn.
    """
    cells = [cell for name, cell in LOOK_UPS.items() if name in results.arms]
    if not cells:
        return pd.DataFrame(columns=["arm", "n_layers", "init_seed", "value"])
    table = final_losses(results, *cells)
    learnt = (table["value"] < LOOK_UP_LEARNT).groupby([table["cell"], table["init_seed"]]).sum()
    learnt = learnt.rename("value").reset_index().rename(columns={"cell": "arm"})
    return learnt.assign(n_layers=learnt["arm"].map({name: cell.n_layers for name, cell in LOOK_UPS.items()}))


def holds(arm: Arm, metric: str, hops: int, after: int, **where: str) -> OfArms:
    """Values of a reading: how often the answer is that of what the replaced stream is said to hold.

    Args:
        arm: the networks.
        metric: ``QUERY`` or ``MAPS``.
        hops: how many are asked for.
        after: layers that have passed; 0 for the stream before the first.
        where: which prediction, as columns of the table.
    """

    @of_arms(str(arm))
    def values(results: Results) -> pd.Series:
        rows = exchanged(results, arm, metric, hops)
        rows = rows[rows["after"] == after]
        for column, word in where.items():
            rows = rows[rows[column].astype(str) == word]
        return rows.set_index("init_seed")["value"]

    return values


def where_answered(values: Values, arm: Arm, hops: int) -> OfArms:
    """A reading of those networks alone that answer a number of hops at the end."""

    @of_arms(str(arm))
    def of_those(results: Results) -> pd.Series:
        found = values(results)
        return found[found.index.isin(seeds_answering(results, arm, hops))]

    return of_those


def seeds_answering(results: Results, arm: Arm, hops: int) -> pd.Index:
    """Init seeds of an arm's networks that answer a number of hops at the end."""
    accuracy = final_accuracy(arm, hops)(results)
    return accuracy.index[accuracy >= ANSWERED]


def most_hops(arm: Arm) -> OfArms:
    """Values of a reading: the most hops up to which a network answers every number at the end."""

    @of_arms(str(arm))
    def values(results: Results) -> pd.Series:
        return hops_answered(results, arm).set_index("init_seed")["value"]

    return values


def shared_out(arm: Arm, hops: int, kind: str) -> Less:
    """Values of a reading: how much more the head costs that a kind needs most than the one that all kinds need most.

    Args:
        arm: the networks.
        hops: how many are asked for.
        kind: what queries may be told apart by (``measures.removals``).
    """
    return Less(needed(arm, hops, kind, "own_head"), needed(arm, hops, kind, "one_head"))


def needed(arm: Arm, hops: int, kind: str, metric: str) -> OfArms:
    """Values of a reading: cost of the head that a kind needs most ("own_head"), or that all need most ("one_head")."""

    @of_arms(str(arm))
    def values(results: Results) -> pd.Series:
        rows = results.rows("removals", arm=str(arm), family=f"hops_{hops}", variable=kind, metric=metric)
        return rows.set_index("init_seed")["value"]

    return values


def exchanged(results: Results, arm: Arm, metric: str, hops: int) -> pd.DataFrame:
    """Rows of one arm's exchanges for one number of hops, with ``after``, the layers that have passed."""
    rows = results.rows("exchanges", arm=str(arm), metric=metric, family=f"hops_{hops}")
    site = rows["site"].astype(str)
    passed = site.str.extract(r"L(\d+)")[0].astype(int) + site.str.endswith("resid_post")
    return rows.assign(after=passed)


def present(results: Results, arms: tuple[Arm, ...]) -> tuple[Arm, ...]:
    """Those of the arms that were trained."""
    return tuple(arm for arm in arms if str(arm) in results.arms)
