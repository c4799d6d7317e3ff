"""The tables behind families of sparse features: those of the source's figure, and which of ours gain most."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.sgd_formation.design import FRESH
from retrieval_circuits.sgd_formation.measures.families import FITS
from retrieval_circuits.sgd_formation.published import FAMILY_GAPS, FAMILY_STEPS, FIRST_OF_ONE, N_FAMILIES

SOURCE_WINDOWS = {"all of training": (250, 16_000), "1,500 to 5,500": (1_500, 5_500)}
"""The second is the window that is asked of ours, on the source's curve of its probe set."""
GAINED, ON_HELD_OUT = "gained", "of that on held-out pairs"


def source_families(results: Results) -> View:
    """What the families of the source's own figure gain: over all of training, and while its network learns to read."""
    found = []
    for number, gaps in FAMILY_GAPS.items():
        at = dict(zip(FAMILY_STEPS, gaps, strict=True))
        row = {"family": f"{number}", "features": "several" if number < FIRST_OF_ONE else "one"}
        for name, (start, end) in SOURCE_WINDOWS.items():
            row[f"{GAINED}, {name}"] = round(sum(at[end]) - sum(at[start]), 2)
            row[f"{ON_HELD_OUT}, {name}"] = round(at[end][1] - at[start][1], 2)
        found.append(row)
    table = pd.DataFrame(found).sort_values(f"{GAINED}, all of training", ascending=False)
    note = (
        f"Read off the source's figure, which draws {len(FAMILY_GAPS)} of {N_FAMILIES} families. In units of activation"
    )
    return View(table, "gap gained", "the source's probe set", note=note)


MEANS = {
    "explained": "variance explained", "alive": "features", "families": "families",
    "families_of_several": "families of several", "several_lead": "networks in which one of several leads",
    "joined_families_of_several": "families of several, joined as far as in the source",
    "joined_several_lead": "networks in which one of these leads",
    "joined_several_lead_by_lot": "the same, features dealt by lot",
    "least_alike": "least cosine in these families",
}  # fmt: skip


def led_families(results: Results) -> View:
    """Which families gain most as networks learn to read, by how the autoencoder was made: means over networks."""
    rows = results.rows("families", arm=FRESH).astype({"metric": "str", "variable": "str"})
    means = (
        rows.groupby(["metric", "variable"])["value"].mean().unstack().reindex(index=list(MEANS), columns=list(FITS))
    )
    table = means.round(2).rename(MEANS).rename_axis(index="mean over networks", columns=None).reset_index()
    return View(
        table.assign(arm=FRESH),
        "mean over networks",
        "test rows",
        note="Numbers of features and families, shares of networks, and cosines; by how the autoencoder was made",
    )


VIEWS = {view.__name__: view for view in (source_families, led_families)}
