"""How many seeds would decide: means by hand, shares by trying every number of seeds."""

import math

import numpy as np
import pytest
from judged import control, data_sets, judged
from scipy import stats

from livingpaper.claims.needed import MOST, NEAR, Needed, needed
from livingpaper.claims.rules import EvenOdds, Every, Outcome, Share, Some
from livingpaper.claims.units import EPOCHS, SEEDS, at_least, at_most
from livingpaper.claims.verdict import Status, from_json, to_json
from livingpaper.figures.verdict_text import what_would_decide

SPREAD = np.array([-2, -1, 0, 1, 2]) / math.sqrt(2.5)  # five numbers of standard deviation 1


def around(mean, deviation):
    return (mean + deviation * SPREAD).tolist()


def of(values, **changes):
    verdict = judged(values, **changes)
    assert verdict.status == Status.UNDECIDED
    return needed(verdict.claim, verdict.finding)


# ---- means -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "deviation", "seeds"),
    [
        # t(.975, 17) 0.2 / sqrt(18) = 2.1098 x 0.04714 = 0.0995; of 17 seeds 2.1199 x 0.04851 = 0.1028.
        (0.6, 0.2, 18),
        # t(.975, 6) 0.1 / sqrt(7) = 2.4469 x 0.03780 = 0.0925; of 6 seeds 2.5706 x 0.04082 = 0.1049.
        (0.6, 0.1, 7),
        # A gap of half a deviation is that of the first, on either side.
        (0.4, 0.2, 18),
        # t(.975, 63) 0.2 / sqrt(64) = 1.9983 x 0.025 = 0.04996; of 63 seeds 1.9990 x 0.02520 = 0.0504.
        (0.55, 0.2, 64),
    ],
)
def test_of_a_mean_by_hand(mean, deviation, seeds):
    assert of(around(mean, deviation)) == Needed(seeds - 5)
    assert of(around(mean, deviation), bound=at_most(0.5, "x")).more == seeds - 5


@pytest.mark.parametrize("gap", [0.11, 0.2, 0.35, 0.6, 0.8])
def test_so_many_seeds_of_that_scatter_would_indeed_decide_and_one_fewer_would_not(gap):
    """With as many seeds, the same mean and the same standard deviation."""
    seeds = 5 + of(around(10 + gap, 1), unit=EPOCHS, bound=at_least(10, "x")).more
    for n, decided in ((seeds, True), (seeds - 1, False)):
        values = np.linspace(-1, 1, n)
        values = 10 + gap + values / values.std(ddof=1)
        verdict = judged(values.tolist(), unit=EPOCHS, bound=at_least(10, "x"))
        assert (verdict.status == Status.SUPPORTED) is decided


def test_an_interval_that_is_cut_to_what_is_possible_keeps_its_scatter():
    """Near 100 % the upper end is cut: the lower one says how far seeds scatter."""
    values = [1.0, 1.0, 1.0, 1.0, 0.6]  # mean 0.92, deviation 0.179; 0.92 + 0.222 is cut
    found = of(values, bound=at_least(0.8, "x"))
    gap, deviation = 0.12, np.std(values, ddof=1)
    wanted = next(n for n in range(5, MOST) if stats.t.ppf(0.975, n - 1) * deviation / math.sqrt(n) <= gap)
    assert found == Needed(wanted - 5) and wanted == 12


def test_a_mean_beside_its_bound_takes_more_than_anybody_pays_for():
    assert of(around(0.5 + 0.99 * NEAR * 0.2, 0.2)) == Needed(None)
    found = 5 + of(around(0.5 + 1.01 * NEAR * 0.2, 0.2)).more
    assert found == pytest.approx((1.96 / (1.01 * NEAR)) ** 2, rel=0.02)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_few_seeds_need_as_many_as_a_verdict_takes(n):
    """One seed shows no scatter: nobody knows more than the least."""
    assert of([0.9] * n) == Needed(5 - n)
    assert of([0.9] * n, min_seeds=8) == Needed(8 - n)


# ---- shares ----------------------------------------------------------------------------------------------------------


