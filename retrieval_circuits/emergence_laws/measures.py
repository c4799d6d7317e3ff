"""How long a network waits: trained from scratch on one recall task until it can tell which word is asked for.

One function for every setting, so that no law is measured another way than its rival. And what is measured on networks
that are followed: whether they answer; of permutation recall also whether an edge moves the logit of what it brings.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from circuitcore.metrics import table
from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.network import Network
from circuitcore.models import CutEdge
from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import forward
from circuitcore.native import why_not
from circuitcore.tasks.base import Batch
from circuitcore.tasks.in_context_recall import InContextRecall
from circuitcore.tasks.kv_sampling import random_bits
from circuitcore.training.engines import ENGINES
from circuitcore.training.engines.engine import masked_loss, one_thread
from circuitcore.training.optimizer import Optimizer
from circuitcore.training.schedule import Rows
from retrieval_circuits.composition.measures import scores
from retrieval_circuits.design import DATA_SEED_OFFSET
from retrieval_circuits.permutation_recall.measures.scores import likeliest_symbol, share

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

OTHER = 100_000
"""Between the seeds of a network and of its twins with other initial weights or other rows: no seed is as large."""
POOL = 2**16 - 1
"""The part of its own by which rows of the pool are drawn: no training has as many."""
LATER = 0.8
"""A network is trained until two measurements in turn are below this share of the level. ``time`` is when a curve first
gets to the level, so that this moves ``steps`` alone."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One network's task, size and rows.

    Attributes:
        n_pairs: N, words that can be asked for.
        batch: rows a step.
        width: d.
        heads: of each layer.
        d_head: channels of each.
        repeated: share of each batch's rows that are drawn from ``pool`` rows, again and again; the others are new.
        tied: one matrix for words that are read and words that are said.
        other_init: 0, or which twin with other initial weights.
        other_rows: 0, or which twin with other rows.
        times: how often a row tells its pairs.
    """

    n_pairs: int = 8
    batch: int = 32
    width: int = 64
    heads: int = 4
    d_head: int = 16
    repeated: float = 0.0
    tied: bool = False
    other_init: int = 0
    other_rows: int = 0
    times: int = 1


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Networks that are trained one after another, and what they have in common.

    Attributes:
        told: the task's shape, "pairs" or "sequence".
        changes: for each network what its setting differs in from ``Setting()``, as names and values.
        n_words: to draw from.
        n_queries: of a row.
        n_layers: of attention alone.
        rate: of Adam.
        pool: rows that are repeated, where some are.
        n_test: rows that the loss is measured on; no network is trained on them but by chance.
        every: steps between two measurements.
        cap: steps after which a network is given up.
    """

    told: str
    changes: tuple[tuple[tuple[str, float | int], ...], ...]
    n_words: int
    n_queries: int
    n_layers: int
    rate: float
    pool: int
    n_test: int
    every: int
    cap: int

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Of the networks."""
        return tuple(Setting(**dict(change)) for change in self.changes)

    def task(self, setting: Setting) -> InContextRecall:
        """The task of one setting."""
        return InContextRecall(
            told=self.told, n_pairs=setting.n_pairs, n_words=self.n_words, n_queries=self.n_queries, n_rows=self.n_test,
            times=setting.times,
        )  # fmt: skip

    def model(self, setting: Setting) -> ModelConfig:
        """The network of one setting."""
        task = self.task(setting)
        return ModelConfig(
            d_vocab=len(task.vocab), n_ctx=task.max_length, n_layers=self.n_layers, n_heads=setting.heads,
            d_head=setting.d_head, d_model=setting.width, d_mlp=0, mlp="none", tied=setting.tied,
        )  # fmt: skip


def waits(asked: Waiting, seed: int) -> list[dict[str, Any]]:
    """A row a network: how long it waits.

    Returns:
        The fields of its setting; ``context``, words told before the first query; ``there``, whether it gets there by
        the cap; ``time``, the step at which the loss on rows held out first falls to half of ln N nats, the loss of
        who knows the N candidates and not which is asked for: by a straight line between two measurements, the cap
        where it does not get there; ``steps``, how long it was trained.
    """
    with one_thread():
        return [_waited(asked, setting, seed) for setting in asked.settings]


def _waited(asked: Waiting, setting: Setting, seed: int) -> dict[str, Any]:
    task, curve = asked.task(setting), []
    level, low = task.guess_loss / 2, 0
    for step, loss in _curve(asked, setting, seed):
        curve.append((step, loss))
        low = low + 1 if loss < LATER * level else 0
        if low == 2:
            break
    time = crossed(curve, level)
    return {
        **dataclasses.asdict(setting),
        "context": task.context, "there": math.isfinite(time), "time": min(time, float(asked.cap)), "steps": step,
    }  # fmt: skip


def crossed(curve: list[tuple[int, float]], level: float) -> float:
    """The step at which a falling curve first gets to a level, by a straight line; infinity where it does not."""
    for (before, high), (after, low) in zip(curve, curve[1:], strict=False):
        if low <= level:
            return before + (after - before) * (high - level) / (high - low) if high > level else float(before)
    return math.inf


def _curve(asked: Waiting, setting: Setting, seed: int) -> Iterator[tuple[int, float]]:
    """Step and loss on rows held out, measured through training."""
    task, model = asked.task(setting), asked.model(setting)
    rows = DATA_SEED_OFFSET + seed + OTHER * setting.other_rows
    test = task.draw("test", asked.n_test, rows)
    # Its losses agree with torch's to 1e-5 over a hundred steps; where it cannot be used, torch takes its place.
    engine = ENGINES["torch" if why_not() else "native"](
        model, Optimizer(name="adam", lr=asked.rate), seed + OTHER * setting.other_init
    )
    feed = _Feed(asked, setting, rows)
    for done in range(0, asked.cap + 1, asked.every):
        with torch.no_grad():
            logits = forward(model, engine.weights(), test.tokens).logits
            yield done, masked_loss(logits, test.targets, test.loss_mask).item()
        if done < asked.cap:
            for batch in feed.batches(done // asked.every):
                engine.step(batch.tokens, batch.targets, batch.loss_mask)


@dataclass(frozen=True)
class _Feed:
    """The batches of one network: new rows, and among them rows of a pool where some are repeated."""

    asked: Waiting
    setting: Setting
    seed: int

    def batches(self, part: int) -> Iterator[Rows]:
        """Those between two measurements, drawn at once."""
        size, n_steps = self.setting.batch, self.asked.every
        new = self._draw(size * n_steps, part)
        n_again = round(size * self.setting.repeated)
        if n_again:
            chosen = random_bits(self.seed, f"repeated, {part}").random_raw(n_again * n_steps)
            again = torch.from_numpy((chosen % np.uint64(self.asked.pool)).astype(np.int64)).reshape(n_steps, n_again)
        for step in range(n_steps):
            batch = new.pick(slice(step * size, (step + 1) * size))
            yield self._joined(batch, again[step]) if n_again else batch

    def _joined(self, batch: Rows, chosen: Int[Tensor, " row"]) -> Rows:
        """The batch with its first rows replaced by chosen ones of the pool."""
        again, left = self._pool.pick(chosen), batch.pick(slice(len(chosen), None))
        return Rows(
            torch.cat([again.tokens, left.tokens]),
            torch.cat([again.targets, left.targets]),
            torch.cat([again.loss_mask, left.loss_mask]),
        )

    def _draw(self, n_rows: int, part: int) -> Rows:
        batch = self.asked.task(self.setting).draw("train", n_rows, self.seed * 2**16 + part)
        return Rows(batch.tokens, batch.targets, batch.loss_mask)

    @cached_property
    def _pool(self) -> Rows:
        return self._draw(self.asked.pool, POOL)


def recall_scores(run: "Run", settings: None, progress: Callable[[int], None]) -> pd.DataFrame:  # noqa: ARG001 - none
    """``accuracy`` and ``loss`` (nats) over all queries of the test rows, at every checkpoint that is here.

    Who knows the candidates and not which is asked for is right in one of N, at a loss of ln N.
    """
    batch, tables = run.recipe.make_task().split("test"), []
    wanted = batch.targets[batch.loss_mask]
    for steps, net in stacks(run):
        rows = table.Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        right, loss = scores(net.run(batch).logits[:, batch.loss_mask], wanted)
        rows.add("accuracy", right.mean(1), len(wanted), split="test")
        rows.add("loss", loss, len(wanted), split="test")
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


N_ROWS = 480
"""Rows with a repeated x, and rows without, that each checkpoint is asked."""


def permutation_scores(run: "Run", settings: None, progress: Callable[[int], None]) -> pd.DataFrame:  # noqa: ARG001 - none
    """``recall`` and ``told`` of permutations held out, at every checkpoint that is here.

    * ``recall``: share of rows that end with a repeated x answered with its y. Who sees that x is repeated, and not
      where it stood, is right in one of V - 1, as each y shown is as likely.
    * ``told``: of rows without a repeat and of each y before the last x, the share in which cutting the edges of all
      heads from the last x to that y moves the logit of that very y furthest from the mean change, up or down. Chance:
      one over V.
    """
    task, tables = run.recipe.make_task(), []
    again, normal = task.probes("test", N_ROWS), task.every_row("test", N_ROWS)
    for steps, net in stacks(run):
        rows = table.Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        right = likeliest_symbol(net.answers(again)) == again.answers
        rows.add("recall", share(right), len(again), split="test")
        told = tells(net, normal, task.answers)
        rows.add("told", told.double().mean((0, 2)), told.shape[0] * len(normal), split="test")
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


def tells(net: Network, batch: Batch, answers: tuple[int, ...]) -> Bool[Tensor, "slot ckpt row"]:
    """Whether cutting the edges from the read-out to a y moves that y's logit most of all."""
    y = batch.roles["y"]
    marked = dataclasses.replace(batch, roles={**batch.roles, **{f"y_{at}": y[:, at] for at in range(y.shape[1])}})
    cuts = [tuple(CutEdge(head, "read_out", f"y_{at}") for head in net.heads) for at in range(y.shape[1])]
    whole, *cut = net.answers_under(marked, [(), *cuts], {}).logits[..., list(answers)]
    change = torch.stack(cut) - whole
    furthest = (change - change.mean(-1, keepdim=True)).abs().argmax(-1) + answers[0]
    return furthest == batch.tokens.gather(1, y).T[:, None]
