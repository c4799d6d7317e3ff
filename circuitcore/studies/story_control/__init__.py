"""The negative control as published, controls that could fail, and one that must not: how often the battery errs.

Source: section 2 of "Retrieval Motif Emergence in Small Transformers" (Alex 2026).
"""

from circuitcore.studies.story_control.checks import CHECKS
from circuitcore.studies.story_control.claims import CLAIMS, PUBLISHED
from circuitcore.studies.story_control.design import Params, battery, published_epochs, recipes
from circuitcore.studies.story_control.explorer import planted, story
from circuitcore.studies.story_control.pieces import false_positives
from circuitcore.studies.story_control.views import VIEWS

__all__ = [
    "CHECKS",
    "CLAIMS",
    "EXPLORERS",
    "PUBLISHED",
    "VIEWS",
    "Params",
    "battery",
    "false_positives",
    "published_epochs",
    "recipes",
]

EXPLORERS = {"story": story, "planted": planted}
