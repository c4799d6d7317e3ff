"""What the seeds that would decide a claim cost on this machine."""

import dataclasses
from collections.abc import Sequence

from circuitcore.ground.durations import Durations, duration
from circuitcore.metrics.instruments import measuring
from circuitcore.training.recipe import Recipe
from circuitcore.training.sweeps.executor import width
from circuitcore.training.sweeps.sweep import left_to_train
from livingpaper.book.evidence import Evidence
from livingpaper.claims.needed import needed
from livingpaper.claims.verdict import Status, Verdict


def price(evidence: Evidence, verdict: Verdict) -> str:
    """How long training and measuring the seeds that an undecided claim lacks should take; "" where nobody knows.

    A seed costs what the first one of each arm that the claim reads does, trained anew.
    """
    if verdict.status is not Status.UNDECIDED or verdict.finding is None:
        return ""
    lacking = needed(verdict.claim, verdict.finding)
    if not lacking.more or lacking.of_sets:
        return ""
    claim = next(claim for claim in evidence.study.CLAIMS if claim.id == verdict.claim.id)
    arms = evidence.published_arms or evidence.arms
    one_seed = _seconds(evidence, {arm: _new_seed(arms[arm]) for arm in claim.arms if arms.get(arm)})
    side_by_side = min(width("processes"), lacking.more)
    return f"{duration(one_seed * lacking.more / side_by_side)} here" if one_seed else ""


def _new_seed(recipes: Sequence[Recipe]) -> Recipe:
    """The first of some recipes with a seed that none of them has: what is trained already would cost nothing."""
    return dataclasses.replace(recipes[0], init_seed=1 + max(recipe.init_seed for recipe in recipes))


def _seconds(evidence: Evidence, recipes: dict[str, Recipe]) -> float:
    """Of training and measuring one run of each arm after the other; 0 where the time of some part is not known."""
    instruments = evidence.published_instruments or evidence.instruments
    parts = [
        part
        for arm, recipe in recipes.items()
        for part in (
            *left_to_train(evidence.name, evidence.store, [recipe], "processes"),
            measuring.left_to_measure(evidence.name, instruments[arm], [recipe], "processes"),
        )
    ]
    each = Durations.of(evidence.folders.root).expected(part.name for part in parts)
    return sum(each[part.name] * part.units for part in parts) if all(part.name in each for part in parts) else 0.0
