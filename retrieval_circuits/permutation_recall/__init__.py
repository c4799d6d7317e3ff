"""Recall of a permutation shown pair by pair: by which part, at which size, and what the source's comparison left open.

Source: "Can a Tiny Transformer Learn to Remember?", with its author's notebook.
"""

from retrieval_circuits.permutation_recall.claims import CLAIMS
from retrieval_circuits.permutation_recall.design import Params, instruments, published_epochs, recipes
from retrieval_circuits.permutation_recall.explorer import explorer
from retrieval_circuits.permutation_recall.figures import VIEWS, WEIGHT_VIEWS
from retrieval_circuits.permutation_recall.game import game

__all__ = [
    "CLAIMS",
    "EXPLORERS",
    "VIEWS",
    "WEIGHT_VIEWS",
    "Params",
    "instruments",
    "published_epochs",
    "recipes",
]

EXPLORERS = {"explorer": explorer, "game": game}
