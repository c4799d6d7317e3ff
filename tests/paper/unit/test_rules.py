"""What quantifiers mean: each rule by hand, p values that agree with intervals, and how often intervals are right."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judged import data_sets, seeds
from scipy import stats

from circuitcore.emergence.seeds import mean_interval
from circuitcore.emergence.shares import counted_in_groups
from livingpaper.claims.rules import (
    RULES,
    Counted,
    Estimate,
    EvenOdds,
    Every,
    Forced,
    OnAverage,
    Outcome,
    OverPairs,
    Rule,
    Share,
    Some,
)
from livingpaper.claims.units import COUNT, NUMBER, PROMPTS, SEEDS, Bound, at_least, at_most

YES, NO, OPEN = Outcome.YES, Outcome.NO, Outcome.OPEN
HALF = at_least(0.5, "one half")
ONE = at_least(1, "all of it")
quick = settings(database=None, deadline=None, derandomize=True, max_examples=50)
numbers = st.integers(-20, 20).map(lambda step: step / 20)
several = st.lists(numbers, min_size=5, max_size=12)
sides = st.sampled_from(["at_least", "at_most"])
shares = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=25)


def asked(rule, values, bound, unit=NUMBER):
    """What a rule finds, and what that says to its bound."""
    found = rule.estimate(values if isinstance(values, pd.Series) else seeds(values), bound, unit)
    return found, rule.outcome(found, bound)


def ends(found):
    return found.low, found.high


# On average


def test_a_mean_by_hand():
    """Mean 0.8, standard deviation sqrt(0.025), t quantile of five draws 2.7764."""
    found, outcome = asked(OnAverage(), [0.6, 0.7, 0.8, 0.9, 1.0], HALF)
    half = 2.7764451 * math.sqrt(0.025 / 5)
    assert ends(found) == pytest.approx((0.8 - half, 0.8 + half)) and outcome is YES
    assert found.p_value == pytest.approx(0.0132356, abs=1e-6)  # t = 4.2426 with four degrees of freedom
    assert (found.effect, found.n, found.n_sets, found.against) == (pytest.approx(0.8), 5, 1, 0)
    assert found.values == pytest.approx((0.6, 0.7, 0.8, 0.9, 1.0))
    assert asked(OnAverage(), [0.6, 0.7, 0.8, 0.9, 1.0], at_most(0.5, "half"))[1] is NO
    assert asked(OnAverage(), [0.6, 0.7, 0.8, 0.9, 1.0], at_least(0.7, "more"))[1] is OPEN


def test_an_interval_ends_where_values_must():
    found, _ = asked(OnAverage(), [0.9, 1, 1, 1, 1], HALF, PROMPTS)
    assert found.high == 1 and found.low == pytest.approx(0.98 - 2.7764451 * 0.02)
    assert asked(OnAverage(), [0.9, 1, 1, 1, 1], HALF, COUNT)[0].high > 1


def test_few_seeds_bound_nothing():
    found, outcome = asked(OnAverage(), [0.9, 0.91, 0.92, 0.93], HALF)
    assert (*ends(found), found.p_value, outcome) == (-math.inf, math.inf, None, OPEN)
    assert found.effect == pytest.approx(0.915)


def test_equal_values_leave_no_doubt():
    """Nor do they give a p value: there is no scatter to hold a difference against, though others lie just beside."""
    for value, outcome in ((0.9, YES), (0.5, YES), (0.4, NO)):
        found, said = asked(OnAverage(), [value] * 5, HALF)
        assert (*ends(found), found.p_value, said) == (value, value, None, outcome)
    assert asked(OnAverage(), [0.5, 0.5, 0.5, 0.5, 0.51], HALF)[0].p_value is not None
    of_sets = asked(OnAverage(), data_sets([0.4, 0.6], [0.5], [0.5]), HALF)[0]
    assert (*ends(of_sets), of_sets.p_value, of_sets.n_sets) == (0.5, 0.5, None, 3)


def test_data_sets_are_the_draws_where_seeds_come_within_them():
    """Means 0.7, 0.8, 0.9: standard error 0.1 / sqrt(3), t quantile of three draws 4.3027; sizes do not weigh."""
    values = data_sets([0.6, 0.8], [0.8], [0.9, 0.9, 0.9])
    found, outcome = asked(OnAverage(), values, HALF)
    half = 4.3026527 * 0.1 / math.sqrt(3)
    assert ends(found) == pytest.approx((0.8 - half, 0.8 + half))
    assert (found.effect, found.n, found.n_sets, outcome) == (pytest.approx(0.8), 6, 3, YES)
    two = asked(OnAverage(), data_sets([0.9] * 9, [0.8] * 9), HALF)
    assert (*ends(two[0]), two[1], two[0].n) == (-math.inf, math.inf, OPEN, 18)
    assert asked(OnAverage(), data_sets([0.6, 0.7, 0.8, 0.9, 1.0]), HALF)[0].n_sets == 1


def pair_means(pairs):
    """Each draw's mean over the pairs that it is in; the matrix is symmetric, its diagonal counts for nothing."""
    n = len(pairs)
    return (pairs.sum(axis=1) - np.diag(pairs)) / (n - 1)


