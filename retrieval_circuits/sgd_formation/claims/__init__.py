"""What is claimed of networks on streams, written down before the runs that judge it."""

from retrieval_circuits.sgd_formation.claims.carried import WHERE
from retrieval_circuits.sgd_formation.claims.families import FAMILIES
from retrieval_circuits.sgd_formation.claims.known import KNOWN
from retrieval_circuits.sgd_formation.claims.large import AT_ITS_SIZE
from retrieval_circuits.sgd_formation.claims.needs import CARRIED, JOINING, NEEDED
from retrieval_circuits.sgd_formation.claims.neurons import NEURONS
from retrieval_circuits.sgd_formation.claims.reach import REACH
from retrieval_circuits.sgd_formation.claims.small_networks import BENCHMARK, LOOKING, ORDER, PARTS
from retrieval_circuits.sgd_formation.claims.source_network import SOURCE_NETWORK
from retrieval_circuits.sgd_formation.claims.updates import UPDATES
from retrieval_circuits.sgd_formation.claims.windows import WHAT_CARRIES

CLAIMS = (
    *(*BENCHMARK, *LOOKING, *REACH, *KNOWN, *ORDER, *PARTS, *NEURONS),
    *(*SOURCE_NETWORK, *FAMILIES, *AT_ITS_SIZE, *WHAT_CARRIES, *WHERE, *NEEDED, *CARRIED, *UPDATES, *JOINING),
)
