"""The picture of an estimate: where bound, interval and dot stand, and what a screen reader hears."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from judged import data_sets, judged

from livingpaper.claims.rules import Counted, EvenOdds, Every, Forced, OnAverage, Share, Some
from livingpaper.claims.units import COUNT, EPOCHS, NUMBER, POINTS, PROMPTS, SCORE, SEEDS, Unit, at_least, at_most
from livingpaper.claims.verdict import Asked, Held, Status
from livingpaper.figures.interval_mark import (
    HEIGHT,
    ROOM,
    WIDTH,
    as_counted,
    estimate_html,
    found_words,
    interval_mark,
)

LEFT, RIGHT = ROOM, WIDTH - ROOM
ROUTED = [0.7, 0.75, 0.8, 0.85, 0.9]  # mean 0.8, standard error 0.035, t interval 0.702 to 0.898


def held(values, **changes):
    return judged(values, **changes).finding.held


def drawn(mark):
    """The parts of a picture by what they are; each is there at most once."""
    root = ET.fromstring(mark)
    parts = {part.get("class") or part.tag: part.attrib for part in root}
    assert len(parts) == len(root)
    return root.attrib, {
        name: {k: float(v) for k, v in part.items() if k != "class"} for name, part in parts.items() if name != "title"
    }


def place(value, low, high):
    return pytest.approx(LEFT + (RIGHT - LEFT) * (value - low) / (high - low), abs=0.051)


@pytest.mark.parametrize(
    ("bound", "from_", "to"), [(at_least(0.5, "half"), 0.5, 1.0), (at_most(0.75, "most"), 0.0, 0.75)]
)
def test_a_share_is_drawn_from_none_to_all(bound, from_, to):
    found = held(ROUTED, bound=bound)
    attributes, parts = drawn(interval_mark(found))
    assert (parts["bound"]["x1"], parts["bound"]["x2"]) == (place(bound.value, 0, 1),) * 2
    assert parts["effect"]["cx"] == place(0.8, 0, 1) and parts["effect"]["cy"] == HEIGHT / 2
    assert (parts["interval"]["x1"], parts["interval"]["x2"]) == (place(0.7018, 0, 1), place(0.8982, 0, 1))
    claimed = parts["claimed"]
    assert claimed["x"] == place(from_, 0, 1) and claimed["x"] + claimed["width"] == place(to, 0, 1)
    assert (parts["axis"]["x1"], parts["axis"]["x2"]) == (LEFT, RIGHT)
    assert attributes["width"] == str(WIDTH) and attributes["viewBox"] == f"0 0 {WIDTH} {HEIGHT}"


def test_by_hand_in_pixels():
    # 156 pixels from none to all, six from the left: one half at 84, four fifths at 130.8.
    _, parts = drawn(interval_mark(held(ROUTED)))
    assert parts["bound"]["x1"] == 84 and parts["effect"]["cx"] == 130.8
    assert (parts["claimed"]["x"], parts["claimed"]["width"]) == (84, 78)


@pytest.mark.parametrize(
    ("values", "unit", "bound", "low", "high"),
    [
        # From nought, or the lowest, to the highest of bound and interval, and 8 % more on both sides.
        ([0.1, 0.2, 0.3, 0.2, 0.2], POINTS, at_least(0.4, "far"), 0.0, 0.4),
        ([-0.1, -0.2, -0.3, -0.2, -0.2], POINTS, at_most(-0.1, "lower"), None, 0.0),
        ([10.0, 14.0, 12.0, 11.0, 13.0], EPOCHS, at_most(30, "a quarter"), 0.0, 30.0),
        ([10.0, 14.0, 12.0, 11.0, 13.0], EPOCHS, at_least(3, "a few"), 0.0, None),
        ([-2.0, 3.0, 0.0, 1.0, -1.0], NUMBER, at_least(0, "any"), None, None),
    ],
)
def test_what_has_no_ends_is_drawn_from_nought_with_some_room(values, unit, bound, low, high):
    found = held(values, unit=unit, bound=bound)
    estimate, (_, parts) = found.estimate, drawn(interval_mark(found))
    low, high = estimate.low if low is None else low, estimate.high if high is None else high
    room = 0.08 * (high - low)
    span = low - room, high + room
    assert parts["bound"]["x1"] == place(bound.value, *span) and parts["effect"]["cx"] == place(estimate.effect, *span)
    assert parts["interval"]["x1"] == place(estimate.low, *span)
    assert parts["interval"]["x2"] == place(estimate.high, *span)
    claimed, reached = parts["claimed"], bound.direction == "at_least"
    assert claimed["x"] == (place(bound.value, *span) if reached else LEFT)
    assert claimed["x"] + claimed["width"] == (RIGHT if reached else place(bound.value, *span))


def test_a_count_without_training_is_a_dot_without_an_interval():
    found = held(38.0, unit=COUNT, rule=Counted(), bound=at_least(1, "any"), min_seeds=0)
    attributes, parts = drawn(interval_mark(found))
    assert "interval" not in parts and parts["effect"]["cx"] == place(38, -0.08 * 38, 1.08 * 38)
    assert attributes["aria-label"] == "38; claimed: at least 1"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (held(ROUTED), "80 % [70, 90], 5 seeds; claimed: at least 50 %"),
        (held([0.9]), "90 %, 1 seed; claimed: at least 50 %"),
        (held([0.9, 0.8]), "85 %, 2 seeds; claimed: at least 50 %"),
        (held([1.0] * 5), "100 % in every one, 5 seeds; claimed: at least 50 %"),
        (
            held([0.1, 0.2, 0.3, 0.2, 0.2], unit=POINTS, bound=at_least(0.25, "x")),
            "20 points [11, 29], 5 seeds; claimed: at least 25 points",
        ),
        (
            held([10.0, 14.0, 12.0, 11.0, 13.0], unit=EPOCHS, bound=at_most(30, "x")),
            "12 epochs [10, 14], 5 seeds; claimed: at most 30 epochs",
        ),
        (
            held([1.0] * 9 + [0.0], rule=Share(), unit=SEEDS),
            "90 % [55, 100], 10 seeds; claimed: at least 50 %",
        ),
        (
            held(data_sets([0.8] * 5, [0.7] * 5, [0.9] * 5)),
            "80 % [55, 100], 15 seeds of 3 data sets; claimed: at least 50 %",
        ),
        (
            # As many decimals as keep the effect on its side of the bound.
            held([0.4999] * 5, bound=at_least(0.5, "x")),
            "49.99 % in every one, 5 seeds; claimed: at least 50 %",
        ),
        (
            # Nor does an end of the interval round onto the bound: it is what the status hangs on.
            held([0.5, 0.52, 0.51, 0.51, 0.50]),
            "50.8 % [49.8, 51.8], 5 seeds; claimed: at least 50 %",
        ),
        (
            # The effect is as exact as its ends, and ends that differ are told apart.
            held([3.0, 3.0, 3.0, 4.0, 4.0], unit=COUNT, bound=at_least(3, "x")),
            "3.4 [2.7, 4.1], 5 seeds; claimed: at least 3",
        ),
        (
            held([0.0015, 0.0, 0.004, -0.001, 0.0043], unit=POINTS, bound=at_least(0.05, "x")),
            "0.2 points [−0.1, 0.5], 5 seeds; claimed: at least 5 points",
        ),
        (
            held([0.0] * 5, rule=Forced(), bound=at_most(0.0, "x")),
            "0 % in every one, 5 seeds; claimed: at most 0 %",
        ),
        (
            held([1.0, 0.0] * 3, rule=EvenOdds(), unit=SEEDS, bound=at_most(0.1, "x")),
            "0 % [0, 38], 6 seeds; claimed: at most 10 %",
        ),
    ],
)
def test_a_screen_reader_hears_the_numbers(found, words):
    attributes, _ = drawn(interval_mark(found))
    assert attributes["role"] == "img" and attributes["aria-label"] == words
    assert ET.fromstring(interval_mark(found)).find("title").text == words
    assert words.startswith(found_words(found))


@pytest.mark.parametrize("value", [0.1, 0.3, 0.4999, 0.6, 0.7, 0.9, 1 / 3])
@pytest.mark.parametrize("n", [5, 6, 7, 10, 13, 20])
@pytest.mark.parametrize("bound", [at_least, at_most])
def test_seeds_that_are_all_at_the_bound_reach_it(value, n, bound):
    """Their mean may miss them by its last bit."""
    verdict = judged([value] * n, bound=bound(value, "x"))
    assert verdict.status == Status.SUPPORTED and verdict.estimate.effect == value
    assert found_words(verdict.finding.held).endswith(f"in every one, {n} seeds")


def test_words_of_a_unit_are_no_markup():
    odd = Unit(name='<b> & "c"', low=0)
    attributes, _ = drawn(interval_mark(held([1.0] * 5, unit=odd)))
    assert attributes["aria-label"].endswith('at least 0.5 <b> & "c"')


RULES = {
    "mean of shares": (OnAverage(), PROMPTS, (0, 1), (0, 1)),
    "mean of scores": (OnAverage(), SCORE, (0, 1), (0, 1)),
    "difference": (OnAverage(), POINTS, (-1, 1), (-1, 1)),
    "epochs": (OnAverage(), EPOCHS, (-50, 500), (0, 300)),
    "share": (Share(each=at_least(0.5, "x")), PROMPTS, (0, 1), (0, 1)),
    "every": (Every(each=at_least(0.5, "x")), PROMPTS, (0, 1), (0, 1)),
    "even odds": (EvenOdds(each=at_least(0.5, "x")), PROMPTS, (0, 1), (0, 1)),
    "forced": (Forced(), NUMBER, (-5, 5), (-90, 90)),
}


@pytest.mark.parametrize("name", RULES)
def test_nothing_is_ever_drawn_outside(name):
    rule, unit, possible, bounds = RULES[name]
    rng = np.random.default_rng(len(name))
    for n in (1, 2, 4, 5, 30):
        for _ in range(12):
            values = rng.uniform(*possible, n).round(int(rng.integers(0, 4))).tolist()
            sides = (at_least,) if name == "every" else (at_least, at_most)
            bound = sides[rng.integers(len(sides))](float(rng.uniform(*bounds)), "x")
            _, parts = drawn(interval_mark(held(values, rule=rule, unit=unit, bound=bound)))
            claimed = parts.pop("claimed")
            assert LEFT <= claimed["x"] and claimed["x"] + claimed["width"] <= RIGHT + 0.5 and claimed["width"] > 0
            xs = [value for part in parts.values() for key, value in part.items() if key in ("x1", "x2", "cx")]
            assert all(LEFT <= x <= RIGHT for x in xs)
            if "interval" in parts:
                assert parts["interval"]["x1"] <= parts["effect"]["cx"] <= parts["interval"]["x2"]


def test_an_effect_that_cannot_be_is_drawn_at_the_edge():
    """A score above 1 is a mistake of its reading, and no reason to draw over the text beside."""
    mark = interval_mark(held([1.3, 1.2, 1.25, 1.2, 1.3], unit=SCORE))
    assert drawn(mark)[1]["effect"]["cx"] == RIGHT and "1.25 [" in drawn(mark)[0]["aria-label"]


def test_what_so_few_seeds_do_not_bound_has_no_interval():
    found = held([0.9, 0.8], unit=EPOCHS)
    assert math.isinf(found.estimate.low) and "interval" not in drawn(interval_mark(found))[1]
    assert "inf" not in interval_mark(found)


def test_the_bound_of_an_each_is_not_the_one_that_is_drawn():
    found = held(ROUTED, rule=Share(each=at_least(0.79, "x")))
    assert isinstance(found, Held) and isinstance(found.asked, Asked)
    _, parts = drawn(interval_mark(found))
    assert parts["bound"]["x1"] == 84 and parts["effect"]["cx"] == place(0.6, 0, 1)


def test_a_card_says_of_what_its_share_is():
    assert as_counted(held([1.0] * 9 + [0.0], rule=Share(), unit=SEEDS)) == "as claimed in 90 % [55, 100], 10 seeds"
    assert as_counted(held(ROUTED)) == found_words(held(ROUTED))
    small = held([0.0] * 9 + [1.0], rule=Share(), unit=SEEDS, bound=at_most(0.5, "half"))
    assert as_counted(small) == found_words(small) == "10 % [0, 45], 10 seeds"


@pytest.mark.parametrize(
    ("rule", "values", "words"),
    [
        (Every(), [1.0] * 9 + [0.0], "1 of 10 seeds speak against it, and one decides"),
        (Some(), [0.0] * 8 + [1.0] * 2, "2 of 10 seeds do, and one decides"),
    ],
)
def test_where_one_seed_decides_no_bound_is_drawn(rule, values, words):
    found = held(values, rule=rule, unit=SEEDS)
    assert estimate_html(found) == as_counted(found) == words


def test_where_none_decides_the_bound_is_drawn():
    found = held([1.0] * 10, rule=Every(), unit=SEEDS)
    assert estimate_html(found) == f"{interval_mark(found)} {as_counted(found)}"