@pytest.mark.parametrize("n", [5, 9, 20])
def test_a_mean_over_pairs_has_the_error_of_a_jackknife_over_draws(n):
    """Against leaving each draw out in turn, with all its pairs."""
    rng = np.random.default_rng(n)
    drawn = rng.normal(size=n)
    pairs = np.abs(drawn[:, None] - drawn) + (noise := 0.1 * rng.normal(size=(n, n))) + noise.T
    left = [pair_means(np.delete(np.delete(pairs, i, 0), i, 1)).mean() for i in range(n)]
    error = math.sqrt((n - 1) / n * np.sum((np.array(left) - np.mean(left)) ** 2))
    found, _ = asked(OverPairs(), list(pair_means(pairs)), at_least(0.0, "any"))
    mean = pairs[np.triu_indices(n, 1)].mean()
    half = stats.t.ppf(0.975, n - 1) * error
    assert found.effect == pytest.approx(mean) and ends(found) == pytest.approx((mean - half, mean + half))
    assert found.p_value == pytest.approx(2 * stats.t.sf(mean / error, n - 1))


def test_the_scatter_of_pair_means_alone_is_too_small():
    """Distances of ten draws: their mean lies in the interval over pairs about as often as it should, else less."""
    rng, truth, inside = np.random.default_rng(0), 2 / math.sqrt(math.pi), {OverPairs: 0, OnAverage: 0}
    for _ in range(300):
        drawn = rng.normal(size=10)
        values = list(pair_means(np.abs(drawn[:, None] - drawn)))
        for rule in inside:
            low, high = ends(asked(rule(), values, HALF)[0])
            inside[rule] += low <= truth <= high
    assert inside[OverPairs] >= 0.88 * 300 and inside[OnAverage] <= 0.75 * 300, inside


@quick
@given(several, numbers)
def test_a_mean_has_the_t_interval_and_the_p_value_of_the_t_test(values, bound):
    found, _ = asked(OnAverage(), values, at_least(bound, "any"))
    interval = mean_interval(values)
    assert ends(found) == pytest.approx((interval.low, interval.high))
    assume(np.std(values) > 1e-6)
    n, t = len(values), (np.mean(values) - bound) / (np.std(values, ddof=1) / math.sqrt(len(values)))
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(t), n - 1), abs=1e-9)
    assert found.p_value == pytest.approx(stats.ttest_1samp(values, bound).pvalue, abs=1e-12)


# Shares


def test_a_share_by_hand():
    """Four of five: Clopper and Pearson's 0.2836 to 0.9949; three successes or fewer have chance 13 of 16."""
    found, outcome = asked(Share(each=ONE), [1, 1, 1, 1, 0.9], HALF)
    assert (found.effect, found.n, found.against, outcome) == (0.8, 5, 1, OPEN)
    assert ends(found) == pytest.approx((0.2836, 0.9949), abs=5e-5)
    assert found.p_value == pytest.approx(2 * 6 / 32)
    assert found.values == (1, 1, 1, 1, 0.9)
    assert asked(Share(each=ONE), [1] * 6, HALF)[1] is YES
    assert asked(Share(each=ONE), [0] * 6, HALF)[1] is NO
    assert asked(Share(each=at_most(0, "none")), [0] * 6, HALF)[1] is YES


def test_two_runs_of_a_seed_are_one_draw():
    found, _ = asked(Share(), [1, 0.5, 0.5, 0, 1], HALF)
    assert (found.effect, found.n, found.against) == (0.6, 5, 3)
    assert ends(found) == pytest.approx(ends(asked(Share(each=ONE), [1, 1, 1, 0, 0], HALF)[0]))


def test_seeds_of_data_sets_that_differ_count_for_less():
    sets = [[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]
    found, _ = asked(Share(each=ONE), data_sets(*sets), HALF)
    interval = counted_in_groups(sets).interval()
    assert ends(found) == (interval.low, interval.high) and (found.n, found.n_sets, found.effect) == (12, 3, 0.5)
    alone, _ = asked(Share(each=ONE), sum(sets, []), HALF)
    assert found.low < alone.low and alone.high < found.high


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ([1] * 4, OPEN),  # 0.025 to the 1/4 is 0.398
        ([1] * 6, YES),  # 0.541
        ([1] * 60 + [0], NO),  # one counterexample
        ([0.5, 1, 1, 1, 1, 1], NO),  # one of a seed's two runs
    ],
)
def test_every_needs_all_and_one_counterexample_refutes_it(values, outcome):
    found, said = asked(Every(each=ONE), values, HALF)
    assert said is outcome and found.against == sum(value < 1 for value in values)
    assert asked(Every(), values, HALF)[1] is outcome


