"""The sources' numbers, with where they stand."""

import math

LINE = 1.3
"""d^2 = 1.3 N ln N: the line that the authors' code draws through 99 % recall of trained matrices, d = 8 to 256.

Its constant is typed in that code, not fitted; the paper's words are of proportion alone."""
HIDDEN_LINE = 0.35
"""m d = 0.35 N ln N: the same of maps with m hidden units, an output each, m/d = 1 to 8, d = 8 to 90."""
SHARED_LINE, SHARED_OUTPUTS = 1.2, 32
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

PUBLISHED = {
    "N ln N / d² up to which a trained matrix recalls": f"{1 / LINE:.2f} (d = 8 to 256)",
    "N ln N / md up to which an MLP recalls": f"{1 / HIDDEN_LINE:.2f} (d = 8 to 90)",
    "loss at the start, nats": f"{LEVELS['nothing known']:.3f} (the logarithm of 32)",
    "loss where guessing is purest, nats": f"{LEVELS['relation known']:.3f} (the logarithm of 8)",
    "step at which guessing begins": "about 1,800",
    "step at which guessing ends": "about 5,000",
    "facts recalled a parameter, MLP alone": "about 0.15 (both parts, at 99 %, 8 answers a relation, noise)",
    "facts recalled a parameter, attention alone": "about 0.15 (both parts, at 99 %, 8 answers a relation, noise)",
}
"""What is compared in the appendix."""
