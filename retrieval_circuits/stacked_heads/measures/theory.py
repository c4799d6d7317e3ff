"""What needs no training: the layers that the source's theorem demands, and one layer that does without them."""

from dataclasses import dataclass

import pandas as pd

from circuitcore.models.one_layer_chain import OneLayerChain
from circuitcore.tasks.chain_flow import flow_table
from circuitcore.tasks.chains import ChainRetrieval, position_code


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Up to which length of chain layers are counted."""

    longest: int


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