@pytest.mark.parametrize(("values", "outcome"), [([0] * 4, OPEN), ([0] * 6, NO), ([0] * 60 + [1], YES)])
def test_some_needs_one_example(values, outcome):
    assert asked(Some(each=ONE), values, HALF)[1] is outcome


def test_even_odds_are_a_distance_from_one_half():
    """Five of ten: 0.1871 to 0.8129, so at most 0.3129 from one half; p from 0.1: twice four or fewer of ten at 0.6."""
    tenth = at_most(0.1, "near enough")
    found, outcome = asked(EvenOdds(each=ONE), [1] * 5 + [0] * 5, tenth)
    assert (found.effect, found.low, outcome) == (0, 0, OPEN) and found.high == pytest.approx(0.3129, abs=5e-5)
    assert asked(EvenOdds(each=ONE), [1, 0] * 60, tenth)[1] is YES
    for value in (0, 1):
        found, outcome = asked(EvenOdds(each=ONE), [value] * 10, tenth)
        assert (found.effect, outcome) == (0.5, NO) and ends(found) == pytest.approx((0.1915, 0.5), abs=5e-5)


def test_what_is_forced_is_only_as_good_as_its_worst_seed():
    found, outcome = asked(Forced(), [0.9, 1, 0.95], at_least(0.9, "by definition"))
    assert (found.effect, *ends(found), found.p_value, found.against, outcome) == (0.9, 0.9, 0.9, None, 0, YES)
    found, outcome = asked(Forced(), [0, 0.1, 0], at_most(0, "by definition"))
    assert (found.effect, found.against, found.n, outcome) == (0.1, 1, 3, NO)


def test_what_is_counted_is_the_number_itself():
    found = Counted().estimate(3.0, at_least(1, "one"), COUNT)
    assert (found.effect, *ends(found), found.p_value, found.n) == (3, 3, 3, None, 0)
    assert Counted().outcome(found, at_least(1, "one")) is YES and Counted().outcome(found, at_most(1, "one")) is NO


def test_the_bound_itself_counts_as_reached_from_either_side():
    for value, outcome in ((0.5, YES), (0.49, NO)):
        assert asked(OnAverage(), [value] * 5, HALF)[1] is outcome
    assert asked(OnAverage(), [0.5] * 5, at_most(0.5, "half"))[1] is YES
    touching = Estimate(effect=0.6, low=0.5, high=0.7, p_value=None, n=5, n_sets=1, against=0)
    assert Rule.outcome(touching, HALF) is YES and Rule.outcome(touching, at_most(0.5, "half")) is OPEN


def test_rules_are_known_by_name_and_say_their_unit():
    assert {name: rule.name for name, rule in RULES.items()} == {name: name for name in RULES} and len(RULES) == 8
    for rule in (Share(), Every(), Some(), EvenOdds()):
        assert rule.unit(PROMPTS) is SEEDS
    for rule in (OnAverage(), OverPairs(), Forced(), Counted()):
        assert rule.unit(PROMPTS) is PROMPTS


@pytest.mark.parametrize("rule", [OnAverage(), Share(each=ONE), Every(each=ONE), EvenOdds(each=ONE)])
def test_a_number_without_seeds_is_refused(rule):
    with pytest.raises(TypeError, match=r"takes a number of each draw; got 3.0, which the rule Counted takes"):
        rule.estimate(3.0, HALF, COUNT)


@pytest.mark.parametrize(
    ("numbers_of", "words"),
    [
        ({"effect": math.nan}, r"needs numbers; got nan in \(0.2, 0.8\)"),
        ({"low": math.nan}, r"needs numbers; got 0.5 in \(nan, 0.8\)"),
        ({"effect": math.inf, "high": math.inf}, "needs numbers; got inf"),
        ({"effect": 0.9}, r"effect 0.9 lies outside its own interval \(0.2, 0.8\)"),
        ({"low": 0.8, "high": 0.2}, "outside its own interval"),
    ],
)
def test_impossible_estimates_are_refused(numbers_of, words):
    plain = {"effect": 0.5, "low": 0.2, "high": 0.8, "p_value": None, "n": 5, "n_sets": 1, "against": 0}
    with pytest.raises(ValueError, match=words):
        Estimate(**{**plain, **numbers_of})


# Properties of all rules


