"""What is claimed of memories, written down before the seeds that judge it were computed."""

from retrieval_circuits.associative_memory.claims.facts import FACTS
from retrieval_circuits.associative_memory.claims.hidden import HIDDEN
from retrieval_circuits.associative_memory.claims.matrices import SUMS, TRAINING
from retrieval_circuits.associative_memory.claims.outputs import GRADIENT, OUTPUTS
from retrieval_circuits.associative_memory.claims.places import PLACES

CLAIMS = (*SUMS, *TRAINING, *OUTPUTS, *GRADIENT, *FACTS, *PLACES, *HIDDEN)
