"""How far apart the births of one run lie: the one definition that claims, figures and the birth lab share."""

from collections.abc import Sequence

import pandas as pd

from circuitcore.emergence.births import dates
from circuitcore.ground.spelling import unknown


def spreads(births: pd.DataFrame, motifs: Sequence[str], by: Sequence[str] = ("arm", "init_seed")) -> pd.DataFrame:
    """From the first to the last birth of these motifs in each run.

    A motif that is never born is left out of its run. A run with a single birth has spread 0; one without any has
    none.

    Args:
        births: what ``emergence.births.births`` gives: ``motif``, ``by`` and the columns in ``by``.
        motifs: the motifs between whose births to measure.
        by: the columns that tell runs apart.

    Returns:
        Indexed by the columns in ``by``: ``spread`` in the unit of ``births["by"]`` (NaN without a birth), and
        ``born``, how many of the motifs are.

    Raises:
        ValueError: a motif that the table does not have.
    """
    known = {str(motif) for motif in births["motif"].unique()}
    for motif in motifs:
        if motif not in known:
            raise ValueError(unknown("motif", motif, known))
    dated = births[births["motif"].isin(list(motifs))]
    runs = dated.assign(by=dates(dated)).groupby(list(by), observed=True)["by"]
    return pd.DataFrame({"spread": runs.max() - runs.min(), "born": runs.count()})


def spread_per_seed(births: pd.DataFrame, motifs: Sequence[str], by: Sequence[str] = ("arm", "init_seed")) -> pd.Series:
    """Mean spread over the runs of each seed, since runs that share a seed are no independent evidence.

    Returns:
        Indexed by ``init_seed``, in the unit of ``births["by"]``; seeds without any birth have no row. The spread
        "in the mean" is the mean of this series.
    """
    found = spreads(births, motifs, by)["spread"].dropna()
    return found.groupby(level="init_seed").mean()
