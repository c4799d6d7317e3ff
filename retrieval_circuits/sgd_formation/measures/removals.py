"""Which parts a network on streams needs, at the end and as it learns: each head and MLP taken away, one at a time.

Source: nelson960, ``checkpoint-sweep``, which puts zeros in their place at each checkpoint of one network.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.behavior import correct, margin
from circuitcore.metrics.table import Rows
from circuitcore.models import Ablate, Mlp
from circuitcore.models.edits import Cache
from circuitcore.tasks.base import Batch
from circuitcore.tasks.streams import EVENT
from retrieval_circuits.sgd_formation.measures.asked import asked, one_read_a_row

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

HOWS = ("zero", "mean")


@dataclass(frozen=True, kw_only=True)
class Removed:
    """How many rows parts are removed on, and of which splits."""

    n_rows: int
    splits: tuple[str, ...]


def part_removed(run: "Run", counts: Removed, progress: Callable[[int], None]) -> pd.DataFrame:
    """What is left at the end of training without one part, at all positions.

    Metrics, by part (site ``L1H0``, ``L0MLP``; "none" for the whole network) and by what stands in for it (edit "zero"
    as in the source, or "mean": the mean of what the part writes at words of the same kind, marks, keys or values):

    * ``removed_accuracy``: share of reads that are answered right. Chance as for accuracy.
    * ``removed_margin``: logit of the value asked for less that of the likeliest other value.
    """
    task, step = run.recipe.make_task(), run.final_step
    net = Network(run.recipe.model, run.stack((step,)))
    rows = Rows(run.run_id, (step,), (run.tokens_seen(step),))
    interventions, labels = _one_at_a_time(net)
    for split in counts.splits:
        found = asked(task, split, counts.n_rows)
        each = one_read_a_row(found)
        with torch.inference_mode():
            means = _means(_written(net, found.batch), found.batch)
            edited = net.answers_under(each, interventions, {"mean": means}).logits[:, 0]
        hits = correct(edited, each.answers).double().mean(-1)
        first = task.words.first_value
        margins = margin(edited[..., first:], each.answers - first).double().mean(-1)
        for metric, values in {"removed_accuracy": hits, "removed_margin": margins}.items():
            rows.add(metric, values, len(each), labels, split=split)
    progress(1)
    return rows.frame()


def parts_needed(run: "Run", counts: Removed, progress: Callable[[int], None]) -> pd.DataFrame:
    """What is answered right at each checkpoint, and without one part, at all positions.

    Metrics: ``accuracy``, the share of these reads that are answered right; and ``left``, the same by part and by what
    stands in for it as in ``part_removed``: zeros, as in the source, and the means that claims go by.
    """
    task, tables = run.recipe.make_task(), []
    for steps, net in stacks(run):
        rows = Rows(run.run_id, steps, [*map(run.tokens_seen, steps)])
        interventions, labels = _one_at_a_time(net)
        for split in counts.splits:
            found = asked(task, split, counts.n_rows)
            own = _written(net, found.batch)
            passes = net.passes(found.batch, interventions, {"mean": _means(own, found.batch)}, own)
            hits = torch.cat([correct(found.at_reads(out.logits), found.reads.answer) for out in passes])
            right, n = hits.double().mean(-1).T, len(found.reads.answer)
            rows.add("accuracy", right[:, 0], n, split=split)
            rows.add("left", right[:, 1:], n, labels[1:], split=split)
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


def _one_at_a_time(net: Network) -> tuple[list[tuple[Ablate, ...]], list[dict[str, str]]]:
    """Nothing, and each part in either way: what is done, and how its rows are called."""
    parts = [*net.heads, *(Mlp(layer) for layer in range(net.config.n_layers))]
    labels = [{"edit": how, "site": str(part)} for how in HOWS for part in parts]
    return [(), *((Ablate(part, how),) for how in HOWS for part in parts)], [{"edit": "none", "site": "none"}, *labels]


def _written(net: Network, batch: Batch) -> Cache:
    """What each part writes."""
    layers = range(net.config.n_layers)
    return net.record(batch, [f"{name}.{layer}" for layer in layers for name in ("z", "mlp_out")])


def _means(written: Cache, batch: Batch) -> dict[str, Float[Tensor, "ckpt 1 pos ..."]]:
    """What each part writes on average at words of the same kind, put at every such word; the first one apart."""
    return {key: mean_by_kind(value, batch) for key, value in written.items()}


def mean_by_kind(value: Float[Tensor, "ckpt batch pos ..."], batch: Batch) -> Float[Tensor, "ckpt 1 pos ..."]:
    """The mean over words of the same kind, at every such word; the first word is a kind of its own."""
    n_pos = batch.tokens.shape[1]
    kind = torch.where(torch.arange(n_pos) == 0, EVENT, torch.arange(n_pos) % EVENT)
    return _mean_by_kind(value, kind, batch.loss_mask)


def _mean_by_kind(value: Tensor, kind: Tensor, alive: Tensor) -> Tensor:
    """``value [ckpt batch pos ...]`` averaged over the positions of each kind that are no padding, put back there."""
    which = torch.nn.functional.one_hot(kind).to(value.dtype)  # [pos kind]
    counts = torch.einsum("bp,pk->k", alive.to(value.dtype), which)
    sums = torch.einsum("cbp...,bp,pk->ck...", value, alive.to(value.dtype), which)
    means = sums / counts.clamp(min=1).view(1, -1, *[1] * (sums.dim() - 2))
    return means[:, kind][:, None]
