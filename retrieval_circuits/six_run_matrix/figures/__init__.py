"""The table behind each figure of the chapter, with what its caption must say."""

from retrieval_circuits.six_run_matrix.figures import birth_lab, forced, inference, matrix, pilot

VIEWS = {**pilot.VIEWS, **matrix.VIEWS, "birth_lab": birth_lab.birth_lab, **inference.VIEWS, **forced.VIEWS}
