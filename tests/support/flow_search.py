"""Layers that one hard head takes at the least along a chain, by trying every choice of all positions in all layers."""

from functools import cache
from itertools import product

import numpy as np

from circuitcore.tasks.chain_flow import _visible, held, simulated

MAX_SEARCHED = 7  # the choices are too many beyond


def searched(depth, *, causal):
    """The fewest layers. The strategy of ``held`` shows that as many suffice; fewer are refuted one by one."""
    enough = simulated(depth, "causal_one_head" if causal else "one_head")
    return next((layers for layers in range(enough) if _can_hold(depth, layers, causal=causal)), enough)


def _can_hold(depth, n_layers, *, causal):
    """Whether some choices let the query hold x_D after ``n_layers`` layers of one hard head."""
    visible = _visible(depth, "far_first") if causal else np.ones((2 * depth + 1,) * 2, dtype=bool)
    # With many heads a position holds at least as much: whoever shares nothing there need not be tried.
    reach = list(held(depth, "causal" if causal else "open"))

    @cache
    def joint(positions, layer):
        """All that these positions can hold together after a layer, as bit sets."""
        if layer == 0:
            return frozenset({tuple(0b11 << position for position in positions)})
        before = reach[min(layer, len(reach)) - 1]
        options = [
            [j for j in range(2 * depth + 1) if visible[i, j] and (before[i] & before[j]).any()] for i in positions
        ]
        found = set()
        for chosen in product(*options):
            needed = tuple(sorted({*positions, *chosen}))
            index = {position: place for place, position in enumerate(needed)}
            for bits in joint(needed, layer - 1):
                own, other = ([bits[index[i]] for i in who] for who in (positions, chosen))
                if all(a & b for a, b in zip(own, other, strict=True)):
                    found.add(tuple(a | b for a, b in zip(own, other, strict=True)))
        return frozenset(found)

    return any(bits[0] >> (2 * depth + 1) & 1 for bits in joint((0,), n_layers))
