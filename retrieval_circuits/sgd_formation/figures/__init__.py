"""The tables behind the figures of the chapter and of its appendix."""

from retrieval_circuits.sgd_formation.figures import (
    chapter,
    families,
    hypotheses,
    known,
    large,
    late,
    needs,
    neurons,
    rises,
    shortcut,
    source_network,
    streams,
    updates,
    windows,
)

VIEWS = {
    name: view
    for part in (
        *(streams, chapter, known, late, neurons, hypotheses, shortcut),
        *(source_network, rises, large, families, windows, needs, updates),
    )
    for name, view in part.VIEWS.items()
}
