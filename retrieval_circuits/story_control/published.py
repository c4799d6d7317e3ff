"""What the source published for its one network and counted on its story: compared with, never computed with."""

SOURCE = "Retrieval Motif Emergence in Small Transformers, section 2"

PUBLISHED = {
    "accuracy, val, best epoch": 0.0940,
    "accuracy, test, best epoch": 0.0769,
    "accuracy, longer context, best epoch": 0.0769,
    "accuracy, val, final": 0.0427,
    "accuracy, test, final": 0.0256,
    "accuracy, longer context, final": 0.0256,
    "accuracy, train, final": 1.0,
    "births": 0,
}
"""Source numbers, all of one seed; shown beside ours, never used in a computation. Source: ``SOURCE``."""

PUBLISHED_TEXT = {
    "tokens": 1168,
    "types": 547,
    "val targets never in train": 0.350,
    "test targets never in train": 0.359,
    "val, always the commonest word": 0.085,
    "test, always the commonest word": 0.085,
    "base rows without an earlier copy": "22 of 32",
    "base rows with a word that the probe never saw": "20 of 32",
}
"""Counted on the source's story."""
