"""The tables on networks trained by SGD: how its rate was chosen, how they learn, and how each start ends."""

import pandas as pd

from circuitcore.tasks.balanced_stream import BalancedStream
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.readings.networks import removal_costs
from retrieval_circuits.sgd_selection.design import DESCENT, LAYER, NETWORKS, RATED
from retrieval_circuits.sgd_selection.figures.at_length import lookers
from retrieval_circuits.sgd_selection.figures.chapter import GUESS, ROWS, address
from retrieval_circuits.sgd_selection.readings import NOBODY, joined, tuned, winners

ATTENTION = "attention from values to their keys"


def by_sgd(results: Results) -> View:
    """Two panels through training: answers, and the most that one head of the first layer joins, by Adam and SGD."""
    found = []
    for series, arm in {"Adam": NETWORKS, "SGD": DESCENT}.items():
        answers = results.curve("accuracy", arm)[["step", "init_seed", "value"]]
        joins = results.curve("joins", arm, layer=LAYER).groupby(["init_seed", "step"], as_index=False)["value"].max()
        found += [
            answers.assign(panel="answered right", unit="share of reads", chance=GUESS, arm=arm, series=series),
            joins.assign(panel=ATTENTION, unit="most of any first-layer head", arm=arm, series=series),
        ]
    unit = "share of reads answered right, and the most attention of a first-layer head"
    return View(pd.concat(found, ignore_index=True), unit, ROWS, BAND)


def tuning(results: Results) -> View:
    """The loss that each rate comes to with each momentum."""
    rows = tuned(results).map("{:.2f}".format).rename(columns="momentum {:g}".format).rename_axis("rate").reset_index()
    return View(
        rows.assign(rate=rows["rate"].map("{:g}".format), arm=RATED),
        "loss, nats a word",
        ROWS,
        note="Loss, nats a word",
    )


def every_start(results: Results) -> View:
    """Each start: its winner by Adam, and by SGD its winner, its time, its answers, and the heads that look most."""
    won, times, read = winners(results, DESCENT), joined(results, DESCENT), results.final_values("accuracy", DESCENT)
    by_adam, most = winners(results, NETWORKS), lookers(results, DESCENT)
    costs = removal_costs(results, DESCENT, split=BalancedStream.reported)
    costs = costs[costs["site"].str.fullmatch(r"L\dH\d")].pivot(index="init_seed", columns="site", values="value")
    dearest = {seed: row.nlargest(3).items() for seed, row in costs.iterrows()}
    found = [
        {
            "arm": DESCENT, "seed": seed, "winner by Adam": address(by_adam[seed]), "winner by SGD": address(head),
            "a quarter joined at": "-" if head == NOBODY else f"{times[seed]:,.0f}",
            "right in the end": f"{100 * read[seed]:.0f}\N{NO-BREAK SPACE}%",
            **{name: heads[seed] for name, heads in most.items()},
            "costs most, removed": ", ".join(f"{head} {100 * cost:.0f}" for head, cost in dearest[seed]),
        }
        for seed, head in won.items()
    ]  # fmt: skip
    note = "Trained by SGD; heads of any layer with their mean attention, and points of accuracy that a removal costs"
    return View(pd.DataFrame(found), "head", ROWS, note=note)


DESCENTS = {view.__name__: view for view in (by_sgd, tuning, every_start)}
