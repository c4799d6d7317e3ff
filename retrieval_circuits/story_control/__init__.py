"""The negative control as published, controls that could fail, and one that must not: how often the battery errs.

Source: section 2 of "Retrieval Motif Emergence in Small Transformers" (Alex 2026).
"""

from retrieval_circuits.story_control.claims import CLAIMS
from retrieval_circuits.story_control.design import Params, instruments, published_epochs, recipes
from retrieval_circuits.story_control.explorer import planted, story
from retrieval_circuits.story_control.figures import VIEWS

__all__ = [
    "CLAIMS",
    "EXPLORERS",
    "VIEWS",
    "Params",
    "instruments",
    "published_epochs",
    "recipes",
]

EXPLORERS = {"story": story, "planted": planted}
