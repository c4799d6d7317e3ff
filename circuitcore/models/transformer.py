"""The whole decoder: weights in a flat dict, one forward path.

Shapes. ``*lead`` stands for up to two leading axes, ``[edit checkpoint]``: the first appears where an
edit first acts, the second when the weights are a stack of checkpoints. ``x [*lead batch pos d_model]``.
"""

import functools
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn import functional

from circuitcore.ground.spelling import first_of
from circuitcore.models.config import ModelConfig
from circuitcore.models.hooks import Hooks
from circuitcore.models.plan import Plan
from circuitcore.models.sites import site_rank
from circuitcore.models.window import Window

ROPE_BASE = 10_000.0
Weights = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Output:
    """What a forward pass returns: logits at every position, and the sites that were asked for."""

    logits: Float[Tensor, "*lead batch pos d_vocab"]
    cache: dict[str, Tensor]

    def of_one_edit(self, stack_dims: int = 0) -> "Output":
        """The same without the axis of edits, where there was one intervention; before its first edit sites have none.

        ``stack_dims`` is how many axes of stacked weights there are.
        """
        ranks = {key: site_rank(key.split(".")[0]) + stack_dims for key in self.cache}
        cache = {key: value[0] if value.dim() > ranks[key] else value for key, value in self.cache.items()}
        return Output(self.logits[0], cache)


def forward(
    config: ModelConfig,
    weights: Weights,
    tokens: Shaped[Tensor, "batch pos *d_in"] | Shaped[Tensor, "run batch pos *d_in"],
    plan: Plan | None = None,
    record: Collection[str] = (),
) -> Output:
    """Run the decoder on ``tokens`` under the edits of ``plan``, keeping the sites in ``record``.

    Recording, and an absent plan, leave the arithmetic untouched: the logits are bit-identical.

    Args:
        config: the architecture.
        weights: as ``init_weights`` makes them, or a stack of such with one leading axis.
        tokens: token ids ``[batch pos]``, or vectors ``[batch pos d_in]``. With a leading axis as long as that of
            stacked weights, every model of the stack reads its own rows.
        plan: compiled edits; the result then has a leading edit axis, and only the positions of the plan's window.
        record: keys like ``"pattern.1"`` (see ``sites.py``).

    Raises:
        ValueError: more positions than ``n_ctx``, or a recorded name that no tensor carries.
    """
    n_pos = tokens.shape[-2 if config.d_in else -1]
    if n_pos > config.n_ctx:
        raise ValueError(f"{n_pos} positions, but the model was built for at most {config.n_ctx}")
    at = Hooks(plan, frozenset(record), _stack_dims(config, weights), n_pos)
    first_layer = at.window.start[0]
    x = at.clean("resid_pre", first_layer, lambda: _embed(config, weights, tokens, at.window))
    for layer in range(first_layer, config.n_layers):
        x = _block(config, weights, x, layer, at)
    x = at("resid_final", config.n_layers - 1, partial(_after_last, config, weights, x))
    unembed = weights["embed.W_E"].transpose(-1, -2) if config.tied else weights["unembed.W_U"]
    logits = _linear(x, unembed, weights.get("unembed.b_U"))
    at.check_all_recorded()
    return Output(at.with_edit_axis(logits, 3), at.cache)


def _block(config: ModelConfig, weights: Weights, x: Tensor, layer: int, at: Hooks) -> Tensor:
    """One layer: attention, then the MLP, each with its norm before (pre) or after (post) it."""
    x = at("resid_pre", layer, lambda: x)
    mid = at("resid_mid", layer, lambda: _after_attention(config, weights, x, layer, at))
    return at("resid_post", layer, lambda: mid if config.mlp == "none" else _after_mlp(config, weights, mid, layer, at))


def _after_attention(config: ModelConfig, weights: Weights, x: Tensor, layer: int, at: Hooks) -> Tensor:
    mid = at.window.stream(layer, x) + _attention(config, weights, x, layer, at)
    return mid if _pre(config) else apply_norm(config, weights, f"blocks.{layer}.ln1", mid)


