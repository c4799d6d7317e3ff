"""What is measured on networks that read streams."""

from retrieval_circuits.sgd_formation.measures.attribution import Attributed, margin_parts
from retrieval_circuits.sgd_formation.measures.removals import Removed, part_removed
from retrieval_circuits.sgd_formation.measures.scores import Counts, stream_scores

__all__ = ["Attributed", "Counts", "Removed", "margin_parts", "part_removed", "stream_scores"]
