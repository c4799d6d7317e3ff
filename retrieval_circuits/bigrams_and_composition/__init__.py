"""Bigrams: one layer against two, the order in which three memories are learnt, and noise that an MLP takes.

Sources: Bietti, "Some Mechanisms in Transformers and their Emergence" (lecture, 2025), and papers behind it: Bietti et
al. (NeurIPS 2023), Chen, Bruna and Bietti (ICLR 2025).
"""

from retrieval_circuits.bigrams_and_composition.claims import CLAIMS
from retrieval_circuits.bigrams_and_composition.design import Params, experiments, instruments, recipes
from retrieval_circuits.bigrams_and_composition.explorer import film
from retrieval_circuits.bigrams_and_composition.figures import VIEWS

__all__ = ["CLAIMS", "EXPLORERS", "VIEWS", "Params", "experiments", "instruments", "recipes"]

EXPLORERS = {"film": film}
