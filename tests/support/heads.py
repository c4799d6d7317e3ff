"""Heads by the names that they print."""

import re

from circuitcore.models import Head


def head_of(text):
    """``"L1H0"`` -> ``Head(1, 0)``."""
    return Head(*map(int, re.fullmatch(r"L(\d+)H(\d+)", text).groups()))
