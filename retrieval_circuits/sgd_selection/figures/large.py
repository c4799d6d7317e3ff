"""Forks of the source's network, and of small ones drawn as it is: who comes to join values to their keys."""

import pandas as pd

from circuitcore.models import Head
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_selection.design import (
    DRAWN_WIDE,
    DRAWN_WIDE_FORKS,
    ELSEWHERE,
    LARGE_FORKS,
    LARGE_PARENT,
    NETWORKS,
    TWICE,
    TWICE_SMALL,
)
from retrieval_circuits.sgd_selection.figures.chapter import OF_ORDERS, OVER_ORDERS, ROWS
from retrieval_circuits.sgd_selection.readings import (
    forked_at,
    half_right,
    joining,
    joins_again,
    kept_by_own_winner,
    kept_by_parents_winner,
    large_winner,
    taken_by_another,
)


def _rows(values: pd.Series, **labels: str) -> pd.DataFrame:
    return values.rename("value").rename_axis("init_seed").reset_index().assign(**labels)


SERIES = {"the parent's winner": kept_by_parents_winner, "the best of the other heads": taken_by_another}


def large_forks(results: Results) -> View:
    """What the parent's winner joins at the end of its forks, and the best of the other heads, by when they leave."""
    found = []
    for arm in LARGE_FORKS:
        for series, reading in SERIES.items():
            step = f"from step {forked_at(results, arm):,}"
            found.append(_rows(reading(arm)(results), group=step, series=series, arm=arm))
    table = in_order(pd.concat(found, ignore_index=True), "series", SERIES)
    unit = "attention from written values to their keys"
    return View(table[["group", "series", "arm", "init_seed", "value"]], unit, ROWS, OVER_ORDERS, note=OF_ORDERS)


def every_large_fork(results: Results) -> View:
    """The parent and each of its forks: the head that joins most at the end, and when half of the reads are right."""
    found = []
    for arm in (LARGE_PARENT, *LARGE_FORKS):
        heads, right, read = joining(results, arm), half_right(results, arm), results.final_values("accuracy", arm)
        for seed, (layer, head) in heads.idxmax(axis=1).items():
            found.append({
                "arm": arm, "leaves at step": "" if arm == LARGE_PARENT else f"{forked_at(results, arm):,}",
                "order": "its own" if arm == LARGE_PARENT else f"{seed}",
                "joins most": str(Head(int(layer), int(head))),
                "attention to keys": f"{heads.loc[seed].max():.2f}",
                "half of the reads right at": f"{right[seed]:,.0f}",
                "right in the end": f"{100 * read[seed]:.0f}\N{NO-BREAK SPACE}%",
            })  # fmt: skip
    return View(pd.DataFrame(found), "head", ROWS, note=f"The parent's winner is {Head(*large_winner(results))}")


DRAWN = {"drawn small": (NETWORKS, ELSEWHERE[0]), "drawn as the source draws": (DRAWN_WIDE, DRAWN_WIDE_FORKS)}
"""How weights are drawn -> the arm of networks, and that of their forks from the start."""
WINNERS = {"the network's own winner": False, "the best of the other heads": True}


def wide_forks(results: Results) -> View:
    """What a network's own winner joins at the end of its forks from the start, and the best of the other heads."""
    found = []
    for group, (networks, forks) in DRAWN.items():
        for series, other in WINNERS.items():
            kept = kept_by_own_winner(networks, forks, as_in=DRAWN_WIDE_FORKS, best_other=other)(results)
            found.append(_rows(kept, group=group, series=series))
    table = in_order(pd.concat(found, ignore_index=True), "series", WINNERS)
    note = "A point is a network, the mean of its forks under two orders; intervals are over networks"
    unit = "attention from written values to their keys"
    behind = tuple(arm for pair in DRAWN.values() for arm in pair)
    return View(table[["group", "series", "init_seed", "value"]], unit, ROWS, BAND, note=note, arms=behind)


STARTS = {"drawn small": TWICE_SMALL, "drawn as the source draws": TWICE}
"""How weights of starts are drawn -> the arms of their two trainings."""
WHOSE = {"the winner of its other training": False, "winners of other starts": True}


def trained_twice(results: Results) -> View:
    """What heads join after one training of a start that won after its other, or after trainings of other starts."""
    found = [
        _rows(joins_again(*arms, anothers=anothers)(results), group=group, series=series)
        for group, arms in STARTS.items()
        for series, anothers in WHOSE.items()
    ]
    table = in_order(pd.concat(found, ignore_index=True), "series", WHOSE)
    n_small = len(found[0])
    note = (
        f"A point is a start, a mean of both ways; {n_small} are drawn small. Of other starts, whose pairs share them, "
        "intervals are too narrow"
    )
    unit = "attention from written values to their keys"
    return View(
        table[["group", "series", "init_seed", "value"]], unit, ROWS, BAND, note=note, arms=(*TWICE_SMALL, *TWICE)
    )


VIEWS = {view.__name__: view for view in (large_forks, every_large_fork, wide_forks, trained_twice)}
