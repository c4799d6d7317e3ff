import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from circuitcore.emergence.seeds import (
    MOST_EXACT,
    RESAMPLES,
    Interval,
    SeedsError,
    holm,
    mean_interval,
    paired_permutation_test,
    permutation_test,
    prediction_interval,
    seeds_needed,
    share_interval,
    what_n_can_show,
)


def test_mean_interval_by_hand():
    # 1..5: mean 3, standard deviation sqrt(2.5), t(.975, 4) = 2.776445
    found = mean_interval([1, 2, 3, 4, 5])
    half = 2.776445 * math.sqrt(2.5) / math.sqrt(5)
    assert (found.mean, found.n) == (3.0, 5)
    assert found.low == pytest.approx(3 - half, abs=1e-5)
    assert found.high == pytest.approx(3 + half, abs=1e-5)


def test_mean_interval_against_scipy_and_on_constants():
    values = np.random.default_rng(3).normal(size=9)
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    found = mean_interval(values, level=0.9)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert mean_interval([1.0, 1.0, 1.0]) == Interval(1.0, 1.0, 1.0, 3)


def test_mean_interval_covers_as_often_as_it_says():
    draws = np.random.default_rng(11).normal(size=(2000, 5))
    covered = [found.low <= 0 <= found.high for found in map(mean_interval, draws)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (3, 5), (1, 1), (17, 40)])
def test_wilson_against_its_formula(successes, n):
    z, share = stats.norm.ppf(0.975), successes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    found = share_interval(successes, n)
    assert (found.low, found.high) == (pytest.approx(centre - half, abs=1e-12), pytest.approx(centre + half, abs=1e-12))
    assert (found.mean, found.n) == (share, n)
    assert 0 <= found.low <= share <= found.high <= 1


def exact_p(values, first_groups, observed):
    """Two-sided p by trying everything: twice the smaller tail."""
    differences = []
    for first in first_groups:
        rest = [position for position in range(len(values)) if position not in first]
        differences.append(np.mean([values[i] for i in first]) - np.mean([values[i] for i in rest]))
    differences = np.array(differences)
    tails = (differences >= observed - 1e-9).mean(), (differences <= observed + 1e-9).mean()
    return min(1.0, 2 * min(tails))


@pytest.mark.parametrize(("n", "m"), [(3, 3), (2, 5), (4, 6), (5, 5)])
def test_unpaired_against_brute_force(n, m):
    rng = np.random.default_rng(n * m)
    for values in (rng.normal(size=n + m), rng.integers(0, 3, size=n + m) / 10):  # the second has many ties
        a, b = values[:n], values[n:]
        found = permutation_test(a, b)
        groups = list(itertools.combinations(range(n + m), n))
        assert found.p_value == pytest.approx(exact_p(values, groups, a.mean() - b.mean()))
        assert (found.method, found.n_relabellings) == ("exact", len(groups))
        assert found.effect == pytest.approx(a.mean() - b.mean())


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_paired_against_brute_force(n):
    rng = np.random.default_rng(n)
    for a, b in (rng.normal(size=(2, n)), rng.integers(0, 3, size=(2, n)) / 10):
        signs = np.array(list(itertools.product([1, -1], repeat=n)))
        differences = (signs * (a - b)).mean(axis=1)
        observed = (a - b).mean()
        tails = (differences >= observed - 1e-9).mean(), (differences <= observed + 1e-9).mean()
        found = paired_permutation_test(a, b)
        assert found.p_value == pytest.approx(min(1.0, 2 * min(tails)))
        assert (found.method, found.n_relabellings) == ("exact", 2**n)


def test_three_against_three_cannot_go_below_a_tenth():
    found = permutation_test([10.0, 11.0, 12.0], [0.0, 1.0, 2.0])
    assert found.p_value == pytest.approx(0.1)
    assert found.smallest_p == pytest.approx(0.1)
    assert "exact, 20 relabellings; smallest possible 0.1" in str(found)


def test_identical_arms_show_nothing():
    assert permutation_test([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]).p_value == 1.0
    assert paired_permutation_test([0.1, 0.2], [0.1, 0.2]).p_value == 1.0
    assert permutation_test([0.0, 0.0], [0.0, 0.0]).effect == 0.0


