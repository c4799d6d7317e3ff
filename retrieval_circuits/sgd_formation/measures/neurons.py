"""How many neurons reading rests on: the few that cost most set aside together, beside as many drawn by lot.

Source: nelson960, whose ``candidate-neuron-intervention`` sets eight neurons to zero, with none drawn by lot beside.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.behavior import correct, margin
from circuitcore.metrics.table import Rows
from circuitcore.models import Mlp, Patch, Site
from circuitcore.tasks.streams import Stream
from retrieval_circuits.sgd_formation.measures.asked import Asked, asked
from retrieval_circuits.sgd_formation.measures.removals import mean_by_kind

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

AT_ONCE = 32
"""Sets whose activations are held at once: some 70 MB."""
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
    the next row. By MLP (site) and by which neurons are set aside (variable "top 8" or "drawn 8"; of those
    drawn the mean over sets, and of the dearest set, "worst drawn 8"; "all" of the MLP). Sets by lot may hold any
    neuron, those that cost most, too. Metric:

    * ``neurons_accuracy``: share of reads that are answered right; with edit "none" of the whole network. Chance as for
      accuracy.
    """
    task, step = run.recipe.make_task(), run.final_step
    net, rows = Network(run.recipe.model, run.stack((step,))), Rows(run.run_id, (step,), (run.tokens_seen(step),))
    ranked, read = (asked(task, split, counts.n_rows) for split in ("validation", task.reported))
    whole = correct(read.at_reads(net.run(read.batch).logits), read.reads.answer).double().mean(-1)
    for layer in range(net.config.n_layers):
        site, mlp = Site("mlp_post", layer), {"site": str(Mlp(layer))}
        aside = _Aside(task, net, site)
        alone = torch.eye(net.config.d_mlp, dtype=torch.bool)
        chosen, names = _sets(aside.scores(ranked, alone, "mean").margin.argsort(stable=True), counts.sizes)
        rows.add("neurons_accuracy", whole[:, None], len(read.reads), [{**mlp, "edit": "none"}])
        for how in STANDS_IN:
            left = _by_name(aside.scores(read, chosen, how).accuracy, names)
            labels = [{**mlp, "edit": how, "variable": name} for name in left]
            rows.add("neurons_accuracy", torch.tensor([[*left.values()]]), len(read.reads), labels)
    progress(1)
    return rows.frame()


def _sets(order: Tensor, sizes: Sequence[int]) -> tuple[Tensor, list[str]]:
    """Which neurons each set has, ``[set neuron]``, and what it is called."""
    generator, found, names = torch.Generator().manual_seed(0), [order], ["all"]
    for size in (size for size in sizes if size <= len(order)):
        drawn = [torch.randperm(len(order), generator=generator)[:size] for _ in range(N_DRAWN)]
        found += [order[:size], *drawn]
        names += [f"top {size}", *[f"drawn {size}"] * N_DRAWN]
    mask = torch.zeros(len(found), len(order), dtype=torch.bool)
    for row, members in enumerate(found):
        mask[row, members] = True
    return mask, names


def _by_name(values: Float[Tensor, " set"], names: Sequence[str]) -> dict[str, float]:
    """What a set is called -> its value; of sets drawn by lot the mean, and the least."""
    by_name = pd.Series(values.tolist()).groupby(list(names), sort=False)
    drawn = [name for name in by_name.groups if name.startswith("drawn")]
    return {**by_name.mean(), **by_name.min()[drawn].rename("worst {}".format)}


class _Scores(NamedTuple):
    """Means over reads, by set: the share that is right, and the margin in logits."""

    accuracy: Float[Tensor, " set"]
    margin: Float[Tensor, " set"]


@dataclass(frozen=True, eq=False)
class _Aside:
    """A network and the hidden units of one of its MLPs, some of which are set aside."""

    task: Stream
    net: Network
    site: Site

    def scores(self, found: Asked, sets: Bool[Tensor, "set neuron"], how: str) -> _Scores:
        """What is read without each set."""
        clean = self.net.record(found.batch, [self.site.key])[self.site.key]
        both = clean, STANDS_IN[how](clean, found)
        parts = [torch.stack(self._some(found, some, both)) for some in sets.split(AT_ONCE)]
        return _Scores(*torch.cat(parts, 1))

    def _some(self, found: Asked, sets: Bool[Tensor, "set neuron"], both: tuple[Tensor, Tensor]) -> _Scores:
        key, (clean, instead) = self.site.key, both
        sources = {str(n): {key: torch.where(of_set, instead, clean)} for n, of_set in enumerate(sets)}
        made = [(Patch(self.site, "all", name),) for name in sources]
        first, scores = self.task.words.first_value, []
        for output in self.net.passes(found.batch, made, sources, {key: clean}):
            logits = found.at_reads(output.logits)
            hits, lead = correct(logits, found.reads.answer), margin(logits[..., first:], found.reads.answer - first)
            scores.append(torch.stack((hits.double().mean(-1), lead.double().mean(-1)))[..., 0])
        return _Scores(*torch.cat(scores, -1))


def _next_row(clean: Tensor, found: Asked) -> Tensor:
    return clean.roll(-1, 1)


def _zero(clean: Tensor, found: Asked) -> Tensor:
    return torch.zeros_like(clean)


def _mean(clean: Tensor, found: Asked) -> Tensor:
    return mean_by_kind(clean, found.batch)


STANDS_IN = {"zero": _zero, "mean": _mean, "resample": _next_row}
"""What stands in for neurons -> their activations ``[ckpt row pos neuron]`` from the clean ones."""
