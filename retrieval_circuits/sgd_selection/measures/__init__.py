"""What is measured on a network and its forks."""

from retrieval_circuits.sgd_selection.measures.pushes import pushes
from retrieval_circuits.sgd_selection.measures.routes import routes

__all__ = ["pushes", "routes"]
