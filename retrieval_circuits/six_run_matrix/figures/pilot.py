"""Figures of the chapter's first part: thirty epochs on two pairs."""

import pandas as pd

from livingpaper.claims.results import Results, SelectionError, with_epochs
from livingpaper.claims.view import View
from retrieval_circuits.design import BAND
from retrieval_circuits.six_run_matrix.design import PILOT, SHARES
from retrieval_circuits.six_run_matrix.published import PILOT as SOURCE
from retrieval_circuits.six_run_matrix.published import PILOT_DROPS, PILOT_EPOCHS
from retrieval_circuits.six_run_matrix.readings import per_seed
from retrieval_circuits.six_run_matrix.readings.births import OPERATORS, published_curves

TRAINED_ON = "accuracy, two pairs (trained on)"
ACCURACIES = {
    "train_2_pairs": TRAINED_ON, "val": "accuracy, three pairs (never trained)",
    per_seed.OOD: "accuracy, four pairs (never trained)",
}  # fmt: skip
CHANCE = dict(zip(ACCURACIES.values(), (1 / 2, 1 / 3, 1 / 4), strict=True)) | {"routing, best head": 1 / 3}
OURS, TORCH, THEIRS = "ours", "ours, by torch", "source (one seed)"
COLUMNS = ["panel", "series", "epoch", "init_seed", "value"]


def last_epoch(results: Results) -> int:
    """The end of the curriculum's first stage."""
    return int(with_epochs(results.curve("accuracy", "on", split="val"), results)["epoch"].max()) // SHARES


def transition(results: Results) -> View:
    """Accuracy and operators over the first stage, ours and the source's (its figure 3 and transition table)."""
    parts = []
    for split, panel in ACCURACIES.items():
        parts.append(results.curve("accuracy", "on", split=split).assign(panel=panel, series=OURS))
        if per_seed.has(results, PILOT):
            parts.append(results.curve("accuracy", PILOT, split=split).assign(panel=panel, series=TORCH))
    curves = published_curves(results)
    for motif in OPERATORS.values():
        rows = curves[(curves["metric"] == motif) & (curves["family"] == "all") & (curves["arm"] == "on")]
        parts.append(rows.assign(panel=f"{motif}, best head", series=OURS))
    rows = pd.concat([part if "epoch" in part else with_epochs(part, results) for part in parts], ignore_index=True)
    rows = rows[rows["epoch"] <= last_epoch(results)]
    table = pd.concat([rows[COLUMNS], _source_points()], ignore_index=True)
    table = table.assign(chance=table["panel"].map(CHANCE))
    return View(table, "share of prompts", "training prompts (two pairs) and held-out ones (three, four)", BAND)


def _source_points() -> pd.DataFrame:
    panels = {
        "accuracy, val": ACCURACIES["val"], "accuracy, four pairs": ACCURACIES[per_seed.OOD],
        "routing": "routing, best head", "copying": "copying, best head",
    }  # fmt: skip
    return pd.concat(
        [
            pd.DataFrame({"panel": panel, "series": THEIRS, "epoch": PILOT_EPOCHS, "value": SOURCE[quantity]})
            for quantity, panel in panels.items()
        ],
        ignore_index=True,
    )


def optimisation(results: Results) -> View:
    """Loss and gradient norm of each epoch of the first stage (the source's figure 4)."""
    history = results.history[results.history["arm"] == "on"]
    history = history[history["epoch"] <= last_epoch(results)]
    means = history.groupby(["init_seed", "epoch"], observed=True)[["loss", "grad_norm"]].mean().reset_index()
    named = means.rename(columns={"loss": "training loss", "grad_norm": "gradient norm"})
    table = named.melt(["init_seed", "epoch"], var_name="panel", value_name="value").assign(series=OURS)
    table = table.assign(unit=table["panel"].map({"training loss": "nats", "gradient norm": "norm"}))
    return View(table[[*COLUMNS, "unit"]], "nats, and norm", "training prompts, mean of each epoch", BAND)


def losses(results: Results) -> View:
    """Accuracy lost without each head at the end of the first stage (the source's figure 5).

    A head's index within its layer means nothing across seeds, so heads are called by their loss within the layer.
    """
    rows = per_seed.at_epoch(results, last_epoch(results), "ablation_drop_published", "on")
    ours = rows.assign(series=OURS)[["layer", "init_seed", "value", "series"]]
    theirs = pd.DataFrame(
        [
            {"layer": int(head[1]), "init_seed": None, "value": drop, "series": THEIRS}
            for head, drop in PILOT_DROPS.items()
        ]
    )
    table = pd.concat([ours, theirs], ignore_index=True)
    rank = table.groupby(["series", "layer", table["init_seed"].fillna(-1)])["value"].rank(
        ascending=False, method="first"
    )
    places = zip(table["layer"], rank, strict=True)
    table = table.assign(group=[f"L{layer}, {_nth(int(place))} loss" for layer, place in places])
    table = table.sort_values("group", kind="stable")[["group", "series", "init_seed", "value"]]
    return View(table, "accuracy lost", "all six families", BAND)


def _nth(place: int) -> str:
    return {1: "largest", 2: "smallest"}.get(place, f"{place}.")


def drift(results: Results) -> View:
    """Similarity of representations to the previous checkpoint and to the last one (the source's figure 6)."""
    if results.features.empty:
        raise SelectionError("no features were measured")
    rows = results.features
    rows = rows[(rows["kind"] == "drift") & (rows["metric"] == "cka") & (rows["arm"] == "on")]
    sites = {"L0.resid_post": "stream after layer 0", "L1.resid_post": "stream after layer 1"}
    rows = rows[rows["site"].astype(str).isin(list(sites))]
    final = rows.groupby("run_id", observed=True)["step"].transform("max")
    against = (rows["other_step"] == final).map({True: "against the end", False: ""})
    against = against.where(
        against != "",
        (rows["other_step"] == 0).map({True: "against the start", False: "against the checkpoint before"}),
    )
    table = with_epochs(rows.assign(panel=rows["site"].astype(str).map(sites), series=against), results)
    return View(table[COLUMNS], "linear CKA", "a sample of all six families", note="Networks with the curriculum")


VIEWS = {
    "pilot": transition,
    "pilot_optimisation": optimisation,
    "pilot_losses": losses,
    "drift": drift,
}
