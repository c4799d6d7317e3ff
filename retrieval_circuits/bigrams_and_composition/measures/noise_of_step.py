"""What noise alone predicts of the first of three steps, W_O2's: recall by rows and channels, with nothing fitted."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import scipy  # its parts are imported when they are asked for
import torch
from jaxtyping import Float
from torch import Tensor

from retrieval_circuits.bigrams_and_composition.measures.source import Source, draw
from retrieval_circuits.bigrams_and_composition.measures.steps import Steps
from retrieval_circuits.bigrams_and_composition.measures.training import Asked, asked_of

N_ROWS = 8192
"""From which means and variances of a row's push are taken: no gradient, no embedding and no step enters them."""
N_NODES = 41


class Push(NamedTuple):
    """What one row adds to the scores of W_O2, of a value that is some output's token.

    Attributes:
        lead: mean of the own output less that of another one.
        own: variance of the own output's.
        rival: variance of another output's.
        elsewhere: the same, summed over all other values.
        mean_here: squared means, summed over outputs.
        mean_elsewhere: the same, summed over all other values.
    """

    lead: float
    own: float
    rival: float
    elsewhere: float
    mean_here: float
    mean_elsewhere: float


def predicted_answers(
    asked: Steps, source: Source, widths: Iterable[int], generator: torch.Generator
) -> dict[tuple[int, int], float]:
    """(width, samples) -> the share of outputs that W_O2 recalls after one step from zero; width 0 at right angles.

    A row pushes output k for value c by r_kc: the sum over its scored positions of (1 where k is right, less 1/N) times
    the share of c in what uniform attention averages. Over n rows these have variances v_kc / n. In d channels, random
    outputs have inner products of variance 1/d, values of 2/d, so that the score of output k for value c varies by

        (1 + (N - 1)/d) (v_kc + 2/d * sum of v_kb over other values b) / n
        + 1/d * sum over outputs j of (m_jc^2 + 2/d * sum of m_jb^2 over other values b),

    with m the means: what few rows leave, and what few channels leave of any number of rows. Noise is taken as normal
    and independent from output to output, with the N - K - 1 other possible outputs as the only rivals.
    """
    rows = draw(source, N_ROWS, asked.length + 1, generator)
    push = push_of(source, asked_of(source, rows, asked.queries, generator))
    rivals, found = len(source.others) - 1, {}
    for width in widths:
        by_value, by_output = (2 / width, (asked.n_tokens - 1) / width) if width else (0.0, 0.0)
        always = (push.mean_here + by_value * push.mean_elsewhere) / width if width else 0.0
        for samples in asked.samples:
            own, rival = (
                (1 + by_output) * (here + by_value * push.elsewhere) / samples + always
                for here in (push.own, push.rival)
            )
            found[width, samples] = highest(push.lead, math.sqrt(own), math.sqrt(rival), rivals)
    return found


def push_of(source: Source, asked: Asked) -> Push:
    """Means and variances over rows, averaged over possible outputs, which are all alike."""
    pushed = pushes(source, asked)
    mean, varies = pushed.mean(0), pushed.var(0)[source.others]
    among, spread = mean[source.others][:, source.others], varies[:, source.others]
    squares = mean.square().sum(0)
    n = len(source.others)
    own, own_spread = among.trace().item() / n, spread.trace().item() / n
    here = squares[source.others].mean().item()
    return Push(
        lead=own - (among.sum().item() - n * own) / (n * (n - 1)),
        own=own_spread,
        rival=(spread.sum().item() - n * own_spread) / (n * (n - 1)),
        elsewhere=varies.sum(1).mean().item() - spread.mean().item(),
        mean_here=here,
        mean_elsewhere=squares.sum().item() - here,
    )


def pushes(source: Source, asked: Asked) -> Float[Tensor, "row output value"]:
    """(1 where an output is right, less 1/N) times each value's share, summed over a row's scored positions.

    Values are tokens, positions, and the averages of both that layer 1 writes everywhere while it attends to all alike.
    """
    n, length = len(source.chain), asked.inputs.shape[1]
    tokens = torch.nn.functional.one_hot(asked.inputs, n).float()
    seen = torch.cat([tokens, torch.eye(length).expand(len(tokens), length, length)], dim=-1)
    counts = torch.arange(1, length + 1)[:, None]
    averaged = torch.cat([seen, seen.cumsum(1) / counts], dim=-1).cumsum(1) / counts
    wrong = torch.nn.functional.one_hot(asked.targets, n).float() - 1 / n
    rows = torch.arange(len(tokens))[:, None]
    return (wrong * asked.real[..., None]).mT @ averaged[rows, asked.where]


def highest(lead: float, own: float, rival: float, rivals: int) -> float:
    """The chance that a normal variable exceeds as many others, all independent.

    Args:
        lead: its mean less that of the others.
        own: its standard deviation.
        rival: that of each of the others.
        rivals: how many.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
    below = scipy.special.ndtr((lead + own * nodes) / rival) ** rivals
    return float(weights @ below / math.sqrt(2 * math.pi))
