"""What is measured on networks that read streams."""

from retrieval_circuits.sgd_formation.measures.removals import Removed, part_removed
from retrieval_circuits.sgd_formation.measures.scores import Counts, stream_scores

__all__ = ["Counts", "Removed", "part_removed", "stream_scores"]
