"""Drawing key-value prompts at random, vectorised.

All randomness is taken as raw 64-bit words from NumPy's PCG64. NumPy promises that this stream
never changes, which it does not promise for the samplers built on it: the rows of a task must not
move under the published runs when a package is updated. (Reducing a word modulo n favours small
numbers by n / 2**64, which is nothing here.)
"""

from math import comb, perm

import numpy as np
import torch
from jaxtyping import Bool, Int, Int64
from numpy.random import PCG64

from circuitcore.tasks.base import TaskError
from circuitcore.tasks.kv_prompts import KVAlphabet, KVPrompts


def random_bits(seed: int, stream: str) -> PCG64:
    """The source of random words for one purpose; streams of different names are independent."""
    return PCG64([seed, *stream.encode()])


def random_choice(
    bits: PCG64, n_chosen: int, allowed: Bool[np.ndarray, "batch option"]
) -> Int64[np.ndarray, "batch chosen"]:
    """Choose distinct options for each row, in random order, among those allowed to that row.

    Raises:
        TaskError: a row allows fewer options than are to be chosen.
    """
    if len(allowed) and (fewest := int(allowed.sum(1).min())) < n_chosen:
        raise TaskError(f"cannot choose {n_chosen} distinct options where only {fewest} are allowed")
    score = bits.random_raw(allowed.size).reshape(allowed.shape) >> np.uint64(1)
    score = np.where(allowed, score, np.uint64(2**63))
    return np.argsort(score, axis=1, kind="stable")[:, :n_chosen]


def insert_at(
    others: Int[np.ndarray, "batch rest"], item: Int[np.ndarray, " batch"], slot: Int[np.ndarray, " batch"]
) -> Int64[np.ndarray, "batch slot"]:
    """Rows with ``item`` at ``slot`` and ``others``, in their order, in the remaining slots."""
    places = np.arange(others.shape[1] + 1)
    padded = np.column_stack([others, item])
    source = np.where(places == slot[:, None], others.shape[1], places - (places > slot[:, None]))
    return np.take_along_axis(padded, source, axis=1)


def sample_disjoint(alphabet: KVAlphabet, n_pairs: int, sizes: tuple[int, ...], bits: PCG64) -> tuple[KVPrompts, ...]:
    """Splits no two rows of which ask the same question, that is share set of pairs and queried key.

    The questions are drawn uniformly without replacement; each is laid out once, with the query of
    row i of a split in slot i mod n_pairs and the other pairs in random order.

    Raises:
        TaskError: more rows than there are questions.
    """
    questions = _distinct_integers(bits, alphabet.n_questions(n_pairs), sum(sizes))
    questions, asked = np.divmod(questions, n_pairs)
    key_rank, value_rank = np.divmod(questions, perm(alphabet.n_values, n_pairs))
    keys = _subset(key_rank, alphabet.n_keys, n_pairs)
    values = _arrangement(value_rank, alphabet.n_values, n_pairs)
    slot = np.concatenate([np.arange(n_rows) % n_pairs for n_rows in sizes])
    others = random_choice(bits, n_pairs - 1, np.arange(n_pairs) != asked[:, None])
    order = insert_at(others, asked, slot)
    keys, values = np.take_along_axis(keys, order, axis=1), np.take_along_axis(values, order, axis=1)
    return _cut(keys, values, slot, sizes)


def sample_independent(
    alphabet: KVAlphabet, n_pairs: int, sizes: tuple[int, ...], bits: PCG64
) -> tuple[KVPrompts, ...]:
    """Splits of rows drawn independently and uniformly from all ordered prompts; nothing is rejected."""
    n_rows = sum(sizes)
    keys = random_choice(bits, n_pairs, np.ones((n_rows, alphabet.n_keys), dtype=bool))
    values = random_choice(bits, n_pairs, np.ones((n_rows, alphabet.n_values), dtype=bool))
    slot = (bits.random_raw(n_rows) % np.uint64(n_pairs)).astype(np.int64)
    return _cut(keys, values, slot, sizes)


def _cut(
    keys: Int64[np.ndarray, "batch slot"],
    values: Int64[np.ndarray, "batch slot"],
    slot: Int64[np.ndarray, " batch"],
    sizes: tuple[int, ...],
) -> tuple[KVPrompts, ...]:
    """Consecutive splits of the given sizes."""
    columns = [torch.from_numpy(array).split(sizes) for array in (keys, values, slot)]
    return tuple(KVPrompts(keys=k, values=v, slot=s) for k, v, s in zip(*columns, strict=True))


def random_order(bits: PCG64, n: int) -> Int64[np.ndarray, " n"]:
    """The integers below ``n`` in random order."""
    return np.argsort(bits.random_raw(n), kind="stable")


def _distinct_integers(bits: PCG64, below: int, n: int) -> Int64[np.ndarray, " n"]:
    """``n`` distinct integers below ``below``, uniform, in the order drawn."""
    if n > below:
        raise TaskError(f"{n} rows are wanted; there are only {below} different questions")
    if below >= 2**63:
        raise TaskError(f"{below} different questions; at most 2**63 - 1 can be numbered")
    if 2 * n >= below:
        return random_order(bits, below)[:n]
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < n:
        fresh = (bits.random_raw(n) % np.uint64(below)).astype(np.int64)
        drawn = np.concatenate([drawn, fresh])
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return drawn[:n]


def _subset(rank: Int64[np.ndarray, " batch"], n_items: int, size: int) -> Int64[np.ndarray, "batch size"]:
    """The ``rank``-th subset in the combinatorial number system: rank = sum of C(item_j, j)."""
    chosen, rest = [], rank
    for j in range(size, 0, -1):
        starts = np.array([comb(item, j) for item in range(n_items)])
        item = np.searchsorted(starts, rest, side="right") - 1
        rest = rest - starts[item]
        chosen.append(item)
    return np.stack(chosen[::-1], axis=1)


def _arrangement(rank: Int64[np.ndarray, " batch"], n_items: int, size: int) -> Int64[np.ndarray, "batch size"]:
    """The ``rank``-th ordered choice of ``size`` distinct items: one mixed-radix digit an item."""
    digits, rest = [], rank
    for radix in range(n_items, n_items - size, -1):
        rest, digit = np.divmod(rest, radix)
        digits.append(digit)
    # Digit t counts among the items not chosen before it; skip those to get the item itself.
    for later in range(size - 1, 0, -1):
        for earlier in range(later - 1, -1, -1):
            digits[later] = digits[later] + (digits[later] >= digits[earlier])
    return np.stack(digits, axis=1)
