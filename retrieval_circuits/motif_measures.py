"""The sections that both retrieval-motifs studies bring along: their own scores as published, and ours."""

from circuitcore.metrics.instruments.battery import Own
from retrieval_circuits.motif_measures_corrected import corrected
from retrieval_circuits.motif_measures_published import published

# As the published tables have it in their keys.
SECTIONS = (Own(published, enters=(("published", True),)), Own(corrected, enters=()))
