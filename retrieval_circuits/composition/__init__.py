"""k-fold composition: what must be trained on for several hops, in which order they come, and what a layer adds.

Sources: Wang et al., "Learning Compositional Functions with Transformers from Easy-to-Hard Data" (COLT 2025), and a
lecture by Bietti (2025).
"""

from retrieval_circuits.composition.claims import CLAIMS
from retrieval_circuits.composition.design import Params, instruments, published_epochs, recipes
from retrieval_circuits.composition.design import hidden_of as data_set_of
from retrieval_circuits.composition.explorer import explorer
from retrieval_circuits.composition.figures import VIEWS

__all__ = ["CLAIMS", "EXPLORERS", "VIEWS", "Params", "data_set_of", "instruments", "published_epochs", "recipes"]

EXPLORERS = {"explorer": explorer}
