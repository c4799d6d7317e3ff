"""The table behind each figure of the chapter, with what its caption must say."""

from retrieval_circuits.permutation_recall.figures import dissection, factorial, replication, weights

VIEWS = {**replication.VIEWS, **factorial.VIEWS, **dissection.VIEWS}
WEIGHT_VIEWS = weights.VIEWS
