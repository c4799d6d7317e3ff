"""What is measured on a network and its forks."""

from retrieval_circuits.sgd_selection.measures.fingerprints import fingerprints
from retrieval_circuits.sgd_selection.measures.pushes import pushes
from retrieval_circuits.sgd_selection.measures.rates import called, reached
from retrieval_circuits.sgd_selection.measures.routes import routes
from retrieval_circuits.sgd_selection.measures.updates import Traced, updates

__all__ = ["Traced", "called", "fingerprints", "pushes", "reached", "routes", "updates"]
