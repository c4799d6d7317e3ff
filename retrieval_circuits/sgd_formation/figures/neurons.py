"""The tables behind what a few neurons cost."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.design import FRESH, REPORTED
from retrieval_circuits.sgd_formation.measures.neurons import N_DRAWN
from retrieval_circuits.sgd_formation.readings.networks import lost

SERIES = {
    "top": "those that cost most alone",
    "drawn": f"by lot, mean of {N_DRAWN} sets",
    "worst drawn": "by lot, dearest set",
}
ALL = "all"
WAYS = {"zero": "zero", "mean": "their means", "resample": "another row's"}
"""What stands in for neurons -> in words."""


def set_aside(results: Results) -> View:
    """What a few neurons of each MLP cost together, set to their means: those that cost most alone, and sets by lot."""
    rows = _costs(results)
    rows = rows[(rows["edit"] == "mean") & rows["which"].isin(SERIES)]
    rows = rows.assign(series=rows["which"].map(SERIES), size=rows["size"].astype(int))
    rows = rows.sort_values(["site", "size"], kind="stable")
    group = [f"{site}: {size} neuron{'s' * (size > 1)}" for site, size in zip(rows["site"], rows["size"], strict=True)]
    table = rows.assign(group=group)[["group", "series", "arm", "init_seed", "value"]]
    note = "Neurons are set to their means; sets by lot may hold those that cost most, too"
    return View(table, "accuracy lost", f"{rows['n'].iloc[0]} reads of test rows", BAND, note=note)


def set_aside_ways(results: Results) -> View:
    """What the neurons that cost most alone cost together, by what stands in for them: means over networks."""
    rows = _costs(results)
    rows = rows[rows["which"].isin(["top", ALL])]
    rows = rows.assign(column=(rows["which"] + " " + rows["size"]).str.strip())
    means = rows.groupby(["site", "edit", "column"], sort=False)["value"].mean().unstack(sort=False)
    found = [
        {"arm": FRESH, "MLP": site, "set to": WAYS[edit]} | {name: f"{cost:.0%}" for name, cost in part.items()}
        for (site, edit), part in means.iterrows()
    ]
    return View(pd.DataFrame(found), "accuracy lost", REPORTED[FRESH], note="Means over networks")


def eight(ways: View) -> dict[str, str]:
    """Name in the prose -> what the eight of the first MLP cost at zero, as the source sets neurons, and at means."""
    rows = ways.published
    costs = rows[rows["MLP"] == "L0MLP"].set_index("set to")["top 8"]
    return {"eight_at_zero": costs[WAYS["zero"]], "eight_at_means": costs[WAYS["mean"]]}


def _costs(results: Results) -> pd.DataFrame:
    """Accuracy lost without each set of neurons: ``arm init_seed site edit which size value``; no size of all."""
    rows = results.rows("neurons", arm=FRESH, metric="neurons_accuracy")
    costs = lost(rows.astype({"site": "str", "edit": "str", "variable": "str"}))
    return costs.assign(**costs["variable"].str.extract(r"^(?P<which>\D+?) ?(?P<size>\d*)$"))


VIEWS = {view.__name__: view for view in (set_aside, set_aside_ways)}
