"""Scores of permutation recall: how near answers are to a posterior, and which of the symbols is said.

Probabilities are over the symbols 1..V, as in the source: the softmax of all logits but that of token 0, which never
occurs.
"""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn import functional

SOURCE_BATCH = 256
"""Rows of a batch of the source, whose scores are means over batches."""

LEAST_VARIATION = 1e-6
"""Of the largest singular value; float32 leaves rounding of 1e-7."""

PerStep = Float[Tensor, "*lead row slot"]
Probabilities = Float[Tensor, "*lead row slot symbol"]


def symbols_apart(logits: Float[Tensor, "*lead vocab"]) -> Float[Tensor, "*lead vocab"]:
    """The same in float64, with the numbers of one symbol side by side: sums over five symbols take a tenth as long."""
    return logits.movedim(-1, 0).double().contiguous().movedim(0, -1)


def probabilities(logits: Float[Tensor, "*lead vocab"]) -> Float[Tensor, "*lead symbol"]:
    """Probability of each symbol 1..V."""
    of_symbols = logits[..., 1:]
    sizes = (of_symbols - of_symbols.amax(-1, keepdim=True)).exp()
    return sizes / sizes.sum(-1, keepdim=True)


def likeliest_symbol(logits: Float[Tensor, "*lead vocab"]) -> Int[Tensor, "*lead"]:
    """The likeliest symbol, 1..V. Chance: 1/V, or less for somebody who knows nothing of what is used up."""
    return logits[..., 1:].argmax(-1) + 1


def loss(
    logits: Float[Tensor, "*lead row slot vocab"], targets: Int[Tensor, "row slot"]
) -> Float[Tensor, "*lead row slot"]:
    """Cross-entropy over all V + 1 logits, in nats. Uniform guess: log(V + 1)."""
    most = logits.amax(-1)
    total = (logits - most[..., None]).exp().sum(-1).log() + most
    return total - logits.gather(-1, targets.expand(logits.shape[:-1])[..., None])[..., 0]


def mean_over_batches(values: PerStep) -> Float[Tensor, "*lead slot"]:
    """Mean over batches of ``SOURCE_BATCH`` rows of the batch mean: the rows of a shorter last batch weigh more."""
    parts, n_rows = _batches(values), values.shape[-2]
    sizes = torch.full((parts.shape[-3], 1), SOURCE_BATCH, dtype=values.dtype)
    sizes[-1] = n_rows - SOURCE_BATCH * (len(sizes) - 1)
    return (parts.sum(-2) / sizes).mean(-2)


def max_over_batches(values: PerStep) -> Float[Tensor, "*lead slot"]:
    """Mean over batches of the batch maximum, for values from 0 on: what the source calls a maximum."""
    return _batches(values).amax(-2).mean(-2)


def _batches(values: PerStep) -> Float[Tensor, "*lead part of_part slot"]:
    """Rows dealt out to batches in their order; a shorter last one is filled up with zeros."""
    missing = -values.shape[-2] % SOURCE_BATCH
    return functional.pad(values, (0, 0, 0, missing)).unflatten(-2, (-1, SOURCE_BATCH))


def leaning(
    found: Probabilities,
    towards: Float[Tensor, "row slot symbol"],
    uniform: Float[Tensor, "row slot symbol"],
    weight: Shaped[Tensor, "row slot"],
) -> Float[Tensor, "*lead slot"]:
    """At each step the lambda of ``found = lambda * towards + (1 - lambda) * uniform``, by least squares.

    Over all rows, by their ``weight``, and symbols together. 0: does not know what sets ``towards`` apart; nan where
    nothing does.
    """
    way = (towards - uniform) * weight[..., None]
    return torch.einsum("...rsv,rsv->...s", found - uniform, way) / ((towards - uniform) * way).sum((0, 2))


def favourite(posterior: Float[Tensor, "row slot symbol"]) -> tuple[Int[Tensor, "row slot"], Bool[Tensor, "row slot"]]:
    """The likeliest symbol 1..V of a posterior, and whether no other one is as likely."""
    best = posterior.amax(-1, keepdim=True)
    return posterior.argmax(-1) + 1, (posterior == best).sum(-1) == 1


def share(hits: Shaped[Tensor, "*lead row"], where: Bool[Tensor, " row"] | None = None) -> Float[Tensor, "*lead"]:
    """Share of the rows (of those ``where`` says) that are hits; nan of no rows."""
    return (hits if where is None else hits[..., where]).double().mean(-1)


def unused_symbol(shown: Int[Tensor, "row shown"], n_symbols: int) -> Int[Tensor, " row"]:
    """The one symbol of 1..V that is not among V - 1 different ones."""
    return n_symbols * (n_symbols + 1) // 2 - shown.sum(-1)


def affine_fit(
    x: Float[Tensor, "*lead row d"], y: Float[Tensor, "*lead row out"], to: Float[Tensor, "*lead other d"]
) -> Float[Tensor, "*lead other out"]:
    """What the affine map of least squares from ``x`` to ``y`` gives for the rows ``to``, in float64.

    Directions in which ``x`` hardly varies (a normed stream has one in which it never does) are left out.
    """
    x, y, to = x.double(), y.double(), to.double()
    centre, middle = x.mean(-2, keepdim=True), y.mean(-2, keepdim=True)
    found = torch.linalg.lstsq(x - centre, y - middle, rcond=LEAST_VARIATION, driver="gelsd")
    return (to - centre) @ found.solution + middle
