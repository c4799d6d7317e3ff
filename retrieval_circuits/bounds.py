"""Bounds that several chapters share: the source's thresholds, a guess, and one half."""

from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, at_least

__all__ = ["BEHAVIOUR", "IN_CONTEXT", "LEADS_BY", "MORE_OFTEN_THAN_NOT", "OPERATOR"]

OPERATOR = at_least(0.85, "the source's threshold for operators")
BEHAVIOUR = at_least(0.90, "the source's threshold for behaviour")
IN_CONTEXT = 1 / 3
"""Accuracy of a guess among the values of a prompt of three pairs."""
LEADS_BY = 0.5
"""How far two heads must differ to have roles of their own: half of all answers."""
