"""What toy experiments compute: the longest run of either side among some throws, and a count that draws nothing."""

import os
import signal
import time
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd

from circuitcore.ground.hashed import later


@dataclass(frozen=True)
class Throws:
    """How many there are, and where each seed that is begun leaves a line; younger: how long a seed takes at least."""

    n_throws: int = 64
    notes: str = ""
    seconds: float = later(0.0)


def longest(params, seed):
    """The longest run of tails and of heads in one seed's throws."""
    noted(params, seed)
    time.sleep(params.seconds)
    throws = np.random.default_rng(seed).integers(0, 2, params.n_throws)
    lengths = {side: [len(list(run)) for value, run in groupby(throws) if value == side] for side in (0, 1)}
    return [{"side": ("tails", "heads")[side], "value": max([0, *lengths[side]])} for side in (0, 1)]


def halvings(params):
    """How often the number of throws can be halved."""
    noted(params, "halvings")
    return pd.DataFrame({"value": [float(np.log2(params.n_throws))]})


def refused_at_1(params, seed):
    """The same as ``longest``, but one seed fails."""
    if seed == 1:
        raise ArithmeticError("seed 1 is refused")
    return longest(params, seed)


def killed_once_at_1(params, seed):
    """The same as ``longest``, but one seed kills its process, the first time."""
    if seed == 1 and notes(params).count("1") == 0:
        noted(params, seed)
        os.kill(os.getpid(), signal.SIGKILL)
    return longest(params, seed)


def noted(params, word):
    if params.notes:
        with Path(params.notes).open("a") as file:
            file.write(f"{word}\n")


def notes(params):
    """The lines that were left."""
    path = Path(params.notes)
    return path.read_text().split() if path.exists() else []