def _after_mlp(config: ModelConfig, weights: Weights, x: Tensor, layer: int, at: Hooks) -> Tensor:
    name, pre = f"blocks.{layer}", _pre(config)
    w_out, b_out = weights[f"{name}.mlp.W_out"], weights.get(f"{name}.mlp.b_out")

    def hidden():
        normed = apply_norm(config, weights, f"{name}.ln2", x) if pre else x
        return _mlp_hidden(config, weights, f"{name}.mlp", normed)

    out = at("mlp_out", layer, lambda: _linear(at("mlp_post", layer, hidden), w_out, b_out))
    return x + out if pre else apply_norm(config, weights, f"{name}.ln2", x + out)


def _after_last(config: ModelConfig, weights: Weights, x: Tensor) -> Tensor:
    return apply_norm(config, weights, "ln_final", x) if _pre(config) else x


def _pre(config: ModelConfig) -> bool:
    return config.norm_position == "pre"


def _attention(config: ModelConfig, weights: Weights, x: Tensor, layer: int, at: Hooks) -> Tensor:
    """Causal self-attention; what the heads write, summed ``[*lead batch pos d_model]``."""
    name = f"blocks.{layer}.attn"
    z = at("z", layer, lambda: _mixed_values(config, weights, x, layer, at))
    w_o = weights[f"{name}.W_O"]  # [*stack head d_head d_model]
    if f"result.{layer}" in at.record:
        at("result", layer, lambda: z.unsqueeze(-2).matmul(w_o[..., None, None, :, :, :]).squeeze(-2))
    return _linear(z.flatten(-2), w_o.flatten(-3, -2), weights.get(f"{name}.b_O"))


def _mixed_values(config: ModelConfig, weights: Weights, x: Tensor, layer: int, at: Hooks) -> Tensor:
    """Each head's values, averaged by its pattern: ``[*lead batch pos head d_head]``."""
    name = f"blocks.{layer}"
    normed = functools.cache(lambda: apply_norm(config, weights, f"{name}.ln1", x) if _pre(config) else x)

    def read(site: str) -> Tensor:
        """Queries only where the layer goes on."""
        seen = at.window.stream(layer, normed()) if site == "q" else normed()
        c = site.upper()
        found = _heads(seen, weights[f"{name}.attn.W_{c}"], weights.get(f"{name}.attn.b_{c}"))
        turns = config.positions == "rope" and site != "v"
        return _rotate(found, at.positions(site, layer, found)) if turns else found

    q, k, v = (at(site, layer, partial(read, site)) for site in "qkv")
    scores = at("scores", layer, lambda: _scores(config, q, k, layer, at))
    pattern = at("pattern", layer, lambda: scores.softmax(-1))
    earlier = at.window.earlier("v", layer)
    if earlier is None:
        return _times(pattern, v.transpose(-2, -3)).transpose(-2, -3)
    before, here = pattern.split((earlier.shape[-3], v.shape[-3]), -1)
    mixed = _times(before, earlier.transpose(-2, -3)) + _times(here, v.transpose(-2, -3))
    return mixed.transpose(-2, -3)


def _scores(config: ModelConfig, q: Tensor, k: Tensor, layer: int, at: Hooks) -> Tensor:
    """Products of queries and keys, and -inf where the key is ahead: ``[*lead batch head query key]``."""
    q, earlier = q.transpose(-2, -3), at.window.earlier("k", layer)
    products = _times(q, k.transpose(-2, -3).transpose(-1, -2))
    if earlier is not None:
        before = _times(q, earlier.transpose(-2, -3).transpose(-1, -2))
        products = torch.cat((before.expand(*products.shape[:-1], -1), products), -1)
    at_queries = at.positions("q", layer, q)
    future = torch.arange(products.shape[-1], device=q.device) > at_queries[..., None]  # [(batch) query key]
    future = future if future.dim() == 2 else future[:, None]
    return products.div_(math.sqrt(config.d_head)).masked_fill_(future, -torch.inf)


def _times(a: Tensor, b: Tensor) -> Tensor:
    """``a [(edit) *lead m n] @ b [*lead n o]``: what all edits share is read once, not copied for each."""
    return a @ b if a.dim() <= b.dim() else torch.einsum("e...mn,...no->e...mo", a, b)


def _mlp_hidden(config: ModelConfig, weights: Weights, name: str, x: Tensor) -> Tensor:
    """Activations after the nonlinearity (and the gate), ``[*lead batch pos d_mlp]``."""
    up = _linear(x, weights[f"{name}.W_in"], weights.get(f"{name}.b_in"))
    if config.mlp == "swiglu":
        return functional.silu(_linear(x, weights[f"{name}.W_gate"], weights.get(f"{name}.b_gate"))) * up
    return functional.gelu(up) if config.mlp == "gelu" else functional.relu(up)


