"""What every checkpoint of a network on streams is asked: how well it reads, whose answers it gives, where it looks."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn import functional

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.behavior import correct, margin
from circuitcore.metrics.scores.behavior import loss as answer_loss
from circuitcore.metrics.table import Rows, head_labels
from circuitcore.models.edits import Cache
from circuitcore.tasks.streams import Stream
from retrieval_circuits.sgd_formation.measures.asked import KINDS, Asked, asked, swapped

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many rows are asked.

    Attributes:
        n_rows: rows of each split that are read, and whose last read is put to another key.
        n_looked: rows on which attention is averaged.
    """

    n_rows: int
    n_looked: int


def stream_scores(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """What each checkpoint answers, and where its heads look.

    Metrics, each a mean over the reads of some rows of the reported split; of the others, at the last checkpoint, what
    is answered:

    * ``accuracy``: whether the likeliest of all words is the value asked for; also by how many writes lie between
      (variable ``lag 1``) and by how many keys there are (``keys 3``). Chance for who knows the current values: one
      over the keys.
    * ``margin``: its logit less that of the likeliest other value.
    * ``loss``: its cross-entropy in nats; ``loss_of_all``: that of every word, what is trained on.
    * ``gives``: of the reads whose answer is not the value so many writes back (variable ``2 back``), the share in
      which that value is given; ``right``: of the same reads, the share in which the right one is.
    * ``swapped``: with another key asked for in the last read, whether the answer is that key's value (variable
      ``follows``) or the one that was right before (``stays``).
    * ``unmoved``: whether the answer is the same as before the swap, right or wrong. Who does not look at the key: 1.
    * ``attention``: weight of a head from a read to positions of a kind (site, see ``KINDS``).
    * ``joins``: weight of a head from written values to their keys, the words just before.
    """
    task, tables = run.recipe.make_task(), []
    reported = task.reported
    for steps, net in stacks(run):
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        found = asked(task, reported, counts.n_rows)
        net.keep(found.batch, ())  # answers are held against those to swapped keys: one pass serves both
        _add_answers(task, net, found, partial(_add_mean, rows, reported))
        _add_swapped(task, net, counts, partial(_add_mean, rows, reported))
        add_attention(net, asked(task, reported, counts.n_looked), partial(rows.add, split=reported))
        tables.append(rows.frame())
        progress(len(steps))
    last = run.steps[-1:]
    net, rows = Network(run.recipe.model, run.stack(last)), Rows(run.run_id, last, [run.tokens_seen(last[0])])
    for name in task.splits:
        if name != reported:
            _add_answers(task, net, asked(task, name, counts.n_rows), partial(_add_mean, rows, name))
    return pd.concat([*tables, rows.frame()], ignore_index=True)


def joined(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """Of each checkpoint what heads join alone: ``joins``, as ``stream_scores`` has it, kept in float16."""
    task, tables = run.recipe.make_task(), []
    found = asked(task, task.reported, counts.n_looked)
    for steps, net in stacks(run):
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        add_attention(net, found, _in_half(partial(rows.add, split=task.reported)), kinds=())
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


Add = Callable[..., None]


def _in_half(add: Add) -> Add:
    """The same, of numbers in float16."""
    return lambda metric, values, *rest: add(metric, values.half(), *rest)


def _add_mean(rows: Rows, split: str, metric: str, values: Shaped[Tensor, "ckpt read"], variable: str = "") -> None:
    rows.add(metric, values.double().mean(-1), values.shape[-1], split=split, variable=variable)


def _add_answers(task: Stream, net: Network, found: Asked, add: Add) -> None:
    output, answers = net.run(found.batch).logits, found.reads.answer
    logits = found.at_reads(output)
    hits, given = correct(logits, answers), logits.argmax(-1)
    add("accuracy", hits)
    for word, values in {"lag": found.reads.lag, "keys": found.reads.n_keys}.items():
        for value in values.unique().tolist():
            add("accuracy", hits[:, values == value], f"{word} {value}")
    first = task.words.first_value
    add("margin", margin(logits[..., first:], answers - first))
    add("loss", answer_loss(logits, answers))
    add("loss_of_all", token_losses(output, found))
    for name, answer in found.by_recency.items():
        wrong = (answer != answers) & (answer >= 0)
        if wrong.any():
            add("gives", given[:, wrong] == answer[wrong], name)
            add("right", hits[:, wrong], name)


def token_losses(logits: Float[Tensor, "ckpt batch pos vocab"], found: Asked) -> Float[Tensor, "ckpt scored"]:
    """Cross-entropy in nats of each word that is trained on."""
    scored = found.batch.loss_mask
    chosen, wanted = logits[:, scored], found.batch.targets[scored]
    return functional.cross_entropy(chosen.movedim(-1, 1), wanted.expand(len(chosen), -1), reduction="none")


def _add_swapped(task: Stream, net: Network, counts: Counts, add: Add) -> None:
    found, base = (ask(task, task.reported, counts.n_rows) for ask in (swapped, asked))
    row = torch.arange(len(found.batch))
    given = net.run(found.batch).logits[:, row, found.at].argmax(-1)
    unswapped = net.run(base.batch).logits[:, found.batch.base, found.at].argmax(-1)
    add("swapped", given == found.now, "follows")
    add("swapped", given == found.before, "stays")
    add("unmoved", given == unswapped)


def add_attention(
    net: Network, found: Asked, add: Add, kinds: Collection[str] = KINDS, edited: Cache | None = None
) -> None:
    """Rows of ``attention`` and ``joins`` (see ``stream_scores``); of the clean pass, or of patterns of another."""
    labels, keys = head_labels(net.heads), net.pattern_keys
    cache = net.record(found.batch, keys) if edited is None else edited
    pattern = torch.cat([cache[key] for key in keys], -3)
    looks = found.from_reads(pattern)  # [ckpt read head key]
    for kind in kinds:
        mass = torch.einsum("crhk,rk->ch", looks, found.kinds[kind].to(looks.dtype)) / len(found.reads)
        add("attention", mass, len(found.reads), [{**label, "site": kind} for label in labels])
    row, at = found.values.unbind(1)
    joins = pattern.movedim(-3, -1)[:, row, at, at - 1].mean(1)
    add("joins", joins, len(at), labels)
