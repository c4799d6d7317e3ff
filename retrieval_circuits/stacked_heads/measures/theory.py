"""What needs no training: the layers that the source's theorem demands, and one layer that does without them."""

from dataclasses import dataclass
from itertools import count, takewhile

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.models.one_layer_chain import OneLayerChain
from circuitcore.models.one_layer_vocabulary import OneLayerVocabulary
from circuitcore.tasks.base import Batch
from circuitcore.tasks.chain_flow import flow_table
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.tasks.conditional import ConditionalRetrieval
from circuitcore.tasks.conditional_flow import conditional_table
from circuitcore.tasks.symbol_chains import position_code


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Up to which length of chain layers are counted."""

    longest: int


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """How many test rows are looked at."""

    n_rows: int


@dataclass(frozen=True, kw_only=True)
class OneLayer:
    """What a layer wired by hand is tried on.

    Attributes:
        lengths: look-ups of the chains.
        n_rows: test rows.
        nearest: how alike two symbols may be that it tells apart.
    """

    lengths: tuple[int, ...]
    n_rows: int
    nearest: float


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """For which chains, and with how many neurons, a layer is wired that follows symbols of a vocabulary.

    Attributes:
        shapes: look-ups, and chains a row.
        neurons: of the layer's MLP.
        n_rows: test rows.
    """

    shapes: tuple[tuple[int, int], ...]
    neurons: tuple[int, ...]
    n_rows: int


def information_flow(flow: Flow) -> pd.DataFrame:
    """Layers that a chain takes under the source's assumptions: ``flow_table``, and ``agrees``.

    ``agrees`` says whether the simulation and the closed form give one number.
    """
    table = flow_table(range(1, flow.longest + 1))
    return table.assign(agrees=table["layers"] == table["closed_form"])


def one_layer(asked: OneLayer) -> pd.DataFrame:
    """The squared error of one wired layer on the source's own rows, its size, and that of answering with 0.

    Returns:
        A row per length: ``depth``, ``error`` (in float64), ``zero``, ``n_heads``, ``n_neurons``, ``d_model``.
    """
    found = []
    for depth in asked.lengths:
        task = ChainRetrieval(n_steps=depth, targets=(depth,), n_test=asked.n_rows)
        test = task.split("test")
        wired = OneLayerChain(codes=position_code(task.max_length, task.d_symbol), depth=depth, width=asked.nearest)
        answers = test.targets[:, -task.n_chains :]
        found.append(
            {
                "depth": depth,
                "error": wired.error(test.tokens, answers),
                "zero": answers.square().mean().item(),
                "n_heads": wired.config.n_heads,
                "n_neurons": wired.config.d_mlp,
                "d_model": wired.config.d_model,
            }
        )
    return pd.DataFrame(found)


def one_layer_vocabulary(asked: Vocabulary) -> pd.DataFrame:
    """Up to which vocabulary one wired layer follows every chain, and how much it gets right of twice as many symbols.

    Returns:
        A row per number of look-ups and of neurons: ``depth``, ``n_chains``, ``n_neurons``, ``largest`` (symbols up to
        which there are neurons for every chain), ``right`` (share of queries answered right with as many), ``beyond``
        (with twice as many symbols) and ``chance`` (of guessing any of these but the query's).
    """
    found = []
    for depth, n_chains in asked.shapes:
        for n_neurons in asked.neurons:
            shape = {"n_chains": n_chains, "depth": depth, "d_mlp": n_neurons}
            least = n_chains * (depth + 1)
            tried = (OneLayerVocabulary(vocabulary=n, **shape) for n in count(least))
            whole = list(takewhile(lambda one: one.needed <= one.d_mlp, tried))  # more symbols need more neurons
            if not whole:
                continue
            largest = whole[-1].vocabulary
            ends = [OneLayerVocabulary(vocabulary=factor * largest, **shape) for factor in (1, 2)]
            right, beyond = (one.accuracy(*one.draw(asked.n_rows, seed=0)) for one in ends)
            found.append(
                {
                    "depth": depth,
                    "n_chains": n_chains,
                    "n_neurons": n_neurons,
                    "largest": largest,
                    "right": right,
                    "beyond": beyond,
                    "chance": 1 / (2 * largest - 1),
                }
            )
    return pd.DataFrame(found)


def hops_by_two(flow: Flow) -> pd.DataFrame:
    """Layers that hops by two symbols take under the same assumptions: ``conditional_table``."""
    return conditional_table(range(1, flow.longest + 1))


def one_of_two(asked: HeldOut) -> pd.DataFrame:
    """What either of the two symbols of a hop is worth: the error of naming the mean of all that is left.

    Returns:
        A row for each of what is known, "the block", "left", "right", "both": ``candidates`` (answers that are left, on
        average) and ``error`` (squared, of their mean).
    """
    task = ConditionalRetrieval(n_test=asked.n_rows)
    test = task.split("test")
    symbols = {name: _symbols(task, test, role) for name, role in ROLES.items()}
    known = {name: (value[:, :, None] == value[:, None]).all(-1) for name, value in symbols.items()}
    known |= {"the block": torch.ones_like(known["left"]), "both": known["left"] & known["right"]}
    found, answers = [], symbols["answer"].double()
    for name in ("the block", "left", "right", "both"):
        left = known[name].double()
        guess = left @ answers / left.sum(-1, keepdim=True)
        error = (guess - answers).square().mean().item()
        found.append({"knows": name, "candidates": left.sum(-1).mean().item(), "error": error})
    return pd.DataFrame(found)


ROLES = {"left": "by_left_0", "right": "by_right_0", "answer": "answer_0"}
"""Symbols of the triple that ends a hop -> where they stand."""


def _symbols(task: ConditionalRetrieval, batch: Batch, role: str) -> Float[Tensor, "batch chain d_symbol"]:
    return batch.tokens[torch.arange(len(batch))[:, None], batch.roles[role], : task.d_symbol]
