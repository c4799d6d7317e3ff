"""What every key-value task shares: what can be asked of its prompts, and the counterfactuals made from them."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from numpy.random import PCG64

from circuitcore.tasks import kv_counterfactuals
from circuitcore.tasks.base import Batch, Interchange, TaskError, record_id
from circuitcore.tasks.forms import PromptForm
from circuitcore.tasks.kv_prompts import KVAlphabet, KVPrompts, form, prompts_of, render
from circuitcore.tasks.kv_sampling import random_bits, random_order
from circuitcore.tasks.looks import Look, role_look
from circuitcore.tasks.token_task import TokenTask

Targets = Literal["matched", "shuffled"]


@dataclass(frozen=True, kw_only=True)
class KVTask(TokenTask):
    """A task of key-value prompts. A subclass gives ``alphabet``, ``vocab``, ``pairs``, ``longer`` and ``prompts``.

    Attributes:
        generator_seed: decides the rows of every split.
        targets: "shuffled" is a control in which the context says nothing about the target: in
            every split the read-out targets are dealt out again among its rows in a random order,
            so each value is wanted exactly as often as before. Prompts, roles and variables stay as
            they are, and families, interchanges and edge tests keep their true answers.
    """

    generator_seed: int = 7
    targets: Targets = "matched"

    @property
    @abstractmethod
    def alphabet(self) -> KVAlphabet:
        """Numbers of keys and values, and where prompts end."""

    @property
    @abstractmethod
    def pairs(self) -> Mapping[str, int]:
        """Split -> pairs in each of its prompts; the first one is trained on."""

    @property
    @abstractmethod
    def longer(self) -> str:
        """The split whose prompts have more pairs than any that is trained on."""

    @abstractmethod
    def prompts(self) -> Mapping[str, KVPrompts]:
        """The prompts of every split, in the order of ``pairs``; a function of the parameters alone."""

    @property
    def splits(self) -> tuple[str, ...]:
        """As in ``pairs``."""
        return tuple(self.pairs)

    @property
    def max_length(self) -> int:
        """Positions in the longest prompt."""
        return self.alphabet.length(max(self.pairs.values()))

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
            return dict.fromkeys(self.splits, 1 / self.alphabet.n_values)
        return {split: 1 / n_pairs for split, n_pairs in self.pairs.items()}

    @property
    def forms(self) -> tuple[PromptForm, ...]:
        """One for each number of pairs; where targets are shuffled the prompt tells no answer."""
        made = tuple(form(n_pairs, self.alphabet, self.vocab) for n_pairs in sorted(set(self.pairs.values())))
        return made if self.targets == "matched" else tuple(replace(one, lookup=None) for one in made)

    @property
    def variables(self) -> Mapping[str, int]:
        """What is asked, where it is, and what is stored there."""
        return {
            "query_key": self.alphabet.n_keys,
            "matching_slot": max(self.pairs.values()),
            "selected_value": self.alphabet.n_values,
        }

    def make_splits(self) -> Mapping[str, Batch]:
        """All splits; a function of the parameters alone."""
        made = {split: render(prompts, self.alphabet) for split, prompts in self.prompts().items()}
        if self.targets == "shuffled":
            bits = random_bits(self.generator_seed, "shuffled targets")
            made = {split: _deal_targets(batch, bits) for split, batch in made.items()}
        return made

    def records(self, split: str) -> Iterator[dict[str, Any]]:
        """The rows of a split in the format of the published data sets.

        Keys: id, task (``kv_retrieve_3`` for three pairs), split, num_pairs, prompt, target, query_key, context_pairs
        (key, value and pair_index, from 0, in the order of the prompt).
        """
        batch = self.split(split)
        prompts, answers = prompts_of(batch, self.alphabet), batch.answers.tolist()
        key_words = self.vocab[self.alphabet.first_key : self.alphabet.first_value]
        value_words = self.vocab[self.alphabet.first_value :]
        rows = zip(prompts.keys.tolist(), prompts.values.tolist(), prompts.query.tolist(), strict=True)
        for row, (keys, values, query) in enumerate(rows):
            yield {
                "id": record_id(split, row),
                "task": f"kv_retrieve_{prompts.n_pairs}",
                "split": split,
                "num_pairs": prompts.n_pairs,
                "prompt": self.decode(batch.tokens[row]),
                "target": self.vocab[answers[row]],
                "query_key": key_words[query],
                "context_pairs": [
                    {"key": key_words[key], "value": value_words[value], "pair_index": index}
                    for index, (key, value) in enumerate(zip(keys, values, strict=True))
                ],
            }

    def families(self, n_bases: int) -> Mapping[str, Batch]:
        """Six families; see ``kv_counterfactuals.sweep_families``.

        "longer_context" is the first ``n_bases`` rows of ``longer``; its base ids are its own row numbers
        and have nothing to do with those of the other five.
        """
        available = len(self.split(self.longer))
        if n_bases > available:
            raise TaskError(f"n_bases = {n_bases}; the {self.longer} split allows 1..{available}")
        bases = prompts_of(self.bases(n_bases), self.alphabet)
        longer = prompts_of(self.split(self.longer).rows(slice(0, n_bases)), self.alphabet)
        made = {**kv_counterfactuals.sweep_families(bases), "longer_context": longer}
        return {family: render(prompts, self.alphabet) for family, prompts in made.items()}

    def looks(self, batch: Batch) -> Mapping[str, Look]:
        """From the read-out to the pair that is asked for; what should be copied is its value.

        ``routing``: to its key and value; ``routing_value``: to its value; ``routing_behind``: to its value and the
        separator after it, where a layer below can have gathered the pair.
        """
        right = batch.variables["matching_slot"]
        roles = {**batch.roles, "slot_end": batch.roles["slot_value"] + 1}
        at = roles["slot_value"].gather(1, right[:, None])[:, 0]
        to = {
            "routing": ("slot_key", "slot_value"),
            "routing_value": ("slot_value",),
            "routing_behind": ("slot_value", "slot_end"),
        }
        found = {name: role_look(roles, batch.tokens.shape[1], "read_out", keys, right) for name, keys in to.items()}
        return {name: replace(look, copied=at, answer=batch.answers) for name, look in found.items()}

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
