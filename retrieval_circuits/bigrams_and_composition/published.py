"""The sources' numbers, with where they stand."""

ACCURACY = {"one layer": 0.55, "two layers": 0.99}
"""Of outputs whose trigger has been seen, rounded; slides, 65 characters, rows of 256."""
ORDER = ("W_O2", "W_K2", "W_K1")
"""The order in which memories are learnt, by a figure of the slides."""
NOISE = 0.5
"""How often the noise token follows the trigger in training, in the published runs of the noisy task."""
