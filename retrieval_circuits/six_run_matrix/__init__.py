"""The six-run matrix: two curricula, their births, and what of the source's account survives ten seeds.

Source: sections 3 and 4 of "Retrieval Motif Emergence in Small Transformers" (Alex 2026). Its block1 is layer 0 here.
"""

from retrieval_circuits.design import FALSE_ALARMS
from retrieval_circuits.six_run_matrix.claims import CIRCUIT_CLAIMS, CLAIMS
from retrieval_circuits.six_run_matrix.design import Params, data_set_of, instruments, published_epochs, recipes
from retrieval_circuits.six_run_matrix.explorer import explorer
from retrieval_circuits.six_run_matrix.figures import VIEWS

__all__ = [
    "CIRCUIT_CLAIMS",
    "CLAIMS",
    "EXPLORERS",
    "FALSE_ALARMS",
    "VIEWS",
    "Params",
    "data_set_of",
    "instruments",
    "published_epochs",
    "recipes",
]

EXPLORERS = {"explorer": explorer}