def _embed(config: ModelConfig, weights: Weights, tokens: Tensor, window: Window) -> Tensor:
    shown = slice(window.first, window.stop)
    if config.d_in:
        x = _linear(tokens[..., shown, :], weights["embed.W_in"])
    elif tokens.dim() == 3:  # every model of the stack looks its own tokens up
        table = weights["embed.W_E"]
        x = table[torch.arange(len(table), device=tokens.device)[:, None, None], tokens[..., shown]]
    else:
        x = weights["embed.W_E"][..., tokens[..., shown], :]
    if config.positions == "learned":
        x = x + weights["pos_embed.W_pos"][..., None, window.first : window.first + x.shape[-2], :]
    return x


def apply_norm(config: ModelConfig, weights: Weights, name: str, x: Tensor) -> Tensor:
    """The norm called ``name`` on ``x [*lead batch pos d_model]``."""
    if config.norm == "none":
        return x
    gain = weights[f"{name}.w"][..., None, None, :]
    if config.norm == "rms":
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + config.norm_eps) * gain
    x = x - x.mean(-1, keepdim=True)
    unit = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + config.norm_eps)
    return unit * gain + weights[f"{name}.b"][..., None, None, :]


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x [*lead batch pos in] @ weight [*stack in out]``: one matrix product per checkpoint, not per prompt."""
    y = (x.flatten(-3, -2) @ weight).unflatten(-2, x.shape[-3:-1])
    return y if bias is None else y + bias[..., None, None, :]


def _heads(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Project into every head at once; ``weight [*stack head d_model d_head]`` -> ``[*lead batch pos head d_head]``."""
    joint = _linear(x, weight.transpose(-3, -2).flatten(-2), None if bias is None else bias.flatten(-2))
    return joint.unflatten(-1, (weight.shape[-3], weight.shape[-1]))


def _rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Rotary positions on ``x [*lead batch pos head d_head]``, standing at ``positions [pos]`` or ``[batch pos]``."""
    return _turn(x, positions.to(x.dtype)[..., None, None])


def rotate_to(x: Tensor, position: int) -> Tensor:
    """Rotate queries or keys ``[... d_head]`` as the forward pass does at one position."""
    return _turn(x, torch.tensor(float(position), dtype=x.dtype, device=x.device))


def _turn(x: Tensor, position: Tensor) -> Tensor:
    """Turn interleaved channel pairs of ``x`` by angles proportional to ``position``, which broadcasts to them."""
    d_head = x.shape[-1]
    rates = ROPE_BASE ** (-torch.arange(0, d_head, 2, dtype=x.dtype, device=x.device) / d_head)
    angles = position * rates
    cos, sin, even, odd = angles.cos(), angles.sin(), x[..., ::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def _stack_dims(config: ModelConfig, weights: Weights) -> int:
    """1 when the weights are a stack of checkpoints, else 0."""
    name = "embed.W_in" if config.d_in else "embed.W_E"
    return weights[name].dim() - 2


def weight_shapes(config: ModelConfig) -> dict[str, tuple[tuple[int, ...], int]]:
    """Name -> (shape, fan-in) of every tensor of the decoder; fan-in 0 marks a gain, -1 an embedding."""
    d, heads, d_head, shapes = config.d_model, config.n_heads, config.d_head, {}
    shapes |= (
        {"embed.W_in": ((config.d_in, d), config.d_in)} if config.d_in else {"embed.W_E": ((config.d_vocab, d), -1)}
    )
    if config.positions == "learned":
        shapes["pos_embed.W_pos"] = ((config.n_ctx, d), -1)
    for layer in range(config.n_layers):
        for c in "QKV":
            shapes[f"blocks.{layer}.attn.W_{c}"] = ((heads, d, d_head), d)
        shapes[f"blocks.{layer}.attn.W_O"] = ((heads, d_head, d), heads * d_head)
        if config.bias != "none":
            shapes |= {f"blocks.{layer}.attn.b_{c}": ((heads, d_head), d) for c in "QKV"}
            shapes[f"blocks.{layer}.attn.b_O"] = ((d,), heads * d_head)
        shapes |= _norm_shapes(config, f"blocks.{layer}.ln1") | _mlp_shapes(config, layer)
    if config.norm_position == "pre":
        shapes |= _norm_shapes(config, "ln_final")
    if not config.tied:
        shapes["unembed.W_U"] = ((d, config.d_vocab), d)
    if config.bias == "all":
        shapes["unembed.b_U"] = ((config.d_vocab,), d)
    return shapes


def shapes_of(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every tensor of the decoder."""
    return {name: shape for name, (shape, _) in weight_shapes(config).items()}


