"""What the source published for its networks, and those of its later notebook: compared with, never computed with.

Source: "Can a Tiny Transformer Learn to Remember?", with its author's notebooks.
"""

PUBLISHED_STEPS = {
    "task 1": {
        "accuracy": (0.0956, 0.1640, 0.2456, 0.4226, 1.0),
        "mean error": (0.012388, 0.01553, 0.018369, 0.015447, 0.000292),
        "largest in batch": (0.034079, 0.072218, 0.101983, 0.119183, 0.001334),
    },
    "task 2": {
        "accuracy": (0.1456, 0.1640, 0.2336, 0.4150, 1.0),
        "mean error": (0.014704, 0.020145, 0.021205, 0.020931, 0.00031),
        "largest in batch": (0.055206, 0.090151, 0.143933, 0.168254, 0.024236),
    },
}
"""Source table of section 6 and of the notebook, by step; task 2's step 5 over all rows."""

PUBLISHED_LAST = {
    "normal": {"accuracy": 1.0, "mean error": 8.1e-05, "largest in batch": 0.001548},
    "repeat": {"accuracy": 1.0, "mean error": 0.000838, "largest in batch": 0.05565},
}
"""Task 2's last step, by kind of row."""

PUBLISHED_LOSS = {
    "task 1": (
        *(1.2537, 0.9714, 0.965, 0.9628, 0.9619, 0.9612, 0.9609, 0.9606, 0.9605, 0.9598),
        *(0.9598, 0.9593, 0.9596, 0.9593, 0.9592, 0.9593, 0.9592, 0.9592, 0.9588, 0.959),
    ),
    "task 2": (
        *(1.227, 1.0662, 1.061, 1.0589, 1.058, 1.0578, 1.0558, 1.0544, 1.0426, 0.9746),
        *(0.9635, 0.9617, 0.9606, 0.9608, 0.96, 0.9596, 0.9594, 0.9605, 0.9587, 0.9586),
        *(0.9584, 0.9601, 0.9616, 0.9581, 0.9581, 0.9579, 0.958, 0.9581, 0.958, 0.9594),
        *(0.9575, 0.9577, 0.9583, 0.9572, 0.9575, 0.9574, 0.9572, 0.9585, 0.9569, 0.9571),
        *(0.957, 0.9569, 0.9569, 0.9579, 0.9564, 0.9566, 0.9568, 0.9565, 0.9571, 0.9561),
    ),
}
"""Mean training loss of each epoch, nats a scored position."""

PUBLISHED_ABLATION = {
    "repeats of x1 alone": {"with": (0.43, 0.0, 0.0, 0.0), "without": (0.325, 0.0, 0.0, 0.0)},
    "repeats of any x, half": {"with": (0.985, 0.88, 0.92, 0.95), "without": (0.0, 0.02, 0.01, 0.09)},
}
"""The later notebook: recall by slot repeated, with and without the FFN; 200 probes each."""
