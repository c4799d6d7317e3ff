"""Key-value prompts as numbers, and as token rows: the layout every key-value task shares.

A prompt with pairs (K3 V4) (K1 V7) (K5 V0) that asks for K5 reads

    <bos> K3 V4 ; K1 V7 ; K5 V0 ; Q K5 ->        wanted next: V0

and is held here as ``keys = [3, 1, 5]``, ``values = [4, 7, 0]``, ``slot = 2``. Slot s puts its key at
position 1 + 3s and its value at 2 + 3s; p pairs make 3p + 4 positions. A layout whose read-out is the query
ends at ``K5``, one position earlier.
"""

from dataclasses import dataclass, field
from math import comb, perm
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.forms import PromptForm, Slot

SPECIALS = ("<bos>", ";", "Q", "->")
BOS, SEPARATOR, QUERY, READ_OUT = range(len(SPECIALS))
ReadOut = Literal["arrow", "query"]


@dataclass(frozen=True, kw_only=True)
class KVAlphabet:
    """How many keys and values there are, and where prompts end. Token ids: specials, then keys, then values.

    Attributes:
        n_keys: number of keys.
        n_values: number of values.
        read_out: "arrow": the answer is read at a token that is the same in every prompt; "query": at the
            queried key itself, and there is no arrow.
    """

    n_keys: int
    n_values: int
    read_out: ReadOut = "arrow"

    @property
    def first_key(self) -> int:
        """Token id of key 0."""
        return len(SPECIALS)

    @property
    def first_value(self) -> int:
        """Token id of value 0."""
        return len(SPECIALS) + self.n_keys

    def n_questions(self, n_pairs: int) -> int:
        """Number of distinct (set of pairs, queried key), whatever the order of the pairs.

        C(n_keys, p) sets of keys, P(n_values, p) ways to give them distinct values, p queries. The
        smallest alphabets cannot fill the pairs at all: then 0.
        """
        return comb(self.n_keys, n_pairs) * perm(self.n_values, n_pairs) * n_pairs

    def length(self, n_pairs: int) -> int:
        """Positions in a prompt of this many pairs."""
        return 3 * n_pairs + (4 if self.read_out == "arrow" else 3)


@dataclass(frozen=True, kw_only=True, eq=False)
class KVPrompts:
    """Prompts of one number of pairs, as key and value indices.

    Attributes:
        keys: key index in each slot, distinct within a row.
        values: value index in each slot, distinct within a row.
        slot: the slot whose key is asked for.
        base: id of the prompt each row was made from; own row number by default.
    """

    keys: Int[Tensor, "batch slot"]
    values: Int[Tensor, "batch slot"]
    slot: Int[Tensor, " batch"]
    base: Int[Tensor, " batch"] | None = field(default=None)

    def __post_init__(self):
        if self.base is None:
            object.__setattr__(self, "base", torch.arange(len(self.slot)))

    @property
    def n_pairs(self) -> int:
        """Number of slots."""
        return self.keys.shape[1]

    @property
    def query(self) -> Int[Tensor, " batch"]:
        """Index of the key that is asked for."""
        return at_slot(self.keys, self.slot)

    @property
    def selected(self) -> Int[Tensor, " batch"]:
        """Index of the value that answers the question."""
        return at_slot(self.values, self.slot)

    def repeat(self, times: int) -> "KVPrompts":
        """Every row ``times`` times, copies of a row side by side."""
        return KVPrompts(
            keys=self.keys.repeat_interleave(times, 0),
            values=self.values.repeat_interleave(times, 0),
            slot=self.slot.repeat_interleave(times),
            base=self.base.repeat_interleave(times),
        )


def at_slot(table: Int[Tensor, "batch slot"], slot: Int[Tensor, " batch"]) -> Int[Tensor, " batch"]:
    """The entry of each row at that row's slot."""
    return table.gather(1, slot[:, None])[:, 0]


def render(prompts: KVPrompts, alphabet: KVAlphabet) -> Batch:
    """Prompts as token rows with roles and variables.

    Only the read-out is trained on and scored; ``targets`` elsewhere is simply the next token.
    """
    n_rows, n_pairs = prompts.keys.shape
    tokens = torch.full((n_rows, alphabet.length(n_pairs)), SEPARATOR)
    slots = torch.arange(n_pairs)
    slot_key, slot_value = 1 + 3 * slots, 2 + 3 * slots
    query_key, read_out = 3 * n_pairs + 2, tokens.shape[1] - 1
    tokens[:, 0] = BOS
    tokens[:, slot_key] = alphabet.first_key + prompts.keys
    tokens[:, slot_value] = alphabet.first_value + prompts.values
    tokens[:, query_key - 1] = QUERY
    if alphabet.read_out == "arrow":
        tokens[:, read_out] = READ_OUT
    tokens[:, query_key] = alphabet.first_key + prompts.query
    answer = alphabet.first_value + prompts.selected
    loss_mask = torch.zeros_like(tokens, dtype=torch.bool)
    loss_mask[:, read_out] = True
    return Batch(
        tokens=tokens,
        targets=torch.cat([tokens[:, 1:], answer[:, None]], dim=1),
        loss_mask=loss_mask,
        roles={
            "read_out": torch.full((n_rows,), read_out),
            "query_key": torch.full((n_rows,), query_key),
            "slot_key": slot_key.repeat(n_rows, 1),
            "slot_value": slot_value.repeat(n_rows, 1),
        },
        variables={
            "query_key": prompts.query,
            "matching_slot": prompts.slot,
            "selected_value": prompts.selected,
        },
        base=prompts.base,
    )


def form(n_pairs: int, alphabet: KVAlphabet, vocab: tuple[str, ...]) -> PromptForm:
    """What ``render`` makes of prompts with this many pairs, in words."""
    keys, values = vocab[alphabet.first_key : alphabet.first_value], vocab[alphabet.first_value :]
    slots = [Slot("start", (vocab[BOS],))]
    for pair in range(1, n_pairs + 1):
        slots += [Slot(f"key {pair}", keys), Slot(f"value {pair}", values), Slot("separator", (vocab[SEPARATOR],))]
    slots += [Slot("question", (vocab[QUERY],)), Slot("query", keys)]
    query = len(slots) - 1
    if alphabet.read_out == "arrow":
        slots.append(Slot("arrow", (vocab[READ_OUT],)))
    key_at, value_at = tuple(range(1, query - 1, 3)), tuple(range(2, query - 1, 3))
    return PromptForm(
        name=f"{n_pairs} pairs",
        slots=tuple(slots),
        distinct=(key_at, value_at),
        member=(query, key_at),
        lookup=(query, tuple(zip(key_at, value_at, strict=True))),
    )


def prompts_of(batch: Batch, alphabet: KVAlphabet) -> KVPrompts:
    """Undo ``render``: the pairs are read from the tokens, the slot from the row's variables."""
    return KVPrompts(
        keys=batch.tokens.gather(1, batch.roles["slot_key"]) - alphabet.first_key,
        values=batch.tokens.gather(1, batch.roles["slot_value"]) - alphabet.first_value,
        slot=batch.variables["matching_slot"],
        base=batch.base,
    )
