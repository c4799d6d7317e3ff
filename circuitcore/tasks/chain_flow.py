r"""How many attention layers a chain of D look-ups takes, if attention needs a shared piece of information.

The source's model of a transformer (Musat 2025, section 5), as a program. A chain x_0 ... x_D stands in the sequence as
pairs, the pair of the answer first, the query x_0 last: ``x_2 x_3 . x_1 x_2 . x_0 x_1 . x_0`` for D = 3. Its 2D + 1
positions are numbered by how far they are from the query, s_0 (the query) to s_2D (where the answer stands as a value):
s_2k-1 and s_2k are key and value of pair k. Pieces of information are symbols and the codes of pairs, in one line
e_-1 ... e_2D: e_2k is x_k, and e_2k-1 is the code of pair k. At first position s_i holds e_i-1 and e_i.

- A1: a position attends to another one only if both hold a common piece *before* that layer.
- A2: it then adds everything that the other one held before that layer to what it holds.

A *layer* is one attention layer; all positions act at once. D look-ups *take t layers* if x_D is among what s_0 holds
after layer t, and not after layer t - 1. MLPs, norms and the read-out move nothing between positions and do not count.

What t layers can do, with proofs in three steps. (1) Neighbours on the line share one piece, others none, so what a
position holds stays an unbroken run of the line, and two runs join only where they overlap. (2) *Open*: no mask, any
number of heads. If all runs reach r beyond their start on either side, s_i overlaps those up to s_i+2r+1, which reach r
further: r becomes 3r + 1, so r = (3^t - 1) / 2. The query is the *end* of the line and grows to one side only: it holds
e_0 ... e_r, and needs r >= 2D, that is 3^t >= 4D + 1. (3) *One hard head* (one other position a layer): the union of
two overlapping runs of at most n pieces has at most 2n - 1, so no run is longer than 2^t + 1; the query's begins at
e_-1, thus 2^t - 1 >= 2D. *Causal mask*: a key stays as it is, since all that it may look at lies in pairs further up
the line, whose runs begin beyond its own; a value of pair k never holds anything below its key's e_2k-2. With right
ends 2k + b the value of pair k reaches pair k + 1 + b // 2 at most (from b = 0 its key alone), so b goes 0, 1, 3 ...
2^t - 1, and the same for the query, as if it were the value of a pair 0: again 2^t - 1 >= 2D. Both limits at once cost
no more: let every position attend to the one that reaches furthest (as ``held`` does), and s_0 holds e_2^t-1 after t
layers.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, get_args

import numpy as np
import pandas as pd
from jaxtyping import Bool, UInt64

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.errors import TaskError

Variant = Literal["open", "causal", "one_head", "causal_one_head", "one_hop"]
Blocks = Literal["far_first", "near_first"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
MAX_DEPTH = 512  # of a simulation


def held(depth: int, variant: Variant, blocks: Blocks = "far_first") -> Iterator[Bool[np.ndarray, "position piece"]]:
    """What every position holds before the first layer, after it, and so on until nothing is added any more.

    Args:
        depth: look-ups D of the chain, 1 to ``MAX_DEPTH``.
        variant: who may attend to whom. "open": everybody to all that share a piece. "causal": of those, to earlier
            ones. "one_head": to one of them, the one that reaches furthest towards the answer. "causal_one_head":
            both limits. "one_hop": the same in layer 1; then the query alone goes on, one look-up a layer.
        blocks: whether the pairs furthest from the query come first in the sequence, as in the source, or last.

    Returns:
        Arrays of 2D + 1 positions s_0 ... s_2D and 2D + 2 pieces e_-1 ... e_2D.

    Raises:
        TaskError: a depth or a word that is not allowed.
    """
    _check(depth, MAX_DEPTH)
    if variant not in VARIANTS:
        raise TaskError(unknown("variant of the flow", variant, VARIANTS))
    visible = _visible(depth, blocks)
    if variant in ("open", "one_head"):
        visible = np.ones_like(visible)
    now = np.eye(2 * depth + 1, 2 * depth + 2, dtype=bool)
    now |= np.eye(2 * depth + 1, 2 * depth + 2, 1, dtype=bool)
    for layer in range(1, 2 * depth + 2):
        yield now
        moves = slice(1) if variant == "one_hop" and layer > 1 else slice(None)
        choose = _furthest if variant in ("one_head", "causal_one_head", "one_hop") else None
        then = after_layer(now, visible, moves, choose)
        if (then == now).all():
            return
        now = then


Choice = Callable[[np.ndarray, slice, np.ndarray, np.ndarray], np.ndarray]
"""Of those that each position may attend to, which it does; arguments as ``_furthest`` has them."""


def after_layer(
    now: Bool[np.ndarray, "position piece"],
    visible: Bool[np.ndarray, "position position"],
    moves: slice = slice(None),
    choose: Choice | None = None,
) -> Bool[np.ndarray, "position piece"]:
    """What every position holds after one more layer: A1 and A2.

    Args:
        now: what it holds before.
        visible: whom each position may see.
        moves: the positions that act; the others stay as they are.
        choose: which of those that it shares a piece with and sees a position attends to; None: to all of them.
    """
    bits = _packed(now)
    common = sum(np.bitwise_count(word[moves, None] & word).astype(int) for word in bits)  # pieces that both hold
    attends = (common > 0) & visible[moves]
    if choose:
        attends = choose(now, moves, attends, common)
    for word in bits:
        word[moves] |= np.bitwise_or.reduce(np.where(attends, word, np.uint64(0)), axis=1)
    return _unpacked(bits, now.shape[1])


def simulated(depth: int, variant: Variant, blocks: Blocks = "far_first") -> int:
    """Layers until the query holds x_D, counted on ``held``; arguments and errors as there."""
    for layer, positions in enumerate(held(depth, variant, blocks)):
        if positions[0, -1]:
            return layer
    raise AssertionError("the answer never arrived: a line is connected, so this is a mistake in the rules")


def fewest(depth: int, variant: Variant) -> int:
    r"""The exact minimum in closed form, of any depth from 1.

    "open": :math:`\lceil \log_3(4D + 1) \rceil`. "causal", "one_head" and "causal_one_head":
    :math:`\lfloor \log_2 D \rfloor + 2`, which is also the depth known to suffice for k-hop induction heads (Sanford,
    Hsu & Telgarsky 2024) with k = D. "one_hop": D + 1, what that strategy takes.
    """
    _check(depth, None)
    if variant not in VARIANTS:
        raise TaskError(unknown("variant of the flow", variant, VARIANTS))
    if variant == "open":
        return _power_of_three(4 * depth + 1)
    return depth + 1 if variant == "one_hop" else depth.bit_length() + 1


def published_bound(depth: int) -> int:
    """The whole number of layers that the source's Theorem 1 demands: the least t with t >= log_3(2D)."""
    _check(depth, None)
    return _power_of_three(2 * depth)


