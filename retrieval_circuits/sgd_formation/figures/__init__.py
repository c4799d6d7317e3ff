"""The tables behind the figures of the chapter and of its appendix."""

from retrieval_circuits.sgd_formation.figures import chapter, families, hypotheses, known, late, neurons, source_network

VIEWS = (
    chapter.VIEWS | known.VIEWS | late.VIEWS | neurons.VIEWS | hypotheses.VIEWS | source_network.VIEWS | families.VIEWS
)
