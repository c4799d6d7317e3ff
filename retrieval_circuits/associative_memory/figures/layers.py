"""The tables behind the figures on layers that keep facts: where these are, and what new embeddings recall."""

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.associative_memory.design import BIJECTIONS, BIJECTIVE, LAYER_WIDTH, PLACES, TRANSFERS
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
    columns = {"first": "first", "refitted": "refit", "new": "trained", "composed": "sums", "recomposed": "anew"}
    rows = rows.assign(panel=sizes, row=rows["rest"].astype(str).map(RESTS_SHOWN))
    means = rows.groupby(["arm", "panel", "row"], observed=True)[list(columns)].mean().reset_index()
    table = means.melt(["arm", "panel", "row"], list(columns), "column")
    table = table.assign(column=table["column"].map(columns))
    table = in_order(in_order(table, "row", RESTS_SHOWN.values()), "panel", dict.fromkeys(sizes))
    table = in_order(table, "column", columns.values())
    note = f"Mean over {rows['init_seed'].nunique()} seeds; {LAYER_WIDTH} channels, {BIJECTIVE[2]} for bijections, "
    note += "where a guess is right in one of as many as subjects. Rows: layers that learnt the first "
    note += "facts with embeddings learnt, or frozen, which makes it a memory; raw layers, never trained, one louder. "
    note += "Refit: the first facts by sums of what each answer adds to the first embeddings. New facts by embeddings "
    note += "that are trained, by such sums (composed), or by sums anew, of embeddings trained anew on the first facts "
    note += f"(recomposed). Else a guess is right in {CHANCE:g}"
    return View(table[["arm", "panel", "row", "column", "value"]], "share of facts", FACTS_ASKED, note=note)


LAYER_VIEWS = {view.__name__: view for view in (kept, transferred)}
