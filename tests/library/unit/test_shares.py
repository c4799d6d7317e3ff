"""Shares of seeds: exact intervals and p values, whole counts and parts of them, independent seeds and data sets."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from circuitcore.emergence.seeds import SeedsError, share_interval
from circuitcore.emergence.shares import Counted, counted, counted_in_groups

LEVEL = 0.95
GRID = np.linspace(0.01, 0.99, 99)
"""True shares at which coverage is counted."""
quick = settings(database=None, deadline=None, derandomize=True, max_examples=50)
halves = st.integers(0, 2).map(lambda runs: runs / 2)
"""A seed of two runs."""


def whole(n_max):
    """Every count of every number of seeds."""
    return [(k, n) for n in range(1, n_max + 1) for k in range(n + 1)]


# Against scipy, and by hand


def test_whole_counts_have_the_exact_interval_of_scipy():
    for k, n in whole(16):
        exact, found = stats.binomtest(k, n).proportion_ci(method="exact"), Counted(k, n).interval()
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
        assert (found.mean, found.n) == (k / n, n)


def test_p_values_are_twice_the_smaller_exact_tail():
    for k, n in whole(9):
        for bound in (0.05, 0.3, 0.5, 0.8):
            tails = [stats.binomtest(k, n, bound, alternative).pvalue for alternative in ("greater", "less")]
            assert Counted(k, n).p_value(bound) == pytest.approx(min(1, 2 * min(tails)), abs=1e-12)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (0, 5, 0, 1 - 0.025 ** (1 / 5)),
        (5, 5, 0.025 ** (1 / 5), 1),
        (25, 25, 0.025 ** (1 / 25), 1),
        (1, 1, 0.025, 1),
        (4, 5, 0.2836, 0.9949),  # tables of Clopper and Pearson
        (8, 10, 0.4439, 0.9748),
    ],
)
def test_intervals_by_hand(k, n, low, high):
    found = Counted(k, n).interval()
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_a_p_value_by_hand():
    assert Counted(5, 5).p_value(0.5) == pytest.approx(2 / 2**5)
    assert Counted(0, 25).p_value(0.2) == pytest.approx(2 * 0.8**25)
    assert Counted(2, 4).p_value(0.5) == 1


def test_runs_of_a_seed_count_as_parts_of_it():
    found = counted([0.5, 1, 1, 0, 1])
    assert (found.successes, found.n, found.share) == (3.5, 5, 0.7)
    assert counted([1.0, 0.0]) == Counted(1, 2)
    between = [Counted(k, 5).interval() for k in (3, 3.5, 4)]
    assert [interval.low for interval in between] == sorted(interval.low for interval in between)
    assert [interval.high for interval in between] == sorted(interval.high for interval in between)


# Properties


@quick
@given(st.lists(halves, min_size=1, max_size=40), st.floats(0.01, 0.99))
@example([1.0] * 5, 0.4782)  # the lower end is 0.4782...
def test_interval_and_p_value_agree(values, bound):
    found = counted(values)
    interval = found.interval()
    assert 0 <= interval.low <= found.share <= interval.high <= 1
    assume(min(abs(bound - interval.low), abs(bound - interval.high)) > 1e-9)
    assert (found.p_value(bound) <= 1 - LEVEL) == (not interval.low <= bound <= interval.high)


@quick
@given(st.lists(halves, min_size=1, max_size=40), st.floats(0, 1))
def test_successes_and_failures_mirror_each_other(values, bound):
    found, mirrored = counted(values), counted([1 - value for value in values])
    low, high = mirrored.interval().low, mirrored.interval().high
    assert (found.interval().low, found.interval().high) == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert found.p_value(bound) == pytest.approx(mirrored.p_value(1 - bound), abs=1e-9)


@quick
@given(st.lists(halves, min_size=1, max_size=20), st.integers(2, 6))
def test_more_seeds_of_the_same_share_narrow_the_interval_inside(values, times):
    wide, narrow = counted(values).interval(), counted(values * times).interval()
    assert wide.low <= narrow.low + 1e-12 and narrow.high <= wide.high + 1e-12


@quick
@given(st.lists(st.lists(halves, min_size=1, max_size=8), min_size=2, max_size=6), st.randoms())
def test_groups_never_count_for_more_than_their_seeds(groups, random):
    found, n = counted_in_groups(groups), sum(map(len, groups))
    assert 1 <= found.n <= n
    assert found.share == pytest.approx(np.mean([value for group in groups for value in group]))
    shuffled = [random.sample(group, len(group)) for group in random.sample(groups, len(groups))]
    assert counted_in_groups(shuffled).n == pytest.approx(found.n)


# Data sets


def quantile(n):
    return float(stats.t.ppf(0.975, n - 1))


def test_groups_that_do_not_differ_pay_only_for_being_few():
    found = counted_in_groups([[1, 0]] * 4)
    assert found.n == pytest.approx(8 * (quantile(8) / quantile(4)) ** 2) and found.share == 0.5
    assert counted_in_groups([[1, 1], [1, 1, 1]]).share == 1  # nothing to see a scatter in


@pytest.mark.parametrize(("sizes", "share", "covers"), [((5, 1, 1, 1, 1), 0.55, 0.93), ((5,) * 12, 0.92, 0.63)])
def test_groups_whose_seeds_are_wholly_alike_are_covered_as_seldom_as_it_is_said(sizes, share, covers):
    """All ways in which groups can come out, each as likely as its number of successes makes it."""
    found = 0.0
    for came in itertools.product((0, 1), repeat=len(sizes)):
        interval = counted_in_groups([[one] * size for one, size in zip(came, sizes, strict=True)]).interval()
        chance = math.prod(share if one else 1 - share for one in came)
        found += chance * (interval.low <= share <= interval.high)
    assert found == pytest.approx(covers, abs=0.005)


def test_groups_that_differ_are_worth_fewer_seeds():
    """Four groups of ten, shares 0.2 0.4 0.6 0.8: the variance of their mean is 5/300, of forty seeds 1/160."""
    groups = [[1] * k + [0] * (10 - k) for k in (2, 4, 6, 8)]
    effect = (5 / 300) / (0.25 / 40)
    assert counted_in_groups(groups).n == pytest.approx(40 / effect * (quantile(40) / quantile(4)) ** 2)
    assert counted_in_groups([[1] * 5, [0] * 5]).n == 1  # no less than one draw


# Coverage: counted over every outcome, not sampled


def coverage(intervals, chances, share):
    """How often the interval of what is observed holds the true share."""
    return sum(
        chance
        for interval, chance in zip(intervals, chances, strict=True)
        if interval.low - 1e-12 <= share <= interval.high + 1e-12
    )


@pytest.mark.slow
def test_intervals_of_shares_cover_95_times_of_100_at_every_number_of_seeds():
    for n in (*range(1, 31), 40, 75):
        intervals = [Counted(k, n).interval() for k in range(n + 1)]
        worst = min(coverage(intervals, stats.binom.pmf(range(n + 1), n, share), share) for share in GRID)
        assert worst >= LEVEL, (n, worst)


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0, 0.3, 0.7, 1])
@pytest.mark.parametrize("apart", [0, 0.2])
def test_two_runs_of_a_seed_cover_as_well_however_they_are_correlated(correlation, apart):
    """Two runs with shares p - apart and p + apart; perfectly correlated only where those are one."""
    for n in (1, 5, 10, 20):
        intervals = [Counted(k / 2, n).interval() for k in range(2 * n + 1)]
        for share in GRID[(GRID >= apart + 0.05) & (GRID <= 0.95 - apart)]:
            first, second = share - apart, share + apart
            most = min(first, second) - first * second  # largest covariance that two such runs can have
            both = first * second + correlation * most
            one_seed = [1 - first - second + both, first + second - 2 * both, both]
            chances = np.ones(1)
            for _ in range(n):
                chances = np.convolve(chances, one_seed)
            assert coverage(intervals, chances, share) >= LEVEL, (n, share)


@pytest.mark.slow
def test_wilson_intervals_are_right_on_average_and_not_at_every_share(capsys):
    """Why verdicts and their figures use Clopper and Pearson's, and tables of counts may use Wilson's."""
    said = []
    for n in (5, 8, 10, 20, 40):
        intervals = [share_interval(k, n) for k in range(n + 1)]
        covered = [coverage(intervals, stats.binom.pmf(range(n + 1), n, share), share) for share in GRID]
        said.append(f"n = {n}: {np.mean(covered):.3f}, at worst {min(covered):.3f} at {GRID[np.argmin(covered)]:.2f}")
        assert 0.93 <= np.mean(covered) <= 0.97 and min(covered) < 0.93
    with capsys.disabled():
        print("\nWilson", *said, sep="\n  ")


@pytest.mark.slow
@pytest.mark.parametrize(("n_sets", "per_set"), [(3, 14), (10, 4)])
@pytest.mark.parametrize(("clustering", "least"), [(0.0, 0.95), (0.3, 0.95), (0.6, 0.90)])
def test_shares_of_seeds_in_data_sets_cover(n_sets, per_set, clustering, least):
    """Beta-binomial, 2,000 draws: ``clustering`` is the correlation of two seeds of one data set.

    Where it is as large as 0.6, few data sets hardly show how much they differ, and the interval covers 91 to 98 times
    of 100.
    """
    rng, known = np.random.default_rng(0), {}
    for share in (0.5, 0.8):
        hits = 0
        for _ in range(2000):
            own = np.full(n_sets, share)
            if clustering:
                own = rng.beta(*(np.array([share, 1 - share]) * (1 / clustering - 1)), n_sets)
            counts = tuple(sorted(rng.binomial(per_set, own).tolist()))
            if counts not in known:
                known[counts] = counted_in_groups([[1] * k + [0] * (per_set - k) for k in counts]).interval()
            hits += known[counts].low <= share <= known[counts].high
        assert hits / 2000 >= least, (share, hits / 2000)


# What is refused


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Counted(1, 0), r"n > 0 and 0 <= successes <= n; got 1 of 0"),
        (lambda: Counted(3, 2), r"got 3 of 2"),
        (lambda: Counted(-1, 2), r"got -1 of 2"),
        (lambda: Counted(math.nan, 2), r"got nan of 2"),
        (lambda: Counted(1, 2).interval(1.0), r"level must lie between 0 and 1; got 1.0"),
        (lambda: Counted(1, 2).p_value(50), r"a bound from 0 to 1; got 50"),
        (lambda: counted([]), r"a number from 0 to 1 of each seed; got \[\]"),
        (lambda: counted([0.5, 1.5]), r"a number from 0 to 1 of each seed; got \[0.5, 1.5\]"),
        (lambda: counted([math.nan]), r"got \[nan\]"),
        (lambda: counted_in_groups([[1, 0]]), r"at least 2 groups .*; got 1"),
        (lambda: counted_in_groups([[1, 0], []]), r"got \[\]"),
    ],
)
def test_impossible_shares_are_refused_with_the_numbers(make, words):
    with pytest.raises(SeedsError, match=words):
        make()
