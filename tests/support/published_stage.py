"""What explorers show of the published networks, and the tables that they were read off."""

from functools import cache
from pathlib import Path

import paper
from circuitcore.ground.environment import Folders
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence

ROOT = Path(paper.__file__).resolve().parent


@cache
def evidence(study):
    """Of a study, and its results, as a chapter gathers them."""
    of = Evidence(study, studies.load_params(study), Folders(ROOT, ROOT / "runs", ROOT / "published"))
    return of, of.gather(None)


def claims_of(study):
    """Its claims by id, and its published results."""
    of, results = evidence(study)
    return {claim.id: claim for claim in of.study.CLAIMS}, results[0]


@cache
def exhibit(study, name):
    """One of its explorers."""
    of, found = evidence(study)
    return of.study.EXPLORERS[name](of.material(found))
