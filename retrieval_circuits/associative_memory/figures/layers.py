"""The tables behind the figures on layers that keep facts: where these are, and what new embeddings recall."""

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.associative_memory.design import (
    BIJECTIONS,
    BIJECTIVE,
    BIJECTIVE_MANY,
    LAYER_WIDTH,
    PLACES,
    TRANSFERS,
)
from retrieval_circuits.associative_memory.measures.transfers import LEARNT, LOUDER, MEMORY, UNTRAINED

REMOVED = {"accuracy": "whole", "without_attention": "less attention", "without_mlp": "less MLP"}
WHOLES = {"both": "both", "attention": "MLP raw", "mlp": "att. raw"}
"""What is trained of a layer that has both parts -> what a row calls it, in as few letters as a phone shows."""
RESTS_SHOWN = {LEARNT: "learnt", MEMORY: "frozen", UNTRAINED: "raw", LOUDER: "louder"}
"""How the layer behind embeddings came about -> what a row calls it."""
CHANCE = 1 / 4
FACTS_ASKED = "all facts"


def kept(results: Results) -> View:
    """Facts recalled by every layer, and where the subjects are taken out of what a part writes."""
    rows = results.rows(PLACES)
    alone = rows["part"].astype(str).map({"attention": "att.", "mlp": "MLP"})
    sizes = alone + rows["n_parameters"].map(" {:,}".format)
    rows = rows.assign(row=sizes.fillna(rows["trained"].astype(str).map(WHOLES)))
    means = rows.groupby(["arm", "embeddings", "row"], observed=True)[list(REMOVED)].mean()
    for name in set(REMOVED) - {"accuracy"}:
        means.loc[~means.index.get_level_values("row").isin(WHOLES.values()), name] = np.nan
    table = means.reset_index().melt(["arm", "embeddings", "row"], list(REMOVED), "column")
    table = table.assign(column=table["column"].map(REMOVED), panel="embeddings " + table["embeddings"].astype(str))
    table = in_order(table, "row", rows["row"].drop_duplicates())
    note = f"Mean over {rows['init_seed'].nunique()} seeds. Numbers beside a part count its parameters; layers with "
    note += (
        f"both have {rows['n_parameters'].max():,}, of which a raw part was not trained. Less a part: what it writes "
    )
    note += f"is averaged over subjects. Chance: {CHANCE:g}"
    return View(table[["arm", "panel", "row", "column", "value"]], "share of facts", FACTS_ASKED, note=note)


def transferred(results: Results) -> View:
    """New facts by new embeddings, trained and composed, by how the layer behind them came about."""
    kinds = {TRANSFERS: "", BIJECTIONS: ", bijections"}
    rows = pd.concat([results.rows(name).assign(kind=words) for name, words in kinds.items()], ignore_index=True)
    sizes = [f"{r} relations, {s} subjects{k}" for s, r, k in rows[["n_subjects", "n_relations", "kind"]].to_numpy()]
    columns = {"first": "first", "refitted": "refit", "new": "trained"}
    columns |= {"composed": "sums", "recomposed": "anew"}  # longer words would stand upright on a phone
    rows = rows.assign(panel=sizes, row=rows["rest"].astype(str).map(RESTS_SHOWN))
    means = rows.groupby(["arm", "panel", "row"], observed=True)[list(columns)].mean().reset_index()
    table = means.melt(["arm", "panel", "row"], list(columns), "column")
    table = table.assign(column=table["column"].map(columns))
    table = in_order(in_order(table, "row", RESTS_SHOWN.values()), "panel", dict.fromkeys(sizes))
    table = in_order(table, "column", columns.values())
    guesses = " and ".join(f"1/{n_subjects}" for n_subjects, *_ in (BIJECTIVE, BIJECTIVE_MANY))
    note = f"Mean over {rows['init_seed'].nunique()} seeds; {LAYER_WIDTH} channels, {BIJECTIVE[2]} for bijections. "
    note += "Rows: layers that learnt the first facts with embeddings learnt, or frozen, which makes the layer a "
    note += "memory; raw layers, never trained, one louder. Refit: the first facts by sums of what each answer adds to "
    note += "the first embeddings. New facts by embeddings that are trained, by such sums (composed), or anew: by sums "
    note += "of embeddings that were trained again on the first facts "
    note += f"(recomposed). Chance: {guesses} for bijections, else {CHANCE:g}"
    return View(table[["arm", "panel", "row", "column", "value"]], "share of facts", FACTS_ASKED, note=note)


def removal_in_words(kept: View) -> dict[str, str]:
    """Facts that a layer whose MLP was never trained loses where subjects are taken out of a part: name -> points."""
    table = kept.published.set_index(["panel", "row", "column"])["value"].sort_index()
    found = {}
    for embeddings in ("frozen", "learnt"):
        shares = table[f"embeddings {embeddings}", WHOLES["attention"]]
        for part, column in (("attention", "without_attention"), ("mlp", "without_mlp")):
            lost = shares[REMOVED["accuracy"]] - shares[REMOVED[column]]
            found[f"raw_{embeddings}_{part}"] = f"{100 * lost:.0f} points"
    return found


def recomposed_in_words(transferred: View) -> dict[str, str]:
    """New bijections by recomposed embeddings, in front of a memory and of layers never trained: name -> share."""
    table = transferred.published.set_index(["panel", "row", "column"])["value"].sort_index()
    found = {}
    for n_subjects, n_relations, _ in (BIJECTIVE, BIJECTIVE_MANY):
        shares = table[f"{n_relations} relations, {n_subjects} subjects, bijections"].xs("anew", level="column")
        found |= {f"recomposed_{row}_{n_subjects}": f"{shares[row]:.0%}" for row in ("frozen", "raw", "louder")}
    return {name: share.replace("%", " %") for name, share in found.items()}


LAYER_VIEWS = {view.__name__: view for view in (kept, transferred)}
