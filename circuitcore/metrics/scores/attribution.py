"""Direct logit attribution: the logits as a sum over what each part wrote into the residual stream."""

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.network import Network, read_out
from circuitcore.tasks.base import Batch


def recorded_sites(net: Network) -> tuple[str, ...]:
    """What a clean pass must record for ``direct_logit_attribution``."""
    layers = range(net.config.n_layers)
    mlps = () if net.config.mlp == "none" else tuple(f"mlp_out.{layer}" for layer in layers)
    return ("resid_pre.0", f"resid_post.{layers[-1]}", *(f"result.{layer}" for layer in layers), *mlps)


def direct_logit_attribution(
    net: Network, batch: Batch, cache: dict[str, Tensor]
) -> tuple[list[str], Float[Tensor, "ckpt part batch vocab"]]:
    """Each part's share of the read-out logits.

    The shares sum to the logits, less what no part wrote: the attention biases ``b_O``, the shift of a final layer norm
    and the bias of the unembedding. The final norm keeps its actual scale for the row.

    Parts: ``embed`` (with the positions), then per layer its heads and its MLP (with its bias ``b_out``).

    Raises:
        ValueError: a post-norm model, whose residual stream is no sum of what its parts wrote.
    """
    if net.config.norm_position != "pre":
        raise ValueError("direct logit attribution needs a pre-norm residual stream; this model is post-norm")
    names, writes = ["embed"], [read_out(cache["resid_pre.0"], batch)]
    for layer in range(net.config.n_layers):
        for head in range(net.config.n_heads):
            names.append(f"L{layer}H{head}")
            writes.append(read_out(cache[f"result.{layer}"][..., head, :], batch))
        if net.config.mlp != "none":
            names.append(f"L{layer}MLP")
            writes.append(read_out(cache[f"mlp_out.{layer}"], batch))
    final = read_out(cache[f"resid_post.{net.config.n_layers - 1}"], batch)
    unembed = net.weights["embed.W_E"].transpose(-1, -2) if net.config.tied else net.weights["unembed.W_U"]
    return names, normalise(net, torch.stack(writes, 1), final) @ unembed[:, None]


def normalise(
    net: Network, parts: Float[Tensor, "ckpt part batch d_model"], final: Float[Tensor, "ckpt batch d_model"]
) -> Float[Tensor, "ckpt part batch d_model"]:
    """The final norm's gain applied to each part with the scale of the whole stream ``final``; without its shift."""
    if net.config.norm == "none":
        return parts
    if net.config.norm == "layer":
        parts, final = parts - parts.mean(-1, keepdim=True), final - final.mean(-1, keepdim=True)
    scale = torch.rsqrt(final.square().mean(-1, keepdim=True) + net.config.norm_eps)
    return parts * scale[:, None] * net.weights["ln_final.w"][:, None, None]
