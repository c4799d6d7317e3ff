"""The tables behind the figures of the chapter and of its appendix."""

from retrieval_circuits.sgd_formation.figures import chapter, hypotheses

VIEWS = chapter.VIEWS | hypotheses.VIEWS
