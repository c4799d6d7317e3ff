"""Figures on training: accuracy, arms, births and the gates that date them."""

import numpy as np
import pandas as pd

from circuitcore.emergence.births import dated
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.bounds import IN_CONTEXT
from retrieval_circuits.design import BAND
from retrieval_circuits.symbolic_kv.design import ARMS, TRAINED
from retrieval_circuits.symbolic_kv.figures.words import GUESSES, ROWS_SWEPT, SPLITS
from retrieval_circuits.symbolic_kv.readings import (
    MOTIFS,
    motif_births,
    operator_births_by_gate,
    unrest,
)


def training(results: Results) -> View:
    """Accuracy on each split at every checkpoint."""
    rows = results.curve("accuracy", TRAINED, split=list(SPLITS))
    table = rows.assign(series=rows["split"].astype(str).map(SPLITS))[["step", "series", "init_seed", "value"]]
    table = in_order(table, "series", SPLITS.values())
    return View(table, "accuracy", "train, val, test, four pairs", BAND, IN_CONTEXT, "Chance with four pairs: 1/4.")


def arms(results: Results) -> View:
    """Final test accuracy of every arm, and of the untrained network.

    With shuffled targets a prompt says nothing of its answer: a guess is one among all values there.
    """
    first = results.curve("accuracy", TRAINED, split="test")
    groups = [first[first["step"] == 0].assign(group="untrained", arm=TRAINED)]
    for arm in results.arms:
        groups.append(results.at_final("accuracy", arm, split="test").assign(group=ARMS[arm], arm=arm))
        if arm == "shuffled targets":
            train = results.at_final("accuracy", arm, split="train")
            groups.append(train.assign(group=f"{ARMS[arm]}, on train", arm=arm))
    table = pd.concat(groups, ignore_index=True)[["group", "arm", "init_seed", "value"]]
    note = _one_layer_on_the_way(results)
    return View(table, "accuracy", "test (unless said)", BAND, note=note, levels=GUESSES)


def _one_layer_on_the_way(results: Results) -> str:
    """What networks of one layer answer of new prompts at half of training, at the end, and whether they rest then."""
    if "one layer" not in results.arms:
        return ""
    rows = results.curve("accuracy", "one layer", split="test")
    at_half = rows[rows["step"] == rows["step"].drop_duplicates().median()]["value"].mean()
    at_end = rows[rows["step"] == rows["step"].max()]["value"].mean()
    moves = unrest(results, "one layer")
    return (
        f"One layer at half of training, in the mean: {at_half:.2f}; at the end: {at_end:.2f}. Over the last quarter "
        f"single networks of it move by {moves.min():.2f} to {moves.max():.2f}."
    )


def births(results: Results) -> View:
    """In how many networks each motif is born by each checkpoint."""
    born, steps = motif_births(results), sorted(results.curve("accuracy", TRAINED)["step"].unique())
    shares = [
        # A birth that never happens is missing, which a mean would leave out.
        pd.DataFrame({"step": steps, "value": [float((by <= step).mean()) for step in steps], "series": motif})
        for motif, by in born["by"].astype("float64").groupby(born["motif"], sort=False)
    ]
    table = pd.concat(shares, ignore_index=True).assign(init_seed=np.nan, panel="networks of two layers")
    table = in_order(table, "series", MOTIFS)
    never = born[born["by"].isna()].groupby("motif").size()
    note = "Never born: " + "; ".join(f"{motif}, in {never.get(motif, 0)}" for motif in MOTIFS) + "."
    return View(
        table[["panel", "step", "series", "init_seed", "value"]],
        "share of networks in which it is born",
        "validation prompts and " + ROWS_SWEPT,
        note=f"{len(results.seeds(TRAINED))} networks. {note}",
    )


def gates(results: Results) -> View:
    """First checkpoint at which the two operators pass, under three gates."""
    born = dated(operator_births_by_gate(results)).rename(columns={"motif": "group", "gate": "series"})
    return View(
        born[["group", "series", "init_seed", "value", "there"]],
        "training step of the birth",
        "the counterfactual families of the trained length (published gate: all six)",
        BAND,
        note=f"Open: {(~born['there']).sum()} of {len(born)} births, which do not happen by the end",
    )
