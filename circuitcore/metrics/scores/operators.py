"""What heads would write and look for, read off the weights: copying, OV and QK circuits.

Norms are folded by their gains only. For the OV circuit of an RMS norm that loses nothing: the division by the root
mean square is a positive factor per row and leaves every argmax over a row alone. For the composed QK circuit it is an
approximation, since each key token has a factor of its own; so is leaving out the centring of a layer norm.
"""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.metrics.network import Network
from circuitcore.models.transformer import rotate_to
from circuitcore.tasks.base import Batch


def ov_circuit(
    net: Network, layer: int, tokens: Int[Tensor, " token"], outputs: Int[Tensor, " out"]
) -> Float[Tensor, "ckpt head token out"]:
    """``W_E W_V W_O W_U`` of each head of a layer: logit that attending to ``token`` adds to ``out``."""
    x = _embedding(net, tokens) * _gain(net, f"blocks.{layer}.ln1.w")
    written = x[:, None] @ net.weights[f"blocks.{layer}.attn.W_V"] @ net.weights[f"blocks.{layer}.attn.W_O"]
    return (written * _gain(net, "ln_final.w")[:, None]) @ _unembedding(net)[:, None][..., outputs]


def copies(
    net: Network, layer: int, normed: Float[Tensor, "ckpt batch d_model"], answers: Int[Tensor, " answer"]
) -> Int[Tensor, "ckpt batch head"]:
    """The answer token each head's OV circuit would raise most, given its real input at one position.

    Source: retrieval-motifs study, "copy": no attention weight, no final norm, only possible answers compete.
    """
    return answers[copy_logits(net, layer, normed, answers).argmax(-1)]


def copy_logits(
    net: Network, layer: int, normed: Float[Tensor, "ckpt batch d_model"], answers: Int[Tensor, " answer"]
) -> Float[Tensor, "ckpt batch head answer"]:
    """By how much each head's OV circuit would raise each answer token, given its real input at one position."""
    w = net.weights
    written = normed[:, None] @ w[f"blocks.{layer}.attn.W_V"] @ w[f"blocks.{layer}.attn.W_O"]
    return (written @ _unembedding(net)[:, None][..., answers]).transpose(1, 2)


def matching_value_input(
    net: Network, layer: int, batch: Batch, cache: Mapping[str, Tensor]
) -> Float[Tensor, "ckpt batch d_model"]:
    """What a layer's heads are given at the matching value, after their norm; ``cache`` holds its ``resid_pre``."""
    at = batch.roles["slot_value"].gather(1, batch.variables["matching_slot"][:, None])[:, 0]
    x = cache[f"resid_pre.{layer}"][..., torch.arange(len(batch)), at, :]
    return net.normed(x, f"blocks.{layer}.ln1")


def ranks(
    logits: Float[Tensor, "*lead batch head answer"], wanted: Int[Tensor, " batch"]
) -> Float[Tensor, "*lead batch head"]:
    """Rank of each row's answer number ``wanted`` among all: 1 is best, those that tie share the mean of their ranks.

    Chance: half of one more than the number of answers.
    """
    own = logits.gather(-1, wanted[:, None, None].expand(*logits.shape[:-1], 1))
    return 0.5 + (logits > own).double().sum(-1) + (logits == own).double().sum(-1) / 2


def composed_qk(
    net: Network,
    query_head: tuple[int, int],
    key_head: tuple[int, int],
    tokens: Int[Tensor, " token"],
    at: tuple[int, list[int]],
) -> Float[Tensor, "ckpt head query key"]:
    """Scores of each next-layer head when both sides carry a token through a head's OV circuit.

    Query side: a token written by ``query_head``; key side: by ``key_head``; both into the layer after theirs.
    ``at``: the query position and the key positions, whose scores are averaged (they matter under RoPE only).
    A head that matches has its largest entry of each row on the diagonal; chance: 1 over the number of tokens.
    """
    layer = query_head[0] + 1
    w, (query_at, keys_at) = net.weights, at
    gain = _gain(net, f"blocks.{layer}.ln1.w")
    q = (_written(net, query_head, tokens) * gain)[:, None] @ w[f"blocks.{layer}.attn.W_Q"]
    k = (_written(net, key_head, tokens) * gain)[:, None] @ w[f"blocks.{layer}.attn.W_K"]
    if net.config.positions == "rope":
        q = rotate_to(q, query_at)
        k = torch.stack([rotate_to(k, position) for position in keys_at]).mean(0)
    return q @ k.transpose(-1, -2) / math.sqrt(net.config.d_head)


def measured_qk(
    scores: Float[Tensor, "batch query key"], batch: Batch, keys: Int[Tensor, " token"]
) -> Float[Tensor, "token token"]:
    """One head's mean score from the read-out to value positions, by queried key and by the key paired with the value.

    Before the softmax, less the mean of each row; a head that matches has its largest entries on the diagonal. Pairs
    of keys that never met are NaN.
    """
    rows = torch.arange(len(batch))
    at_values = scores[rows[:, None], batch.roles["read_out"][:, None], batch.roles["slot_value"]]
    asked = torch.searchsorted(keys, batch.tokens[rows, batch.roles["query_key"]])[:, None].expand_as(at_values)
    paired = torch.searchsorted(keys, batch.tokens.gather(1, batch.roles["slot_key"]))
    place = (asked * len(keys) + paired).flatten()
    total = torch.zeros(len(keys) ** 2).index_add(0, place, at_values.flatten().float())
    mean = (total / torch.bincount(place, minlength=len(keys) ** 2)).view(len(keys), len(keys))
    return mean - mean.nanmean(1, keepdim=True)


def diagonal_wins(matrix: Float[Tensor, "*lead row row"]) -> Float[Tensor, "*lead"]:
    """Share of rows whose largest entry is on the diagonal. Chance: 1 over the number of rows."""
    return (matrix.argmax(-1) == torch.arange(matrix.shape[-1])).float().mean(-1)


def _written(net: Network, head: tuple[int, int], tokens: Tensor) -> Tensor:
    """What a head writes when it attends to ``tokens``: ``[ckpt token d_model]``."""
    layer, index = head
    x = _embedding(net, tokens) * _gain(net, f"blocks.{layer}.ln1.w")
    w = net.weights
    return x @ w[f"blocks.{layer}.attn.W_V"][:, index] @ w[f"blocks.{layer}.attn.W_O"][:, index]


def _embedding(net: Network, tokens: Tensor) -> Tensor:
    return net.weights["embed.W_E"][:, tokens]


def _unembedding(net: Network) -> Tensor:
    return net.weights["embed.W_E"].transpose(-1, -2) if net.config.tied else net.weights["unembed.W_U"]


def _gain(net: Network, name: str) -> Tensor:
    """A norm's gain ``[ckpt 1 d_model]``; 1 where the model has none."""
    gain = net.weights.get(name)
    return torch.ones(1, 1, 1) if gain is None else gain[:, None]
