"""Many claims at once: what luck would support, and Holm's correction over each chapter, computed by hand."""

import pytest
from judged import judged
from scipy import stats

from livingpaper.claims.multiplicity import LEVEL, Many, many
from livingpaper.claims.rules import Counted, Every, Forced, Share, Some
from livingpaper.claims.units import COUNT, SEEDS, at_least
from livingpaper.claims.verdict import Status
from livingpaper.figures.verdict_text import claim_lines

SPREAD = (-2, -1, 0, 1, 2)  # standard error 0.7071 times the step


def with_p(p_value, claim_id="K", *, below=False, **changes):
    """A claim on five seeds whose p value against one half is this one."""
    step = 0.02
    away = float(stats.t.isf(p_value / 2, 4)) * step * 0.5**0.5
    middle = 0.5 - away if below else 0.5 + away
    verdict = judged([middle + step * place for place in SPREAD], claim_id, **changes)
    if verdict.estimate:
        assert verdict.estimate.p_value == pytest.approx(p_value)
    return verdict


def numbers(n_tested, n_decided, lost=(), n_untested=0):
    """What is found of so many tested claims: one in forty comes out on the right side by luck."""
    return Many(n_tested, n_decided, n_untested, n_tested * LEVEL / 2, tuple(lost))


def chapter(*p_values, **changes):
    return [with_p(p_value, f"K{place}", **changes) for place, p_value in enumerate(p_values)]


@pytest.mark.parametrize(
    ("p_values", "lost"),
    [
        ([0.04], []),
        # 2 x 0.04, 1 x 0.5: above 0.05.
        ([0.04, 0.5], ["K0"]),
        # 3 x 0.01 = 0.03, 2 x 0.02 = 0.04, 1 x 0.04 = 0.04: all survive.
        ([0.04, 0.01, 0.02], []),
        # 3 x 0.01 = 0.03; 2 x 0.03 = 0.06; 0.04 comes after one that is lost, and is lost with it.
        ([0.01, 0.03, 0.04], ["K1", "K2"]),
        # 4 x 0.012 = 0.048; 3 x 0.02 = 0.06, and so on.
        ([0.02, 0.012, 0.03, 0.9], ["K0", "K2"]),
        # What is not decided cannot be lost: an undecided claim only makes it harder for the others.
        ([0.06, 0.06], []),
        ([0.001, 0.002, 0.003], []),
    ],
)
def test_holm_by_hand(p_values, lost):
    found = many([chapter(*p_values)])
    n_decided = sum(p_value < LEVEL for p_value in p_values)
    assert found == numbers(len(p_values), n_decided, lost) and found.by_luck == pytest.approx(len(p_values) / 40)


def test_chapters_are_corrected_each_for_itself_and_counted_together():
    both = [chapter(0.04, 0.01), [with_p(0.04, "S0"), with_p(0.5, "S1")]]
    assert many(both) == numbers(4, 3, ["S0"])
    assert many([[*both[0], *both[1]]]).lost == ("K0", "S0"), "as one chapter, two of four are lost"
    assert many([]) == many([[]]) == numbers(0, 0)


def test_a_refuted_claim_can_be_lost_too():
    verdicts = [with_p(0.04, "K0", below=True), with_p(0.5, "K1")]
    assert verdicts[0].status == Status.REFUTED and many([verdicts]).lost == ("K0",)


@pytest.mark.parametrize(
    ("rule", "values", "tested"),
    [(Some, [0.9, *[0.1] * 9], 0), (Some, [0.1] * 10, 1), (Every, [0.1, *[0.9] * 9], 0), (Every, [0.9] * 10, 1)],
)
def test_where_one_example_or_counterexample_decides_no_share_was_tested(rule, values, tested):
    verdict = judged(values, "S", rule=rule(each=at_least(0.5, "half")), unit=SEEDS)
    assert verdict.estimate.p_value is not None and many([[verdict]]).n_tested == tested
    assert ("against the bound" in " ".join(claim_lines([verdict]))) == bool(tested)


def test_what_was_not_tested_is_not_counted():
    """What is void or not checked, has too few seeds, or no p value at all, makes nothing harder for the others."""
    others = [
        with_p(0.01, "V", void="nothing could show it."),
        judged(None, "N"),
        judged([0.9, 0.91, 0.92, 0.93], "F"),
        with_p(0.01, "M", min_seeds=6),
        judged([1.0] * 5, "D", rule=Forced()),
        judged([0.5] * 5, "E"),
        judged(38.0, "C", rule=Counted(), unit=COUNT, bound=at_least(1, "any"), min_seeds=0),
    ]
    found = many([[with_p(0.04), *others]])
    assert found == numbers(1, 1, n_untested=3), "the forced one, the equal ones, the count"


def test_a_share_s_p_value_is_exact_and_counts_too():
    all_of_six = judged([1.0] * 6, "S", rule=Share(), unit=SEEDS)
    assert all_of_six.status == Status.SUPPORTED
    assert all_of_six.estimate.p_value == pytest.approx(stats.binomtest(6, 6, 0.5).pvalue) == pytest.approx(1 / 32)
    assert many([[all_of_six, with_p(0.9)]]).lost == ("S",)


@pytest.mark.parametrize("p_value", [0.049, 0.051])
def test_without_others_the_correction_is_the_verdict_itself(p_value):
    """A claim's interval leaves its bound out exactly where its p value is below 0.05."""
    verdict = with_p(p_value)
    assert (verdict.status == Status.SUPPORTED) == (p_value < LEVEL) and many([[verdict]]).lost == ()
