"""A run that a reader can open: its weights, what was measured on it, and which others stand beside it."""

import bisect
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from circuitcore.metrics.instruments.snapshots import spread
from circuitcore.models.transformer import weight_shapes
from circuitcore.training.store.run import Run
from livingpaper.explorer.moves import Tested
from livingpaper.explorer.weights import packed

MOST_BYTES = 6_000_000
"""Of one run's weights on the page, in base64."""
AROUND, AROUND_EACH = 5_000, 40
"""Bytes kept for what stands around all weights, and around those of each checkpoint."""
MOST_BESIDE = 10
"""Networks whose circuits stand beside each other."""
AS_FAR = 0.05
"""Share of training by which a network beside another may be ahead or behind before its step is said."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A score of one run through training, between 0 and 1.

    Attributes:
        label: for the legend.
        steps: optimizer steps at which it was measured, rising.
        values: one per step.
        chance: what a guess scores; None where that says nothing.
    """

    label: str
    steps: tuple[int, ...]
    values: tuple[float, ...]
    chance: float | None = None


@dataclass(frozen=True, kw_only=True)
class Birth:
    """When a motif of the circuit appeared in one run: in (after, by], in steps; ``by`` None: not.

    ``rule`` names what counts as born, where a reader can choose among several; the first of a run is shown first.
    """

    label: str
    after: int | None
    by: int | None
    rule: str = ""

    @property
    def told(self) -> str:
        """What is born, and when: "routing by step 6,636", "copying never"."""
        return f"{self.label} never" if self.by is None else f"{self.label} by step {self.by:,}"


@dataclass(frozen=True, eq=False, kw_only=True)
class ShownRun:
    """A run that the reader can open.

    Attributes:
        run: with weights at one step at least.
        condition: what the reader chooses first: the arm.
        curves, births: what was measured through its training.
        tests: step -> move -> what its causal test found of this network then; steps of which no test was made are
            left out.
        note: what else has to be said of these tests, as sentences.
    """

    run: Run
    condition: str
    curves: tuple[Curve, ...] = ()
    births: tuple[Birth, ...] = ()
    tests: Mapping[int, Mapping[str, Tested]] = field(default_factory=dict)
    note: str = ""

    @cached_property
    def steps(self) -> list[int]:
        """Those of its checkpoints that the reader gets."""
        return shown_steps(self.run)

    def nearest(self, share: float) -> int:
        """The step that is nearest to a share of the training."""
        return min(self.steps, key=lambda step: abs(step - share * self.run.final_step))

    def since(self, *births: Birth) -> int:
        """The first of its steps by which all of these are born; the last one where there is none."""
        born = [birth.by for birth in births]
        found = () if None in born else (step for step in self.steps if step >= max(born))
        return next(iter(found), self.steps[-1])

    @property
    def has_epochs(self) -> bool:
        """Whether its training passes over its rows again and again; where rows are always fresh none comes back."""
        return not any(stage.fresh for stage in self.run.recipe.schedule.stages)

    def epoch(self, step: int) -> int:
        """The last epoch that ends by a step."""
        return bisect.bisect_right(self.run.recipe.schedule.epoch_ends, step) - 1

    def when(self, step: int) -> str:
        """A step as its epoch, where there are epochs, "epoch 30"; else by itself, "step 5,000"."""
        return f"epoch {self.epoch(step)}" if self.has_epochs else f"step {step:,}"

    def entry(self) -> dict[str, Any]:
        """The run as the page knows it before its weights are loaded."""
        return {
            "id": self.run.run_id,
            "condition": self.condition,
            "seed": self.run.recipe.init_seed,
            "config": self.run.recipe.model.to_dict(),
            "steps": self.steps,
            "epochs": [self.epoch(step) for step in self.steps] if self.has_epochs else [],
            "final": self.run.final_step,
            "curves": [asdict(curve) for curve in self.curves],
            "births": [asdict(birth) for birth in self.births],
            "tests": {
                step: {
                    move: [" ".join(one.heads), round(one.effect, 4), int(one.supported)] for move, one in found.items()
                }
                for step, found in self.tests.items()
                if step in self.steps
            },
            "note": self.note,
            "found": {move: one.found for found in self.tests.values() for move, one in found.items()},
        }

    def weights(self) -> dict[str, Any]:
        """All its checkpoints, packed for the page; float32, so that the page's network is the published one."""
        return packed(self.run.recipe.model, {step: self.run.weights(step) for step in self.steps})

    @cached_property
    def weights_text(self) -> str:
        """The same as JSON, in ASCII."""
        return json.dumps(self.weights(), separators=(",", ":"), allow_nan=False)


def shown_steps(run: Run) -> list[int]:
    """Those of its checkpoints that a reader gets: as many, evenly spread, as fit into ``MOST_BYTES``; two at least."""
    n_numbers = sum(math.prod(shape) for shape, _ in weight_shapes(run.recipe.model).values())
    return spread(run.steps, max(2, (MOST_BYTES - AROUND) // (4 * math.ceil(4 * n_numbers / 3) + AROUND_EACH)))


def beside(shown: Sequence[ShownRun], one: ShownRun, step: int) -> Iterator[tuple[ShownRun, int, str]]:
    """The first networks of a condition, by seed, as far through training as one of them is at a step.

    Yields:
        A network, its step that is nearest to as far, its name; one that is not as far says its step.
    """
    share = step / one.run.final_step if one.run.final_step else 1.0
    alike = [other for other in shown if other.condition == one.condition]
    for other in sorted(alike, key=lambda other: other.run.recipe.init_seed)[:MOST_BESIDE]:
        near = other.nearest(share)
        when = f", step {near:,}" if abs(near / other.run.final_step - share) > AS_FAR else ""
        yield other, near, f"seed {other.run.recipe.init_seed}{when}"
