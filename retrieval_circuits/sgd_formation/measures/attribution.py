"""Which part of the margin each part of a network writes directly: shares that sum to the margin, biases included."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.attribution import direct_logit_attribution, normalise, recorded_sites
from circuitcore.metrics.table import Rows
from circuitcore.tasks.base import Batch
from retrieval_circuits.sgd_formation.measures.asked import asked, one_read_a_row

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

BIASES = "biases"
"""What no head, MLP or embedding writes: attention's output biases, and the shift of the final norm."""


@dataclass(frozen=True, kw_only=True)
class Attributed:
    """How many rows of the reported split the margin is taken apart on."""

    n_rows: int


def margin_parts(run: "Run", counts: Attributed, progress: Callable[[int], None]) -> pd.DataFrame:
    """The margin at the end of training as a sum over what parts write where an answer is predicted.

    Metric ``margin_part``, by part (site ``embed``, ``L1H0``, ``L0MLP``, ``biases``): how much it adds to the logit of
    the value asked for less that of the likeliest other value, with the final norm's actual scale, averaged over reads.
    Over all parts these sum to ``margin``.
    """
    task, step = run.recipe.make_task(), run.final_step
    net = Network(run.recipe.model, run.stack((step,)))
    rows = Rows(run.run_id, (step,), (run.tokens_seen(step),))
    batch = one_read_a_row(asked(task, task.reported, counts.n_rows))
    names, parts, margin = parts_of_margin(net, batch, task.words.first_value)
    labels = [{"site": name} for name in names]
    rows.add("margin_part", parts.mean(-1), len(batch), labels, split=task.reported)
    rows.add("margin", margin.mean(-1), len(batch), split=task.reported)
    progress(1)
    return rows.frame()


def parts_of_margin(
    net: Network, batch: Batch, first_value: int
) -> tuple[list[str], Float[Tensor, "ckpt part batch"], Float[Tensor, "ckpt batch"]]:
    """What each part adds to the margin of each row, and the margin."""
    with torch.inference_mode():
        output = net.run(batch, recorded_sites(net))
        names, shares = direct_logit_attribution(net, batch, output.cache)
        shares = torch.cat((shares, _of_biases(net, batch, output.cache)[:, None]), 1)
        row = torch.arange(len(batch))
        logits = output.logits[:, row, batch.roles["read_out"]]
        right = batch.answers.expand(len(logits), -1)
        wrong = _likeliest_other(logits, right, first_value)
        parts = _at(shares, right[:, None]) - _at(shares, wrong[:, None])
        return [*names, BIASES], parts, _at(logits, right) - _at(logits, wrong)


def _of_biases(net: Network, batch: Batch, cache: dict[str, Tensor]) -> Float[Tensor, "ckpt batch vocab"]:
    config, weights = net.config, net.weights
    row, last = torch.arange(len(batch)), config.n_layers - 1
    final = cache[f"resid_post.{last}"][:, row, batch.roles["read_out"]]
    written = sum(weights[f"blocks.{layer}.attn.b_O"] for layer in range(config.n_layers))  # [ckpt d_model]
    normed = normalise(net, written[:, None, None].expand(-1, 1, len(batch), -1), final)[:, 0]
    return (normed + weights["ln_final.b"][:, None]) @ weights["embed.W_E"].transpose(-1, -2)


def _likeliest_other(
    logits: Float[Tensor, "ckpt batch vocab"], right: Int[Tensor, "ckpt batch"], first_value: int
) -> Int[Tensor, "ckpt batch"]:
    others = logits.scatter(-1, right[..., None], -torch.inf)
    return others[..., first_value:].argmax(-1) + first_value


def _at(values: Float[Tensor, "*lead vocab"], which: Int[Tensor, "*index"]) -> Float[Tensor, "*lead"]:
    return values.gather(-1, which.expand(values.shape[:-1])[..., None])[..., 0]
