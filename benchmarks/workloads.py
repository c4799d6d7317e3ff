"""What is timed: the shapes of the book's experiments, and the figures they are meant to reach."""

import dataclasses
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from circuitcore.models import ModelConfig
from circuitcore.training import Optimizer

N_BATCHES = 8  # different batches a design cycles through
DATA_SEED = 5
INIT_SEED = 11
BATTERY_PROMPTS = 3000

Rows = tuple[Tensor, Tensor, Tensor]
"""Inputs ``[batch pos]`` or ``[batch pos d_in]``, targets ``[batch pos]``, loss mask ``[batch pos]``."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One thing that several designs do, timed.

    Attributes:
        name: short name, as in results.json.
        title: what it is, in words.
        model: the architecture.
        optimizer: the update rule.
        batch: rows a step.
        n_pos: positions a row.
        loss_at: positions the loss is taken at; () for all of them.
        check_steps: steps after which the designs must agree.
        kind: "step" (one optimizer update) or "battery" (all conditions on one checkpoint).
    """

    name: str
    title: str
    model: ModelConfig
    optimizer: Optimizer
    batch: int
    n_pos: int
    loss_at: tuple[int, ...] = ()
    check_steps: int = 10
    kind: str = "step"

    @property
    def loss_positions(self) -> tuple[int, ...]:
        """The positions the loss is taken at, written out."""
        return self.loss_at or tuple(range(self.n_pos))


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A figure to reach: ``design`` on ``workload`` at least ``least`` times as good as ``against``."""

    workload: str
    quantity: str  # ratio_to_eager, ratio_to_lens, share_of_peak, minutes, throughput_ratio
    least: float  # at most, where the quantity is minutes
    words: str


ADAMW = Optimizer(name="adamw", lr=1e-3, betas=(0.9, 0.95), weight_decay=0.01)
PLAIN = {"norm": "layer", "positions": "learned", "mlp": "gelu", "tied": False, "bias": "all"}


def _decoder(**sizes) -> ModelConfig:
    return ModelConfig(**PLAIN | sizes)


TEXTUAL = _decoder(d_vocab=112, n_ctx=16, n_layers=2, n_heads=2, d_model=64, d_mlp=256)
STREAM = _decoder(d_vocab=72, n_ctx=96, n_layers=3, n_heads=4, d_model=128, d_mlp=512)  # 625,864 parameters
RECALL = _decoder(d_vocab=6, n_ctx=9, n_layers=1, n_heads=2, d_model=32, d_mlp=128)
STACKED_HEADS = _decoder(
    d_vocab=32, n_ctx=36, n_layers=24, n_heads=1, d_model=512, d_head=16, d_mlp=0, mlp="none", d_in=64
)
CHAINS = _decoder(d_vocab=12, n_ctx=28, n_layers=4, n_heads=8, d_model=128, d_mlp=512, d_in=8, positions="none")
SYMBOLIC = ModelConfig(d_vocab=20, n_ctx=16, n_layers=2, n_heads=2, d_model=48, d_mlp=96)  # the book's first chapter
SYMBOLIC_ADAM = Optimizer(name="adam", lr=1e-3)

WORKLOADS = MappingProxyType(
    {
        made.name: made
        for made in (
            Workload(
                name="W1", title="textual KV", model=TEXTUAL, optimizer=ADAMW, batch=128, n_pos=16, loss_at=(15,)
            ),
            Workload(
                name="W2", title="stream KV", model=STREAM, optimizer=ADAMW, batch=64, n_pos=96, check_steps=6,
            ),
            Workload(
                name="W3", title="permutation recall, loss at the last position", model=RECALL, optimizer=ADAMW,
                batch=256, n_pos=9, loss_at=(8,),
            ),
            Workload(
                name="W3b", title="permutation recall, loss at the even positions", model=RECALL, optimizer=ADAMW,
                batch=256, n_pos=9, loss_at=(0, 2, 4, 6, 8),
            ),
            Workload(
                name="W4", title="attention only, 24 layers", model=STACKED_HEADS, optimizer=ADAMW, batch=256,
                n_pos=36, loss_at=(35,), check_steps=3,
            ),
            Workload(
                name="W5", title="battery, 19 conditions", model=TEXTUAL, optimizer=ADAMW, batch=BATTERY_PROMPTS,
                n_pos=16, loss_at=(15,), kind="battery",
            ),
            Workload(
                name="W8", title="chains of three, as wide as the source's", model=CHAINS, optimizer=ADAMW, batch=256,
                n_pos=28, loss_at=(24, 25, 26, 27),
            ),
            Workload(
                name="B1", title="symbolic KV, the book's first chapter", model=SYMBOLIC, optimizer=SYMBOLIC_ADAM,
                batch=64, n_pos=13, loss_at=(12,),
            ),
        )
    }
)  # fmt: skip

GOALS = (
    Goal(workload="W1", quantity="ratio_to_eager", least=4.5, words="textual-KV step against eager torch"),
    Goal(workload="W1", quantity="ratio_to_lens", least=6, words="textual-KV step against TransformerLens"),
    Goal(workload="W2", quantity="ratio_to_eager", least=2.3, words="stream-KV step against eager torch"),
    Goal(workload="W3", quantity="ratio_to_eager", least=10, words="permutation-recall step against eager torch"),
    Goal(workload="W4", quantity="ratio_to_eager", least=4, words="attention-only step against eager torch"),
    Goal(workload="W1", quantity="share_of_peak", least=0.65, words="share of one core's peak, textual KV"),
    Goal(workload="W2", quantity="share_of_peak", least=0.65, words="share of one core's peak, stream KV"),
    Goal(workload="W4", quantity="share_of_peak", least=0.65, words="share of one core's peak, attention only"),
    Goal(workload="W5", quantity="ratio_to_lens", least=30, words="battery against TransformerLens hooks"),
    Goal(workload="W6", quantity="minutes", least=5, words="six runs with 900 measured checkpoints"),
    Goal(workload="W7", quantity="throughput_ratio", least=1.9, words="two cores against one"),
)


def shrunk(workload: Workload) -> Workload:
    """The same thing small enough for a smoke test; its ratios mean nothing."""
    battery = workload.kind == "battery"
    return dataclasses.replace(workload, batch=24 if battery else 4, check_steps=2)


def batches(workload: Workload) -> list[Rows]:
    """The rows every design is given, a function of the workload alone: random inputs, random targets."""
    model, shape = workload.model, (workload.batch, workload.n_pos)
    generator = torch.Generator().manual_seed(DATA_SEED)
    mask = torch.zeros(shape, dtype=torch.bool)
    mask[:, list(workload.loss_positions)] = True
    made = []
    for _ in range(N_BATCHES):
        targets = torch.randint(model.d_vocab, shape, generator=generator)
        if model.d_in:
            made.append((torch.randn(*shape, model.d_in, generator=generator), targets, mask))
        else:
            made.append((torch.randint(model.d_vocab, shape, generator=generator), targets, mask))
    return made
