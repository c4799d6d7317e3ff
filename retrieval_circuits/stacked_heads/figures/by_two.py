"""The tables of hops that depend on two symbols."""

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.tasks.conditional import ConditionalRetrieval
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.stacked_heads.design import BY_TWO, WORTH
from retrieval_circuits.stacked_heads.figures.grid import COUNTED, SHOWN

BLOCKS = {
    "triples": ("by_left_0", ("left", "right", "next")),
    "pairs of a symbol and its right one": ("right_key_0", ("own", "right")),
    "pairs of a symbol and its left one": ("left_key_0", ("own", "left")),
    "queries": ("queries", ("own",)),
}
"""What a reader calls a block -> the role that begins an entry, and what stands in it."""


def example_by_two(results: Results) -> View:
    """One row of a hop by two symbols, block by block: letters are chains, ``l`` and ``r`` left and right symbols."""
    batch = ConditionalRetrieval().split("test")
    names = {"own": [f"{chain}0" for chain in "abcd"], "next": [f"{chain}1" for chain in "abcd"]}
    for side in ("left", "right"):
        numbers = _alike(batch.tokens[0, batch.roles[f"by_{side}_0"][0]])
        names[side] = [f"{side[0]}{number}" for number in numbers]
    found = []
    for block, (first, parts) in BLOCKS.items():
        entries = [" ".join(names[part][chain] for part in parts) for chain in batch.roles[first][0].argsort().tolist()]
        shown = entries if len(parts) == 1 else [f"({entry})" for entry in entries]
        found.append({"block": block, "what stands there": "  ".join(shown)})
    return View(pd.DataFrame(found), "one row", "test")


def _alike(vectors: Float[Tensor, "chain width"]) -> list[int]:
    """A number from 1 for each chain, the same where symbols are; the codes of positions behind them are left out."""
    symbols = vectors[:, : ConditionalRetrieval().d_symbol]
    same = (symbols[:, None] == symbols).all(-1).int().argmax(1)
    return (torch.unique(same, return_inverse=True)[1] + 1).tolist()


def by_two(results: Results) -> View:
    """Layers that hops by two symbols take, beside the bound of as many look-ups in a row."""
    rows = results.tables[BY_TWO]
    rows = rows[rows["hops"].isin(SHOWN)]
    wide = rows.pivot(index="hops", columns="variant", values="layers")[list(COUNTED)].rename(columns=COUNTED)
    wide.insert(0, "the source's bound for two look-ups a hop", rows.groupby("hops")["bound_layers"].first())
    table = wide.reset_index().rename(columns={"hops": "hops by two symbols"}).rename_axis(columns=None)
    return View(table.assign(arm=BY_TWO), "layers", "no rows")


def worth(results: Results) -> View:
    """The squared error of who knows so much of a hop and answers with the mean of what is left."""
    rows = results.tables[WORTH].rename(columns={"knows": "group", "error": "value"})
    return View(rows[["group", "candidates", "arm", "value"]], "squared error", "test")


BY_TWO_VIEWS = {view.__name__: view for view in (example_by_two, by_two, worth)}
