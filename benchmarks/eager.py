"""The peer most people would write: a plain ``nn.Module``, fused attention, fused AdamW, tensors instead of a loader.

It computes every position, as such code does, and measures one condition at a time with forward hooks.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.battery import Condition
from benchmarks.workloads import Workload
from circuitcore.models import ModelConfig
from circuitcore.models.transformer import ROPE_BASE
from circuitcore.training import Optimizer


class Decoder(nn.Module):
    """Logits ``[batch pos d_vocab]`` of tokens ``[batch pos]`` or vectors ``[batch pos d_in]``; pre-norm only."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        d, self.config = config.d_model, config
        self.embed = nn.Linear(config.d_in, d, bias=False) if config.d_in else nn.Embedding(config.d_vocab, d)
        self.places = nn.Embedding(config.n_ctx, d) if config.positions == "learned" else None
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.norm = _norm(config)
        self.unembed = nn.Linear(d, config.d_vocab, bias=config.bias == "all")
        if config.tied:
            self.unembed.weight = self.embed.weight

    def forward(self, inputs: Tensor) -> Tensor:
        """One forward pass over every position."""
        x = self.embed(inputs)
        if self.places is not None:
            x = x + self.places.weight[: inputs.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.unembed(self.norm(x))


class Block(nn.Module):
    """Attention, then an MLP, each after its norm."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.ln1, self.attention = _norm(config), Attention(config)
        self.ln2, self.mlp = (_norm(config), MLP(config)) if config.mlp != "none" else (None, None)

    def forward(self, x: Tensor) -> Tensor:
        """``x [batch pos d_model]`` plus what the layer writes."""
        x = x + self.attention(self.ln1(x))
        return x if self.mlp is None else x + self.mlp(self.ln2(x))


class Attention(nn.Module):
    """Causal self-attention, queries, keys and values from one product."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config, width = config, config.n_heads * config.d_head
        self.qkv = nn.Linear(config.d_model, 3 * width, bias=config.bias != "none")
        self.z = nn.Identity()  # what the heads hold before the output map: a place for a hook
        self.out = nn.Linear(width, config.d_model, bias=config.bias != "none")

    def forward(self, x: Tensor) -> Tensor:
        """``x [batch pos d_model]`` -> what all heads write."""
        shape = (*x.shape[:2], 3, self.config.n_heads, self.config.d_head)
        q, k, v = self.qkv(x).view(shape).permute(2, 0, 3, 1, 4)  # each [batch head pos d_head]
        if self.config.positions == "rope":
            q, k = _rotated(q), _rotated(k)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(self.z(mixed.transpose(1, 2).flatten(2)))


class MLP(nn.Module):
    """Two maps with a nonlinearity between them; SwiGLU has a gate."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.kind, d, width = config.mlp, config.d_model, config.d_mlp
        self.up = nn.Linear(d, width, bias=config.bias != "none")
        self.gate = nn.Linear(d, width, bias=config.bias != "none") if config.mlp == "swiglu" else None
        self.down = nn.Linear(width, d, bias=config.bias != "none")

    def forward(self, x: Tensor) -> Tensor:
        """``x [batch pos d_model]`` -> what the MLP writes."""
        if self.gate is not None:
            return self.down(functional.silu(self.gate(x)) * self.up(x))
        return self.down({"gelu": functional.gelu, "relu": functional.relu}[self.kind](self.up(x)))


def _norm(config: ModelConfig) -> nn.Module:
    kinds = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}
    return kinds[config.norm](config.d_model, eps=config.norm_eps) if config.norm in kinds else nn.Identity()


def _rotated(x: Tensor) -> Tensor:
    """RoPE on interleaved pairs of ``x [batch head pos d_head]``."""
    n_pos, d_head = x.shape[-2:]
    angles = torch.outer(torch.arange(n_pos), ROPE_BASE ** (-torch.arange(0, d_head, 2) / d_head))
    cos, sin, even, odd = angles.cos(), angles.sin(), x[..., ::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def load(model: Decoder, weights: Mapping[str, Tensor]) -> None:
    """Copy the library's weights into the module, whose matrices lie ``[out in]``."""
    given, named = dict(model.named_parameters()), {}
    for name, value in weights.items():
        named |= _translated(name, value)
    for layer in range(model.config.n_layers):
        for kind in ("weight", "bias"):
            parts = [named.pop(f"blocks.{layer}.attention.{c}.{kind}", None) for c in "qkv"]
            if parts[0] is not None:
                named[f"blocks.{layer}.attention.qkv.{kind}"] = torch.cat(parts)
    if given.keys() != named.keys():
        raise ValueError(f"weights that do not match the module: {sorted(given.keys() ^ named.keys())}")
    with torch.no_grad():
        for name, value in named.items():
            given[name].copy_(value)


PLACES = {
    "embed.W_E": "embed.weight", "embed.W_in": "embed.weight", "pos_embed.W_pos": "places.weight",
    "ln_final.w": "norm.weight", "ln_final.b": "norm.bias", "unembed.W_U": "unembed.weight",
    "unembed.b_U": "unembed.bias",
}  # fmt: skip
PARTS = {"mlp.W_in": "mlp.up", "mlp.W_gate": "mlp.gate", "mlp.W_out": "mlp.down", "attn.W_O": "attention.out"}


def _translated(name: str, value: Tensor) -> dict[str, Tensor]:
    """The module's name and layout of one of the library's tensors."""
    if name in ("unembed.W_U", "embed.W_in"):
        return {PLACES[name]: value.T}
    if name in PLACES:
        return {PLACES[name]: value}
    _, layer, part, tensor = name.split(".")
    block, matrix = f"blocks.{layer}", tensor.startswith("W_")
    if part in ("ln1", "ln2"):
        return {f"{block}.{part}.{'weight' if tensor == 'w' else 'bias'}": value}
    kind = "weight" if matrix else "bias"
    if tensor[2:] in ("Q", "K", "V"):  # [head d_model d_head] or [head d_head]
        joint = value.transpose(1, 2).flatten(0, 1) if matrix else value.flatten()
        return {f"{block}.attention.{tensor[2:].lower()}.{kind}": joint}
    if tensor == "W_O":  # [head d_head d_model]
        value = value.flatten(0, 1)
    return {f"{block}.{PARTS[f'{part}.W_{tensor[2:]}']}.{kind}": value.T if matrix else value}


class EagerStep:
    """Training steps of the module."""

    def __init__(self, workload: Workload, weights: Mapping[str, Tensor]):
        self.model, self.at = Decoder(workload.model), list(workload.loss_positions)
        load(self.model, weights)
        self.optimizer = fused(self.model, workload.optimizer)

    def step(self, inputs: Tensor, targets: Tensor, _mask: Tensor) -> float:
        """One update; the loss before it."""
        logits = self.model(inputs)[:, self.at]
        loss = functional.cross_entropy(logits.flatten(0, 1), targets[:, self.at].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def fused(model: nn.Module, rule: Optimizer) -> torch.optim.Optimizer:
    """Fused Adam or AdamW over the parameters of a module."""
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[rule.name]
    decay = rule.weight_decay
    return kind(model.parameters(), lr=rule.lr, betas=rule.betas, eps=rule.eps, weight_decay=decay, fused=True)


class EagerBattery:
    """All conditions, one forward pass of all prompts each, edits made by hooks."""

    def __init__(self, workload: Workload, weights: Mapping[str, Tensor]):
        self.model = Decoder(workload.model)
        load(self.model, weights)

    @torch.inference_mode()
    def measure(self, tokens: Tensor, other: Tensor, conditions: tuple[Condition, ...]) -> Tensor:
        """Read-out logits ``[condition prompt d_vocab]``; patches take their values from a run on ``other``."""
        source: dict[str, Tensor] = {}
        wanted = {condition.site: condition for condition in conditions if condition.how == "patch"}
        with self._hooked(wanted.values(), lambda c, value: source.__setitem__(c.site, value.clone())):
            self.model(other)
        found = []
        for condition in conditions:
            with self._hooked([condition] if condition.how else [], lambda c, value: self._edited(c, value, source)):
                found.append(self.model(tokens)[:, -1])
        return torch.stack(found)

    @contextmanager
    def _hooked(self, conditions, act) -> Iterator[None]:
        """Call ``act(condition, value)`` where each acts; a tensor it returns takes the value's place."""
        handles = []
        for condition in conditions:
            block = self.model.blocks[condition.layer]
            if condition.part == "resid_pre":
                hook = lambda _, given, c=condition: _packed(act(c, given[0]))  # noqa: E731
                handles.append(block.register_forward_pre_hook(hook))
            else:
                place = {"attn_out": block.attention.z, "mlp_out": block.mlp}[condition.part]
                handles.append(place.register_forward_hook(lambda _, __, value, c=condition: act(c, value)))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _edited(self, condition: Condition, value: Tensor, source: Mapping[str, Tensor]) -> Tensor:
        value = value.clone()
        if condition.how == "patch":
            value[:, condition.position] = source[condition.site][:, condition.position]
        elif condition.head is None:
            value.zero_()
        else:
            d_head = self.model.config.d_head
            value[..., condition.head * d_head : (condition.head + 1) * d_head] = 0
        return value


def _packed(value: Tensor | None) -> tuple[Tensor] | None:
    return None if value is None else (value,)
