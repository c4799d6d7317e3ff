"""Rows of streams and what they might have been: another key asked for, keys exchanged, another value stored."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.streams import Stream
from retrieval_circuits.sgd_formation.measures.asked import absent_values, asked, drawn_value, swapped

ASKED_KEY, STORED_KEY, STORED_VALUE = "the key asked for", "the stored keys", "the stored value"
"""What differs between the two rows of a pair."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows, each with another one whose answer is different, and one whose answer is the same.

    Attributes:
        differs: what differs between a row and its other.
        base: the rows, read out at their last read.
        other: what each might have been, with another answer. ``targets`` are those of ``base``; what is wanted of
            ``other`` stands in ``answer``.
        same: the same row with another value of a key that neither row asks for.
        own: the answers to the rows.
        answer: the answers to the others.
    """

    differs: str
    base: Batch
    other: Batch
    same: Batch
    own: Int[Tensor, " batch"]
    answer: Int[Tensor, " batch"]

    def margin(self, logits: Float[Tensor, "*lead batch vocab"]) -> Float[Tensor, "*lead batch"]:
        """The logit of the other row's answer less that of the row's own."""
        row = torch.arange(len(self.base))
        return logits[..., row, self.answer] - logits[..., row, self.own]


def counterfactuals(task: Stream, split: str, n_rows: int) -> tuple[Pairs, ...]:
    """The pairs that can be made of the last reads of the first rows of a split.

    * ``ASKED_KEY``: the last read asks for another key, as in ``swapped``.
    * ``STORED_KEY``: that key and the one that is asked for are exchanged in all that stands before the read, so that
      the same question has the other key's value. One pair in some has been held out of training then.
    * ``STORED_VALUE``: the value asked for is another one, wherever it stands, that is not in the row and no pair held
      out. In ``same`` it takes the place of a third key's value.
    """
    found, whole = swapped(task, split, n_rows), asked(task, split, n_rows)
    rows = replace(whole.batch.rows(found.batch.base), roles={"read_out": found.at})
    tokens, number = rows.tokens, torch.arange(len(rows))
    last_read = torch.searchsorted(whole.reads.row, found.batch.base, right=True) - 1
    third = whole.kinds["current"][last_read] & (tokens != found.now[:, None])
    third_at = third.double().argmax(1)
    keys = [key - task.words.first_key for key in (tokens[number, found.at], tokens[number, third_at - 1])]
    held_out = task.held_out[keys[0]] | task.held_out[keys[1]]
    new = drawn_value(task.words, absent_values(task.words, tokens) & ~held_out)[:, None]

    def pairs(differs: str, other: Tensor, answer: Tensor) -> Pairs:
        same = torch.where(tokens == tokens[number, third_at][:, None], new, tokens)
        others = replace(rows, tokens=other), replace(rows, tokens=same)
        return Pairs(differs, rows, *others, found.before, answer)

    return (
        pairs(ASKED_KEY, found.batch.tokens, found.now),
        pairs(STORED_KEY, _exchanged(tokens, found.batch.tokens, found.at), found.now),
        pairs(STORED_VALUE, torch.where(tokens == found.before[:, None], new, tokens), new[:, 0]),
    )


def _exchanged(
    tokens: Int[Tensor, "batch pos"], other: Int[Tensor, "batch pos"], at: Int[Tensor, " batch"]
) -> Int[Tensor, "batch pos"]:
    """Rows in which two keys, that asked for and the one that ``other`` asks for, have changed places before it."""
    one, two = (of.gather(1, at[:, None]) for of in (tokens, other))
    before = torch.arange(tokens.shape[1]) < at[:, None]
    exchanged = torch.where(tokens == one, two, torch.where(tokens == two, one, tokens))
    return torch.where(before, exchanged, tokens)
