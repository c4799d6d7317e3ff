"""The tables behind the figures of the chapter and of its appendix, and numbers that sentences name."""

from retrieval_circuits.sgd_selection.figures import at_length, changes, chapter, descent, given, large
from retrieval_circuits.sgd_selection.figures.chapter import numbers

__all__ = ["VIEWS", "numbers"]

VIEWS = chapter.VIEWS | changes.CHANGES | descent.DESCENTS | given.GIVENS | at_length.VIEWS | large.VIEWS
