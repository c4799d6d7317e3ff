"""Recall of a permutation shown pair by pair: by which part, at which size, and what the source's comparison left open.

Source: "Can a Tiny Transformer Learn to Remember?", with its author's notebook.
"""

from retrieval_circuits.permutation_recall.checks import CHECKS
from retrieval_circuits.permutation_recall.claims import CLAIMS
from retrieval_circuits.permutation_recall.design import Params, instruments, published_epochs, recipes
from retrieval_circuits.permutation_recall.explorer import explorer
from retrieval_circuits.permutation_recall.figures import dissection as dissection_views
from retrieval_circuits.permutation_recall.figures import factorial as factorial_views
from retrieval_circuits.permutation_recall.figures import replication as replication_views
from retrieval_circuits.permutation_recall.figures.weights import patterns
from retrieval_circuits.permutation_recall.game import displayed, game

__all__ = [
    "CHECKS", "CLAIMS", "EXPLORERS", "VIEWS", "WEIGHT_VIEWS", "Params", "instruments", "published_epochs", "recipes",
]  # fmt: skip

VIEWS = {
    view.__name__: view
    for module, names in {
        replication_views: ("loss", "steps", "held_out", "splits", "leaning", "skills", "probes"),
        factorial_views: ("success", "survival", "effects", "cells", "widths"),
        dissection_views: (
            *("edges", "ffn", "neurons", "needed", "decoding", "moves", "positions", "roles", "apart", "attention"),
        ),
    }.items()
    for view in (getattr(module, name) for name in names)
}

EXPLORERS = {"explorer": explorer, "game": game}
WEIGHT_VIEWS = {"displayed": displayed, "patterns": patterns}
