"""The table of all rises of what the source follows through training, in its network as published and trained again."""

import pandas as pd

from circuitcore.emergence import rises as rises_of
from circuitcore.emergence.rises import FEWEST
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.sgd_formation.design import FULL
from retrieval_circuits.sgd_formation.figures.source_network import PANELS
from retrieval_circuits.sgd_formation.published import PROBE_STEPS, SOURCE_RISES
from retrieval_circuits.sgd_formation.readings.networks import probe_curve

NAMED = {"all reads of the probe set": "all reads", "its reads of held-out pairs": "held-out pairs"}
"""What is followed -> the heading of a column."""
TOO_SHORT = "too few checkpoints"


def rises(results: Results) -> View:
    """Between which checkpoints accuracy on the probe set rises by more than it wavers in the second half of training.

    The source's own steps are those of the largest rise of each of three curves, attention to its own word the third.
    """
    rows = [{"network": "as published, named by the source", "seed": "", **SOURCE_RISES}]
    published = {name: pd.DataFrame({"step": PROBE_STEPS, "value": PANELS[panel][2]}) for panel, name in NAMED.items()}
    rows.append({"network": "as published"} | {name: _told(curve) for name, curve in published.items()})
    curves = {name: probe_curve(results, *PANELS[panel][:2]) for panel, name in NAMED.items()}
    for seed in results.seeds(FULL):
        own = {name: _told(curve[curve["init_seed"] == seed]) for name, curve in curves.items()}
        rows.append({"network": "trained again", "seed": f"{seed}", **own})
    note = (
        "Percentage points. A rise is listed if it is more than twice the largest change, either way, from one "
        "checkpoint to the next in the second half"
    )
    table = pd.DataFrame(rows).fillna("").assign(arm=FULL)
    return View(table, "percentage points", "the source's probe set", note=note, arms=(FULL,))


def _told(curve: pd.DataFrame) -> str:
    """Every rise in words, with the steps between which it comes."""
    half = curve["step"].max() / 2
    if (curve["step"] >= half).sum() < FEWEST:
        return TOO_SHORT
    found = rises_of(curve[["step", "value"]], quiet_from=half)
    return "; ".join(f"{row.start:,.0f} to {row.stop:,.0f}: {100 * row.rise:.0f}" for row in found.itertuples())


VIEWS = {view.__name__: view for view in (rises,)}
