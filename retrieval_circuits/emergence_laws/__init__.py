"""Laws of emergence: how long networks wait until they recall, by context, batch, width, heads, repeated rows, seed.

Sources: Musat et al. (2025), Aoyama et al. (2025), Zucchet et al. (2025), Liu (2026), Baherwani et al. (2026).
"""

from retrieval_circuits.emergence_laws.claims import CLAIMS
from retrieval_circuits.emergence_laws.design import Params, experiments, instruments, published_epochs, recipes
from retrieval_circuits.emergence_laws.explorer import explorer
from retrieval_circuits.emergence_laws.figures import VIEWS

__all__ = ["CLAIMS", "EXPLORERS", "VIEWS", "Params", "experiments", "instruments", "published_epochs", "recipes"]

EXPLORERS = {"explorer": explorer}
