"""How retrieval circuits emerge in small transformers: the studies of the paper, one package each."""

from retrieval_circuits.colours import COLOURS

__all__ = ["COLOURS"]
