"""Weights as memories: how many pairs a matrix holds, what one gradient step stores, in which order facts are learnt.

Sources: Bietti, "Some Mechanisms in Transformers and their Emergence" (lecture, 2025), and papers behind it: Nichani
et al. (ICLR 2025), Cabannes et al. (ICLR 2024), Bietti et al. (NeurIPS 2023).
"""

from retrieval_circuits.associative_memory.claims import CLAIMS
from retrieval_circuits.associative_memory.design import Params, experiments, instruments, recipes
from retrieval_circuits.associative_memory.explorer import pad
from retrieval_circuits.associative_memory.figures import VIEWS

__all__ = ["CLAIMS", "EXPLORERS", "VIEWS", "Params", "experiments", "instruments", "recipes"]

EXPLORERS = {"pad": pad}
