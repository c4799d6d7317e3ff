"""The table behind each figure of the chapter, with what its caption must say."""

from collections.abc import Sequence

import pandas as pd

from circuitcore.emergence.seeds import mean_interval
from livingpaper.claims.results import Results
from livingpaper.claims.units import STEPS
from livingpaper.claims.view import View
from livingpaper.figures.rows import MIN_SEEDS
from retrieval_circuits.design import BAND, SHARES
from retrieval_circuits.sgd_formation.measures.sizes import SIZES
from retrieval_circuits.sgd_selection.design import (
    ACT,
    ELSEWHERE,
    HEADS,
    LAYER,
    N_LAGS,
    NETWORKS,
    ORDERS,
    PARENT,
    TRACED,
    Params,
    forked,
)
from retrieval_circuits.sgd_selection.published import WINNERS
from retrieval_circuits.sgd_selection.readings import (
    FROM,
    NOBODY,
    UP_TO,
    forked_at,
    grown_by,
    half_right,
    keeping,
    keeping_anothers,
    keeps_winner,
    older_by,
    ranked_first,
    settling_step,
    winners,
)

ROWS = "test rows"
COUNTED, OVER_ORDERS = (band.replace("seeds", "orders") for band in (SHARES, BAND))
OF_ORDERS = "All are forks of one network; a fork's seed is that of the order of its data"
ADDED = range(17, 25)
"""The orders that were added last."""
GUESS = 1 / SIZES["n_keys"]
"""How often a guess among current values is right."""
SHOWN = (0, 3, 5, 7)
"""Points at which the figure of curves shows forks: each twice as near to the look-up as the one before, or so."""


def rivals(results: Results) -> View:
    """What each head of the first layer joins, in the parent."""
    rows = results.curve("joins", PARENT, layer=LAYER)
    table = rows.assign(series="head " + rows["head"].astype(str))
    note = "Attention from written values to the words just before, their keys"
    return View(table[["series", "step", "arm", "init_seed", "value"]], "mean attention", ROWS, note=note)


def same_winner(results: Results) -> View:
    """How often forks end with the parent's winner, and how often with any, by the step at which they leave it."""
    same, found = keeps_winner(results), []
    for arm in ORDERS:
        at = forked_at(results, arm)
        won = winners(results, arm)
        for name, values in {"the parent's winner": same[at], "any winner": won != NOBODY}.items():
            rows = values.astype(int).rename("value").reset_index()
            found.append(rows.assign(group=f"from step {at:,}", series=name, arm=arm))
    table = pd.concat(found, ignore_index=True).assign(panel="in the end")
    return View(table, "share of forks", ROWS, COUNTED, note=OF_ORDERS)


def elsewhere(results: Results) -> View:
    """How often a network's forks end with its own winner, by the step at which they leave, and with another's."""
    found, others = [], sorted({forked(label) for label in results.seeds(ELSEWHERE[0])})
    for arm in ELSEWHERE:
        at = f"{forked_at(results, arm):,}"
        whose = {"its own winner": keeping(arm), "another network's": keeping_anothers(arm)}
        found += [_points(values(results), others, f"from step {at}: {name}") for name, values in whose.items()]
    note = "A point is a network, the mean of its forks, \N{MULTIPLICATION SIGN}2 are two; intervals are over networks"
    note = f"{note}. {_without_winner(results)}"
    table = pd.concat(found, ignore_index=True)
    behind = (NETWORKS, *ELSEWHERE)
    return View(table, "share of forks that end with it", ROWS, BAND, 1 / len(HEADS), note, arms=behind)


def _without_winner(results: Results) -> str:
    """What the chance level leaves out, for a caption."""
    won = winners(results, ELSEWHERE[0])
    return f"Chance is for forks with a winner; {(won == NOBODY).sum()} of {len(won)} from the start have none"


def address(head: int) -> str:
    """What a table calls a winner of the layer that reads; a dash where nobody won."""
    return "-" if head == NOBODY else f"L{LAYER}H{head}"


def every_fork(results: Results) -> View:
    """Which heads win in how many forks, by the step at which they leave; a dash where none does."""
    found = []
    for arm in ORDERS:
        won = winners(results, arm).map(address).value_counts()
        at, right = f"{forked_at(results, arm):,}", f"{half_right(results, arm).median():,.0f}"
        found.append(
            {
                "arm": arm,
                "leave at": at,
                "winners": ", ".join(f"{n} {head}" for head, n in won.items()),
                "half of the reads right at": right,
            }
        )
    return View(pd.DataFrame(found), "head", ROWS, note="The step is the median's")


