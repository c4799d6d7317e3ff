"""What the model answers: accuracy, margin, loss, and whether the answer comes from the context."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Logits = Float[Tensor, "*lead batch vocab"]
PerRow = Float[Tensor, "*lead batch"]


def correct(logits: Logits, answers: Int[Tensor, " batch"]) -> Bool[Tensor, "*lead batch"]:
    """Whether the highest logit over the whole vocabulary is the answer. Chance: in-context, one over the pairs."""
    return logits.argmax(-1) == answers


def margin(logits: Logits, answers: Int[Tensor, " batch"]) -> PerRow:
    """Answer logit minus the best other logit, in nats of logit; positive exactly where the answer wins."""
    others = logits.scatter(-1, _column(answers, logits), -torch.inf)
    return logits.gather(-1, _column(answers, logits)).squeeze(-1) - others.amax(-1)


def logit_difference(logits: Logits, answers: Int[Tensor, " batch"], foils: Int[Tensor, " foil"]) -> PerRow:
    """Answer logit minus the mean logit of the foils (all possible answers but the right one). Chance: 0.

    Raises:
        ValueError: fewer than two possible answers, so that no foil is left.
    """
    if len(foils) < 2:
        raise ValueError(f"need at least 2 possible answers, got {len(foils)}")
    answer = logits.gather(-1, _column(answers, logits)).squeeze(-1)
    return answer - (logits[..., foils].sum(-1) - answer) / (len(foils) - 1)


def loss(logits: Logits, answers: Int[Tensor, " batch"]) -> PerRow:
    """Cross-entropy of the answer over the whole vocabulary, in nats. Uniform guess: log(vocabulary size)."""
    return -logits.log_softmax(-1).gather(-1, _column(answers, logits)).squeeze(-1)


def from_context(logits: Logits, tokens: Int[Tensor, "batch pos"]) -> Bool[Tensor, "*lead batch"]:
    """Whether the answer given is a token of the prompt. Chance: distinct prompt tokens over the vocabulary."""
    return (logits.argmax(-1)[..., None] == tokens).any(-1)


def _column(answers: Tensor, logits: Tensor) -> Tensor:
    """``answers`` as an index for ``gather`` on the last axis of ``logits``."""
    return answers.expand(logits.shape[:-1])[..., None]
