"""What is computed on memories: counts, matrices trained alone, gradients, facts learnt by one layer."""

from retrieval_circuits.associative_memory.measures.facts import NEAR, Facts, Recalls, recall
from retrieval_circuits.associative_memory.measures.frequencies import Zipf, zipf
from retrieval_circuits.associative_memory.measures.gradient import Lemma, Noise, label_noise, lemma
from retrieval_circuits.associative_memory.measures.hidden import OUTPUT_LAYER, WHOLE, Hidden, hidden_layer
from retrieval_circuits.associative_memory.measures.inequalities import Exact, exact
from retrieval_circuits.associative_memory.measures.sums import Sizes, capacity
from retrieval_circuits.associative_memory.measures.training import Trained, trained

__all__ = [
    "NEAR",
    "OUTPUT_LAYER",
    "WHOLE",
    "Exact",
    "Facts",
    "Hidden",
    "Lemma",
    "Noise",
    "Recalls",
    "Sizes",
    "Trained",
    "Zipf",
    "capacity",
    "exact",
    "hidden_layer",
    "label_noise",
    "lemma",
    "recall",
    "trained",
    "zipf",
]
