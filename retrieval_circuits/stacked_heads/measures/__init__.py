"""What is measured on networks that follow chains."""

from retrieval_circuits.stacked_heads.measures.circuit import Reading, read_circuit
from retrieval_circuits.stacked_heads.measures.needed import needed_looks
from retrieval_circuits.stacked_heads.measures.scores import Counts, chain_scores
from retrieval_circuits.stacked_heads.measures.theory import (
    Flow,
    HeldOut,
    OneLayer,
    Vocabulary,
    hops_by_two,
    information_flow,
    one_layer,
    one_layer_vocabulary,
    one_of_two,
)
from retrieval_circuits.stacked_heads.measures.tries import exchanged_values, false_paths, final_links, named_paths
from retrieval_circuits.stacked_heads.measures.words import KnownLinks, WordCounts, known_links, word_scores

__all__ = [
    "Counts",
    "Flow",
    "KnownLinks",
    "OneLayer",
    "Reading",
    "Vocabulary",
    "WordCounts",
    "HeldOut",
    "chain_scores",
    "exchanged_values",
    "false_paths",
    "final_links",
    "hops_by_two",
    "information_flow",
    "known_links",
    "named_paths",
    "needed_looks",
    "one_layer",
    "one_layer_vocabulary",
    "one_of_two",
    "read_circuit",
    "word_scores",
]
