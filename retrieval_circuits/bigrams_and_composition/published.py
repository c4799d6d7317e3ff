"""The sources' numbers, with where they stand."""

ACCURACY = {"one layer": 0.55, "two layers": 0.99}
"""Of outputs whose trigger has been seen, rounded; slides, 65 characters, rows of 256."""
ORDER = ("W_O2", "W_K2", "W_K1")
"""The order in which memories are learnt, by a figure of the slides."""
NOISE = 0.5
"""How often the noise token follows the trigger in training, in the published runs of the noisy task."""

PUBLISHED = {
    "accuracy of one layer, generated tokens": "–",
    "accuracy of one layer, letters": f"about {ACCURACY['one layer']:g} (characters of a corpus)",
    "accuracy of two layers, generated tokens": "–",
    "accuracy of two layers, letters": f"about {ACCURACY['two layers']:g} (characters of a corpus)",
    "steps from the first memory to the second": "more than 0 (a figure of one network)",
    "steps from the second memory to the third": "more than 0 (a figure of one network)",
    "the smaller of the two, by Adam": "–",
    "entropy of a letter, nats": "3.31 (65 characters)",
    "entropy of a letter given the one before, nats": "2.45 (65 characters)",
    "entropy of a generated token, nats": "–",
    "entropy of a generated token given the one before, nats": "–",
    "probability of the noise token at the end": f"about {NOISE:g}, its share in training",
    "power of N of the rows that the MLP needs": "0 (a theorem)",
    "power of N of the rows that attention needs": "1 (a theorem)",
}
"""What is compared in the appendix. Entropies are computed from the pair counts that come with the source's code."""
