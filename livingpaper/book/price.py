"""What the seeds that would decide a claim cost on this machine."""

import dataclasses
from collections.abc import Sequence

from circuitcore.ground.durations import Durations, Work, duration
from circuitcore.metrics.instruments import measuring
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Recipe
from circuitcore.training.sweeps.computing import left_to_compute
from circuitcore.training.sweeps.executor import width
from circuitcore.training.sweeps.sweep import left_to_train
from livingpaper.book.evidence import Evidence
from livingpaper.claims.needed import needed
from livingpaper.claims.verdict import Status, Verdict


def price(evidence: Evidence, verdict: Verdict) -> str:
    """How long training and measuring the seeds that an undecided claim lacks should take; "" where nobody knows.

    A seed costs what the first one of each arm and experiment that the claim reads does, trained or computed anew.
    """
    if verdict.status is not Status.UNDECIDED or verdict.finding is None:
        return ""
    lacking = needed(verdict.claim, verdict.finding)
    if not lacking.more or lacking.of_sets:
        return ""
    claim = next(claim for claim in evidence.study.CLAIMS if claim.id == verdict.claim.id)
    units = evidence.published_units or evidence.units
    one_seed = _seconds(evidence, {arm: _new_seed(units[arm]) for arm in claim.arms if units.get(arm)})
    side_by_side = min(width("processes"), lacking.more)
    return f"{duration(one_seed * lacking.more / side_by_side)} here" if one_seed else ""


def _new_seed(recipes: Sequence[Recipe | Experiment]) -> Recipe | Experiment:
    """The first of some recipes with a seed that none of them has: what is trained already would cost nothing."""
    if isinstance(recipes[0], Experiment):
        return recipes[0]  # each of its seeds costs the same, computed or not
    return dataclasses.replace(recipes[0], init_seed=1 + max(recipe.init_seed for recipe in recipes))


def _seconds(evidence: Evidence, units: dict[str, Recipe | Experiment]) -> float:
    """Of making one of each arm and experiment after the other; 0 where the time of some part is not known."""
    parts = [part for arm, unit in units.items() for part in _work(evidence, arm, unit)]
    each = Durations.of(evidence.folders.root).expected(part.name for part in parts)
    return sum(each[part.name] * part.units for part in parts) if all(part.name in each for part in parts) else 0.0


def _work(evidence: Evidence, arm: str, unit: Recipe | Experiment) -> list[Work]:
    if isinstance(unit, Experiment):
        return left_to_compute([unit], "processes")
    instruments = evidence.published_instruments or evidence.instruments
    trained = left_to_train(evidence.name, evidence.store, [unit], "processes")
    return [*trained, measuring.left_to_measure(evidence.name, instruments[arm], [unit], "processes")]
