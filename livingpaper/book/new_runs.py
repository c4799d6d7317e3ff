"""Which claims a rerun has anything new to say on."""

from livingpaper.book.evidence import Evidence
from livingpaper.claims.claim import Claim


def brings_new(evidence: Evidence, claim: Claim) -> bool:
    """Whether any run that a claim reads is the reader's alone: a published one tells nothing new beside itself.

    Published runs that are measured otherwise count as new; those of controls do not. Where the reader has no run at
    all there is nothing to call old, unless no training enters the claim.
    """
    arms = claim.reading.arms
    if not arms or evidence.published_instruments != evidence.instruments:
        return claim.min_seeds > 0
    published = {recipe for recipes in evidence.published_units.values() for recipe in recipes}
    mine = [recipe for arm in arms for recipe in evidence.units.get(arm, ())]
    return not mine or any(recipe not in published for recipe in mine)