def mirrored(bound):
    other = {"at_least": "at_most", "at_most": "at_least"}[bound.direction]
    return Bound(direction=other, value=-bound.value, why=bound.why)


@quick
@given(several, numbers, sides)
def test_a_mean_says_the_same_in_a_mirror(values, bound, side):
    bound = Bound(direction=side, value=bound, why="any")
    found, outcome = asked(OnAverage(), values, bound)
    reflected, same = asked(OnAverage(), [-value for value in values], mirrored(bound))
    assert outcome is same and ends(found) == pytest.approx((-reflected.high, -reflected.low))
    assert found.p_value == pytest.approx(reflected.p_value)


@quick
@given(several, numbers, sides, st.sampled_from([Share, Every, Some]))
def test_each_seed_says_the_same_in_a_mirror(values, each, side, rule):
    each = Bound(direction=side, value=each, why="any")
    found, outcome = asked(rule(each=each), values, HALF)
    assert (found, outcome) == asked(rule(each=mirrored(each)), [-value for value in values], HALF)


@quick
@given(shares, st.integers(1, 19), sides)
def test_shares_mirror_at_one_half(values, bound, side):
    bound = Bound(direction=side, value=bound / 20, why="any")
    other = {"at_least": "at_most", "at_most": "at_least"}[side]
    found, outcome = asked(Share(), values, bound)
    assume(min(abs(end - bound.value) for end in ends(found)) > 1e-9)
    flipped = Bound(direction=other, value=1 - bound.value, why="any")
    assert asked(Share(), [1 - value for value in values], flipped)[1] is outcome
    near = at_most(bound.value / 2, "any")
    assert asked(EvenOdds(), values, near)[1] is asked(EvenOdds(), [1 - value for value in values], near)[1]


@quick
@given(shares, st.integers(1, 19), sides, st.integers(2, 5), st.sampled_from([Share, Every, Some]))
def test_more_seeds_of_the_same_share_take_no_decision_back(values, bound, side, times, rule):
    bound = Bound(direction=side if rule is Share else "at_least", value=bound / 20, why="any")
    outcome = asked(rule(), values, bound)[1]
    assert outcome is OPEN or asked(rule(), values * times, bound)[1] is outcome


@quick
@given(several, numbers, sides, st.integers(2, 5))
def test_more_seeds_of_the_same_mean_take_no_decision_back(values, bound, side, times):
    bound = Bound(direction=side, value=bound, why="any")
    found, outcome = asked(OnAverage(), values, bound)
    assume(min(abs(end - bound.value) for end in ends(found)) > 1e-9 or np.ptp(values) > 0)
    assert outcome is OPEN or asked(OnAverage(), values * times, bound)[1] is outcome
    sets = [values] * 3 + [[value + 0.01 for value in values]]
    outcome = asked(OnAverage(), data_sets(*sets), bound)[1]
    assert outcome is OPEN or asked(OnAverage(), data_sets(*sets * times), bound)[1] is outcome


@quick
@given(several, shares, st.integers(1, 19))
def test_p_values_agree_with_intervals(values, successes, step):
    bound = at_least(step / 20, "any")
    near = at_most(step / 40, "any")
    for rule, draws, of in ((OnAverage(), values, bound), (Share(), successes, bound), (EvenOdds(), successes, near)):
        found, _ = asked(rule, draws, of)
        if rule == OnAverage() and np.ptp(draws) == 0:
            assert found.p_value is None
        elif min(abs(end - of.value) for end in ends(found)) > 1e-9:
            assert (found.p_value <= 0.05) == (not found.low <= of.value <= found.high), rule


# Coverage of means, 2,000 draws; that of shares is counted in tests/library/unit/test_shares.py


def covered(draws, mean):
    intervals = [mean_interval(draw) for draw in draws]
    return np.mean([interval.low <= mean <= interval.high for interval in intervals])


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 8, 10, 20, 40])
@pytest.mark.parametrize("of", ["normal", "uniform"])
def test_intervals_of_means_cover_95_times_of_100(n, of):
    rng = np.random.default_rng(n)
    draws = {"normal": rng.normal, "uniform": lambda size: rng.uniform(-1, 1, size)}[of](size=(2000, n))
    assert 0.93 <= covered(draws.tolist(), 0) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("between", [0, 1])
def test_three_data_sets_with_seeds_inside_cover_as_often(between):
    """Seeds scatter by one around their data set, data sets by ``between`` around the mean."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2000, 3, 5)) + between * rng.normal(size=(2000, 3, 1))
    for draw in values[:20].tolist():
        interval = mean_interval([float(np.mean(part)) for part in draw])
        assert ends(asked(OnAverage(), data_sets(*draw), HALF)[0]) == (interval.low, interval.high)
    assert 0.93 <= covered(values.mean(2).tolist(), 0) <= 0.97
