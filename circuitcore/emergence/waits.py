"""How long an event keeps one waiting that few runs, or none, have seen."""

import scipy


def shortest_wait(n_events: int, watched: float, level: float = 0.95) -> float:
    """The shortest mean wait that so few events leave possible, were their chance the same at every step.

    With a shorter one, so few would be seen in less than 1 - ``level`` of all cases. Nothing seen in n steps: about a
    third of n ("rule of three").

    Args:
        n_events: that were seen, one a run at the most.
        watched: steps of all runs together, each up to its event or its end.
        level: of the bound, one-sided.

    Raises:
        ValueError: fewer than no events, or nothing was watched.

    Source: Garwood 1936, the exact limit of a Poisson mean.

    >>> round(shortest_wait(0, 3000.0))
    1001
    """
    if n_events < 0 or watched <= 0:
        raise ValueError(f"n_events = {n_events}, watched = {watched}; allowed: >= 0, > 0")
    return watched / (scipy.stats.chi2.ppf(level, 2 * (n_events + 1)) / 2)