def require_weights(shapes: Mapping[str, tuple[int, ...]], weights: Weights, *, stacked: bool = False) -> None:
    """Refuse weights that are not those of a decoder, before anything reads them.

    Args:
        shapes: the decoder's, as ``shapes_of`` gives them.
        weights: what is to be read.
        stacked: with one leading axis, as long for all of them: a stack of checkpoints.

    Raises:
        ValueError: tensors that are missing, left over or of another shape.
    """
    if weights.keys() != shapes.keys():
        named = {"missing": shapes.keys() - weights.keys(), "left over": weights.keys() - shapes.keys()}
        told = "; ".join(f"{what}: {first_of(sorted(names))}" for what, names in named.items() if names)
        raise ValueError(f"not the weights of this model. {told}")
    lead = tuple(next(iter(weights.values())).shape[:1]) if stacked else ()
    for name, shape in shapes.items():
        if tuple(weights[name].shape) != lead + shape:
            wanted = f"{('ckpt', *shape)}".replace("'", "") if stacked else shape
            raise ValueError(f"{name} has shape {tuple(weights[name].shape)}; this model's is {wanted}")


def _mlp_shapes(config: ModelConfig, layer: int) -> dict[str, tuple[tuple[int, ...], int]]:
    if config.mlp == "none":
        return {}
    name, d, width = f"blocks.{layer}.mlp", config.d_model, config.d_mlp
    inner = ("gate", "in") if config.mlp == "swiglu" else ("in",)
    shapes = _norm_shapes(config, f"blocks.{layer}.ln2")
    shapes |= {f"{name}.W_{part}": ((d, width), d) for part in inner} | {f"{name}.W_out": ((width, d), width)}
    if config.bias != "none":
        shapes |= {f"{name}.b_{part}": ((width,), d) for part in inner} | {f"{name}.b_out": ((d,), width)}
    return shapes


def _norm_shapes(config: ModelConfig, name: str) -> dict[str, tuple[tuple[int, ...], int]]:
    parts = {"rms": ("w",), "layer": ("w", "b"), "none": ()}[config.norm]
    return {f"{name}.{part}": ((config.d_model,), 0) for part in parts}


# Attention of ``TransformerEncoderLayer`` against ``Linear``: a Xavier bound over d and 3d is sqrt(6 / 4d).
_ENCODER_SCALE = {"W_Q": math.sqrt(1.5), "W_K": math.sqrt(1.5), "W_V": math.sqrt(1.5), "W_O": 1.0}


def init_weights(config: ModelConfig, seed: int) -> dict[str, Tensor]:
    """Fresh weights, a function of ``config`` and ``seed`` alone.

    ``init="torch"``: embeddings N(0, 1), matrices and biases uniform in +-1/sqrt(fan_in) (PyTorch's defaults for
    ``Embedding`` and ``Linear``). ``init="small"``: everything N(0, 0.02), biases 0. ``init="encoder"``: as "torch",
    but queries, keys and values uniform in +-sqrt(1.5/d_model) and attention's biases 0 (those of
    ``TransformerEncoderLayer``, which draws the three as one Xavier matrix). Gains start at 1, shifts at 0.
    """
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, (shape, fan_in) in weight_shapes(config).items():
        if fan_in == 0:
            weights[name] = torch.full(shape, 1.0 if name.endswith(".w") else 0.0)
        elif config.init == "small":
            weights[name] = 0.02 * torch.randn(shape, generator=generator) * (".b_" not in name)
        elif fan_in == -1:
            weights[name] = torch.randn(shape, generator=generator)
        else:
            weights[name] = (2 * torch.rand(shape, generator=generator) - 1) / math.sqrt(fan_in)
            if config.init == "encoder" and ".attn." in name:
                weights[name] *= _ENCODER_SCALE.get(name.rpartition(".")[2], 0.0)
    return weights
