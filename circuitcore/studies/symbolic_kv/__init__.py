"""Symbolic key-value retrieval: the chapter that settles what circuit answers ``Q K5 ->``.

Source: section 1 of "Retrieval Motif Emergence in Small Transformers" (Alex 2026). Its heads ``layer1_head0`` .. are
ours minus one: its "layer-1 support" is layer 0 here.
"""

from circuitcore.studies.symbolic_kv.checks import CHECKS
from circuitcore.studies.symbolic_kv.claims import CIRCUIT_CLAIMS, CLAIMS, PUBLISHED
from circuitcore.studies.symbolic_kv.design import Params, battery, published_epochs, recipes
from circuitcore.studies.symbolic_kv.explorer import explorer
from circuitcore.studies.symbolic_kv.views import VIEWS

__all__ = [
    "CHECKS",
    "CIRCUIT_CLAIMS",
    "CLAIMS",
    "EXPLORERS",
    "PUBLISHED",
    "VIEWS",
    "Params",
    "battery",
    "published_epochs",
    "recipes",
]

EXPLORERS = {"explorer": explorer}
