"""One small decoder, its named sites, and edits of it as values."""

from circuitcore.models.config import ModelConfig
from circuitcore.models.edits import Ablate, Attend, CutEdge, Patch
from circuitcore.models.plan import compile_edits
from circuitcore.models.sites import Head, Mlp, Site
from circuitcore.models.transformer import Output, forward, init_weights

__all__ = [
    "Ablate",
    "Attend",
    "CutEdge",
    "Head",
    "Mlp",
    "ModelConfig",
    "Output",
    "Patch",
    "Site",
    "compile_edits",
    "forward",
    "init_weights",
]
