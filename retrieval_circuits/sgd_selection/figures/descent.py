"""The tables on networks trained by SGD: how its rate was chosen, how they learn, and who wins in each."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_selection.design import DESCENT, NETWORKS, RATED
from retrieval_circuits.sgd_selection.figures.changes import answers_and_looks
from retrieval_circuits.sgd_selection.figures.chapter import ROWS, address
from retrieval_circuits.sgd_selection.readings import half_right, joined, losses, tuned, winners


def tuning(results: Results) -> View:
    """The loss that each rate comes to with each momentum, and Adam's lowest and highest at the same step."""
    rows = tuned(results).map("{:.2f}".format).rename(columns="momentum {:g}".format).rename_axis("rate").reset_index()
    adam, last = losses(results, NETWORKS), results.at_final("loss", RATED)["step"].max()
    at = adam.columns[adam.columns <= last].max()
    note = f"At step {last:,}; of Adam's networks at step {at:,}: {adam[at].min():.2f} to {adam[at].max():.2f}"
    table = rows.assign(rate=rows["rate"].map("{:g}".format), arm=RATED)
    return View(table, "loss, nats a word", ROWS, note=note, arms=(RATED, NETWORKS))


def by_sgd(results: Results) -> View:
    """Answers and attention through training of networks trained by SGD, and by Adam."""
    return View(answers_and_looks(results, {"SGD": DESCENT, "Adam": NETWORKS}), "share", ROWS, BAND)


def every_start(results: Results) -> View:
    """Each start: who wins it by Adam and by SGD, when, and how well both read in the end."""
    kinds, columns = {"Adam": NETWORKS, "SGD": DESCENT}, {}
    for name, arm in kinds.items():
        columns[f"winner by {name}"] = winners(results, arm).map(address)
        columns[f"half joined by {name} at"] = joined(results, arm).map("{:,.0f}".format)
        columns[f"half of the reads right by {name} at"] = half_right(results, arm).map("{:,.0f}".format)
        columns[f"right in the end by {name}"] = results.final_values("accuracy", arm).map(
            lambda share: f"{100 * share:.0f}\N{NO-BREAK SPACE}%"
        )
    table = pd.DataFrame(columns).dropna().rename_axis("seed").reset_index()
    return View(table.assign(arm=DESCENT), "head", ROWS, note="Of one start both read the same rows", arms=(NETWORKS,))


DESCENTS = {view.__name__: view for view in (tuning, by_sgd, every_start)}
