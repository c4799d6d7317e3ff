"""What the seeds that would decide a claim cost on this machine."""

import dataclasses
from collections.abc import Sequence

from circuitcore.ground.durations import Durations, duration
from circuitcore.metrics.instruments import measuring
from circuitcore.training.recipe import Recipe
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
    recipes = {arm: _new_seeds(arms[arm], lacking.more) for arm in claim.arms if arms.get(arm)}
    seconds = _seconds(evidence, recipes)
    return f"{duration(seconds)} here" if seconds else ""


def _new_seeds(recipes: Sequence[Recipe], n: int) -> list[Recipe]:
    """The first of some recipes with ``n`` seeds that none of them has: what is trained already would cost nothing."""
    last = max(recipe.init_seed for recipe in recipes)
    return [dataclasses.replace(recipes[0], init_seed=last + place) for place in range(1, n + 1)]


def _seconds(evidence: Evidence, recipes: dict[str, list[Recipe]]) -> float:
    """0 where the time of some part is not known."""
    instruments = evidence.published_instruments or evidence.instruments
    parts = [
        part
        for arm, same in recipes.items()
        for part in (
            *left_to_train(evidence.name, evidence.store, same, "processes"),
            measuring.left_to_measure(evidence.name, instruments[arm], same, "processes"),
        )
    ]
    each = Durations.of(evidence.folders.root).expected(part.name for part in parts)
    return sum(each[part.name] * part.units for part in parts) if all(part.name in each for part in parts) else 0.0
