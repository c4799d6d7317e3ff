"""How well a feature tells the classes of a causal variable apart, and how well it would by chance.

Source: retrieval-motifs study, eta squared; the study has no null. Two are given here, since the rows of a sweep come
in blocks made from one base prompt: dealing labels out among single rows treats them as independent, which they are
not; dealing whole bases' labels out keeps what rows of one base share. Either is for the largest of all features of a
site and of all variables, because it is the largest that is reported.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.metrics.instruments.tracked import Sweep
from circuitcore.models.sites import Site

N_SHUFFLES, QUANTILE = 200, 0.95
SHUFFLES_AT_ONCE = 20  # bounds memory


def eta_squared(
    values: Float[Tensor, "row feature"], labels: Int[Tensor, "*lead row"], n_classes: int
) -> Float[Tensor, "*lead feature"]:
    """Between-group over total sum of squares: the share of a feature's variance that the classes account for.

    In [0, 1]; 0 for a feature without variance. Expected for labels that say nothing: (classes - 1) / (rows - 1).
    Leading axes of ``labels`` are other labellings of the same rows.
    """
    centred = values - values.mean(0)
    total = centred.square().sum(0)
    member = (labels[..., None, :] == torch.arange(n_classes)[:, None]).to(values.dtype)  # [*lead class row]
    sums, counts = member @ centred, member.sum(-1)[..., None].clamp_min(1)
    between = (sums.square() / counts).sum(-2)
    return torch.where(total > 0, between / total.clamp_min(torch.finfo(values.dtype).tiny), 0)


@dataclass(frozen=True, eq=False)
class Selectivity:
    """How selective the features of one site are, with the 95 % quantiles of the largest under both nulls.

    Attributes:
        variables: names, in the order of the first axis of ``eta``.
        eta: eta squared.
        null_rows: of the largest eta squared with labels dealt out among rows.
        null_bases: with those of whole base prompts dealt out.
    """

    variables: tuple[str, ...]
    eta: Float[Tensor, "variable feature"]
    null_rows: float
    null_bases: float

    @property
    def label(self) -> Int[Tensor, " feature"]:
        """Number of the variable with the largest eta squared, of each feature."""
        return self.eta.argmax(0)

    @property
    def largest(self) -> Float[Tensor, " feature"]:
        """That eta squared."""
        return self.eta.amax(0)

    def best(self) -> tuple[int, str, float]:
        """The most selective feature, its variable and its eta squared: what a site is labelled by."""
        feature = int(self.largest.argmax())
        return feature, self.variables[int(self.label[feature])], float(self.largest[feature])

    def counts(self) -> dict[str, int]:
        """Variable -> features labelled by it whose eta squared is beyond the null of whole bases."""
        beyond = self.largest > self.null_bases
        return {name: int((beyond & (self.label == i)).sum()) for i, name in enumerate(self.variables)}


def selectivity(
    values: Mapping[Site, Float[Tensor, "row _"]], sweep: Sweep, n_classes: Mapping[str, int]
) -> dict[Site, Selectivity]:
    """Selectivity of the features of several sites; all sites are scored in the same products.

    Args:
        values: site -> its features on the sweep rows.
        sweep: the rows, with their labels.
        n_classes: variable -> number of classes.
    """
    if not values:
        return {}
    joint = torch.cat(list(values.values()), 1).double()
    eta = torch.stack([eta_squared(joint, sweep.labels[name], n) for name, n in n_classes.items()])
    widths = [part.shape[1] for part in values.values()]
    joint = ((joint - joint.mean(0)) / joint.std(0).clamp_min(torch.finfo(torch.float64).tiny)).float()
    nulls = [
        largest_by_chance(joint, sweep.labels, n_classes, orders, widths).quantile(QUANTILE, 0).tolist()
        for orders in (shuffled_rows(len(joint)), shuffled_bases(sweep))
    ]
    parts = zip(values, eta.split(widths, 1), *nulls, strict=True)
    return {site: Selectivity(tuple(n_classes), part, rows, bases) for site, part, rows, bases in parts}


def largest_by_chance(
    values: Float[Tensor, "row feature"],
    labels: Mapping[str, Int[Tensor, " row"]],
    n_classes: Mapping[str, int],
    orders: Int[Tensor, "shuffle row"],
    widths: list[int],
) -> Float[Tensor, "shuffle site"]:
    """The largest eta squared over features of each site and over variables, for each order of the labels.

    Args:
        values: features of all sites side by side.
        labels: variable -> class of each row; all variables are put in the same order, as one row has them together.
        n_classes: variable -> number of classes.
        orders: for each shuffle, the row whose labels each row gets.
        widths: features of each site.
    """
    found = []
    for some in orders.split(SHUFFLES_AT_ONCE):
        eta = [eta_squared(values, labels[name][some], n) for name, n in n_classes.items()]
        largest = torch.stack(eta).amax(0)  # [shuffle feature]
        found.append(torch.stack([part.amax(-1) for part in largest.split(widths, -1)], -1))
    return torch.cat(found)


def shuffled_rows(n_rows: int) -> Int[Tensor, "shuffle row"]:
    """Orders of single rows, the same ones at every call."""
    return torch.rand(N_SHUFFLES, n_rows, generator=torch.Generator().manual_seed(0)).argsort(1)


def shuffled_bases(sweep: Sweep) -> Int[Tensor, "shuffle row"]:
    """Orders in which rows change places only with those made in the same way from another base.

    Raises:
        ValueError: a family whose bases have different numbers of rows.
    """
    n_bases = int(sweep.base.max()) + 1
    moved = torch.rand(N_SHUFFLES, n_bases, generator=torch.Generator().manual_seed(1)).argsort(1)
    orders, start = [], 0
    for batch in sweep.batches:
        base = sweep.base[start : start + len(batch)]
        n_here, each = int(base.max()) + 1, len(batch) // (int(base.max()) + 1)
        if (torch.bincount(base) != each).any():
            raise ValueError("a family whose base prompts have different numbers of rows cannot change places")
        blocks = base.argsort(stable=True).view(n_here, each) + start
        there = moved[moved < n_here].view(N_SHUFFLES, n_here)
        order = torch.empty(N_SHUFFLES, len(batch), dtype=torch.int64)
        order[:, blocks.flatten() - start] = blocks[there].flatten(1)
        orders.append(order)
        start += len(batch)
    return torch.cat(orders, 1)