def by_trying(share, n, bounds):
    """The first number of seeds, from those there are, of which the same share leaves every bound out."""
    for more in range(n, MOST):
        k = share * more
        low = stats.beta.ppf(0.025, k, more - k + 1) if k > 0 else 0.0
        high = stats.beta.ppf(0.975, k + 1, more - k) if k < more else 1.0
        if all(not low < bound < high for bound in bounds):
            return more
    return None


@pytest.mark.parametrize(("reached", "n"), [(5, 5), (7, 10), (8, 10), (3, 10), (2, 5), (13, 20), (1, 8)])
@pytest.mark.parametrize("bound", [0.5, 0.9, 0.2])
@pytest.mark.parametrize("side", [at_least, at_most])
def test_of_a_share_by_trying_every_number_of_seeds(reached, n, bound, side):
    verdict = judged([1.0] * reached + [0.0] * (n - reached), rule=Share(), unit=SEEDS, bound=side(bound, "x"))
    if verdict.status != Status.UNDECIDED:
        return
    share = reached / n
    near = abs(share - bound) < NEAR * math.sqrt(share * (1 - share))
    wanted = None if near else by_trying(share, n, [bound])
    assert needed(verdict.claim, verdict.finding) == Needed(wanted and max(wanted, 5) - n)


def test_of_a_share_by_hand():
    # All of n: the lower end is the n-th root of 1/40. Of 6 it is 0.5407, of 5 0.4782.
    assert of([1.0] * 5, rule=Share(), unit=SEEDS) == Needed(1)
    # "Every": 0.9 is passed at 36 (0.9026); of 35 it is 0.89997.
    assert of([1.0] * 10, rule=Every(), unit=SEEDS, bound=at_least(0.9, "x")) == Needed(26)
    # "Some", none so far: the mirror image.
    assert of([0.0] * 10, rule=Some(), unit=SEEDS, bound=at_least(0.1, "x")) == Needed(26)


@pytest.mark.parametrize(("reached", "n"), [(5, 10), (6, 10), (4, 10), (12, 20), (10, 20), (9, 10)])
@pytest.mark.parametrize("bound", [0.1, 0.25])
def test_of_even_odds_by_trying(reached, n, bound):
    verdict = judged([1.0] * reached + [0.0] * (n - reached), rule=EvenOdds(), unit=SEEDS, bound=at_most(bound, "x"))
    if verdict.status != Status.UNDECIDED:
        return
    share = max(reached, n - reached) / n
    wanted = by_trying(share, n, [0.5 + bound])
    near = abs(share - 0.5 - bound) < max(NEAR * math.sqrt(share * (1 - share)), 1e-9)
    assert needed(verdict.claim, verdict.finding).more == (None if near else wanted - n)


@pytest.mark.parametrize("ones", [6, 7])
def test_even_odds_over_data_sets_need_what_their_upper_end_asks_for(ones):
    """Twelve sets of one seed and one of four more, of which half are ones; as many more sets of the same kinds."""
    sets = [[1.0]] * ones + [[0.0]] * (12 - ones) + [[1.0, 0.0, 1.0, 0.0]]
    lacking = of(data_sets(*sets), rule=EvenOdds(), unit=SEEDS, bound=at_most(0.25, "x"))
    assert lacking.of_sets and 0 < lacking.more <= 26
    again = judged(data_sets(*sets * 3), rule=EvenOdds(), unit=SEEDS, bound=at_most(0.25, "x"))
    assert again.status == Status.SUPPORTED


