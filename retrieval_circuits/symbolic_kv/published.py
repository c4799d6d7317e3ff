"""What the source published for its one network and counted on its files: compared with, never computed with."""

SOURCE = "Retrieval Motif Emergence in Small Transformers, section 1 and its notebook (released epoch-126 checkpoint)"

PUBLISHED = {
    "accuracy, train": 0.9978,
    "accuracy, val": 0.9520,
    "accuracy, test": 0.9560,
    "accuracy, four pairs": 0.7280,
    "margin, train": 12.7831,
    "margin, val": 11.7387,
    "margin, test": 11.7673,
    "margin, four pairs": 4.8225,
    "probe, query key": 0.908,
    "probe, matching slot": 0.456,
    "probe, selected value": 0.950,
    "patch, layer-0 head into layer-1 head": 0.359,
    "patch, query of one layer-1 head": 0.484,
    "patch, value input of one layer-1 head": 0.016,
    "program score, best variant": 0.753,
}
"""Source numbers, all of one seed; shown beside ours, never used in a computation. Source: ``SOURCE``."""

PUBLISHED_LEAK = {
    "duplicates inside train": 28,
    "val rows literally in train": 7,
    "test rows literally in train": 8,
    "val rows with pairs and query in train": 34,
    "test rows with pairs and query in train": 38,
    "val rows with pairs in train": 111,
    "test rows with pairs in train": 100,
    "rows shared by val and test": 2,
}
"""Counted on the published files (5000 train, 500 val, 500 test rows)."""
