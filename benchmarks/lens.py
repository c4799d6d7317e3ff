"""The peer of the field: TransformerLens 3, the last line that has ``HookedTransformer``, with its own hooks.

Runs in an environment of its own (``environments.py``).
"""

import dataclasses
from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformer_lens import HookedTransformer, HookedTransformerConfig

from benchmarks.battery import Condition
from benchmarks.eager import fused
from benchmarks.workloads import Workload
from circuitcore.models import ModelConfig
from circuitcore.models.transformer_lens import hooked_config, hooked_weights


def hooked(config: ModelConfig, weights: Mapping[str, Tensor]) -> HookedTransformer:
    """The same decoder as a ``HookedTransformer`` that holds ``weights``.

    Of a model that reads vectors, all but the linear map before its first layer; the embedding then is a random one.

    Raises:
        NotImplementedError: a model that ``HookedTransformer`` cannot express.
    """
    plain = dataclasses.replace(config, d_in=0)
    try:
        described = hooked_config(plain)
    except ValueError as error:
        raise NotImplementedError(str(error)) from error
    made = HookedTransformer(HookedTransformerConfig(**described, device="cpu", seed=0))
    own = dict(made.named_parameters())
    table = {"embed.W_E": own["embed.W_E"].detach()} if config.d_in else {}
    given = hooked_weights(plain, {**weights, **table})
    if own.keys() != given.keys():
        raise ValueError(f"weights that do not match TransformerLens: {sorted(own.keys() ^ given.keys())}")
    with torch.no_grad():
        for name, value in given.items():
            own[name].copy_(value)
    return made


class LensStep:
    """Training steps of the ``HookedTransformer``; vectors enter as the residual stream of its first layer."""

    def __init__(self, workload: Workload, weights: Mapping[str, Tensor]):
        config = workload.model
        if config.tied or config.bias != "all" or config.positions == "none":
            raise NotImplementedError("trained by this peer, it would have parameters that it does not have here")
        self.model, self.at = hooked(config, weights), list(workload.loss_positions)
        if workload.model.d_in:
            self.model.embed = nn.Linear(workload.model.d_in, workload.model.d_model, bias=False)
            with torch.no_grad():
                self.model.embed.weight.copy_(weights["embed.W_in"].T)
        self.vectors = bool(workload.model.d_in)
        self.optimizer = fused(self.model, workload.optimizer)

    def step(self, inputs: Tensor, targets: Tensor, _mask: Tensor) -> float:
        """One update; the loss before it."""
        if self.vectors:
            x = self.model.embed(inputs) + self.model.pos_embed.W_pos[: inputs.shape[1]]
            logits = self.model(x, return_type="logits", start_at_layer=0)
        else:
            logits = self.model(inputs, return_type="logits")
        loss = functional.cross_entropy(logits[:, self.at].flatten(0, 1), targets[:, self.at].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


class LensBattery:
    """All conditions as its tutorials do them: one ``run_with_cache``, then ``run_with_hooks`` for each."""

    def __init__(self, workload: Workload, weights: Mapping[str, Tensor]):
        self.model = hooked(workload.model, weights)

    @torch.inference_mode()
    def measure(self, tokens: Tensor, other: Tensor, conditions: tuple[Condition, ...]) -> Tensor:
        """Read-out logits ``[condition prompt d_vocab]``; patches take their values from a run on ``other``."""
        patched = {_hook_name(condition) for condition in conditions if condition.how == "patch"}
        _, source = self.model.run_with_cache(other, names_filter=lambda name: name in patched, return_type=None)
        found = []
        for condition in conditions:
            hooks = [(_hook_name(condition), partial(_edit, condition, source))] if condition.how else []
            found.append(self.model.run_with_hooks(tokens, return_type="logits", fwd_hooks=hooks)[:, -1])
        return torch.stack(found)


def _hook_name(condition: Condition) -> str:
    part = "attn.hook_z" if condition.head is not None else f"hook_{condition.part}"
    return f"blocks.{condition.layer}.{part}"


def _edit(condition: Condition, source: Mapping[str, Tensor], value: Tensor, hook: object) -> Tensor:
    """A forward hook: ``value`` is ``[prompt pos d_model]``, or ``[prompt pos head d_head]`` for one head."""
    if condition.how == "patch":
        value[:, condition.position] = source[_hook_name(condition)][:, condition.position]
    elif condition.head is not None:
        value[:, :, condition.head] = 0
    else:
        value[:] = 0
    return value
