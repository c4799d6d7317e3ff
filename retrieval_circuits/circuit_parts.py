"""What the circuits of several studies share: tones of words, and which head a test speaks of."""

from collections.abc import Mapping

from livingpaper.claims.units import Bound
from livingpaper.explorer.moves import Tested
from livingpaper.figures.circuit import MOVED
from retrieval_circuits.bounds import LEADS_BY

KEY, VALUE = 1, 2
"""Tones of words that are asked for, and of words that are answers."""


def by_leader(alone: Mapping[str, float], together: float, bound: Bound, found: str = MOVED) -> Tested:
    """Who it is that makes a move: the head whose own test reaches the bound and leads, else all heads of its layer.

    It leads where no other head comes within ``bounds.LEADS_BY`` of it.

    Args:
        alone: head -> share of prompts whose answer moves when it is tested alone.
        together: the same with all of these heads at once.
        bound: what supports a move.
        found: as in ``Tested``.
    """
    leader = max(alone, key=alone.__getitem__)
    rest = max((effect for head, effect in alone.items() if head != leader), default=0.0)
    leads = bound.reached(alone[leader]) and alone[leader] - rest >= LEADS_BY
    heads, effect = ((leader,), alone[leader]) if leads else (tuple(alone), together)
    return Tested(heads=heads, effect=effect, supported=bound.reached(effect), found=found)
