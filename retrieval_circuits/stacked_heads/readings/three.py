"""What is read off networks on longer chains: how many symbols are learnt, and where heads look at the end."""

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import Cell
from retrieval_circuits.stacked_heads.readings.grid import LEARNT, final_losses


def symbols_learnt(cell: Cell) -> OfArms:
    """Values of a reading: how many symbols of the chain a network has learnt at the end."""

    @of_arms(str(cell))
    def values(results: Results) -> pd.Series:
        table = final_losses(results, cell)
        return (table["value"] < LEARNT).groupby(table["init_seed"]).sum()

    return values


def looked_along(cell: Cell, *links: tuple[str, str]) -> OfArms:
    """Values of a reading: attention at the end along any of the links, of the head that has most of it."""

    @of_arms(str(cell))
    def values(results: Results) -> pd.Series:
        rows = results.tables["links"]
        rows = rows[(rows["arm"] == str(cell)) & rows["site"].astype(str).isin([">".join(link) for link in links])]
        return rows.groupby("init_seed")["value"].max()

    return values
