"""What is measured on networks that read streams."""

from retrieval_circuits.sgd_formation.measures.attribution import Attributed, margin_parts
from retrieval_circuits.sgd_formation.measures.benchmark import Benchmark, our_rules, source_rules
from retrieval_circuits.sgd_formation.measures.cuts import Cut, cut_looks
from retrieval_circuits.sgd_formation.measures.families import Followed, feature_families
from retrieval_circuits.sgd_formation.measures.features import Featured, feature_births
from retrieval_circuits.sgd_formation.measures.floors import our_floor, source_floor
from retrieval_circuits.sgd_formation.measures.geometry import Examples, example_geometry
from retrieval_circuits.sgd_formation.measures.hypotheses import Hypotheses, hypothesis_tests
from retrieval_circuits.sgd_formation.measures.known import Known, known_scores
from retrieval_circuits.sgd_formation.measures.links import Linked, link_tests
from retrieval_circuits.sgd_formation.measures.neurons import Neurons, without_neurons
from retrieval_circuits.sgd_formation.measures.probe_set import Probed, probe_scores
from retrieval_circuits.sgd_formation.measures.removals import Removed, part_removed, parts_needed
from retrieval_circuits.sgd_formation.measures.scores import Counts, joined, stream_scores
from retrieval_circuits.sgd_formation.measures.sizes import SIZES
from retrieval_circuits.sgd_formation.measures.spectra import spectra
from retrieval_circuits.sgd_formation.measures.steps import AtSteps
from retrieval_circuits.sgd_formation.measures.updates import update_shares
from retrieval_circuits.sgd_formation.measures.windows import Window, states_exchanged

__all__ = [
    "SIZES",
    "AtSteps",
    "Attributed",
    "Benchmark",
    "Counts",
    "Cut",
    "Examples",
    "Featured",
    "Followed",
    "Hypotheses",
    "Known",
    "Linked",
    "Neurons",
    "Probed",
    "Removed",
    "Window",
    "cut_looks",
    "example_geometry",
    "feature_births",
    "feature_families",
    "hypothesis_tests",
    "joined",
    "known_scores",
    "link_tests",
    "margin_parts",
    "our_floor",
    "our_rules",
    "part_removed",
    "parts_needed",
    "probe_scores",
    "source_floor",
    "source_rules",
    "spectra",
    "states_exchanged",
    "stream_scores",
    "update_shares",
    "without_neurons",
]
