"""Every rise of a measured curve that stands out from how it wavers where nothing is learnt any more.

The largest step of a curve names one rise, however many there are. Here all are named that pass a null of the curve's
own: its largest change, up or down, between neighbouring checkpoints from some step on.
"""

import numpy as np
import pandas as pd

TIMES = 2.0
"""By how much a rise must exceed that change.

Of curves of noise, half of it quiet, one in two hundred has one at 64 checkpoints; at 32 two in a hundred, at 16 six.
"""

FEWEST = 3
"""Checkpoints by which a curve's own wavering is judged, at least."""


def rises(curve: pd.DataFrame, quiet_from: int | float, times: float = TIMES) -> pd.DataFrame:
    """All rises of a curve, neighbouring ones joined.

    Args:
        curve: ``step`` and ``value``, in any order; one curve.
        quiet_from: a step from which on nothing is learnt; at least ``FEWEST`` checkpoints from there on.
        times: by how much a change between neighbouring checkpoints must exceed the largest one there, either way.

    Returns:
        A row each, in the order of steps: ``start`` and ``stop``, checkpoints between which every change is such a one,
        and ``rise``, in the unit of ``value``.

    Raises:
        ValueError: two values at one step, one that is missing, or too few checkpoints from ``quiet_from`` on.
    """
    rows = curve.sort_values("step", kind="stable")
    steps, values = rows["step"].to_numpy(), rows["value"].to_numpy(float)
    if len(np.unique(steps)) < len(steps) or np.isnan(values).any():
        raise ValueError("a curve with two values at one step, or with one that is missing; allowed: one a step")
    if (n_quiet := int((steps >= quiet_from).sum())) < FEWEST:
        raise ValueError(f"{n_quiet} checkpoints from step {quiet_from:g} on; allowed: {FEWEST} or more")
    changes = np.diff(values)
    stands_out = changes > times * np.abs(changes[len(changes) - n_quiet + 1 :]).max()
    edges = np.diff(np.concatenate([[0], stands_out.astype(int), [0]]))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return pd.DataFrame({"start": steps[starts], "stop": steps[stops], "rise": values[stops] - values[starts]})
