"""What only this study measures: sections that its battery brings along."""

from circuitcore.metrics.instruments.battery import Own
from retrieval_circuits.permutation_recall.measures.ffn import recall_ffn
from retrieval_circuits.permutation_recall.measures.parts import recall_edges, recall_interchanges, recall_roles
from retrieval_circuits.permutation_recall.measures.skills import recall_posterior, recall_skills

# They stood in every battery when the published tables got their keys, so they put nothing into one.
SECTIONS = tuple(
    Own(section, enters=())
    for section in (
        recall_posterior,
        recall_skills,
        recall_roles,
        recall_edges,
        recall_interchanges,
        recall_ffn,
    )
)
