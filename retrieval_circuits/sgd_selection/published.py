"""The source's numbers: nelson960, "From Retrieval Motifs To SGD Circuit Selection" and later drafts, April 2026."""

WINNERS = {11: "L2H0", 13: "L2H2", 17: "L2H3", 23: "L2H1", 29: "L1H2"}
"""Seed -> the head that the source names as the one that looks up, in its scan of five more trainings."""
