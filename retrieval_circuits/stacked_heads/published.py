"""The source's numbers: Musat (ICLR 2025), sections 7 and 8, appendix E, figures 5 and 7."""

WIDTH = 128
"""Channels of its networks."""
LAYERS_USED = {3: (4, 4, 4), 4: (5,)}
"""Look-ups of a chain -> the layers with a head that is used, in each network whose circuit the source drew."""

PUBLISHED = {
    "squared error at the end": "below 0.01 (twelve layers, D = 3)",
    "squared error with every map replaced": "below 0.05",
    "heads that are used": "4 (D = 3)",
    "squared error without one path, the least": "0.17 (D = 3); first useful layer 0.05 to 0.10",
    "squared error without one path, the most": "0.89 (D = 3)",
    "first symbol learnt before the second": "1 (D = 5)",
}
"""What is compared in the appendix; of longer chains in deeper networks, so that no number must agree."""

DEEPEST = {
    "squared error at the end": "0.031",
    "squared error with every map replaced": "0.045",
    "heads that are used": "5",
    "step at which the first path appears": "about 3,600",
}
"""The source's transformer D."""
TWELVE = {"squared error at the end, 12 layers": "below 0.01", "heads that are used, 12 layers": "4"}
"""Its transformers A to C, each."""
