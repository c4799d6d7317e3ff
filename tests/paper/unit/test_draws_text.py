"""What a card says of draws that are all equal, and of seeds of one data set."""

from judged import data_sets, judged
from scipy import stats

from livingpaper.claims.rules import Share
from livingpaper.claims.units import EPOCHS, SEEDS, at_least, at_most
from livingpaper.figures.draws_text import limits_of_draws

NONE = at_most(0.3, "x")


def test_of_draws_that_differ_nothing_is_said():
    assert limits_of_draws(judged([0.1, 0.2, 0.1, 0.2, 0.1])) == []
    assert limits_of_draws(judged(None)) == []
    assert limits_of_draws(judged([0.0] * 4, bound=NONE)) == []  # too few for an interval


def test_equal_draws_at_an_end_say_how_far_off_the_mean_may_be_all_the_same():
    """Of ten draws without a success 31 of 100 may have one, by Clopper and Pearson, and the bound allows 30."""
    furthest = stats.binomtest(0, 10).proportion_ci(method="exact").high
    (found,) = limits_of_draws(judged([0.0] * 10, bound=NONE))
    assert found.startswith("All 10 seeds gave 0 %, so that the interval has no width. If each were all or nothing,")
    assert found.endswith(f", {100 * furthest:.0f} % could not be excluded: beyond the bound.")
    (mirrored,) = limits_of_draws(judged([1.0] * 10, bound=at_least(0.7, "x")))
    assert "69 % could not be excluded: beyond the bound" in mirrored


def test_where_even_that_lies_within_the_bound_or_no_end_is_near_it_is_not_said():
    for values, changes in (
        ([0.0] * 10, {"bound": at_most(0.4, "x")}),
        ([0.5] * 10, {"bound": NONE}),
        ([0.0] * 10, {"bound": at_most(1.0, "x"), "unit": EPOCHS}),
    ):
        (found,) = limits_of_draws(judged(values, **changes))
        assert found.endswith("so that the interval has no width.")


def test_shares_have_an_interval_and_one_data_set_is_named():
    assert limits_of_draws(judged([1.0] * 10, rule=Share(), unit=SEEDS)) == []
    assert limits_of_draws(judged(data_sets([0.9, 0.8, 0.9, 0.8], [0.7, 0.9]))) == []
    (found,) = limits_of_draws(judged(data_sets([0.9, 0.8, 0.9, 0.8, 0.7])))
    assert found == "All 5 seeds share one data set: of another draw of the data this says nothing."
