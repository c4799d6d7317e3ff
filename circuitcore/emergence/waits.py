"""How long an event keeps one waiting that few runs, or none, have seen."""

import math

import scipy

from circuitcore.emergence.seeds import require_level


def shortest_wait(n_events: int, n_runs: int, end: int, level: float = 0.95) -> float:
    """The shortest mean wait that so few events leave possible, were their chance the same at every step.

    With a shorter one, so few of the runs would have seen the event by their end in less than 1 - ``level`` of all
    cases. None in n runs of so many steps: about a third of all steps together ("rule of three").

    Args:
        n_events: runs that have seen the event.
        n_runs: all of them, one at least without the event.
        end: steps of each run.
        level: of the bound, one-sided.

    Raises:
        ValueError: no run, or none without the event, which leaves any short wait possible; runs without a step; a
            level outside (0, 1).

    Source: Clopper and Pearson 1934, the exact limit of a share.

    >>> round(shortest_wait(0, 3, 1000))
    1001
    """
    if not 0 <= n_events < n_runs:
        raise ValueError(f"n_events = {n_events} of n_runs = {n_runs}; allowed: 0 or more, and fewer than all")
    if end < 1:
        raise ValueError(f"end = {end} steps; allowed: 1 or more")
    require_level(level)
    share = scipy.stats.beta.ppf(level, n_events + 1, n_runs - n_events)
    return -end / math.log1p(-share)
