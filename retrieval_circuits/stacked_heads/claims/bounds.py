"""Units and bounds that claims on vectors share."""

from livingpaper.claims.units import Unit, at_least, at_most, share_of
from retrieval_circuits.stacked_heads.readings import ATTENDED, LEARNT

ERROR = Unit(digits=2, low=0.0)
"""Squared error of symbols whose numbers have variance 1."""
ERROR_MORE = Unit(digits=2)
LAYERS = Unit(name="layers", digits=1)
ATTENTION = share_of("attention")
IS_LOOKED_ALONG = at_least(ATTENDED, "the source's threshold for a path")
IS_LEARNT = at_most(LEARNT, "the source's threshold for learnt, below what knowing the step alone gives, 0.75")
NOT_LEARNT = at_least(LEARNT, "not learnt, by the source's threshold")
ADDED = "Twenty seeds were planned; thirteen were trained when the first seven had left some of these claims undecided."
STAYS = at_least(0.7, "the source's bound; knowing the step alone gives 0.75")
