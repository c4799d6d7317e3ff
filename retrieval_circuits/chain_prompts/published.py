"""The source's numbers: Musat (ICLR 2025), section 4 and figure 2."""

ALMOST_PERFECT = 5
"""Look-ups up to which the language models it asked solve F1 "almost perfectly"; numbers by model are in a figure."""
GUESS = {"F1": 0.25, "F2": 0.25, "F3": 0.25, "F4": 0.25, "F5": 0.0625}
"""What its figure calls a random guess."""
