"""What is measured on networks of words: answers by look-ups and by links, and what readers of some links score."""

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
from jaxtyping import Bool
from torch import Tensor

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.table import Rows
from circuitcore.tasks.base import Batch
from circuitcore.tasks.chain_prompts import draw_world, formulation
from circuitcore.tasks.chain_prompts.ignorant import Lines, ignorant_answers
from circuitcore.tasks.chain_prompts.worlds import Entry, World
from circuitcore.tasks.chain_words import ChainWords

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

SERIES = 0
"""Of the prompts that networks are asked; those they are trained on come from series of 53 random bits."""
N_DRAWN = 500
"""Prompts off which it is read what a line can say."""
KINDS = (("F1", 1), ("F1", 2), ("F1", 3), ("F4", 2), ("F5", 4))
"""Formulations and look-ups for which readers' scores are counted."""


@dataclass(frozen=True, kw_only=True)
class WordCounts:
    """What networks are asked.

    Attributes:
        n_rows: prompts of each kind, with four questions each; the depths in turn.
        others: formulations in the same words that they are asked beside their own.
    """

    n_rows: int
    others: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class KnownLinks:
    """How many prompts readers are asked."""

    n_prompts: int


class Asked(NamedTuple):
    """Prompts of a kind, and block -> which words may be the answer, [batch question vocab], for who leaves it unread.

    That is counted for prompts of one depth.
    """

    task: ChainWords
    batch: Batch
    fitting: Mapping[str, Tensor]


def word_scores(run: "Run", counts: WordCounts, progress: Callable[[int], None]) -> pd.DataFrame:
    """Answers of every checkpoint. All are shares in [0, 1]; an answer is the likeliest of all words.

    Metrics, on prompts that are the same for all networks; ``split`` is "test", or the other formulation's name:

    * ``answered``: right answers, by look-ups (``variable``: "2 look-ups"). Chance: one over the acceptable ones.
    * ``acceptable``: answers of the right kind, among all.
    * ``line``: ends of lines whose word is followed to its end, by what that takes ("0 look-ups": it is a digit); of
      networks that are rewarded there.
    * ``fits``: answers that one may give who leaves one block of lines unread, by that block, where this excludes
      some: what is used of all the others. Chance: ``fits_chance``, the share of the acceptable ones that fit.
    """
    task = run.recipe.make_task()
    own = asked_of(task.formulation, task.depths, counts.n_rows)
    others = [asked_of(name, (), counts.n_rows) for name in counts.others]
    tables = []
    for steps, net in stacks(run):
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        said = [net.run(asked.batch).logits.argmax(-1) for asked in (own, *others)]
        for split, asked, answers in zip(("test", *counts.others), (own, *others), said, strict=True):
            _add_answers(asked, answers, rows, split)
            _add_fits(asked, answers, rows, split)
        if task.wanted == "every line":
            _add_lines(own, said[0], rows)
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


@functools.lru_cache(maxsize=8)  # all networks of a kind of prompt are asked the same
def asked_of(name: str, depths: tuple[int, ...], n_rows: int) -> Asked:
    """``n_rows`` prompts of a kind, the depths in turn, with four questions each in random order."""
    every = name in ("F1", "F2", "F3")
    task = ChainWords(formulation=name, depths=depths, wanted="every line" if every else "questions", n_test=1)
    worlds = [draw_world(name, task.depths[number % len(task.depths)], SERIES, number) for number in range(n_rows)]
    questions = [
        Random(f"asked {name} {number}").sample(task.kind.asks(world), task.n_questions)
        for number, world in enumerate(worlds)
    ]
    return Asked(task, task.rows_of(worlds, questions), fitting(task, worlds, questions))


def _at_questions(batch: Batch, values: Tensor) -> Tensor:
    """``[*lead batch pos]`` -> ``[*lead batch question]``."""
    return values[..., torch.arange(len(batch))[:, None], batch.roles["questions"]]


def _add_answers(asked: Asked, said: Tensor, rows: Rows, split: str) -> None:
    answers = _at_questions(asked.batch, said)
    right = answers == _at_questions(asked.batch, asked.batch.targets)
    for number, depth in enumerate(asked.task.depths):
        of_depth = right[:, asked.batch.variables["depth"] == number]
        if of_depth.numel():
            label = {"variable": look_ups(depth)}
            rows.add("answered", _shares(of_depth), of_depth[0].numel(), [label], split=split)
    acceptable = torch.isin(answers, torch.tensor(asked.task.answers))
    rows.add("acceptable", _shares(acceptable), acceptable[0].numel(), split=split)


