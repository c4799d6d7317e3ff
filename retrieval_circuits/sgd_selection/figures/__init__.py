"""The tables behind the figures of the chapter and of its appendix."""

from retrieval_circuits.sgd_selection.figures import at_length, changes, chapter

VIEWS = chapter.VIEWS | changes.CHANGES | at_length.VIEWS
