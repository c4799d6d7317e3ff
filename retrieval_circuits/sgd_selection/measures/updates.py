"""What each part of Adam's updates does to what heads join, step by step of a training that is replayed.

An update of AdamW is a sum: of the current gradient, clipped and divided by the root of its mean square; of the
gradients before it, which momentum keeps, by the same divisor; and of decay. Source of the question: nelson960, which
finds that "the raw gradient" explains under a hundredth of the growth of its route. That takes the raw gradient at
Adam's rate, where it is much shorter than Adam's step. So its direction is also scored at that step's length.
"""

import math
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.table import Rows, head_labels
from circuitcore.models import Head
from circuitcore.training.optimizer import Optimizer, rate
from circuitcore.training.replay import Step, of_part, replay
from retrieval_circuits.sgd_formation.measures.asked import Asked, asked
from retrieval_circuits.sgd_selection.measures.pushes import LAYER, joins_gradients, joins_of

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

Row = Float[Tensor, " weight"]
"""All weights of a network one after another, in the order of their names; float64."""
TO_CLIP = 1e-6
"""Added to a gradient's norm before dividing by it, as ``torch.nn.utils.clip_grad_norm_`` does."""
EXACT = 1e-3
"""Most that the parts' sum may differ from the update, by its length: weights and moments are float32."""
LENGTHS = ("length", "raw_length")


@dataclass(frozen=True)
class Traced:
    """What is replayed.

    Attributes:
        n_steps: updates, from the first of the run. Those that have fewer than ``n_lags`` before them count nowhere.
        every: over how many of them numbers are summed.
        n_lags: how many gradients before the current one are followed.
        n_looked: rows on which attention is averaged.
    """

    n_steps: int
    every: int
    n_lags: int
    n_looked: int


def updates(run: "Run", traced: Traced, progress: Callable[[int], None]) -> pd.DataFrame:
    """The growth of what each head of the first layer joins, by the parts of the updates that bring it about.

    All numbers are sums over ``every`` updates and stand at the last of them; steps count as in ``routes``. The part of
    a direction is its dot product with the gradient of what the head joins. Metrics, by head:

    * ``grown``: what the head joins after the updates, less what it joined before them.
    * ``linear``: the part of the whole updates, which is the sum of ``current``, ``momentum`` and ``decay``.
    * ``raw``: the part of the gradient at the rate of the step, as the source scores it; ``raw_at_length``: the part of
      the gradient made as long as the update.
    * ``lag``: the part of the gradient so many updates ago (``variable``; "0" is the current one), divided as Adam
      divides it at this update, but with weight 1 in place of what momentum gives it.

    Metrics ``length`` and ``raw_length``: lengths of the updates, and of the gradients at the rate.

    Raises:
        ValueError: parts that do not sum to the update, as those of another rule than AdamW do not.
    """
    task, tables, start = run.recipe.make_task(), [], run.recipe.schedule.start
    looked = asked(task, task.reported, traced.n_looked)
    labels = head_labels([Head(LAYER, head) for head in range(run.recipe.model.n_heads)])
    last, earlier, sums = min(run.final_step, traced.n_steps), deque(maxlen=traced.n_lags + 1), defaultdict(float)
    for step in replay(run, 0, last):
        earlier.appendleft(clipped(run.recipe.optimizer, step))
        for name, values in _of_step(run, step, looked, earlier).items() if step.step > traced.n_lags else ():
            sums[name] = sums[name] + values
        if sums and (step.step % traced.every == 0 or step.step == last):
            rows = Rows(run.run_id, [start + step.step], [run.tokens_seen(step.step)])
            for name, values in sums.items():
                metric, variable = ("lag", str(name)) if isinstance(name, int) else (name, "")
                of = ({},) if name in LENGTHS else labels
                rows.add(metric, values, len(looked.values), of, variable=variable, split=task.reported)
            tables.append(rows.frame())
            sums.clear()
    progress(1)
    return pd.concat(tables, ignore_index=True)


def _of_step(run: "Run", step: Step, looked: Asked, gradients: deque[Row]) -> dict[str | int, Tensor]:
    """What one update adds to each number, by its name or by the lag of a gradient: ``[head]``, lengths ``[]``.

    ``gradients`` are its own and those before it, the latest first.
    """
    config, optimizer = run.recipe.model, run.recipe.optimizer
    before, after = (
        {name: value[None] for name, value in of_part(state, "weights").items()} for state in (step.before, step.after)
    )
    joined, found = joins_gradients(config, {name: value.requires_grad_() for name, value in before.items()}, looked)
    nothing = {name: torch.zeros_like(value) for name, value in before.items()}
    uphill = torch.stack([in_a_row(nothing | one) for one in found])
    scale, whole, raw = per_gradient(optimizer, step), in_a_row(step.update), raw_step(optimizer, step)
    parts = parts_of(optimizer, step, scale, gradients[0])
    if (apart := (sum(parts.values()) - whole).norm() / whole.norm()) > EXACT:
        raise ValueError(f"{run.run_id}, update {step.step}: its parts differ from it by {apart:.1e} of its length")
    directions = {**parts, "linear": whole, "raw": raw, "raw_at_length": raw * (whole.norm() / raw.norm())}
    directions |= {lag: gradient * scale for lag, gradient in enumerate(gradients)}
    values = {name: uphill @ direction for name, direction in directions.items()}
    grown = (joins_of(config, after, looked) - joined)[0]
    return values | {"grown": grown.detach(), "length": whole.norm(), "raw_length": raw.norm()}


def parts_of(optimizer: Optimizer, step: Step, scale: Row, gradient: Row) -> dict[str, Row]:
    """What an update of AdamW is the sum of: the current gradient, those that momentum keeps, and decay.

    ``scale`` is ``per_gradient`` at the update, ``gradient`` its own, ``clipped``.
    """
    beta = optimizer.betas[0]
    decay = -rate(optimizer, int(step.after["step"])) * optimizer.weight_decay
    return {
        "current": (1 - beta) * scale * gradient,
        "momentum": beta * scale * in_a_row(of_part(step.before, "exp_avg")),
        "decay": decay * in_a_row(of_part(step.before, "weights")),
    }


def per_gradient(optimizer: Optimizer, step: Step) -> Row:
    """What Adam multiplies a mean of gradients by at an update: minus the rate, by the root of the mean square."""
    done = int(step.after["step"])
    first, second = (1 - beta**done for beta in optimizer.betas)
    root = in_a_row(of_part(step.after, "exp_avg_sq")).sqrt() / math.sqrt(second) + optimizer.eps
    return -rate(optimizer, done) / first / root


def clipped(optimizer: Optimizer, step: Step) -> Row:
    """The gradient of an update, at most as long as the rule allows."""
    gradient = in_a_row(step.gradient)
    if optimizer.clip_norm is None:
        return gradient
    return gradient * (optimizer.clip_norm / (gradient.norm() + TO_CLIP)).clamp(max=1)


def raw_step(optimizer: Optimizer, step: Step) -> Row:
    """The step down the gradient at the rate of the update: what the source calls raw."""
    return -rate(optimizer, int(step.after["step"])) * in_a_row(step.gradient)


def in_a_row(values: Mapping[str, Tensor]) -> Row:
    """Tensors by name, one after another."""
    return torch.cat([values[name].detach().flatten() for name in sorted(values)]).double()