def test_so_many_even_odds_would_indeed_decide():
    seeds = 10 + of([1.0, 0.0] * 5, rule=EvenOdds(), unit=SEEDS, bound=at_most(0.25, "x")).more
    even = seeds + seeds % 2
    values = [1.0, 0.0] * (even // 2)
    assert judged(values, rule=EvenOdds(), unit=SEEDS, bound=at_most(0.25, "x")).status == Status.SUPPORTED
    assert judged(values[:-4], rule=EvenOdds(), unit=SEEDS, bound=at_most(0.25, "x")).status == Status.UNDECIDED


# ---- data sets, controls, what is decided ----------------------------------------------------------------------------


def test_where_data_sets_were_drawn_they_are_what_is_needed():
    values = data_sets(*(around(mean, 0.01) for mean in around(0.6, 0.2)))
    assert of(values) == Needed(13, of_sets=True)
    assert of(data_sets([0.9] * 5, [0.8] * 5)) == Needed(1, of_sets=True)


@pytest.mark.parametrize(
    ("sets", "bound"),
    [
        ([[1, 0]] * 5, at_most(0.75, "x")),  # alike: no set tells more than another
        ([[1, 1], [1, 1], [0, 0], [0, 0]], at_least(0.2, "x")),  # each all or nothing
        ([[1, 1]] * 3, at_least(0.8, "x")),
        ([[0, 0, 0]] * 2, at_most(0.3, "x")),
    ],
)
@pytest.mark.parametrize("rule", [Share(), EvenOdds()])
def test_so_many_more_data_sets_of_the_same_kind_would_indeed_decide_and_fewer_would_not(sets, bound, rule):
    """The same sets told again: k times as many of each kind, with the same share and as alike."""
    bound = at_most(0.3, "x") if isinstance(rule, EvenOdds) else bound

    def of_so_many(times):
        return judged(data_sets(*sets * times), rule=rule, unit=SEEDS, bound=bound, min_seeds=1)

    verdict = of_so_many(1)
    lacking = needed(verdict.claim, verdict.finding)
    first = next(times for times in range(1, 40) if of_so_many(times).status != Status.UNDECIDED)
    # Of k sets the scatter is divided by k - 1: of few a set more or less.
    assert lacking.of_sets and (first - 1) * len(sets) < len(sets) + lacking.more <= first * len(sets) + 1


def test_data_sets_bring_the_seeds_that_a_verdict_takes():
    """Three seeds on three data sets: their mean is settled, but five seeds are what the claim asks for."""
    found = of(data_sets([0.9], [0.91], [0.92]), min_seeds=5)
    assert found == Needed(2, of_sets=True)
    assert of(data_sets([0.9], [0.91]), min_seeds=5) == Needed(3, of_sets=True)


def test_what_a_control_lacks_is_counted_from_the_controls_own_seeds():
    """Twenty seeds of the claim say yes; of the control there are five, and eighteen would settle it."""
    verdict = judged([0.9, 0.91] * 10, controls=(control(around(0.45, 0.1), bound=at_most(0.4, "x")),))
    assert needed(verdict.claim, verdict.finding) == Needed(13, by_control=True)


def test_a_control_of_the_other_answer_asks_for_nothing():
    """The claim leans to yes; where its control of a no lies takes no part in that."""
    guard = control(around(0.401, 0.1), bound=at_most(0.4, "x"), spoils="no")
    verdict = judged(around(0.6, 0.2), controls=(guard,))
    assert verdict.status == Status.UNDECIDED
    assert needed(verdict.claim, verdict.finding) == Needed(13)


def test_a_control_that_is_not_settled_takes_its_seeds_too():
    """The claim's own numbers say yes; the control misses its bound by half a deviation, which 18 seeds would show."""
    verdict = judged([0.9] * 5, controls=(control(around(0.45, 0.1), bound=at_most(0.4, "x")),))
    assert verdict.status == Status.UNDECIDED and verdict.finding.held.outcome == Outcome.YES
    assert needed(verdict.claim, verdict.finding) == Needed(13, by_control=True)
    both = judged(around(0.55, 0.2), controls=(control(around(0.45, 0.1), bound=at_most(0.4, "x")),))
    assert needed(both.claim, both.finding).more == 59, "the larger of the two"
    hopeless = judged(around(0.6, 0.2), controls=(control(around(0.401, 0.1), bound=at_most(0.4, "x")),))
    assert needed(hopeless.claim, hopeless.finding) == Needed(None)  # the claim's own numbers are open, too


def test_a_control_that_holds_on_its_seeds_asks_for_none():
    verdict = judged(around(0.6, 0.2), controls=(control(around(0.39, 0.1), bound=at_most(0.4, "x")),))
    assert needed(verdict.claim, verdict.finding) == Needed(13)


def test_of_a_record_without_the_seeds_values_nothing_is_said():
    verdict = judged(data_sets([1, 0], [1, 1], [0, 1]), rule=Share(), unit=SEEDS, min_seeds=1)
    (slim,) = from_json(to_json([verdict]))
    (whole,) = from_json(to_json([verdict], samples=True))
    assert verdict.status == Status.UNDECIDED and what_would_decide(whole) == what_would_decide(verdict) != ""
    assert what_would_decide(slim) == ""
