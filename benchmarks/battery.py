"""The 19 conditions measured on every checkpoint, described once for all designs, and the library's way of doing it."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from benchmarks.designs import Unavailable
from benchmarks.workloads import BATTERY_PROMPTS, DATA_SEED, Workload
from circuitcore.ground.environment import exported
from circuitcore.metrics.network import Network, positions_of
from circuitcore.models import Ablate, Head, Mlp, ModelConfig, Patch, Site
from circuitcore.native import why_not
from circuitcore.native.build import SWITCH
from circuitcore.tasks.base import Batch

EARLY = 5  # the position patched beside the read-out
PROMPTS_AT_ONCE = {"native": BATTERY_PROMPTS, "torch": 200}  # the fastest of each; the native one cuts them up itself


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One forward pass: clean (``how`` is ""), a part zeroed everywhere, or a site patched at one position.

    ``part``: ``resid_pre``, ``attn_out`` (all heads at once, or one ``head``) or ``mlp_out``.
    """

    how: str = ""
    layer: int = 0
    part: str = ""
    head: int | None = None
    position: int = -1

    @property
    def site(self) -> str:
        """The name of the patched tensor."""
        return f"{self.part}.{self.layer}"


def conditions(model: ModelConfig, n_pos: int) -> tuple[Condition, ...]:
    """Clean, every head zeroed, every MLP zeroed, and three sites of every layer patched at two positions."""
    layers, heads = range(model.n_layers), range(model.n_heads)
    made = [Condition()]
    made += [Condition(how="zero", layer=layer, part="attn_out", head=head) for layer in layers for head in heads]
    made += [Condition(how="zero", layer=layer, part="mlp_out") for layer in layers]
    made += [
        Condition(how="patch", layer=layer, part=part, position=position)
        for layer in layers
        for part in ("resid_pre", "attn_out", "mlp_out")
        for position in (EARLY, n_pos - 1)
    ]
    return tuple(made)


def prompts(workload: Workload) -> tuple[Tensor, Tensor]:
    """Clean and corrupted tokens ``[prompt pos]``: random, the same for every design."""
    generator = torch.Generator().manual_seed(DATA_SEED)
    shape = (workload.batch, workload.n_pos)
    clean, corrupted = (torch.randint(workload.model.d_vocab, shape, generator=generator) for _ in range(2))
    return clean, corrupted


def as_edits(condition: Condition, n_pos: int) -> tuple:
    """The condition in the library's own words."""
    if not condition.how:
        return ()
    if condition.how == "zero":
        head = condition.head is not None
        return (Ablate(Head(condition.layer, condition.head) if head else Mlp(condition.layer), "zero"),)
    name = {"attn_out": "z"}.get(condition.part, condition.part)
    where = "read_out" if condition.position == n_pos - 1 else "early"
    return (Patch(Site(name, condition.layer), where, "corrupted"),)


class LibraryBattery:
    """What the book's own battery does: all interventions of many prompts through ``Network``.

    Args:
        workload: gives the model.
        weights: one checkpoint.
        design: "native", or "torch": the same with the compiled passes switched off.

    Raises:
        Unavailable: the compiled passes cannot be used here.
    """

    def __init__(self, workload: Workload, weights: Mapping[str, Tensor], design: str):
        self.environment = {SWITCH: "0"} if design == "torch" else {}
        if design == "native" and (reason := why_not()):
            raise Unavailable(reason)
        self.at_once = PROMPTS_AT_ONCE[design]
        self.network = Network(workload.model, {name: value[None] for name, value in weights.items()})

    @torch.inference_mode()
    def measure(self, tokens: Tensor, other: Tensor, wanted: tuple[Condition, ...]) -> Tensor:
        """Read-out logits ``[condition prompt d_vocab]``; patches take their values from a run on ``other``."""
        pairs = zip(tokens.split(self.at_once), other.split(self.at_once), strict=True)
        with exported(self.environment):
            return torch.cat([self._some(clean, corrupted, wanted) for clean, corrupted in pairs], 1)

    def _some(self, tokens: Tensor, other: Tensor, wanted: tuple[Condition, ...]) -> Tensor:
        layers = range(self.network.config.n_layers)
        record = [f"{name}.{layer}" for layer in layers for name in ("resid_pre", "z", "mlp_out")]
        asked = _asked(other)
        source = self.network.record(asked, record, positions_of(asked, ("read_out", "early")))
        edited = [as_edits(condition, tokens.shape[1]) for condition in wanted]
        return self.network.answers_under(_asked(tokens), edited, {"corrupted": source}).logits[:, 0]


def _asked(tokens: Tensor) -> Batch:
    """Tokens as a batch that is read out at its last position."""
    n_rows, n_pos = tokens.shape
    places = {"read_out": n_pos - 1, "early": EARLY}
    roles = {name: torch.full((n_rows,), position) for name, position in places.items()}
    mask = torch.zeros(n_rows, n_pos, dtype=torch.bool)
    return Batch(tokens=tokens, targets=tokens, loss_mask=mask, roles=roles, variables={})
