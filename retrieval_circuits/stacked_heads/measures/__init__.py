"""What is measured on networks that follow chains."""

from retrieval_circuits.stacked_heads.measures.circuit import Reading, read_circuit
from retrieval_circuits.stacked_heads.measures.scores import Counts, chain_scores

__all__ = ["Counts", "Reading", "chain_scores", "read_circuit"]
