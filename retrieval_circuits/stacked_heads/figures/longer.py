"""The tables behind the figures of three layers that are trained on, on chains of three."""

from dataclasses import replace

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from livingpaper.figures.verdict_text import NOT_MEASURED
from retrieval_circuits.stacked_heads.design import LONG_SCARCE
from retrieval_circuits.stacked_heads.figures.grid import curves_of, errors_view
from retrieval_circuits.stacked_heads.figures.three import HOP, KNOWS, KNOWS_NOT, LOOKED
from retrieval_circuits.stacked_heads.readings import LEARNT, end_of, final_loss, learnt_time
from retrieval_circuits.stacked_heads.readings.needed import error_without

ITSELF = "as it is"
FORBIDDEN = ("query to third answer", "second answer to third")
"""Links, as ``LOOKED`` calls them; the look along each that a network needs most is forbidden."""


def three_longer(results: Results) -> View:
    """Errors of three symbols through four times the training, three layers."""
    return errors_view(curves_of(results, {LONG_SCARCE: LONG_SCARCE.words}).drop(columns="panel"))


def three_needs(results: Results) -> View:
    """Error of the third symbol at the end, with one head's look along a link forbidden or none."""
    errors = {ITSELF: final_loss(LONG_SCARCE, 3)(results)}
    errors |= {f"without {name}": error_without(LONG_SCARCE, LOOKED[name], 3)(results) for name in FORBIDDEN}
    found = [values.rename("value").reset_index().assign(group=name) for name, values in errors.items()]
    table = pd.concat(found, ignore_index=True).assign(arm=str(LONG_SCARCE))
    table["series"] = table["init_seed"].map(errors[ITSELF] < LEARNT).map({True: KNOWS, False: KNOWS_NOT})
    view = errors_view(in_order(in_order(table, "series", (KNOWS, KNOWS_NOT)), "group", errors))
    return replace(view, note="Where no head looks along a link with half of its attention, none is forbidden")


def three_before(results: Results) -> View:
    """Whether each network that is trained on has learnt the third symbol at the end (``value``), and had before.

    ``before``: where networks that are not trained on were stopped; ``step``: when it has, between two checkpoints, or
    the end of training; ``hops``: whether a head of the query looks at the third answer.
    """
    curve = results.curve("partial_loss", str(LONG_SCARCE), variable="x_3").sort_values("step")
    early = curve[curve["step"] <= end_of(results, LONG_SCARCE) // LONG_SCARCE.longer]
    table = pd.DataFrame({"value": final_loss(LONG_SCARCE, 3)(results) < LEARNT})
    table["before"] = early.groupby("init_seed")["value"].last() < LEARNT
    table["step"] = learnt_time(3, LONG_SCARCE)(results)
    needed = results.rows("needed", arm=str(LONG_SCARCE), metric="error_without")
    table["hops"] = table.index.isin(needed.loc[needed["site"] == HOP, "init_seed"])
    return View(table.reset_index().assign(arm=str(LONG_SCARCE)), "networks", "test")


def longer_numbers(networks: View) -> dict[str, str]:
    """How many networks learn all three symbols by the end, and had before; when the last of them does."""
    table = networks.published.astype({"value": bool, "before": bool, "hops": bool})
    late = table.loc[table["value"] & ~table["before"], "step"]
    return {
        "n_long_learnt": f"{table['value'].sum()} of {len(table)}",
        "n_long_hop": f"{(table['value'] & table['hops']).sum()} of {table['value'].sum()}",
        "n_long_before": f"{table['before'].sum()}",
        "last_learnt": f"{late.max():,.0f}" if len(late) else NOT_MEASURED,
    }


LONGER_VIEWS = {view.__name__: view for view in (three_longer, three_needs, three_before)}
