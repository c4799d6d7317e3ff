"""What is measured on networks that follow chains."""

from retrieval_circuits.stacked_heads.measures.circuit import Reading, read_circuit
from retrieval_circuits.stacked_heads.measures.scores import Counts, chain_scores
from retrieval_circuits.stacked_heads.measures.theory import Flow, OneLayer, information_flow, one_layer
from retrieval_circuits.stacked_heads.measures.tries import exchanged_values, false_paths, named_paths

__all__ = [
    "Counts",
    "Flow",
    "OneLayer",
    "Reading",
    "chain_scores",
    "exchanged_values",
    "false_paths",
    "information_flow",
    "named_paths",
    "one_layer",
    "read_circuit",
]
