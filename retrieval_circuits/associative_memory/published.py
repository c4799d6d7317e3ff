"""The sources' numbers, with where they stand."""

import math

FIT = 1.3
"""d^2 = 1.3 N ln N: the line that the authors' code draws through 99 % recall of trained matrices, d = 8 to 256."""
HIDDEN_FIT = 0.35
"""m d = 0.35 N ln N: the same of maps with m hidden units, an output each, m/d = 1 to 8, d = 8 to 90."""
SHARED_FIT, SHARED_OUTPUTS = 1.2, 32
"""m d = 1.2 N: the same where inputs share 32 outputs."""
LIMIT = 0.5
"""N ln N / d^2 of the best matrix as d grows: arXiv 2605.10795, and a conjecture of arXiv 2605.05189."""


def exponents(alpha: float, *, shared: bool) -> dict[str, float]:
    """How the error falls with d where p(z) ~ z^-alpha: error ~ d^exponent, by rule.

    With few outputs, which inputs share, as published (Cabannes et al. 2024); with one output an input by the same
    noise argument, where noise falls as 1/d and not as 1/sqrt(d).
    """
    times = 1 if shared else 2
    return {"one step": -times * (alpha - 1) / (2 * alpha), "cut": -times * (alpha - 1)}


LEVELS = {"nothing known": math.log(32), "relation known": math.log(8)}
"""Loss of the source's model of facts before and during the second stage, in nats."""
