"""What is computed on bigrams: networks of one and two layers, three single steps, a trigger with a noisy bigram."""

from retrieval_circuits.bigrams_and_composition.measures.everything import Generic, everything
from retrieval_circuits.bigrams_and_composition.measures.grid import RIGHT_ANGLES, Grid, three_steps_by_both
from retrieval_circuits.bigrams_and_composition.measures.network import K1, K2, O2
from retrieval_circuits.bigrams_and_composition.measures.noise import Noisy, noisy
from retrieval_circuits.bigrams_and_composition.measures.prose import Letters, counts, letters
from retrieval_circuits.bigrams_and_composition.measures.samples import ATTENTION, MLP, Samples, samples
from retrieval_circuits.bigrams_and_composition.measures.snapshots import Snapshots, snapshots
from retrieval_circuits.bigrams_and_composition.measures.steps import AS_PRINTED, ORDERS, Steps, three_steps
from retrieval_circuits.bigrams_and_composition.measures.training import Learning, Task, Way, learning, shortened
from retrieval_circuits.bigrams_and_composition.measures.wide import Widths, three_steps_by_width

__all__ = [
    "AS_PRINTED",
    "ATTENTION",
    "K1",
    "K2",
    "O2",
    "ORDERS",
    "MLP",
    "RIGHT_ANGLES",
    "Generic",
    "Grid",
    "Learning",
    "Letters",
    "Noisy",
    "Samples",
    "Snapshots",
    "Steps",
    "Task",
    "Way",
    "Widths",
    "counts",
    "everything",
    "learning",
    "letters",
    "noisy",
    "samples",
    "shortened",
    "snapshots",
    "three_steps",
    "three_steps_by_both",
    "three_steps_by_width",
]
