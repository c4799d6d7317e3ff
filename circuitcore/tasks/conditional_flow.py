r"""How many attention layers hops by two symbols take, if attention needs a shared piece of information.

The source's model of a transformer, as ``chain_flow`` has it, on the rows of ``ConditionalRetrieval``. A hop from x is
told in three entries, (x, left), (x, right) and (left, right, next x); a piece of information is a symbol or the code
of an entry, and at first every position holds its symbol and the code of its entry. Positions and pieces of one chain
are counted: those of the other chains share symbols with it and lie on no shorter way.

Seen from the query, the way over the left symbols is the line of a chain of two look-ups a hop, and so is that over the
right ones; both meet in each next x. So n hops take what a chain of 2n look-ups takes. The model asks for less than the
task does: that left and right are those of *one* entry is a comparison that it does not count.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from jaxtyping import Bool

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.chain_flow import MAX_DEPTH, after_layer, fewest, published_bound
from circuitcore.tasks.errors import TaskError

VARIANTS = ("open", "causal", "one_hop")
"""Who may attend to whom, all with any number of heads: as in ``chain_flow``; "one_hop": behind a causal mask, in layer
1 everybody, then the query alone."""
N_POSITIONS = 7
"""Of a hop: three entries, of two, two and three symbols."""
TOLD = ((0, 3), (1, 3), (0, 4), (2, 4), (1, 5), (2, 5), (6, 5))
"""What the positions of a hop hold, left pair, right pair, triple: symbols and codes, by their place among a hop's."""
OF_LINE = 6
"""Pieces of a hop: x, left, right, and the codes of the three entries; 6 is the next hop's x."""
LATE_FIRST = (4, 5, 6, 2, 3, 0, 1)
"""The positions of a hop in the order in which they stand in the row."""


def conditional_table(n_hops: Iterable[int]) -> pd.DataFrame:
    """What every variant takes for so many hops, beside chains of twice as many look-ups.

    Returns:
        A row per number of hops and variant: ``hops``, ``variant``, ``layers`` (simulated), ``chain`` (layers of 2
        ``hops`` look-ups in a row, by closed form), ``bound_layers`` (what the source's theorem demands for them) and
        ``agrees`` (``layers`` and ``chain`` are one number).

    Raises:
        TaskError: a number of hops that is not 1 to ``MAX_DEPTH``.
    """
    rows = [
        {
            "hops": hops,
            "variant": variant,
            "layers": simulated(hops, variant),
            "chain": fewest(2 * hops, variant),
            "bound_layers": published_bound(2 * hops),
        }
        for hops in n_hops
        for variant in VARIANTS
    ]
    table = pd.DataFrame(rows)
    return table.assign(agrees=table["layers"] == table["chain"])


def simulated(n_hops: int, variant: str) -> int:
    """Layers until the query holds the answer and everything that it depends on: all symbols and entries on the way.

    Raises:
        TaskError: a number of hops or a variant that is not allowed.
    """
    if isinstance(n_hops, bool) or not isinstance(n_hops, int) or not 1 <= n_hops <= MAX_DEPTH:
        raise TaskError(f"n_hops = {n_hops!r}; allowed: a whole number of hops 1 to {MAX_DEPTH}")
    if variant not in VARIANTS:
        raise TaskError(unknown("variant of the flow", variant, VARIANTS))
    now, visible = at_first(n_hops), visible_to(n_hops, causal=variant != "open")
    layer = 0
    while not now[0].all():
        layer += 1
        now = after_layer(now, visible, slice(1) if variant == "one_hop" and layer > 1 else slice(None))
    return layer


def at_first(n_hops: int) -> Bool[np.ndarray, "position piece"]:
    """What the query and the positions of one chain hold before the first layer, in the order of ``TOLD``.

    Pieces: ``OF_LINE`` a hop and the answer. The query holds the first x; a code of its own would tell nobody anything.
    """
    holds = np.zeros((N_POSITIONS * n_hops + 1, OF_LINE * n_hops + 1), dtype=bool)
    holds[0, 0] = True
    for hop in range(n_hops):
        for at, pieces in enumerate(TOLD):
            holds[1 + N_POSITIONS * hop + at, [OF_LINE * hop + piece for piece in pieces]] = True
    return holds


def visible_to(n_hops: int, *, causal: bool) -> Bool[np.ndarray, "position position"]:
    """Whom each of them sees: everybody, or those that stand no later in the row."""
    n_positions = N_POSITIONS * n_hops + 1
    if not causal:
        return np.ones((n_positions, n_positions), dtype=bool)
    order = [1 + N_POSITIONS * hop + at for hop in reversed(range(n_hops)) for at in LATE_FIRST]
    place = np.empty(n_positions, dtype=int)
    place[[*order, 0]] = np.arange(n_positions)
    return place <= place[:, None]
