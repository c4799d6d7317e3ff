"""The scan over symbols, width and layers: which width recalls."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from livingpaper.claims.claim import Results
from retrieval_circuits.permutation_recall.claims import LEARNT
from retrieval_circuits.permutation_recall.design import WIDTHS

MOST = 64.0
"""Stands for "none of the widths tried": twice the widest."""


@dataclass(frozen=True)
class Smallest:
    """Smallest width that recalls: rows (seed, layers), columns V; ``MOST`` where none of those tried does."""

    table: pd.DataFrame

    def growth(self, n_layers: int) -> pd.Series:
        """Doublings from the least V to the largest, by seed."""
        of = np.log2(self.table.xs(n_layers, level="n_layers"))
        return of[of.columns.max()] - of[of.columns.min()]

    @property
    def two_layers_always(self) -> bool:
        """Whether two layers of some width recall at every V, in every seed."""
        return bool((self.table.xs(2, level="n_layers") < MOST).all(axis=None))

    @property
    def words(self) -> str:
        """For the control."""
        return "they do" if self.two_layers_always else "not at every V"


def scanned(results: Results) -> pd.DataFrame:
    """Recall at the end of every network of the scan: ``n_symbols d_model n_layers init_seed value``."""
    named = {str(width): width for width in WIDTHS}
    rows = results.at_final("recall", variable="")
    rows = rows[rows["arm"].isin(named)]
    points = [named[str(arm)]._asdict() for arm in rows["arm"]]
    return pd.DataFrame(points, columns=["n_symbols", "d_model", "n_layers"]).assign(
        init_seed=rows["init_seed"].to_numpy(), value=rows["value"].to_numpy(), arm=rows["arm"].astype(str).to_numpy()
    )


def smallest_widths(results: Results) -> Smallest | None:
    """The smallest width with which each seed recalls, or None where nothing was scanned."""
    rows = scanned(results)
    if rows.empty:
        return None
    width = rows["d_model"].where(rows["value"] >= LEARNT, MOST).astype(float)
    found = rows.assign(width=width).groupby(["init_seed", "n_layers", "n_symbols"])["width"].min().unstack("n_symbols")
    return Smallest(found)
