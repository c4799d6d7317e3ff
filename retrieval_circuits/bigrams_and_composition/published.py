"""The sources' numbers, with where they stand."""

ACCURACY = {"one layer": 0.55, "two layers": 0.99}
"""Of outputs whose trigger has been seen, rounded; slides, 65 characters, rows of 256."""
ORDER = ("W_O2", "W_K2", "W_K1")
"""The order in which memories are learnt, by a figure of the slides."""
NOISE = 0.5
"""How often the noise token follows the trigger in training, in the published runs of the noisy task."""

PUBLISHED = {
    "accuracy of one layer": f"about {ACCURACY['one layer']:g} (characters of a corpus)",
    "accuracy of one layer, letters": f"about {ACCURACY['one layer']:g} (characters of a corpus)",
    "accuracy of two layers": f"about {ACCURACY['two layers']:g} (characters of a corpus)",
    "accuracy of two layers, letters": f"about {ACCURACY['two layers']:g} (characters of a corpus)",
    "networks whose memories form in the source's order": "1 (a figure)",
    "the same, by Adam": "not reported",
    "entropy of a letter, nats": "3.31 (65 characters)",
    "entropy of a letter given the one before, nats": "2.45 (65 characters)",
    "entropy of a generated token, nats": "none generated",
    "entropy of a generated token given the one before, nats": "none generated",
    "probability of the noise token at the end": f"about {NOISE:g}, its share in training",
    "power of N of the rows that the MLP needs": "0 (a theorem)",
    "power of N of the rows that attention needs": "1 (a theorem)",
}
"""What is compared in the appendix. Entropies are computed from the pair counts that come with the source's code."""