def _add_lines(asked: Asked, said: Tensor, rows: Rows) -> None:
    """By level: the lines of level k name what one has to follow through k - 1 others."""
    right, depths = said == asked.batch.targets, torch.tensor(asked.task.depths)[asked.batch.variables["depth"]]
    for level in range(1, asked.task.depths[-1] + 1):
        of_level = right[:, depths >= level][..., line_ends(level)]
        if of_level.numel():
            label = {"variable": look_ups(level - 1)}
            rows.add("line", _shares(of_level), of_level[0].numel(), [label], split="test")


def line_ends(level: int) -> list[int]:
    """Positions at which the lines of a level (from 1) end: four lines of two words each, level by level."""
    return [8 * (level - 1) + 2 * line + 1 for line in range(4)]


def look_ups(count: int) -> str:
    """How a table calls a number of look-ups."""
    return f"{count} look-up{'s' * (count != 1)}"


def _add_fits(asked: Asked, said: Tensor, rows: Rows, split: str) -> None:
    answers = _at_questions(asked.batch, said)
    for block, may in asked.fitting.items():
        chance = may.sum(-1).double().mean() / len(asked.task.answers)
        if chance < 1:
            fits = may.expand(len(answers), *may.shape).gather(-1, answers[..., None])[..., 0]
            label = [{"variable": block}]
            rows.add("fits", _shares(fits), fits[0].numel(), label, split=split)
            rows.add("fits_chance", chance.expand(len(answers)), fits[0].numel(), label, split=split)


def fitting(
    task: ChainWords, worlds: Sequence[World], questions: Sequence[Sequence[Entry]]
) -> dict[str, Bool[Tensor, "batch question vocab"]]:
    """Block -> which words may be the answer, for who reads all but that block; none for prompts of several depths."""
    if len(task.depths) > 1:
        return {}
    ids = {word: token for token, word in enumerate(task.vocab)}
    blocks = tuple(worlds[0].blocks)
    found = {block: torch.zeros(len(worlds), task.n_questions, len(ids), dtype=torch.bool) for block in blocks}
    for row, (world, asked) in enumerate(zip(worlds, questions, strict=True)):
        for place, words in enumerate(asked):
            for block, may in found.items():
                read = [other for other in blocks if other != block]
                left = answers_left(task.formulation, task.depths[0], replace(world, asked=words), read)
                may[row, place, [ids[word] for word in left]] = True
    return found


def _shares(right: Bool[Tensor, "ckpt ..."]) -> Tensor:
    return right.double().flatten(1).mean(-1)


def known_links(asked: KnownLinks) -> pd.DataFrame:
    """What readers score who know the question and some blocks of lines alone: no network enters.

    Returns:
        A row per formulation, number of look-ups and set of blocks: ``formulation``, ``look_ups``, ``read`` (the
        blocks, in the order of the prompt), ``n_read``, ``n_blocks``, ``accuracy`` (in [0, 1]).
    """
    found = []
    for name, depth in KINDS:
        worlds = [draw_world(name, depth, SERIES, number) for number in range(asked.n_prompts)]
        blocks = tuple(worlds[0].blocks)
        for read in chain.from_iterable(combinations(blocks, n) for n in range(len(blocks) + 1)):
            scores = [max(answers_left(name, depth, world, read).values()) for world in worlds]
            found.append(
                {
                    "formulation": name, "look_ups": depth, "read": ", ".join(read), "n_read": len(read),
                    "n_blocks": len(blocks), "accuracy": sum(scores) / len(scores),
                }
            )  # fmt: skip
    return pd.DataFrame(found)


def answers_left(name: str, depth: int, world: World, read: Collection[str]) -> dict[str, float]:
    """What the answer may be, with its probability, for who knows the question and the blocks ``read``.

    Such a reader knows how prompts of the kind are made: a line that is not read is as likely to say each of the things
    that it ever says (of a mother: a woman's name), whatever other blocks say.
    """
    unread = [block for block in world.blocks if block not in read]
    return ignorant_answers(formulation(name, depth)[0], world, unread, said_by_lines(name, depth))


@functools.cache
def said_by_lines(name: str, depth: int) -> Lines:
    """Block -> what is looked up -> everything that its line says in some prompt, sorted."""
    found: dict[str, dict[Entry, set[str]]] = {}
    for block, (*key, value) in _lines(name, depth):
        found.setdefault(block, {}).setdefault(tuple(key), set()).add(value)
    return {block: {key: tuple(sorted(values)) for key, values in of.items()} for block, of in found.items()}


def _lines(name: str, depth: int) -> Iterator[tuple[str, Entry]]:
    for number in range(N_DRAWN):
        for block, entries in draw_world(name, depth, SERIES, number).blocks.items():
            yield from ((block, entry) for entry in entries)
