"""Verdicts in worlds whose truth is known: drawn at the bound they are rarely wrong, and drawn far from it rarely open.

A world is a law that numbers of networks are drawn from. With the truth at the bound either verdict is a mistake; each
side should be made in one world of forty, and may not be in many more.
"""

import numpy as np
import pandas as pd
import pytest

from livingpaper.claims.rules import EvenOdds, Every, OnAverage, Outcome, OverPairs, Share, Some
from livingpaper.claims.units import NUMBER, at_least, at_most

WORLDS = 1500
SLIPS = 0.025 + 3 * (0.025 * 0.975 / WORLDS) ** 0.5
"""Most worlds of a side that may be wrong: one of forty, and three standard errors of a count of so many."""
ZERO, HALF = at_least(0.0, "the truth"), at_least(0.5, "the truth")
GOOD = at_least(1.0, "it does")


def of_seeds(n, shift=0.0):
    return lambda draw: pd.Series(draw.normal(shift, 1, n))


def even(n):
    return lambda draw: pd.Series(draw.uniform(-1, 1, n))


def of_sets(n_sets, n_seeds, shift=0.0):
    """Networks of one data set are alike: half of the scatter is the data set's."""

    def world(draw):
        values = shift + draw.normal(0, 1, (n_sets, 1)) + draw.normal(0, 1, (n_sets, n_seeds))
        index = pd.MultiIndex.from_product([range(n_sets), range(n_seeds)])
        return pd.Series(values.ravel(), index)

    return world


def of_pairs(n, more=0.0):
    """Of each network its mean over pairs, where a pair's number is half the square of a difference, less its mean."""

    def world(draw):
        values = draw.normal(0, 1, n)
        apart = (values[:, None] - values[None]) ** 2 / 2 - 1
        return pd.Series(more + (apart.sum(1) + 1) / (n - 1))  # but for itself, whose number is -1

    return world


def of_share(n, share):
    return lambda draw: pd.Series(draw.binomial(1, share, n).astype(float))


def outcomes(rule, bound, world, n=WORLDS):
    """Outcome -> the share of so many worlds that have it."""
    draw = np.random.default_rng(1)
    found = [rule.outcome(rule.estimate(world(draw), bound, NUMBER), bound) for _ in range(n)]
    return {outcome: found.count(outcome) / n for outcome in Outcome}


@pytest.mark.parametrize(
    ("rule", "bound", "world"),
    [
        pytest.param(OnAverage(), ZERO, of_seeds(5), id="five networks"),
        pytest.param(OnAverage(), at_most(0.0, "the truth"), of_seeds(20), id="twenty, at most"),
        pytest.param(OnAverage(), ZERO, even(10), id="ten, evenly spread"),
        pytest.param(OnAverage(), ZERO, of_sets(4, 5), id="four data sets of five"),
        pytest.param(Share(each=GOOD), HALF, of_share(10, 0.5), id="a share of ten"),
        pytest.param(Share(each=GOOD), at_least(0.9, "the truth"), of_share(30, 0.9), id="a share of thirty"),
        pytest.param(
            EvenOdds(each=GOOD), at_most(0.2, "the truth"), of_share(40, 0.7), id="the distance from one half"
        ),
    ],
)
def test_at_the_bound_either_verdict_is_rare(rule, bound, world):
    said = outcomes(rule, bound, world)
    assert said[Outcome.YES] <= SLIPS and said[Outcome.NO] <= SLIPS


def test_networks_of_one_data_set_are_no_draws_of_their_own():
    """Counted as independent they would decide what is at the bound far too often; so the test above can fail."""

    def flat(draw):
        return of_sets(4, 5)(draw).reset_index(drop=True)

    said = outcomes(OnAverage(), ZERO, flat)
    assert said[Outcome.YES] + said[Outcome.NO] > 4 * SLIPS


def test_pairs_share_networks_and_their_interval_allows_for_it():
    """Numbers of pairs are skewed, and intervals of twenty networks a little narrow; taken as independent, far more."""
    wrong = {}
    for rule in (OverPairs(), OnAverage()):
        said = outcomes(rule, ZERO, of_pairs(20))
        wrong[rule.name] = said[Outcome.YES] + said[Outcome.NO]
    assert wrong[OverPairs.name] < 0.12
    assert wrong[OnAverage.name] > 2 * wrong[OverPairs.name]


@pytest.mark.parametrize(
    ("rule", "bound", "world", "expected"),
    [
        pytest.param(OnAverage(), ZERO, of_seeds(10, 1.5), Outcome.YES, id="above on average"),
        pytest.param(OnAverage(), ZERO, of_seeds(10, -1.5), Outcome.NO, id="below on average"),
        pytest.param(OnAverage(), ZERO, of_sets(12, 5, 1.5), Outcome.YES, id="above over data sets"),
        pytest.param(Share(each=GOOD), HALF, of_share(20, 0.95), Outcome.YES, id="nearly all"),
        pytest.param(Share(each=GOOD), HALF, of_share(20, 0.05), Outcome.NO, id="hardly any"),
        pytest.param(EvenOdds(each=GOOD), at_most(0.4, "even"), of_share(40, 0.5), Outcome.YES, id="even odds"),
        pytest.param(EvenOdds(each=GOOD), at_most(0.1, "even"), of_share(40, 0.98), Outcome.NO, id="far from even"),
        pytest.param(OverPairs(), ZERO, of_pairs(20, 3.0), Outcome.YES, id="above over pairs"),
        pytest.param(OverPairs(), ZERO, of_pairs(20, -3.0), Outcome.NO, id="below over pairs"),
        pytest.param(Every(each=GOOD), at_least(0.8, "every"), of_share(20, 1.0), Outcome.YES, id="every one"),
        pytest.param(Some(each=GOOD), at_least(0.2, "some"), of_share(20, 0.0), Outcome.NO, id="none"),
    ],
)
def test_far_from_the_bound_the_right_verdict_comes(rule, bound, world, expected):
    assert outcomes(rule, bound, world, n=200)[expected] >= 0.9


def test_one_network_decides_every_and_some():
    """Even where the share is as asked: one counterexample refutes, and one example supports."""
    every, some = at_least(0.8, "every"), at_least(0.2, "some")
    assert outcomes(Every(each=GOOD), every, of_share(20, 0.85), n=200)[Outcome.NO] >= 0.9
    assert outcomes(Some(each=GOOD), some, of_share(20, 0.2), n=200)[Outcome.YES] >= 0.9