def khop_depth(hops: int) -> int:
    r"""Depth known to suffice for k-hop induction heads: :math:`\lfloor \log_2 k \rfloor + 2`, with one head a layer.

    There the symbols of a random string are used again and again; a chain of D look-ups is the case of k = D hops in
    which each symbol is its own. Source: Sanford, Hsu & Telgarsky 2024 ("Transformers, Parallel Computation, and
    Logarithmic Depth").
    """
    _check(hops, None)
    return math.floor(math.log2(hops)) + 2


def flow_table(depths: Iterable[int] = range(1, 129)) -> pd.DataFrame:
    """What every variant takes at every depth, beside the published bound.

    Returns:
        A row per depth and variant: ``layers`` (simulated), ``closed_form``, ``bound`` (log_3(2D), a real number),
        ``bound_layers`` (the next whole number), ``khop_layers`` and ``tight`` (whether ``bound_layers`` suffice).
    """
    rows = [
        {
            "depth": depth,
            "variant": variant,
            "layers": simulated(depth, variant),
            "closed_form": fewest(depth, variant),
            "bound": math.log(2 * depth, 3),
            "bound_layers": published_bound(depth),
            "khop_layers": khop_depth(depth),
        }
        for depth in depths
        for variant in VARIANTS
    ]
    table = pd.DataFrame(rows)
    return table.assign(tight=table.layers == table.bound_layers)


def _check(depth: int, most: int | None) -> None:
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1 or depth > (most or depth):
        raise TaskError(f"depth = {depth!r}; allowed: a whole number of look-ups {f'1 to {most}' if most else '>= 1'}")


def _visible(depth: int, blocks: Blocks) -> Bool[np.ndarray, "position position"]:
    """Whether s_j stands no later than s_i. Within a pair the key stands first; the query is last of all."""
    if blocks not in get_args(Blocks):
        raise TaskError(unknown("order of blocks", blocks, get_args(Blocks)))
    pairs = range(depth, 0, -1) if blocks == "far_first" else range(1, depth + 1)
    place = np.empty(2 * depth + 1, dtype=int)
    place[[position for k in pairs for position in (2 * k - 1, 2 * k)] + [0]] = np.arange(2 * depth + 1)
    return place <= place[:, None]


def _packed(sets: Bool[np.ndarray, "position piece"]) -> UInt64[np.ndarray, "word position"]:
    """A bit per piece. (Products of 0/1 matrices would do, but wait for each other's threads on a busy machine.)"""
    spare = -sets.shape[1] % 64
    return np.packbits(np.pad(sets, ((0, 0), (0, spare))), axis=1).view(np.uint64).T.copy()


def _unpacked(bits: UInt64[np.ndarray, "word position"], n_pieces: int) -> Bool[np.ndarray, "position piece"]:
    return np.unpackbits(bits.T.copy().view(np.uint8), axis=1, count=n_pieces).astype(bool)


def _furthest(now: np.ndarray, moves: slice, attends: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Of those that each position may attend to, the one with which it comes furthest; of these, to the longest run."""
    size = now.sum(1)
    last = now.shape[1] - 1 - now[:, ::-1].argmax(1)
    union_last = np.maximum(last, last[moves, None])
    union_size = size + size[moves, None] - common
    worth = np.where(attends, union_last * (now.shape[1] + 1) + union_size, -1)
    return np.eye(len(now), dtype=bool)[worth.argmax(1)]


def _power_of_three(least: int) -> int:
    """The least t with 3^t >= ``least``, in whole numbers: a logarithm would round."""
    exponent = 0
    while 3**exponent < least:
        exponent += 1
    return exponent
