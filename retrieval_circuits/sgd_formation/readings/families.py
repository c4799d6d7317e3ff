"""What claims and figures read of ``families``: which family of sparse features gains most."""

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import FRESH
from retrieval_circuits.sgd_formation.measures.bases import ALL


def of_families(metric: str, fit: str = ALL) -> OfArms:
    """Values of a reading: what ``families`` says of one autoencoder, network by network.

    A network that does not come to read in its training has no number of who leads.
    """

    @of_arms(FRESH)
    def values(results: Results) -> pd.Series:
        rows = results.rows("families", arm=FRESH, variable=fit)
        return rows[rows["metric"] == metric].set_index("init_seed")["value"]

    return values
