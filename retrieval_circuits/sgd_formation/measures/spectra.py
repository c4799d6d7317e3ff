"""What the weights of heads look like: singular values of their two circuits, and of the same numbers shuffled.

Source: nelson960, whose ``weight-svd`` follows the circuit of queries and keys of one head. Its product of matrices
grows and narrows as the head comes to be used; how much of that any product of such numbers would show is not asked.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.table import Rows, head_labels
from circuitcore.models import Head
from retrieval_circuits.sgd_formation.measures.steps import AtSteps

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

N_SHUFFLES = 20
TOP = 3


def spectra(run: "Run", at: AtSteps, progress: Callable[[int], None]) -> pd.DataFrame:
    """Singular values of every head's circuits, QK and OV (variable), in a few numbers.

    With edit "shuffled" the same of matrices whose numbers stand in an order drawn by lot, a mean over such draws: what
    their sizes alone give. Metrics, by head:

    * ``largest``: the first singular value.
    * ``effective_rank``: of the singular values; at most the width of a head.
    * ``top_three``: share of the first three in their sum.
    * ``direction``: cosine of the first direction that is read (of queries; of what OV reads) with that at the last
      step, without its sign. By chance about 0.8 by the root of the width.
    """
    steps = at.of(run)
    weights, config = run.stack(steps), run.recipe.model
    rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
    for layer in range(config.n_layers):
        labels = head_labels([Head(layer, head) for head in range(config.n_heads)])
        for name, (left, right) in circuits(weights, layer).items():
            u, values, _ = torch.linalg.svd(left @ right)
            rows.add("direction", (u[..., 0] * u[-1:, ..., 0]).sum(-1).abs(), 1, labels, variable=name)
            generator = torch.Generator().manual_seed(layer)
            by_lot = torch.linalg.svdvals(shuffled(left, generator) @ shuffled(right, generator))
            for edit, found in {"none": values, "shuffled": by_lot}.items():
                for metric, number in summary(found).items():
                    mean = number if edit == "none" else number.mean(0)
                    rows.add(metric, mean, 1, labels, variable=name, edit=edit)
    progress(len(steps))
    return rows.frame()


def circuits(weights: Mapping[str, Tensor], layer: int) -> dict[str, tuple[Tensor, Tensor]]:
    """The two matrices whose product each circuit is, ``[ckpt head d_model d_head]`` and ``[... d_head d_model]``."""
    q, k, v, out = (weights[f"blocks.{layer}.attn.W_{part}"].double() for part in "QKVO")
    return {"QK": (q, k.mT), "OV": (v, out)}


def summary(values: Float[Tensor, "*lead value"]) -> dict[str, Float[Tensor, "*lead"]]:
    """Of singular values, the largest first: its size, how many there are in effect, the share of the first three.

    The effective rank is the square of their sum by the sum of their squares: 1 for one value, n for n equal ones.
    """
    total = values.sum(-1)
    effective = total.square() / values.square().sum(-1)
    return {"largest": values[..., 0], "effective_rank": effective, "top_three": values[..., :TOP].sum(-1) / total}


def shuffled(matrix: Float[Tensor, "*lead m n"], generator: torch.Generator) -> Float[Tensor, "draw *lead m n"]:
    """The same numbers of each matrix in orders drawn by lot."""
    flat = matrix.flatten(-2).expand(N_SHUFFLES, *matrix.shape[:-2], -1)
    order = torch.rand(flat.shape, generator=generator).argsort(-1)
    return flat.gather(-1, order).unflatten(-1, matrix.shape[-2:])
