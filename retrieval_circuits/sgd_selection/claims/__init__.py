"""Claims on which of four equal heads comes to have a role, when that is settled, and by what."""

from retrieval_circuits.sgd_selection.claims.changes import ACTS, MORE_ACTS
from retrieval_circuits.sgd_selection.claims.descent import DESCENTS
from retrieval_circuits.sgd_selection.claims.forecast import PREDICTION, UPDATES
from retrieval_circuits.sgd_selection.claims.given import GIVENS
from retrieval_circuits.sgd_selection.claims.large import AT_ITS_SIZE, BY_SCALE, BY_START
from retrieval_circuits.sgd_selection.claims.winners import CONTROL, OTHERS, WHEN

CLAIMS = (
    *(*CONTROL, *WHEN, *OTHERS, *ACTS, *MORE_ACTS),
    *(*PREDICTION, *UPDATES, *DESCENTS, *GIVENS, *AT_ITS_SIZE, *BY_SCALE, *BY_START),
)
