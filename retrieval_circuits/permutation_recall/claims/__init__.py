"""What the chapter claims, fixed before any of its networks was measured.

A claim whose id ends in ``.published`` is the one after it under the source's own measure. The source has one network
of each of its two models; a bound on a share of networks is the sharpest that the number of ours can show. The
quantifiers, and the intervals of the controls, came in version 0.9.0 and moved no bound. Seeds of the factorial take
three splits of the permutations in turn; where a claim is about them, the splits are what was drawn.
"""

from retrieval_circuits.permutation_recall.claims.later import LATER
from retrieval_circuits.permutation_recall.claims.parts import PARTS, ROLES
from retrieval_circuits.permutation_recall.claims.sizes import SIZES
from retrieval_circuits.permutation_recall.claims.steps import STEPS

__all__ = ["CLAIMS"]

CLAIMS = (*SIZES, *STEPS, *PARTS, *ROLES, *LATER)
