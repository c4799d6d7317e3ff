"""A second decoder, written without looking at the first: one prompt, one position and one head at a time.

It is slow on purpose. Nothing is batched, rotary positions are products of complex numbers, norms are PyTorch's own,
and any vector inside can be replaced by hand. Work in float64.

Vectors inside are named ``(site, layer, head, position)``, with head None where there is none:
``("resid_pre", 0, None, 3)``, ``("z", 1, 0, 12)``. ``("edge", layer, head, (query, key))`` is one entry of the scores.
"""

import math
from functools import cache, partial

import torch
from torch.nn import functional


def run(config, weights, prompt, changes=None):
    """Logits ``[position vocab]`` of one prompt, and every vector inside by name.

    ``changes`` maps names to vectors; a named vector is replaced as soon as it is computed.
    """
    inside, changes = {}, changes or {}

    def named(site, layer, head, position, value):
        inside[site, layer, head, position] = changes.get((site, layer, head, position), value)
        return inside[site, layer, head, position]

    stream = [_embedded(config, weights, token, position) for position, token in enumerate(prompt)]
    for layer in range(config.n_layers):
        stream = _layer(config, weights, layer, stream, named)
    if config.norm_position == "pre":
        stream = [_norm(config, weights, "ln_final")(x) for x in stream]
    stream = [named("resid_final", config.n_layers - 1, None, position, x) for position, x in enumerate(stream)]
    unembed = _linear(weights["embed.W_E"].T if config.tied else weights["unembed.W_U"], weights.get("unembed.b_U"))
    return torch.stack([unembed(x) for x in stream]), inside


def read_in(config, weights, head, position, x):
    """q, k and v of one head from the stream ``x`` that enters its layer at one position. ``head``: (layer, index)."""
    name, index = f"blocks.{head[0]}", head[1]
    x = _norm(config, weights, f"{name}.ln1")(x) if config.norm_position == "pre" else x
    found = {}
    for part in "QKV":
        bias = weights.get(f"{name}.attn.b_{part}")
        found[part] = _linear(weights[f"{name}.attn.W_{part}"][index], None if bias is None else bias[index])(x)
    if config.positions == "rope":
        found["Q"], found["K"] = _turned(found["Q"], position), _turned(found["K"], position)
    return found["Q"], found["K"], found["V"]


def mlp_at(config, weights, layer, x):
    """The MLP of a layer that sees the stream ``x`` at one position: its output map, and its hidden vector."""
    x = _norm(config, weights, f"blocks.{layer}.ln2")(x) if config.norm_position == "pre" else x
    part = {
        which: _linear(weights[f"blocks.{layer}.mlp.W_{which}"], weights.get(f"blocks.{layer}.mlp.b_{which}"))
        for which in ("in", "gate", "out")
        if f"blocks.{layer}.mlp.W_{which}" in weights
    }
    hidden = part["in"](x)
    if config.mlp == "swiglu":
        gate = part["gate"](x)
        hidden = gate / (1 + torch.exp(-gate)) * hidden
    elif config.mlp == "gelu":
        hidden = hidden * (1 + torch.erf(hidden / math.sqrt(2))) / 2
    else:
        hidden = hidden * (hidden > 0)
    return part["out"], hidden


def written(weights, layer, head, z):
    """What one head adds to the stream when its ``z`` is this."""
    return _linear(weights[f"blocks.{layer}.attn.W_O"][head])(z)


def _layer(config, weights, layer, stream, named):
    pre, places = config.norm_position == "pre", range(len(stream))
    after_attention, after_mlp = (_norm(config, weights, f"blocks.{layer}.{name}") for name in ("ln1", "ln2"))
    stream = [named("resid_pre", layer, None, p, stream[p]) for p in places]
    added = _attention(config, weights, layer, stream, named)
    stream = [stream[p] + added[p] for p in places]
    stream = [named("resid_mid", layer, None, p, x if pre else after_attention(x)) for p, x in enumerate(stream)]
    if config.mlp != "none":
        for p in places:
            write, hidden = mlp_at(config, weights, layer, stream[p])
            stream[p] = stream[p] + named("mlp_out", layer, None, p, write(named("mlp_post", layer, None, p, hidden)))
        stream = stream if pre else [after_mlp(x) for x in stream]
    return [named("resid_post", layer, None, p, stream[p]) for p in places]


def _attention(config, weights, layer, stream, named):
    bias = weights.get(f"blocks.{layer}.attn.b_O", torch.zeros(config.d_model, dtype=stream[0].dtype))
    total = [bias.clone() for _ in stream]
    for head in range(config.n_heads):
        read = [read_in(config, weights, (layer, head), p, x) for p, x in enumerate(stream)]
        q, k, v = (
            [named(site, layer, head, p, parts[i]) for p, parts in enumerate(read)] for i, site in enumerate("qkv")
        )
        keys, values = torch.stack(k), torch.stack(v)
        for query in range(len(stream)):
            scores = (keys[: query + 1] @ q[query] / math.sqrt(config.d_head)).unbind()
            scores = torch.stack([named("edge", layer, head, (query, key), score) for key, score in enumerate(scores)])
            sizes = torch.exp(scores - scores.max())
            looks = (sizes / sizes.sum()).unbind()
            looks = torch.stack([named("pattern", layer, head, (query, key), w) for key, w in enumerate(looks)])
            z = looks @ values[: query + 1]
            total[query] = total[query] + written(weights, layer, head, named("z", layer, head, query, z))
    return total


def _embedded(config, weights, token, position):
    x = _linear(weights["embed.W_in"])(token) if config.d_in else weights["embed.W_E"][token]
    return x + weights["pos_embed.W_pos"][position] if config.positions == "learned" else x


def _norm(config, weights, name):
    width, gain = (config.d_model,), weights.get(f"{name}.w")
    if gain is None:
        return lambda x: x
    if config.norm == "rms":
        return partial(functional.rms_norm, normalized_shape=width, weight=gain, eps=1e-6)
    return partial(functional.layer_norm, normalized_shape=width, weight=gain, bias=weights[f"{name}.b"], eps=1e-6)


def _linear(matrix, bias=None):
    """``x @ matrix + bias``, in PyTorch's own convention for matrices."""
    return partial(functional.linear, weight=matrix.T, bias=bias)


def _turned(x, position):
    """Each pair of neighbouring channels is a complex number, turned by an angle proportional to the position."""
    pairs = torch.view_as_complex(x.reshape(-1, 2).contiguous())
    return torch.view_as_real(pairs * _turns(len(x), position, x.dtype)).flatten()


@cache
def _turns(width, position, dtype):
    rates = torch.tensor([10_000 ** (-2 * i / width) for i in range(width // 2)], dtype=dtype)
    return torch.polar(torch.ones_like(rates), position * rates)
