"""What the source published, with its heads renamed (its block1 is layer 0 here). Compared with, never computed with.

Source: "Retrieval Motif Emergence in Small Transformers" (Alex 2026), sections 3 and 4 and its repository's tables.
"""

import math

NEVER = math.nan

BIRTHS = {
    "behaviour": {("on", 0): 28, ("on", 1): 15, ("on", 2): 37, ("off", 0): 12, ("off", 1): 17, ("off", 2): 20},
    "query key, probe": {
        ("on", 0): 57, ("on", 1): 15, ("on", 2): 38, ("off", 0): 12, ("off", 1): 16, ("off", 2): 122,
    },
    "query key, patch": {
        ("on", 0): 31, ("on", 1): 31, ("on", 2): 40, ("off", 0): 12, ("off", 1): 17, ("off", 2): 76,
    },
    "slot, probe": dict.fromkeys([("on", 0), ("on", 1), ("on", 2), ("off", 0), ("off", 1), ("off", 2)], NEVER),
    "slot, patch": {
        ("on", 0): 99, ("on", 1): 122, ("on", 2): 40, ("off", 0): 57, ("off", 1): NEVER, ("off", 2): NEVER,
    },
    "value, probe": {
        ("on", 0): 114, ("on", 1): 31, ("on", 2): NEVER, ("off", 0): 15, ("off", 1): 17, ("off", 2): 131,
    },
    "value, patch": {
        ("on", 0): 31, ("on", 1): 31, ("on", 2): 40, ("off", 0): 12, ("off", 1): 19, ("off", 2): 22,
    },
    "routing": {
        ("on", 0): 114, ("on", 1): 31, ("on", 2): NEVER, ("off", 0): 122, ("off", 1): 17, ("off", 2): 131,
    },
    "copying": {
        ("on", 0): 31, ("on", 1): 36, ("on", 2): 62, ("off", 0): 93, ("off", 1): 1, ("off", 2): 17,
    },
}  # fmt: skip
"""Motif -> (curriculum, seed) -> epoch of its birth; NaN where it is never born."""

GROUPED = {
    "accuracy, val": {"on": 1.0, "off": 0.9999},
    "accuracy, test": {"on": 1.0, "off": 1.0},
    "accuracy, four pairs": {"on": 0.9921, "off": 0.9993},
    "probe, query key": {"on": 0.9997, "off": 1.0},
    "probe, slot": {"on": 0.4583, "off": 0.5339},
    "probe, value": {"on": 0.9997, "off": 0.9999},
    "routing": {"on": 0.9729, "off": 0.9999},
    "copying": {"on": 0.9293, "off": 0.9521},
    "patch, query key": {"on": 0.667, "off": 1.0},
    "patch, slot": {"on": 0.947, "off": 0.635},
    "patch, value": {"on": 0.865, "off": 1.0},
    "handoffs of copying": {"on": 11, "off": 3},
    "handoffs of routing": {"on": 12, "off": 9},
}
"""Quantity -> curriculum -> mean over three seeds at the end of training."""

FINALS = {
    ("on", 0): {
        "four pairs": 1.0, "largest drop": 0.807, "its head": "L0H0",
        "routing": 1.0, "router": "L1H1", "copying": 0.857, "copier": "L1H1",
    },
    ("on", 1): {
        "four pairs": 0.9967, "largest drop": 0.446, "its head": "L0H0",
        "routing": 1.0, "router": "L1H1", "copying": 0.952, "copier": "L1H1",
    },
    ("on", 2): {
        "four pairs": 0.9797, "largest drop": 0.787, "its head": "L1H0",
        "routing": 0.919, "router": "L1H0", "copying": 0.979, "copier": "L1H0",
    },
    ("off", 0): {
        "four pairs": 0.999, "largest drop": 0.698, "its head": "L0H0",
        "routing": 1.0, "router": "L1H0", "copying": 0.981, "copier": "L1H1",
    },
    ("off", 1): {
        "four pairs": 0.999, "largest drop": 0.729, "its head": "L0H0",
        "routing": 1.0, "router": "L1H0", "copying": 0.875, "copier": "L1H0",
    },
    ("off", 2): {
        "four pairs": 1.0, "largest drop": 0.683, "its head": "L0H1",
        "routing": 1.0, "router": "L1H0", "copying": 1.0, "copier": "L1H0",
    },
}  # fmt: skip
"""(curriculum, seed) -> its row of the outcome table."""

PILOT_EPOCHS = (23, 24, 25, 26, 27, 28, 29, 30)
PILOT = {
    "accuracy, val": (0.3857, 0.5993, 0.7180, 0.8040, 0.8767, 0.9193, 0.9300, 0.9393),
    "accuracy, test": (0.3657, 0.5797, 0.7027, 0.8027, 0.8643, 0.9213, 0.9343, 0.9347),
    "accuracy, four pairs": (0.2650, 0.4483, 0.5693, 0.6727, 0.7677, 0.8330, 0.8587, 0.8457),
    "routing": (0.418, 0.595, 0.682, 0.751, 0.805, 0.848, 0.850, 0.905),
    "copying": (0.772, 0.772, 0.822, 0.914, 0.914, 0.951, 0.973, 0.991),
}
"""Quantity -> its value at each of ``PILOT_EPOCHS`` (one run, which is the matrix's run on/0)."""

PILOT_DROPS = {"L0H0": 0.6668, "L0H1": 0.0070, "L1H0": 0.0469, "L1H1": 0.5348}
"""Head -> accuracy lost at epoch 30 of the pilot when its write at the arrow is set to zero."""

SLOT_FEATURES = {"on": (5, 36), "off": (4, 36)}
"""Curriculum -> sites (of twelve, in three runs) whose best sparse feature is labelled slot."""
