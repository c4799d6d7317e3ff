"""Chains of look-ups: how deep a network must be for them, what must be rewarded, and in which order paths appear.

Source: Musat, "Mechanism and Emergence of Stacked Attention Heads in Multi-Layer Transformers" (ICLR 2025).
"""

from retrieval_circuits.stacked_heads.claims import CLAIMS
from retrieval_circuits.stacked_heads.design import Params, experiments, instruments, published_epochs, recipes
from retrieval_circuits.stacked_heads.explorer import stage
from retrieval_circuits.stacked_heads.figures import VIEWS

__all__ = ["CLAIMS", "EXPLORERS", "VIEWS", "Params", "experiments", "instruments", "published_epochs", "recipes"]

EXPLORERS = {"stage": stage}
