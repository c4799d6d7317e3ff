"""In-context recall: a row pairs words anew, and queries ask which word a given one was paired with.

Sources: Zucchet et al., "The emergence of sparse attention: impact of data distribution and benefits of repetition"
(NeurIPS 2025), whose in-context associative recall has pairs; Olsson et al., "In-context Learning and Induction Heads"
(2022), and Musat et al. (arXiv 2511.01033, 2025), where the pairs are the neighbours in a sequence.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
import torch
from jaxtyping import Int
from numpy.random import PCG64
from torch import Tensor

from circuitcore.ground.hashed import later
from circuitcore.ground.spelling import unknown
from circuitcore.tasks.base import Batch, TaskError
from circuitcore.tasks.forms import PromptForm, Slot
from circuitcore.tasks.kv_sampling import random_bits, random_choice
from circuitcore.tasks.limits import MAX_TOKENS, refuse_sizes
from circuitcore.tasks.looks import Look, role_look
from circuitcore.tasks.token_task import TokenTask

Told = Literal["pairs", "sequence"]
SLOT = ("keys", "values")
"""Roles of a slot's two words, one behind the other."""


@dataclass(frozen=True, kw_only=True)
class InContextRecall(TokenTask):
    """Rows such as ``K3 V7 K0 V2 ... K0 K3``, answered by V2 and V7, or ``S4 S1 S7 ... S1 S4``, by S7 and S1.

    A row has N slots. Of pairs, a slot is a key and the value behind it; keys differ within a row, and values do. Of a
    sequence of N + 1 different words, a slot is a word and the one that follows it: what an induction head looks up.
    All pairs may be told again, ``times`` times in all, each time in an order of its own.

    Then keys are asked for, drawn independently and uniformly from the N slots, so that one may be asked for twice; no
    answer is shown. Nothing but the row tells an answer.

    "train" and "test" are drawn alike. No row is held out: a test row that was trained on is as good as impossible,
    unless there are very few words.

    Attributes:
        told: "pairs" or "sequence".
        n_pairs: N.
        n_words: keys to draw from, and as many values; of a sequence the words to draw from.
        n_queries: queries of a row.
        n_rows: rows of each split.
        times: how often a row tells its pairs; of a sequence once.

    Raises:
        TaskError: parameters that no rows can meet, with the numbers.
    """

    name: ClassVar[str] = "in_context_recall"

    told: Told = "pairs"
    n_pairs: int = 8
    n_words: int = 32
    n_queries: int = 4
    n_rows: int = 500
    times: int = later(1)

    def __post_init__(self):
        if self.told not in get_args(Told):
            raise TaskError(unknown("told", str(self.told), get_args(Told)))
        refuse_sizes(
            {"n_rows": self.n_rows},
            words={"n_words": self.n_words},
            length={"n_pairs, n_queries, times": self.max_length},
        )
        least = {
            "n_pairs": 2, "n_words": self.n_pairs + (self.told == "sequence"), "n_queries": 1, "n_rows": 1, "times": 1
        }  # fmt: skip
        why = {
            "times": "a row tells something",
            "n_pairs": "with one pair there is nothing to choose from",
            "n_words": f"{self.n_pairs} pairs told as {self.told} take as many different ones",
            "n_queries": "each row asks for something",
            "n_rows": "no split is empty",
        }
        for key, smallest in least.items():
            if getattr(self, key) < smallest:
                raise TaskError(f"{key} = {getattr(self, key)}; must be at least {smallest}: {why[key]}")
        if self.told == "sequence" and self.times > 1:
            raise TaskError(f"times = {self.times}; a sequence is told once: told again, its last word has a successor")
        if self.n_rows * self.n_words > MAX_TOKENS:  # a draw gives every word of every row a random number
            raise TaskError(
                f"n_rows * n_words = {self.n_rows:,} * {self.n_words:,}; allowed: at most {MAX_TOKENS:,} words to "
                "draw from in all rows"
            )

    @property
    def vocab(self) -> tuple[str, ...]:
        """Keys, then values; or the words of sequences."""
        kinds = "KV" if self.told == "pairs" else "S"
        return tuple(f"{kind}{word}" for kind in kinds for word in range(self.n_words))

    @property
    def variables(self) -> Mapping[str, int]:
        """Of the last query: its slot, and the number of the wanted word among those that can be."""
        return {"slot": self.n_pairs, "answer": self.n_words}

    @property
    def context(self) -> int:
        """Words before the first query: 2 N for each time that pairs are told, N + 1 of a sequence."""
        return 2 * self.n_pairs * self.times if self.told == "pairs" else self.n_pairs + 1

    @property
    def max_length(self) -> int:
        """The context and the queries."""
        return self.context + self.n_queries

    @property
    def splits(self) -> tuple[str, ...]:
        """Rows to train on and rows to report."""
        return ("train", "test")

    @property
    def answers(self) -> tuple[int, ...]:
        """The values; of sequences all words."""
        return tuple(range(len(self.vocab) - self.n_words, len(self.vocab)))

    @property
    def chance(self) -> Mapping[str, float]:
        """One over the slots: for whoever knows which N words of the row can be an answer, and not which of them is.

        In a sequence, leaving out the word that is asked about makes it a little more: (1 + 1 / N) / N.
        """
        return dict.fromkeys(self.splits, 1 / self.n_pairs)

    @property
    def guess_loss(self) -> float:
        """The natural logarithm of N, in nats: the loss of an even guess among the N words that can be an answer.

        Of pairs these are the row's values, of a sequence all of its words but the first. There no word follows itself:
        whoever leaves out the word that is asked about is down to (ln N + (N - 1) ln(N - 1)) / N.
        """
        return math.log(self.n_pairs)

    @property
    def forms(self) -> tuple[PromptForm, ...]:
        """The context, and one query or all.

        That earlier queries are keys of the row goes unchecked, as does that pairs told again are those told first.
        """
        by_name = {"one query": 1, "all queries": self.n_queries} if self.n_queries > 1 else {"one query": 1}
        return tuple(self._form(name, n_asked) for name, n_asked in by_name.items())

    def make_rows(self, split: str, n_rows: int, seed: int) -> Batch:
        """Fresh rows: words and slots drawn independently and uniformly, by a stream of each split's own."""
        bits, every = random_bits(seed, f"fresh recall, {split}"), np.ones((n_rows, self.n_words), dtype=bool)
        if self.told == "pairs":
            keys, values = (random_choice(bits, self.n_pairs, every) for _ in range(2))
            slots = np.concatenate(self._orders(bits, n_rows), 1)
            told = [np.take_along_axis(words, slots, 1) for words in (keys, self.n_words + values)]
            shown = np.stack(told, 2).reshape(n_rows, -1)
        else:
            shown = random_choice(bits, self.context, every)
        asked = bits.random_raw(n_rows * self.n_queries).reshape(n_rows, -1) % np.uint64(self.n_pairs)
        return self.rows(torch.from_numpy(shown), torch.from_numpy(asked.astype(np.int64)))

    def make_splits(self) -> Mapping[str, Batch]:
        """Both splits, as ``draw`` gives them for seed 0."""
        return {split: self.make_rows(split, self.n_rows, 0) for split in self.splits}

    def rows(self, shown: Int[Tensor, "row place"], asked: Int[Tensor, "row query"]) -> Batch:
        """Rows of given words and queries.

        Args:
            shown: token ids of the context, in the order of the row.
            asked: the slot that each query asks for, 0 to N - 1.

        Returns:
            roles: ``keys`` and ``values``, the positions of each slot, [row slot], and ``keys_2``, ``values_2`` ...
            where they are told again; ``queries``, all read-outs.

        Raises:
            TaskError: pairs that are told again without one of their keys.
        """
        n_rows, n_queries = asked.shape
        told = {"": self._keys.expand(n_rows, -1), **self._later(shown)}
        tokens = torch.cat([shown, shown.gather(1, self._keys[asked])], 1)
        targets, scored = torch.zeros_like(tokens), torch.zeros_like(tokens, dtype=torch.bool)
        targets[:, self.context :], scored[:, self.context :] = shown.gather(1, self._keys[asked] + 1), True
        queries = self.context + torch.arange(n_queries)
        return Batch(
            tokens=tokens,
            targets=targets,
            loss_mask=scored,
            roles={
                **{f"{name}{again}": keys + at for again, keys in told.items() for at, name in enumerate(SLOT)},
                "queries": queries.expand(n_rows, -1),
                "read_out": queries[-1].expand(n_rows),
            },
            variables={"slot": asked[:, -1], "answer": targets[:, -1] - self.answers[0]},
        )

    def looks(self, batch: Batch) -> Mapping[str, Look]:
        """``read_out>values`` and ``read_out>keys``: from the last query to the slot that is asked for.

        The value is what should be copied; a slot is all places where it is told. ``values>keys``: from each value to
        the key before it, by which a layer above can find the value, where pairs are first told. In a sequence a word
        is the value of one slot and the key of the next.
        """
        roles, n_pos, slot = dict(batch.roles), batch.tokens.shape[1], batch.variables["slot"]
        keys, values = (tuple(role for role in roles if role.partition("_")[0] == name) for name in SLOT)
        to_values = role_look(roles, n_pos, "read_out", values, slot)
        at = roles["values"].gather(1, slot[:, None])[:, 0]
        return {
            "read_out>values": replace(to_values, copied=at, answer=batch.answers),
            "read_out>keys": role_look(roles, n_pos, "read_out", keys, slot),
            "values>keys": role_look(roles, n_pos, "values", ("keys",)),
        }

    @property
    def _keys(self) -> Int[Tensor, " slot"]:
        """Position of each slot's key; its value is the next word."""
        return torch.arange(self.n_pairs) * (2 if self.told == "pairs" else 1)

    def _orders(self, bits: PCG64, n_rows: int) -> list[Int[np.ndarray, "row slot"]]:
        """The order in which each telling has the slots: theirs, then random ones."""
        every = np.ones((n_rows, self.n_pairs), dtype=bool)
        again = [random_choice(bits, self.n_pairs, every) for _ in range(self.times - 1)]
        return [np.broadcast_to(np.arange(self.n_pairs), every.shape), *again]

    def _later(self, shown: Int[Tensor, "row place"]) -> dict[str, Int[Tensor, "row slot"]]:
        """Where each slot's key stands when it is told again: "_2", "_3", ... -> positions."""
        first, *later = shown.split(2 * self.n_pairs, 1)  # of a sequence, which is shorter, nothing is later
        found = {}
        for time, again in enumerate(later, 2):
            same = first[:, ::2, None] == again[:, None, ::2]  # [row slot place]
            if not same.any(2).all():
                raise TaskError(f"telling {time} of {self.times} lacks keys of the first; each tells all pairs again")
            found[f"_{time}"] = 2 * (self.n_pairs * (time - 1) + same.int().argmax(2))
        return found

    def _form(self, name: str, n_asked: int) -> PromptForm:
        first, last = self.vocab[: self.n_words], self.vocab[-self.n_words :]
        if self.told == "pairs":
            slots = range(1, self.n_pairs * self.times + 1)
            starts = range(0, self.context, 2 * self.n_pairs)
            shown = [one for slot in slots for one in (Slot(f"key {slot}", first), Slot(f"value {slot}", last))]
            distinct = tuple(
                tuple(range(start + at, start + 2 * self.n_pairs, 2)) for start in starts for at in range(2)
            )
        else:
            shown = [Slot(f"word {place}", first) for place in range(1, self.context + 1)]
            distinct = (tuple(range(self.context)),)
        asked = [Slot(f"query {at}", first) for at in range(1, n_asked + 1)]
        keys, query = tuple(self._keys.tolist()), self.context + n_asked - 1
        return PromptForm(
            name=name,
            slots=(*shown, *asked),
            distinct=distinct,
            member=(query, keys),
            lookup=(query, tuple((key, key + 1) for key in keys)),
        )
