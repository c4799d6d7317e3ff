"""Symbolic key-value retrieval: read the value paired with the queried key from the prompt.

The task of the published study "Retrieval Motif Emergence in Small Transformers" (its split sizes,
alphabet and prompt format are the defaults). Its generator is lost; ``sampling="published"`` draws
rows the way its files look, ``sampling="disjoint"`` the way they should have been drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import torch
from numpy.random import PCG64

from circuitcore.spelling import unknown
from circuitcore.tasks import kv_counterfactuals
from circuitcore.tasks.base import Batch, Interchange, Task, TaskError
from circuitcore.tasks.kv_prompts import SPECIALS, KVAlphabet, prompts_of, render
from circuitcore.tasks.kv_sampling import random_bits, random_order, sample_disjoint, sample_independent

Sampling = Literal["disjoint", "published"]
Targets = Literal["matched", "shuffled"]


@dataclass(frozen=True, kw_only=True)
class SymbolicKV(Task):
    """Prompts such as ``<bos> K3 V4 ; K1 V7 ; K5 V0 ; Q K5 ->``, answered by ``V0``.

    Splits "train", "val" and "test" have ``n_pairs`` pairs, "ood" has ``n_pairs_ood``.

    Attributes:
        n_keys: keys K0, K1, ...; distinct within a prompt.
        n_values: values V0, V1, ...; distinct within a prompt.
        sampling: "disjoint": no two rows, of one split or of two, share both their set of pairs
            and the queried key, whatever the order of the pairs; row i of a split asks for slot
            i mod pairs. "published": rows and slots independent and uniform, nothing rejected.
        targets: "shuffled" is a control in which the context says nothing about the target: in
            every split the read-out targets are dealt out again among its rows in a random order,
            so each value is wanted exactly as often as before. Prompts, roles and variables stay as
            they are, and families, interchanges and edge tests keep their true answers.

    Raises:
        TaskError: parameters that no data set can meet, with the numbers.
    """

    name: ClassVar[str] = "symbolic_kv"

    n_keys: int = 8
    n_values: int = 8
    n_pairs: int = 3
    n_pairs_ood: int = 4
    n_train: int = 5000
    n_val: int = 500
    n_test: int = 500
    n_ood: int = 500
    generator_seed: int = 7
    sampling: Sampling = "disjoint"
    targets: Targets = "matched"

    def __post_init__(self):
        for key, allowed in {"sampling": get_args(Sampling), "targets": get_args(Targets)}.items():
            if getattr(self, key) not in allowed:
                raise TaskError(unknown(key, str(getattr(self, key)), allowed))
        distinct = f"a prompt of {self.n_pairs_ood} pairs holds as many different ones"
        least = {
            "n_pairs": (2, "with one pair there is nothing to choose from"),
            "n_pairs_ood": (self.n_pairs + 1, f"the split ood has more pairs than n_pairs = {self.n_pairs}"),
            "n_keys": (self.n_pairs_ood, distinct),
            "n_values": (self.n_pairs_ood, distinct),
            "generator_seed": (0, "seeds are not negative"),
        }
        least |= dict.fromkeys(("n_train", "n_val", "n_test", "n_ood"), (1, "no split is empty"))
        for key, (smallest, why) in least.items():
            if getattr(self, key) < smallest:
                raise TaskError(f"{key} = {getattr(self, key)}; must be at least {smallest}: {why}")
        if self.sampling == "disjoint":
            in_length = self.n_train + self.n_val + self.n_test
            self._refuse_too_many(self.n_pairs, "n_train + n_val + n_test", in_length)
            self._refuse_too_many(self.n_pairs_ood, "n_ood", self.n_ood)

    def _refuse_too_many(self, n_pairs: int, which: str, n_rows: int) -> None:
        available = self.alphabet.n_questions(n_pairs)
        if n_rows > available:
            raise TaskError(
                f"{which} = {n_rows} rows; with {self.n_keys} keys, {self.n_values} values and {n_pairs} "
                f"pairs there are only {available} different (set of pairs, query)"
            )

    @property
    def alphabet(self) -> KVAlphabet:
        """Number of keys and values, and where their token ids start."""
        return KVAlphabet(n_keys=self.n_keys, n_values=self.n_values)

    @property
    def vocab(self) -> tuple[str, ...]:
        """Specials ``<bos> ; Q ->``, then keys, then values."""
        keys = tuple(f"K{key}" for key in range(self.n_keys))
        return SPECIALS + keys + tuple(f"V{value}" for value in range(self.n_values))

    @property
    def max_length(self) -> int:
        """Positions in a prompt of the split "ood", the longest."""
        return 3 * self.n_pairs_ood + 4

    @property
    def splits(self) -> tuple[str, ...]:
        """Three splits of one length, and one with more pairs and positions never trained on."""
        return ("train", "val", "test", "ood")

    @property
    def answers(self) -> tuple[int, ...]:
        """Token ids of the values."""
        return tuple(range(self.alphabet.first_value, len(self.vocab)))

    @property
    def chance(self) -> Mapping[str, float]:
        """One over the pairs: a guess among the values in the context.

        With shuffled targets the context is no help: one over the values.
        """
        if self.targets == "shuffled":
            return dict.fromkeys(self.splits, 1 / self.n_values)
        return {**dict.fromkeys(self.splits, 1 / self.n_pairs), "ood": 1 / self.n_pairs_ood}

    @property
    def variables(self) -> Mapping[str, int]:
        """What is asked, where it is, and what is stored there."""
        return {
            "query_key": self.n_keys,
            "matching_slot": max(self.n_pairs, self.n_pairs_ood),
            "selected_value": self.n_values,
        }

    def make_splits(self) -> Mapping[str, Batch]:
        """All four splits; a function of the parameters alone."""
        bits = random_bits(self.generator_seed, self.sampling)
        draw = sample_disjoint if self.sampling == "disjoint" else sample_independent
        # Questions with different numbers of pairs cannot coincide, so "ood" is drawn by itself.
        in_length = draw(self.alphabet, self.n_pairs, (self.n_train, self.n_val, self.n_test), bits)
        longer = draw(self.alphabet, self.n_pairs_ood, (self.n_ood,), bits)
        made = [render(prompts, self.alphabet) for prompts in in_length + longer]
        if self.targets == "shuffled":
            bits = random_bits(self.generator_seed, "shuffled targets")
            made = [_deal_targets(batch, bits) for batch in made]
        return dict(zip(self.splits, made, strict=True))

    def families(self, n_bases: int) -> Mapping[str, Batch]:
        """Six families; see ``kv_counterfactuals.sweep_families``.

        "longer_context" is the first ``n_bases`` rows of "ood"; its base ids are its own row numbers
        and have nothing to do with those of the other five.
        """
        if n_bases > self.n_ood:
            raise TaskError(f"n_bases = {n_bases}; the ood split allows 1..{self.n_ood}")
        bases = prompts_of(self.bases(n_bases), self.alphabet)
        longer = prompts_of(self.split("ood").rows(slice(0, n_bases)), self.alphabet)
        made = {**kv_counterfactuals.sweep_families(bases), "longer_context": longer}
        return {family: render(prompts, self.alphabet) for family, prompts in made.items()}

    def interchanges(self, n_bases: int) -> tuple[Interchange, ...]:
        """Interchanges query_key, same_slot, same_key, separating; see ``kv_counterfactuals``."""
        bases = prompts_of(self.bases(n_bases), self.alphabet)
        return kv_counterfactuals.interchanges(bases, self.alphabet, self.generator_seed)

    def edge_tests(self, n_bases: int) -> tuple[Interchange, ...]:
        """Edge tests query, keys, values; see ``kv_counterfactuals``."""
        bases = prompts_of(self.bases(n_bases), self.alphabet)
        return kv_counterfactuals.edge_tests(bases, self.alphabet)


def _deal_targets(batch: Batch, bits: PCG64) -> Batch:
    """The batch with its read-out targets in a random order; all else untouched."""
    read_out = batch.roles["read_out"][:, None]
    dealt = batch.answers[torch.from_numpy(random_order(bits, len(batch)))]
    return replace(batch, targets=batch.targets.scatter(1, read_out, dealt[:, None]))
