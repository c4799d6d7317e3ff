"""The tables behind the figures of the chapter and of its appendix."""

from retrieval_circuits.sgd_selection.figures import at_length, chapter

VIEWS = chapter.VIEWS | at_length.VIEWS
