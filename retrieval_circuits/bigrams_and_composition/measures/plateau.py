"""What one layer can do: guess each trigger's output from how often tokens stand in the context; a closed form.

One layer weighs a token by what it is and where it stands, never by what stands before it. What it knows of trigger k's
output is thus how often each token has come. The output comes at the trigger's rate more often than it would:
if counts are Poisson, the best guess that is linear in them is the token of largest count x log(1 + rate_k / rate of
the token).
"""

import numpy as np
import scipy  # its parts are imported when they are asked for

from retrieval_circuits.bigrams_and_composition.measures.source import Source, stationary


def predicted_plateau(source: Source, length: int) -> float:
    """Share of scored positions at which the likeliest token, by counts alone, is what follows the trigger.

    Counts are taken as Poisson and independent from token to token; nothing is fitted. Each of the other triggers adds
    its own count to one token, drawn uniformly.

    Args:
        source: the chain; without noise.
        length: positions of a row, T.

    Returns:
        A share, 0 to 1; chance is one over the number of possible outputs.
    """
    if source.noise >= 0:
        raise ValueError(f"a source with noise token {source.noise}; allowed: none")
    triggers, free = rates(source)
    right = total = 0.0
    for own, rate in enumerate(triggers):
        others = np.delete(triggers, own)
        weights = np.log1p(rate / (free + others.sum() / len(free)))
        for seen in range(1, length):
            asked = rate * -np.expm1(-rate * seen)
            right += asked * _won(rate * seen, others * seen, free * seen, weights)
            total += asked
    return right / total


def rates(source: Source) -> tuple[np.ndarray, np.ndarray]:
    """How often a position holds each trigger, and each possible output without a trigger before it."""
    chain = source.chain.clone().double()
    chain[source.triggers] = 0
    told = chain.clone()
    told[source.triggers[:, None], source.others] = 1 / len(source.others)
    law = stationary(told)
    return law[source.triggers].numpy(), (law @ chain)[source.others].numpy()


def _won(own: float, others: np.ndarray, free: np.ndarray, weights: np.ndarray) -> float:
    """Probability that the true output's weighted count is the largest; ``own`` and the rest are mean counts."""
    n, counts = len(free), np.arange(_most(own, others, free) + 1)
    alone = scipy.stats.poisson.pmf(counts, free[:, None])
    mixed = alone
    for mean in others:
        mixed = (1 - 1 / n) * mixed + _added(mixed, scipy.stats.poisson.pmf(counts, mean)) / n
    seen = scipy.stats.poisson.pmf(counts, own)
    seen[0] = 0
    right = _added(mixed, seen / -np.expm1(-own))
    below = np.concatenate([np.zeros((n, 1)), mixed.cumsum(1)], axis=1)  # [:, c]: probability of fewer than c
    reach = np.ceil(counts[None, :, None] * weights[:, None, None] / weights - 1e-9).astype(int)
    chance = below[np.arange(n), reach.clip(max=len(counts))]  # [output, count, rival]
    chance[np.arange(n), :, np.arange(n)] = 1
    return float((right * chance.prod(-1)).sum() / n)


def _most(own: float, others: np.ndarray, free: np.ndarray) -> int:
    mean = own + others.max(initial=0) + free.max()
    return int(mean + 8 * np.sqrt(mean) + 8)


def _added(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Law of the sum of two independent counts, row by row, cut where the first one's is."""
    size = first.shape[1]
    shift = scipy.linalg.toeplitz(second, np.zeros(size))
    return first @ shift.T
