"""A decoder under measurement: one stack of checkpoints, run without gradients.

Every metric works on tensors whose leading axis is ``ckpt``, the checkpoint; interventions put ``edit`` before it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from circuitcore.metrics.edited import EDITS_AT_ONCE, Answers, answers_under
from circuitcore.metrics.native_passes import covers, covers_record, native_passes, native_record, native_run
from circuitcore.models import Head, ModelConfig, Output, compile_edits, forward
from circuitcore.models.edits import Cache, Edit, role_mask
from circuitcore.models.plan import Plan
from circuitcore.models.sites import all_heads
from circuitcore.models.transformer import apply_norm, require_weights, shapes_of
from circuitcore.models.window import Window
from circuitcore.tasks.base import Batch


@dataclass(frozen=True, eq=False)
class Network:
    """The architecture and a stack of its checkpoints (every weight has a leading ``ckpt`` axis).

    ``kept`` holds clean passes that were asked to stay (``keep``), by batch.

    Raises:
        ValueError: tensors that are missing, left over or of another shape, or that have no leading axis.
    """

    config: ModelConfig
    weights: Mapping[str, Tensor]
    kept: dict[int, tuple[Batch, Output]] = field(default_factory=dict, repr=False)

    def __post_init__(self):
        require_weights(shapes_of(self.config), self.weights, stacked=True)

    def run(self, batch: Batch, record: Collection[str] = ()) -> Output:
        """The clean forward pass: logits ``[ckpt batch pos vocab]`` and the recorded sites (or more)."""
        _, output = self.kept.get(id(batch), (batch, None))
        if output is not None and output.cache.keys() >= set(record):
            return output
        keys = sorted(set(record))
        with torch.inference_mode():
            if covers_record(self.config, self.weights, keys):
                return Output(*native_run(self.config, self.weights, batch, keys))
            return forward(self.config, self.weights, batch.tokens, record=keys)

    def record(self, batch: Batch, keys: Collection[str], at: Bool[Tensor, " pos"] | None = None) -> Cache:
        """Sites of the clean pass, for less than ``run`` takes, which also gives the logits.

        Args:
            batch: rows that are run.
            keys: the sites, as in ``run``.
            at: the positions that will be read, which costs less; elsewhere the sites may be NaN. All by default, and
                for patterns.
        """
        _, output = self.kept.get(id(batch), (batch, None))
        if output is None and covers_record(self.config, self.weights, keys):
            at = None if any(key.startswith("pattern") for key in keys) else at
            with torch.inference_mode():
                return native_record(self.config, self.weights, batch, sorted(set(keys)), at)
        return self.run(batch, keys).cache

    def keep(self, batch: Batch, record: Collection[str]) -> Output:
        """The clean pass, kept for every later ``run`` that records no more than ``record``."""
        output = self.run(batch, record)
        self.kept[id(batch)] = batch, output  # with the batch itself, so that no other one can have its id
        return output

    def keeps(self, batch: Batch) -> bool:
        """Whether the clean pass over these rows was asked to stay."""
        return id(batch) in self.kept

    def answers(self, batch: Batch) -> Float[Tensor, "ckpt batch vocab"]:
        """Logits of the clean pass at the read-out, for about half the price of all of them."""
        if self.keeps(batch):
            return read_out(self.run(batch).logits, batch)
        with torch.inference_mode():
            if covers(self.config, self.weights):
                return native_passes(self.config, self.weights, batch, ())[0][0]
            window = Window.of_answers(batch.roles["read_out"], self.config.n_layers)
            return forward(self.config, self.weights, batch.tokens, Plan(1, {}, window)).logits[0, ..., 0, :]

    def answers_under(
        self, batch: Batch, interventions: Sequence[Sequence[Edit]], sources: Mapping[str, Cache]
    ) -> Answers:
        """What comes out at the read-out under each intervention (a tuple of edits made together)."""
        with torch.inference_mode():
            return answers_under(self.config, self.weights, batch, interventions, sources)

    def passes(
        self,
        batch: Batch,
        interventions: Sequence[Sequence[Edit]],
        sources: Mapping[str, Cache],
        like: Cache,
        record: Collection[str] = (),
    ) -> Iterator[Output]:
        """Yield logits ``[edit ckpt batch pos vocab]`` and recorded sites of whole passes, a few interventions each.

        All at once would take much memory. ``like`` has the shapes of the edited sites.
        """
        for start in range(0, len(interventions), EDITS_AT_ONCE):
            with torch.inference_mode():
                plan = compile_edits(interventions[start : start + EDITS_AT_ONCE], batch.roles, sources, like)
                yield forward(self.config, self.weights, batch.tokens, plan, record)

    def normed(self, x: Float[Tensor, "*lead batch d_model"], name: str) -> Float[Tensor, "*lead batch d_model"]:
        """``x`` after the norm called ``name``, exactly as the forward pass applies it."""
        return apply_norm(self.config, self.weights, name, x[..., None, :])[..., 0, :]

    @property
    def pattern_keys(self) -> list[str]:
        """The sites of where heads look, layer by layer."""
        return [f"pattern.{layer}" for layer in range(self.config.n_layers)]

    @property
    def heads(self) -> tuple[Head, ...]:
        """Every head, layer by layer."""
        return all_heads(self.config.n_layers, self.config.n_heads)


def read_out(values: Float[Tensor, "*lead batch pos width"], batch: Batch) -> Float[Tensor, "*lead batch width"]:
    """The values at each row's read-out position."""
    return at_role(values, batch, "read_out")


def at_role(
    values: Float[Tensor, "*lead batch pos width"], batch: Batch, role: str
) -> Float[Tensor, "*lead batch width"]:
    """The values at each row's position of a role that names one position per row."""
    rows = torch.arange(len(batch))
    return values[..., rows, batch.roles[role], :]


def positions_of(batch: Batch, roles: Collection[str]) -> Bool[Tensor, " pos"]:
    """The positions that a role of any row points to."""
    shape, device = batch.tokens.shape[:2], batch.tokens.device
    return torch.cat([role_mask(role, batch.roles, shape, device) for role in roles]).any(0)


def concat(caches: Sequence[Cache]) -> dict[str, Tensor]:
    """Caches of consecutive interventions as one, along the edit axis."""
    return {key: torch.cat([cache[key] for cache in caches]) for key in caches[0]}
