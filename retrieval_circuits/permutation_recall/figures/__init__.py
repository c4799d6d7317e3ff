"""The table behind each figure of the chapter, with what its caption must say."""

from retrieval_circuits.permutation_recall.figures import dissection, factorial, replication, weights
from retrieval_circuits.permutation_recall.figures.factorial import size_numbers
from retrieval_circuits.permutation_recall.figures.replication import skill_numbers

__all__ = ["VIEWS", "WEIGHT_VIEWS", "size_numbers", "skill_numbers"]

VIEWS = {**replication.VIEWS, **factorial.VIEWS, **dissection.VIEWS}
WEIGHT_VIEWS = weights.VIEWS
