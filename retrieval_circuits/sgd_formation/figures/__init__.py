"""The tables behind the figures of the chapter and of its appendix."""

from retrieval_circuits.sgd_formation.figures import (
    chapter,
    families,
    hypotheses,
    known,
    late,
    neurons,
    shortcut,
    source_network,
    streams,
)

VIEWS = {
    name: view
    for part in (streams, chapter, known, late, neurons, hypotheses, shortcut, source_network, families)
    for name, view in part.VIEWS.items()
}
