"""How many neurons reading rests on: the few that cost most set aside together, beside as many drawn by lot.

Source: nelson960, whose ``candidate-neuron-intervention`` sets eight neurons to zero, with none drawn by lot beside.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.edited import EDITS_AT_ONCE
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.behavior import correct, margin
from circuitcore.metrics.table import Rows
from circuitcore.models import Mlp, Patch, Site, compile_edits, forward
from circuitcore.tasks.streams import Stream
from retrieval_circuits.sgd_formation.measures.asked import Asked, asked
from retrieval_circuits.sgd_formation.measures.removals import mean_by_kind

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

N_DRAWN = 20
"""Sets of each size that are drawn by lot."""


@dataclass(frozen=True, kw_only=True)
class Neurons:
    """On how many rows neurons are set aside, and how many together.

    Attributes:
        n_rows: rows of "validation", on which neurons are ranked, and of the reported split, which is read.
        sizes: numbers of neurons of one MLP that are set aside together.
    """

    n_rows: int
    sizes: tuple[int, ...]


def without_neurons(run: "Run", counts: Neurons, progress: Callable[[int], None]) -> pd.DataFrame:
    """What the last checkpoint reads without some neurons of one MLP, at all positions.

    Neurons are ranked by the margin that each costs alone, set to its mean, on other rows than are read. What stands
    in for them (edit): "zero" as in the source; "mean", theirs at words of the same kind; "resample", what they are in
    the next row. Metrics, by MLP (site) and by which neurons are set aside (variable "top 8" or "drawn 8"; of those
    drawn the mean over sets):

    * ``neurons_accuracy``: share of reads that are answered right; without any set aside with edit "none".
    * ``neurons_margin``: logit of the value asked for less that of the likeliest other value.
    """
    task, step = run.recipe.make_task(), run.final_step
    net, rows = Network(run.recipe.model, run.stack((step,))), Rows(run.run_id, (step,), (run.tokens_seen(step),))
    ranked, read = (asked(task, split, counts.n_rows) for split in ("validation", task.reported))
    whole = _scores(task, read, net.run(read.batch).logits)
    for layer in range(net.config.n_layers):
        site, mlp = Site("mlp_post", layer), {"site": str(Mlp(layer))}
        aside = _Aside(task, net, site)
        alone = torch.eye(net.config.d_mlp, dtype=torch.bool)
        order = aside.scores(ranked, alone, "mean")["neurons_margin"].argsort(stable=True)
        chosen, names = _sets(order, counts.sizes)
        _add(rows, whole, len(read.reads), [{**mlp, "edit": "none"}])
        for how in STANDS_IN:
            labels = [{**mlp, "edit": how, "variable": name} for name in dict.fromkeys(names)]
            scores = aside.scores(read, chosen, how)
            _add(rows, {name: _by_name(values, names) for name, values in scores.items()}, len(read.reads), labels)
    progress(1)
    return rows.frame()


def _add(rows: Rows, scores: Mapping[str, Float[Tensor, " set"]], n: int, labels: Sequence[dict]) -> None:
    for metric, values in scores.items():
        rows.add(metric, values[None], n, labels)


def _sets(order: Tensor, sizes: Sequence[int]) -> tuple[Tensor, list[str]]:
    """Which neurons each set has, ``[set neuron]``, and what it is called."""
    generator, found, names = torch.Generator().manual_seed(0), [], []
    for size in (size for size in sizes if size <= len(order)):
        drawn = [torch.randperm(len(order), generator=generator)[:size] for _ in range(N_DRAWN)]
        found += [order[:size], *drawn]
        names += [f"top {size}", *[f"drawn {size}"] * N_DRAWN]
    mask = torch.zeros(len(found), len(order), dtype=torch.bool)
    for row, members in enumerate(found):
        mask[row, members] = True
    return mask, names


def _by_name(values: Float[Tensor, " set"], names: Sequence[str]) -> Float[Tensor, " name"]:
    return torch.stack([
        values[torch.tensor([one == name for one in names])].mean() for name in dict.fromkeys(names)
    ])  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Aside:
    """A network and the hidden units of one of its MLPs, some of which are set aside."""

    task: Stream
    net: Network
    site: Site

    def scores(self, found: Asked, sets: Tensor, how: str) -> dict[str, Float[Tensor, " set"]]:
        """Accuracy and margin of the reads without each set, ``sets [set neuron]``."""
        clean = self.net.record(found.batch, [self.site.key])[self.site.key]
        both = clean, STANDS_IN[how](clean, found)
        parts = [self._some(found, some, both) for some in sets.split(EDITS_AT_ONCE)]
        return {metric: torch.cat([part[metric] for part in parts]) for metric in parts[0]}

    def _some(self, found: Asked, sets: Tensor, both: tuple[Tensor, Tensor]) -> dict[str, Float[Tensor, " set"]]:
        config, weights, batch = self.net.config, self.net.weights, found.batch
        clean, instead = both
        sources = {str(n): {self.site.key: torch.where(of_set, instead, clean)} for n, of_set in enumerate(sets)}
        made = [(Patch(self.site, "all", name),) for name in sources]
        with torch.inference_mode():
            plan = compile_edits(made, batch.roles, sources, {self.site.key: clean})
            return _scores(self.task, found, forward(config, weights, batch.tokens, plan).logits)


def _scores(task: Stream, found: Asked, logits: Tensor) -> dict[str, Float[Tensor, " set"]]:
    """Means over reads, of one checkpoint."""
    at_reads, first = found.at_reads(logits), task.words.first_value
    values = {
        "neurons_accuracy": correct(at_reads, found.reads.answer).double(),
        "neurons_margin": margin(at_reads[..., first:], found.reads.answer - first).double(),
    }
    return {metric: value.mean(-1).flatten() for metric, value in values.items()}


def _next_row(clean: Tensor, found: Asked) -> Tensor:
    return clean.roll(1, 1)


def _zero(clean: Tensor, found: Asked) -> Tensor:
    return torch.zeros_like(clean)


def _mean(clean: Tensor, found: Asked) -> Tensor:
    return mean_by_kind(clean, found.batch)


STANDS_IN = {"zero": _zero, "mean": _mean, "resample": _next_row}
"""What stands in for neurons -> their activations ``[ckpt row pos neuron]`` from the clean ones."""
