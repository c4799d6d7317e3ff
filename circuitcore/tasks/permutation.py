"""Permutation recall: a hidden permutation is revealed pair by pair, and each y is asked for before it is shown.

Source: "Can a Tiny Transformer Learn to Remember?"; its task, to the split.
"""

import itertools
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Int
from numpy.random import PCG64
from torch import Tensor

from circuitcore.tasks.base import Batch, Interchange, TaskError
from circuitcore.tasks.forms import PromptForm, Slot
from circuitcore.tasks.kv_sampling import random_bits
from circuitcore.tasks.limits import refuse_sizes
from circuitcore.tasks.looks import Look, role_look
from circuitcore.tasks.token_task import TokenTask

MAX_SYMBOLS = 8  # 40,320 permutations; nine would make tables of millions of rows


@dataclass(frozen=True, kw_only=True)
class PermutationRecall(TokenTask):
    """Rows such as ``3 3 4 5 2 1 1 4 5``, answered by ``2``; x and y are the same five words.

    A row holds pairs x y of a permutation of 1..V, the x in random order; its last y is left out, and every y is
    wanted at the x before it. In some rows one x is replaced by an earlier one, whose y is then already known: only
    there does it help to remember. Token 0 exists and never occurs, as in the source.

    Attributes:
        n_symbols: V.
        n_train: permutations that are trained on; the others are held out. V!: all of them, and tests use all, too.
        division: how they are chosen: "shuffled", as in the source; "balanced", so that every pair (x, y) is held out
            equally often, give or take one.
        split_seed: decides which; the source's is 42.
        repeat_ratio: share of rows with a repeated x.
        repeat_slot: which x is replaced, counted from 0; -1 for the last, as in the source.
        repeat_sources: slots it may repeat; () for all earlier ones.
        n_rows: rows of each split, all drawn independently. (What is trained on is drawn afresh: ``Stage.fresh``.)

    Raises:
        TaskError: parameters that no rows can meet, with the numbers.
    """

    name: ClassVar[str] = "permutation_recall"

    n_symbols: int = 5
    n_train: int = 96
    division: Literal["shuffled", "balanced"] = "shuffled"
    split_seed: int = 42
    repeat_ratio: float = 0.3
    repeat_slot: int = -1
    repeat_sources: tuple[int, ...] = ()
    n_rows: int = 5000

    def __post_init__(self):
        v = self.n_symbols
        if not 3 <= v <= MAX_SYMBOLS:
            raise TaskError(f"n_symbols = {v}; allowed: 3..{MAX_SYMBOLS}")
        if not 1 <= self.n_train <= math.factorial(v):
            raise TaskError(f"n_train = {self.n_train}; {v} symbols have 1..{math.factorial(v)} permutations")
        if not 0 <= self.repeat_ratio <= 1:
            raise TaskError(f"repeat_ratio = {self.repeat_ratio}; allowed: 0..1")
        if not (self.repeat_slot == -1 or 1 <= self.repeat_slot < v):
            raise TaskError(f"repeat_slot = {self.repeat_slot}; allowed: -1 for the last, or 1..{v - 1}")
        if any(not 0 <= source < self.repeated for source in self.repeat_sources):
            raise TaskError(
                f"repeat_sources = {self.repeat_sources}; slot {self.repeated} can repeat only earlier ones"
            )
        if list(self.repeat_sources) != sorted(set(self.repeat_sources)):
            raise TaskError(f"repeat_sources = {self.repeat_sources}; allowed: different slots, in their order")
        refuse_sizes({"n_rows": self.n_rows}, words={}, length={"n_symbols": self.max_length})
        if self.n_rows < 1:
            raise TaskError(f"n_rows = {self.n_rows}; no split is empty")

    @property
    def vocab(self) -> tuple[str, ...]:
        """The token that never occurs, then 1..V."""
        return tuple(str(token) for token in range(self.n_symbols + 1))

    @property
    def variables(self) -> Mapping[str, int]:
        """Which slot is repeated (V: none), and the y to be remembered."""
        return {"source": self.n_symbols + 1, "y_source": self.n_symbols}

    @property
    def max_length(self) -> int:
        """All pairs but the last y."""
        return 2 * self.n_symbols - 1

    @property
    def splits(self) -> tuple[str, ...]:
        """Rows of permutations trained on, of those held out, and of all."""
        return ("train", "test", "all")

    @property
    def answers(self) -> tuple[int, ...]:
        """1..V."""
        return tuple(range(1, self.n_symbols + 1))

    @property
    def forms(self) -> tuple[PromptForm, ...]:
        """One for each step, which asks for the y of its last x.

        An x may come again in the repeated slot also where no row that is trained on has one: that is how recall is
        tested there. A repeated slot other than the last shows its y. That this is the y shown before goes unchecked: a
        form says which words differ, not which are the same.
        """
        return tuple(self._form(step) for step in range(1, self.n_symbols + 1))

    def _form(self, step: int) -> PromptForm:
        words, n_pos = self.vocab[1:], 2 * step - 1
        distinct = []
        for start in (0, 1):  # x, y
            group = range(start, n_pos, 2)
            again = 2 * self.repeated + start
            if again not in group:
                distinct.append(tuple(group))
                continue
            others = [at for at in group if at != again]
            allowed = {2 * source + start for source in self.sources}
            distinct += [tuple(others), *((at, again) for at in others if at not in allowed)]
        return PromptForm(
            name=f"step {step}",
            slots=tuple(Slot(f"{'xy'[at % 2]} {at // 2 + 1}", words) for at in range(n_pos)),
            distinct=tuple(group for group in distinct if len(group) > 1),
            lookup=(n_pos - 1, tuple((at, at + 1) for at in range(0, n_pos - 2, 2))),
            leftover=tuple(range(1, n_pos, 2)) if step == self.n_symbols else (),
        )

    @property
    def chance(self) -> Mapping[str, float]:
        """Guessing among all symbols; at the last step somebody who counts what is used up is always right."""
        return dict.fromkeys(self.splits, 1 / self.n_symbols)

    @property
    def repeated(self) -> int:
        """The slot whose x may be a repeated one."""
        return self.repeat_slot % self.n_symbols

    @property
    def sources(self) -> tuple[int, ...]:
        """The slots that may be repeated."""
        return self.repeat_sources or tuple(range(self.repeated))

    def permutations(self, split: str) -> Int[Tensor, "permutation x"]:
        """The permutations of a split: the y of x = 1..V; "test" holds all where none is held out.

        Raises:
            TaskError: a name that is not in ``splits``.
        """
        self.refuse_split(split)
        train, held_out = self._divided
        return {"train": train, "test": held_out if len(held_out) else train, "all": torch.cat([train, held_out])}[
            split
        ]

    def make_rows(self, split: str, n_rows: int, seed: int) -> Batch:
        """Fresh rows: permutation, order and repeat drawn independently and uniformly, with replacement."""
        return self._drawn(random_bits(seed, f"fresh permutations, {split}"), split, n_rows)

    def _drawn(self, bits: PCG64, split: str, n_rows: int) -> Batch:
        chosen, order, repeat, source = bits.random_raw(4 * n_rows).reshape(4, n_rows)
        perms, orders, sources = self.permutations(split), self._orders, torch.tensor(self.sources)
        rows = perms[_below(chosen, len(perms))]
        x = orders[_below(order, len(orders))]
        # The upper 53 bits are a float in [0, 1), exactly.
        is_repeat = torch.from_numpy((repeat >> np.uint64(11)).astype(np.float64) * 2.0**-53) < self.repeat_ratio
        return self.rows(rows, x, torch.where(is_repeat, sources[_below(source, len(sources))], -1))

    def rows(
        self, permutations: Int[Tensor, "row x"], order: Int[Tensor, "row slot"], source: Int[Tensor, " row"]
    ) -> Batch:
        """Rows of given permutations and orders.

        Args:
            permutations: the y of x = 1..V.
            order: the x of each slot.
            source: slot whose x stands again in the repeated slot; -1 for none.

        Returns:
            roles: ``x`` and ``y`` (of all but the last slot), and of the slot that ``source`` names ``x_source`` and
            ``y_source`` (of slot 0 where it names none). variables: ``source``, V where there is none; ``y_source``,
            from 0.
        """
        slots, repeats, every = torch.arange(self.n_symbols), source >= 0, torch.arange(len(source))
        known = source.clamp(min=0)
        x = order.clone()
        x[:, self.repeated] = torch.where(repeats, order[every, known], order[:, self.repeated])
        y = permutations.gather(1, x - 1)
        pairs = torch.stack([x, y], 2).flatten(1)
        tokens, targets = pairs[:, :-1].contiguous(), pairs[:, 1:].contiguous()
        scored = torch.zeros_like(tokens, dtype=torch.bool)
        scored[:, ::2] = True
        where = {"x": 2 * slots, "y": 2 * slots[:-1] + 1, "read_out": torch.tensor(2 * (self.n_symbols - 1))}
        roles = {name: places.expand(len(source), *places.shape) for name, places in where.items()}
        return Batch(
            tokens=tokens,
            targets=targets,
            loss_mask=scored,
            roles={**roles, "x_source": 2 * known, "y_source": 2 * known + 1},
            variables={"source": torch.where(repeats, known, self.n_symbols), "y_source": y[every, known] - 1},
        )

    def make_splits(self) -> Mapping[str, Batch]:
        """All splits."""
        return {
            split: self._drawn(random_bits(0, f"permutations, {split}"), split, self.n_rows) for split in self.splits
        }

    def every_row(self, split: str, n_rows: int | None = None) -> Batch:
        """Each permutation of a split in each order, once, nothing repeated; at most ``n_rows``, drawn at random."""
        perms, order, _ = self._combinations(split, 1, n_rows)
        return self.rows(perms, order, torch.full((len(perms),), -1))

    def probes(self, split: str, n_rows: int | None = None) -> Batch:
        """Every row of a split with every repeat, what recall is scored on; at most ``n_rows``, drawn at random.

        Remembering answers the y that was shown; eliminating answers the one that was not.
        """
        perms, order, source = self._combinations(split, len(self.sources), n_rows)
        return self.rows(perms, order, torch.tensor(self.sources)[source])

    def _combinations(
        self, split: str, n_sources: int, n_rows: int | None
    ) -> tuple[Int[Tensor, "row x"], Int[Tensor, "row slot"], Int[Tensor, " row"]]:
        """Permutations, orders and numbers of sources in every combination, or in ``n_rows`` different ones."""
        perms, orders = self.permutations(split), self._orders
        total = len(perms) * len(orders) * n_sources
        if n_rows is not None and n_rows < 1:
            raise TaskError(f"n_rows = {n_rows}; allowed: 1.., of which at most {total} are drawn")
        if n_rows is None or n_rows >= total:
            which = torch.arange(total)
        else:
            which = torch.from_numpy(np.random.Generator(PCG64(0)).choice(total, n_rows, replace=False))
        return (
            perms[which // (n_sources * len(orders))],
            orders[which // n_sources % len(orders)],
            which % n_sources,
        )

    def looks(self, batch: Batch) -> Mapping[str, Look]:
        """``read_out>x`` and ``read_out>y``: of rows that end with a repeated x, to where it stood, and to its y.

        Empty where no row does. The answer is not copied from where a head looks: the FFN puts it together.
        """
        at = (batch.variables["source"] < self.n_symbols).nonzero()[:, 0]
        if not len(at) or self.repeated != self.n_symbols - 1:
            return {}
        again, n_pos = batch.rows(at), batch.tokens.shape[1]
        before = {"x": again.roles["x"][:, :-1], "y": again.roles["y"], "read_out": again.roles["read_out"]}
        found = {word: role_look(before, n_pos, "read_out", (word,), again.variables["source"]) for word in "xy"}
        return {f"read_out>{word}": replace(look, row=at) for word, look in found.items()}

    def families(self, n_bases: int) -> Mapping[str, Batch]:
        """Rows of held-out permutations: "normal", in which everything can be eliminated, and "repeat" (``probes``)."""
        _refuse_no_bases(n_bases)
        return {"normal": self.every_row("test", n_bases), "repeat": self.probes("test", n_bases)}

    def interchanges(self, n_bases: int) -> tuple[Interchange, ...]:
        """Rows of ``probes("test")`` beside rows that differ from them in one thing.

        "value": in the y to be remembered; the source row shows the one that the base row leaves out, so that whoever
        eliminates gives the source row's answer, too. "trade": the y to be remembered and the next slot's are in each
        other's place. "match": the repeated x and the next slot's are.
        """
        if len(self.sources) < 2 or self.repeated != self.n_symbols - 1:
            return ()
        _refuse_no_bases(n_bases)
        base = self.probes("test", n_bases)
        order, perms = self._order_and_permutation(base)
        every, slot, sources = torch.arange(len(base)), base.variables["source"], torch.tensor(self.sources)
        other = sources[(torch.searchsorted(sources, slot) + 1) % len(sources)]
        moved = order.clone()
        moved[every, slot], moved[every, other] = order[every, other], order[every, slot]
        first, second, unseen = order[every, slot] - 1, order[every, other] - 1, order[:, self.repeated] - 1
        pairs = {
            "value": self.rows(_swapped(perms, first, unseen), order, slot),
            "trade": self.rows(_swapped(perms, first, second), order, slot),
            "match": self.rows(_swapped(perms, first, second), moved, other),
        }
        return tuple(
            Interchange(name=name, base=base, source=source, expected={"source_answer": source.answers})
            for name, source in pairs.items()
        )

    def _order_and_permutation(self, batch: Batch) -> tuple[Int[Tensor, "row slot"], Int[Tensor, "row x"]]:
        """What ``rows`` made a batch from, whose repeated slot is the last: order and permutation."""
        x, y = batch.tokens.gather(1, batch.roles["x"]), batch.targets.gather(1, batch.roles["x"])
        total = self.n_symbols * (self.n_symbols + 1) // 2  # of all symbols, so that the one left out can be told
        x[:, -1], y[:, -1] = total - x[:, :-1].sum(1), total - y[:, :-1].sum(1)
        return x, torch.empty_like(y).scatter_(1, x - 1, y)

    @cached_property
    def _orders(self) -> Int[Tensor, "order slot"]:
        return torch.tensor(list(itertools.permutations(self.answers)))

    @cached_property
    def _divided(self) -> tuple[Int[Tensor, "trained x"], Int[Tensor, "held x"]]:
        """Those trained on and those held out."""
        every = list(itertools.permutations(self.answers))
        if self.division == "shuffled":
            random.Random(self.split_seed).shuffle(every)
            held = set(every[self.n_train :])
        else:
            held = set(_balanced(every, len(every) - self.n_train, self.split_seed))
        train = [one for one in every if one not in held]
        return torch.tensor(train), torch.tensor(sorted(held), dtype=torch.int64).reshape(-1, self.n_symbols)


def _balanced(every: list[tuple[int, ...]], n_held: int, seed: int) -> list[tuple[int, ...]]:
    """Held-out permutations in which each pair (x, y) comes equally often, give or take one.

    A permutation and its cyclic shifts hold each pair exactly once. Whole such sets are drawn, and of the last one a
    part.
    """
    v, draw = len(every[0]), random.Random(seed)
    first = [one for one in every if one[0] == 1]
    draw.shuffle(first)
    sets = [[tuple((y - 1 + shift) % v + 1 for y in one) for shift in range(v)] for one in first]
    for shifts in sets:
        draw.shuffle(shifts)
    return [one for shifts in sets for one in shifts][:n_held]


def _refuse_no_bases(n_bases: int) -> None:
    if n_bases < 1:
        raise TaskError(f"n_bases = {n_bases}; allowed: 1..")


def _below(words: np.ndarray, n: int) -> Int[Tensor, " row"]:
    """Random words as whole numbers below ``n``."""
    return torch.from_numpy((words % np.uint64(n)).astype(np.int64))


def _swapped(
    permutations: Int[Tensor, "row x"], first: Int[Tensor, " row"], second: Int[Tensor, " row"]
) -> Int[Tensor, "row x"]:
    """Each permutation with the y of two x in each other's place."""
    every, swapped = torch.arange(len(permutations)), permutations.clone()
    swapped[every, first], swapped[every, second] = permutations[every, second], permutations[every, first]
    return swapped
