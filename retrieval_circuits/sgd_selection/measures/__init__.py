"""What is measured on a network and its forks."""

from retrieval_circuits.sgd_selection.measures.fingerprints import fingerprints
from retrieval_circuits.sgd_selection.measures.geometry import Examples, example_geometry
from retrieval_circuits.sgd_selection.measures.pushes import pushes
from retrieval_circuits.sgd_selection.measures.routes import routes
from retrieval_circuits.sgd_selection.measures.spectra import AtSteps, spectra
from retrieval_circuits.sgd_selection.measures.updates import Traced, updates

__all__ = [
    "AtSteps",
    "Examples",
    "Traced",
    "example_geometry",
    "fingerprints",
    "pushes",
    "routes",
    "spectra",
    "updates",
]
