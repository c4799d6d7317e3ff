"""What is claimed of networks on streams, written down before the runs that judge it."""

from retrieval_circuits.sgd_formation.claims.small_networks import SMALL_NETWORKS
from retrieval_circuits.sgd_formation.claims.source_network import SOURCE_NETWORK

CLAIMS = (*SMALL_NETWORKS, *SOURCE_NETWORK)
