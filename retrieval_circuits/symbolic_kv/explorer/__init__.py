"""The study's explorers: the chapter's, and the front page's."""

from retrieval_circuits.symbolic_kv.explorer.chapter import explorer
from retrieval_circuits.symbolic_kv.explorer.front import front

__all__ = ["explorer", "front"]