def settling(results: Results) -> View:
    """From which step on the winner stays, order by order; ``earliest`` the point before it."""
    steps = {"value": settling_step()(results), "earliest": settling_step(earliest=True)(results)}
    table = pd.DataFrame(steps).rename_axis("init_seed").reset_index()
    return View(table.assign(arm=ORDERS[0]), "training step", ROWS, OVER_ORDERS, note=OF_ORDERS)


def _added_alone(settling: pd.DataFrame) -> str:
    """The mean step of the orders that were added last, with its interval."""
    steps = settling.loc[settling["init_seed"].isin(ADDED), "value"].astype(float)
    if len(steps) < MIN_SEEDS:
        return "they are not here"
    found = mean_interval(steps.tolist())
    return f"{STEPS.words(found.mean)} {STEPS.interval(found.low, found.high)}"


def numbers(params: Params, same: View, settling: View) -> dict[str, str]:
    """Name in the prose -> number in words: of orders, of forks in which another head wins, of when it is settled."""
    steps = settling.published[["earliest", "value"]].astype(float).mean()
    found = {
        "settled_from": STEPS.number(steps["earliest"]),
        "settled_to": STEPS.number(steps["value"]),
        "added_alone": _added_alone(settling.published),
        "n_act": f"{params.fork_at[ACT]:,}",
        "n_end": f"{params.steps:,}",
        "n_orders": str(len(params.order_seeds)),
        "n_scanned": str(len(WINNERS)),
        "n_named": str(len({*WINNERS.values()})),
    }
    table = same.published
    for name, arm in zip(("n_moved_first", "n_moved_second"), ORDERS, strict=False):
        counts = table[table["arm"] == arm].groupby("series")["value"].agg(["sum", "size"])
        other = counts["sum"]["any winner"] - counts["sum"]["the parent's winner"]
        found[name] = f"{other} of {counts['size'].iloc[0]}"
    return found


def spread(results: Results) -> View:
    """How reading gets better in forks that leave the parent at four of the points."""
    found = []
    for arm in (ORDERS[point] for point in SHOWN):
        rows = results.curve("accuracy", arm)
        found.append(rows.assign(series=f"from step {forked_at(results, arm):,}"))
    table = pd.concat(found, ignore_index=True)[["series", "step", "arm", "init_seed", "value"]]
    return View(table, "share of reads answered right", ROWS, OVER_ORDERS, GUESS, OF_ORDERS)


def _points(values: pd.Series, seeds: Sequence[int], group: str) -> pd.DataFrame:
    """A row a seed, its value missing where no head wins."""
    return values.reindex(seeds).rename_axis("init_seed").rename("value").reset_index().assign(group=group)


FORECASTS = {
    "what the loss pushes most": "push",
    "what is best aligned with it": "aligned",
    "what joins most already": "joins",
}
"""What a forecast names the winner by -> its metric."""


def prediction(results: Results) -> View:
    """How often the winner is put first before it wins: by push, by alignment, and by what heads join already."""
    found = []
    for name, metric in FORECASTS.items():
        found.append(_points(ranked_first(metric)(results), results.seeds(NETWORKS), name))
    note = f"Checkpoints from {FROM:,} to {UP_TO} steps before the winner joins half of the values. "
    note += "A point is a network, \N{MULTIPLICATION SIGN}2 are two"
    return View(
        pd.concat(found, ignore_index=True),
        "share of checkpoints that put the winner first",
        ROWS,
        BAND,
        1 / len(HEADS),
        note,
    )


def parts_of_growth(results: Results) -> View:
    """What each part of the updates does for the winner, beside what it gains."""
    found = [
        _points(grown_by(results, metric), results.seeds(TRACED), name) for metric, name in PARTS_OF_GROWTH.items()
    ]
    table = pd.concat(found, ignore_index=True).assign(arm=TRACED)
    note = f"{OF_ORDERS}. Summed over updates; a part is the scalar product with the gradient of what is gained"
    return View(table, "gain of the winner's attention to keys", ROWS, OVER_ORDERS, note=note)


PARTS_OF_GROWTH = {
    "grown": "what it gains", "linear": "whole updates", "current": "current gradient", "momentum": "earlier gradients",
    "decay": "decay", "raw": "raw gradient at the rate", "raw_at_length": "raw gradient at full length",
}  # fmt: skip


def lags(results: Results) -> View:
    """What gradients do for the winner so many updates after they were taken, by what the current one does."""
    found = [_points(older_by(results, lag), results.seeds(TRACED), f"{lag} ago") for lag in LAGS]
    table = pd.concat(found, ignore_index=True).assign(arm=TRACED)
    return View(table, "share of what the current gradient does", ROWS, OVER_ORDERS, note=OF_ORDERS)


LAGS = (1, 2, 5, 10, N_LAGS)

VIEWS = {
    view.__name__: view
    for view in (
        *(rivals, same_winner, settling, elsewhere, every_fork, spread, prediction),
        *(parts_of_growth, lags),
    )
}
