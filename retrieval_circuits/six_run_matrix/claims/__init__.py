"""What the chapter claims, fixed before any of its runs was measured.

Thresholds are the source's own (0.90, 0.85, 0.75), one half for "more often than not", or the smallest effect we would
care about; the quantifiers, and the intervals of the controls, came in version 0.9.0 and moved none of them.
``.published`` marks the source's definition; "paired" means: two curricula from the same initial weights, which are one
seed with two runs.

The networks of SR18 to SR22 first stopped after 45 epochs. They were trained on to 150 after those verdicts had been
seen (version 0.8.0); claims and bounds stayed. SR26 was declared after SR21's ties at a
guess had been seen; SR21 stands as it was declared.
"""

from retrieval_circuits.six_run_matrix.claims.curriculum import CURRICULUM
from retrieval_circuits.six_run_matrix.claims.forced import FORCED
from retrieval_circuits.six_run_matrix.claims.replication import REPLICATION
from retrieval_circuits.six_run_matrix.claims.roles import ROLES
from retrieval_circuits.six_run_matrix.claims.timing import TIMING
from retrieval_circuits.six_run_matrix.design import data_set_of

__all__ = ["CIRCUIT_CLAIMS", "CLAIMS"]

CLAIMS = tuple(claim.on_data_sets(data_set_of) for claim in (*REPLICATION, *TIMING, *CURRICULUM, *ROLES, *FORCED))

CIRCUIT_CLAIMS = frozenset({"SR2", "SR3.published", "SR3", "SR4.published", "SR4"})
"""Claims that a circuit or a part of it exists."""
