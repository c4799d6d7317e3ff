"""What somebody who knows the rules of permutation recall should answer, with and without knowing the split."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.permutation import PermutationRecall

Probabilities = Float[Tensor, "row slot symbol"]


def uniform_posterior(task: PermutationRecall, batch: Batch) -> Probabilities:
    """Probability of each y = 1..V at each slot, where all V! permutations are equally likely beforehand.

    The y of an x that stood before is certain; otherwise each y that was not shown is equally likely.
    """
    x, y = _pairs(batch)
    symbols = torch.arange(1, task.n_symbols + 1)
    shown = (y[:, None, :] == symbols[:, None]).long().cumsum(2).mT - (y[:, :, None] == symbols).long()
    free = (shown == 0).double()
    known = _known(x, y)
    certain = (known[..., None] == symbols).double()
    return torch.where((known > 0)[..., None], certain, free / free.sum(-1, keepdim=True))


def train_posterior(task: PermutationRecall, batch: Batch) -> tuple[Probabilities, Bool[Tensor, "row slot"]]:
    """As ``uniform_posterior``, where only the permutations trained on are possible.

    Returns:
        Probabilities, and where some permutation trained on fits what was shown; elsewhere they are the uniform ones.
    """
    x, y = _pairs(batch)
    perms = task.permutations("train")
    mapped = perms.T[x - 1]  # [row slot permutation]: what each permutation says at each slot
    agrees = mapped == y[:, :, None]
    before = torch.cat([torch.ones_like(agrees[:, :1]), agrees.cummin(1).values[:, :-1]], 1)  # fits all slots so far
    symbols = torch.arange(1, task.n_symbols + 1)
    counts = torch.stack([(before & (mapped == symbol)).sum(-1) for symbol in symbols], -1).double()
    fits = counts.sum(-1) > 0
    return torch.where(
        fits[..., None], counts / counts.sum(-1, keepdim=True).clamp(min=1), uniform_posterior(task, batch)
    ), fits


def marginal_posterior(task: PermutationRecall, batch: Batch) -> Probabilities:
    """Elimination by somebody who has noticed only how often each pair (x, y) is trained on: a slight memory.

    Among the y that were not shown, each in proportion to that count.
    """
    uniform, (x, _) = uniform_posterior(task, batch), _pairs(batch)
    symbols = torch.arange(1, task.n_symbols + 1)
    counts = (task.permutations("train")[:, :, None] == symbols).sum(0).double()  # [x symbol]
    weighed = uniform * counts[x - 1]
    total = weighed.sum(-1, keepdim=True)
    return torch.where(total > 0, weighed / total.clamp(min=1e-12), uniform)


def loss_levels(task: PermutationRecall) -> dict[str, float]:
    """Mean loss over the V scored positions, in nats, of those who know ever more of the rules, on rows trained on.

    The pairs of a row tell its whole permutation, repeat or not. So whoever eliminates and recalls pays ln V! for it,
    and whoever also knows the permutations trained on ln ``n_train``. Not to recall costs the choice among the y of the
    slots that may be repeated, in each row with a repeat; not even to notice the repeat costs, in each row, the entropy
    of whether there is one (the best bet on it is ``repeat_ratio``).
    """
    v, ratio = task.n_symbols, task.repeat_ratio
    of_all, of_sources = math.log(math.factorial(v)), ratio * math.log(len(task.sources))
    hedge = -sum(share * math.log(share) for share in (ratio, 1 - ratio) if share > 0)
    totals = {
        "uniform guess": v * math.log(v),
        "elimination, blind to repeats": of_all + of_sources + hedge,
        "elimination, repeats detected": of_all + of_sources,
        "elimination and recall": of_all,
        "train posterior": math.log(task.n_train),
    }
    return {name: total / v for name, total in totals.items()}


def _pairs(batch: Batch) -> tuple[Int[Tensor, "row slot"], Int[Tensor, "row slot"]]:
    return batch.tokens.gather(1, batch.roles["x"]), batch.targets.gather(1, batch.roles["x"])


def _known(x: Int[Tensor, "row slot"], y: Int[Tensor, "row slot"]) -> Int[Tensor, "row slot"]:
    """The y of each slot's x if it stood before, else 0."""
    earlier = (x[:, :, None] == x[:, None, :]).tril(-1)
    return (earlier * y[:, None, :]).amax(2)
