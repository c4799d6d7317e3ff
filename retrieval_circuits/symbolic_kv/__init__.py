"""Symbolic key-value retrieval: the chapter that settles what circuit answers ``Q K5 ->``.

Source: section 1 of "Retrieval Motif Emergence in Small Transformers" (Alex 2026). Its heads ``layer1_head0`` .. are
ours minus one: its "layer-1 support" is layer 0 here.
"""

from retrieval_circuits.design import FALSE_ALARMS
from retrieval_circuits.symbolic_kv.claims import CIRCUIT_CLAIMS, CLAIMS
from retrieval_circuits.symbolic_kv.design import Params, data_set_of, instruments, published_epochs, recipes
from retrieval_circuits.symbolic_kv.explorer import explorer, front
from retrieval_circuits.symbolic_kv.figures import VIEWS

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

EXPLORERS = {"explorer": explorer, "front": front}
