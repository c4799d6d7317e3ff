"""Which of several equal heads comes to have a role, and when that is settled: training branched and run again.

Source: nelson960, "From Retrieval Motifs To SGD Circuit Selection" (draft of April 2026).
"""

from retrieval_circuits.sgd_selection.claims import CLAIMS
from retrieval_circuits.sgd_selection.design import Params, instruments, published_epochs, recipes
from retrieval_circuits.sgd_selection.explorer import explorer
from retrieval_circuits.sgd_selection.figures import VIEWS

__all__ = ["CLAIMS", "EXPLORERS", "VIEWS", "Params", "instruments", "published_epochs", "recipes"]

EXPLORERS = {"explorer": explorer}
