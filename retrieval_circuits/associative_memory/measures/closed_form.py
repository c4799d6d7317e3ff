"""What noise alone predicts of a sum of outer products, without a free number."""

import math

import numpy as np
import scipy  # its parts are imported when they are asked for

N_NODES = 41
"""Points of each quadrature; 81 give the same numbers to four digits."""


def predicted_accuracy(width: float | int, n_pairs: float | int) -> float:
    """Probability that a sum of N outer products of random unit vectors recalls one of its pairs.

    Beside pair z stands any other pair k, with a = u_k.u_z and b = e_k.e_z, both near 0 with variance 1/d. By
    u_k = a u_z + sqrt(1 - a^2) v, the score of z exceeds that of k where

        (1 - a) (1 - b + G) > sqrt(1 - a^2) H_k,

    with G and H_k what the N - 2 further pairs add along u_z and along v: taken as normal with variance (N - 2)/d^2,
    one G for all k, and the H_k, a and b as independent from k to k. Nothing else is assumed.

    Args:
        width: d, at least 4.
        n_pairs: N, at least 3.

    Returns:
        A share, 0 to 1; chance is 1/N.
    """
    if width < 4 or n_pairs < 3:
        raise ValueError(f"width {width}, {n_pairs} pairs; allowed: from 4, from 3")
    products, chances = _inner_products(width)
    noise = math.sqrt((n_pairs - 2) / width**2)
    common, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
    slack = (1 - products[None, :] + noise * common[:, None]) / noise
    steep = np.sqrt((1 - products) / (1 + products))
    below = scipy.special.ndtr(slack[:, :, None] * steep) @ chances @ chances
    return float(weights @ below ** (n_pairs - 1) / math.sqrt(2 * math.pi))


def _inner_products(width: float | int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for the inner product of two random unit vectors, whose density is (1 - x^2)^((d - 3)/2)."""
    if width <= 300:  # beyond, the exact rule overflows and the normal one is exact to 1/d
        nodes, weights = scipy.special.roots_gegenbauer(N_NODES, (width - 2) / 2)
    else:
        nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
        nodes = np.clip(nodes / math.sqrt(width), -0.99, 0.99)
    return nodes, weights / weights.sum()