def test_many_seeds_are_resampled_and_say_so():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 12))
    assert math.comb(24, 12) > MOST_EXACT
    found, again = permutation_test(a, b), permutation_test(a, b)
    assert (found.method, found.n_relabellings) == ("resampled", RESAMPLES)
    assert found == again
    assert found.p_value == pytest.approx(stats.ttest_ind(a, b).pvalue, abs=0.03)
    apart = permutation_test(a, b + 100)
    assert apart.p_value == pytest.approx(apart.smallest_p) == pytest.approx(2 / (RESAMPLES + 1))


def test_p_is_uniform_when_nothing_is_there():
    draws = np.random.default_rng(8).normal(size=(300, 10))
    tests = np.array([permutation_test(row[:5], row[5:]).p_value for row in draws])
    assert (tests <= 0.05).mean() <= 0.05 + 0.03
    assert tests.mean() == pytest.approx(0.5, abs=0.06)


def test_what_n_can_show_is_attained_and_never_beaten():
    assert what_n_can_show(3) == pytest.approx(0.1)
    assert what_n_can_show(5) == pytest.approx(2 / 252)
    assert what_n_can_show(3, n_other=5) == pytest.approx(2 / 56)
    assert what_n_can_show(5, "sign") == what_n_can_show(5, "paired") == pytest.approx(2 / 32)
    assert what_n_can_show(0) == what_n_can_show(1) == what_n_can_show(1, "sign") == 1.0
    for n in (2, 3, 4, 5):
        far = np.arange(n) + 100.0
        assert permutation_test(far, np.arange(n)).p_value == pytest.approx(what_n_can_show(n))
        assert paired_permutation_test(far, np.arange(n)).p_value == pytest.approx(what_n_can_show(n, "paired"))
        assert stats.binomtest(n, n).pvalue == pytest.approx(what_n_can_show(n, "sign"))


def test_seeds_needed():
    assert seeds_needed(0.05) == 4  # 2 / 70
    assert seeds_needed(0.05, "sign") == 6  # 2 / 64
    assert seeds_needed(1.0) == 1
    assert what_n_can_show(seeds_needed(0.001)) <= 0.001 < what_n_can_show(seeds_needed(0.001) - 1)


def test_holm_by_hand():
    table = pd.DataFrame({"pair": list("abcde"), "p_value": [0.01, 0.04, 0.03, 0.005, np.nan]})
    found = holm(table)
    # rising .005*4, .01*3, .03*2, then .04*1 lifted to its predecessor
    assert found["p_holm"].tolist()[:4] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert math.isnan(found["p_holm"].iloc[4])
    assert "p_holm" not in table
    assert holm(pd.DataFrame({"p": [0.9, 0.8]}), "p")["p_holm"].tolist() == [1.0, 1.0]
    assert holm(pd.DataFrame({"p_value": []})).empty


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_interval([0.5]), r"at least 2 seeds.*got 1: \[0.5\]"),
        (lambda: mean_interval([]), "got 0"),
        (lambda: mean_interval([0.5, float("nan")]), "1 of 2 values are not finite"),
        (lambda: mean_interval([0.5, 0.6], level=95), "between 0 and 1; got 95"),
        (lambda: share_interval(6, 5), "got 6 of 5"),
        (lambda: share_interval(0, 0), "got 0 of 0"),
        (lambda: prediction_interval([1, 2, 3], sets=[1, None, 2]), "1 of 3 seeds are of no data set"),
        (lambda: permutation_test([1.0], [1.0, 2.0]), "got 1 and 2"),
        (lambda: paired_permutation_test([1.0, 2.0], [1.0, 2.0, 3.0]), "got 2 and 3"),
        (lambda: what_n_can_show(-1), "got -1"),
        (lambda: what_n_can_show(5, "paired", n_other=2), "n_other = 2 of a paired design"),
        (lambda: seeds_needed(0.0), "got 0.0"),
        (lambda: holm(pd.DataFrame({"p_value": [1.5]})), r"lie in \[0, 1\]"),
        (lambda: holm(pd.DataFrame({"q": [0.5]})), "no column 'p_value'"),
    ],
)
def test_refusals_carry_the_numbers(call, words):
    with pytest.raises(SeedsError, match=words):
        call()
