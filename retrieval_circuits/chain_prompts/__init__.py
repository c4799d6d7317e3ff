"""The prompts of stacked heads as all that small networks are trained on: which of their links are looked up.

Source: Musat, "Mechanism and Emergence of Stacked Attention Heads in Multi-Layer Transformers" (ICLR 2025), section 4,
which asks language models.
"""

from retrieval_circuits.chain_prompts.claims import CLAIMS
from retrieval_circuits.chain_prompts.design import Params, experiments, instruments, recipes
from retrieval_circuits.chain_prompts.figures import VIEWS

__all__ = ["CLAIMS", "VIEWS", "Params", "experiments", "instruments", "recipes"]
