"""What forms when a network learns to read streams: a shortcut where there is one, a look-up where there is none.

Source: nelson960, "From Retrieval Motifs To SGD Circuit Selection" (draft of April 2026).
"""

from retrieval_circuits.sgd_formation.claims import CLAIMS
from retrieval_circuits.sgd_formation.design import Params, experiments, instruments, published_epochs, recipes
from retrieval_circuits.sgd_formation.explorer import explorer
from retrieval_circuits.sgd_formation.figures import VIEWS

__all__ = ["CLAIMS", "EXPLORERS", "VIEWS", "Params", "experiments", "instruments", "published_epochs", "recipes"]

EXPLORERS = {"explorer": explorer}
