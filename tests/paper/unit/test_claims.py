"""Claims as data: units and bounds, readings, the one function that judges, and what is kept of a verdict."""

import copy
import itertools
import json
import math
from collections import Counter as Tally
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import HALF, NO_RUNS, SAYS, claim, control, data_sets, judged, reading, seeds

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.needed import Needed, needed
from livingpaper.claims.reading import (
    Less,
    OfMetric,
    OfSeeds,
    Reading,
    arms_of,
    at_end,
    at_start,
    best_of,
    ever,
    worst_of,
)
from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.rules import RULES, Counted, Estimate, EvenOdds, Every, Forced, OnAverage, Outcome, Share
from livingpaper.claims.units import COUNT, EPOCHS, POINTS, PROMPTS, SCORE, SEEDS, STEPS, Bound, Unit, at_least, at_most
from livingpaper.claims.verdict import (
    Asked,
    Declared,
    Finding,
    Guard,
    Held,
    Status,
    Verdict,
    from_json,
    judge,
    schema,
    to_json,
)
from livingpaper.figures.interval_mark import found_words

quick = settings(database=None, deadline=None, derandomize=True, max_examples=120)
ONE = at_least(1, "all of it")
HIGH, LOW, WIDE = [0.9, 0.95, 0.92, 0.94, 0.93], [0.1, 0.15, 0.12, 0.14, 0.13], [0.1, 0.9, 0.5, 0.7, 0.2]
"""Values of five seeds whose interval lies above one half, below it, and on both sides."""


# Units and bounds


@pytest.mark.parametrize(
    ("unit", "value", "words"),
    [
        (PROMPTS, 0.8, "80 %"),
        (POINTS, -0.12, "−12 points"),
        (POINTS, -0.001, "0 points"),
        (STEPS, 3518, "3,518 steps"),
        (EPOCHS, 60.5, "60 epochs"),
        (SCORE, 0.456, "0.46"),
        (COUNT, 3, "3"),
    ],
)
def test_numbers_in_words(unit, value, words):
    assert unit.words(value) == words


TINY = Unit(digits=12, low=0.0)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1e-10, "10⁻¹⁰"), (3.416e-11, "3.42 × 10⁻¹¹"), (-3e-9, "−3 × 10⁻⁹"), (0.0, "0"), (0.25, "0.250000000000"),
        (1.02e-10, "1.02 × 10⁻¹⁰"), (9.996e-5, "9.996 × 10⁻⁵"), (1e-4, "10⁻⁴"),
    ],
)  # fmt: skip
def test_a_tiny_number_is_told_by_its_power_of_ten(value, words):
    assert TINY.words(value) == words and at_most(1e-10, "rounding").words(TINY) == "at most 10⁻¹⁰"
    assert TINY.words(9.98e-11, 1e-10) == "9.98 × 10⁻¹¹", "a number does not round onto its bound"


def test_a_number_does_not_round_onto_its_bound_or_past_it():
    assert PROMPTS.words(0.8996, 0.9) == "89.96 %" and PROMPTS.words(0.896, 0.9) == "89.6 %"
    assert PROMPTS.words(0.9, 0.9) == "90 %" and PROMPTS.words(0.904, 0.9) == "90.4 %"
    assert PROMPTS.words(0.85, 0.9) == "85 %"


def test_intervals_in_words_and_cut_to_what_is_possible():
    assert PROMPTS.interval(0.09, 0.15) == "[9, 15]" and EPOCHS.interval(-math.inf, math.inf) == "[..., ...]"
    assert PROMPTS.cut(-0.1, 1.2) == (0, 1) and COUNT.cut(-3, math.inf) == (-3, math.inf)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.99638, "99.6 %"), (0.9964 / 2, "50 %"), (0.004, "0.4 %"), (1.0, "100 %"), (1 - 1e-12, "100 %"), (0.0, "0 %")],
)
def test_hardly_any_are_not_none_and_nearly_all_are_not_all(value, words):
    assert PROMPTS.words(value) == words
    assert PROMPTS.words(1 - 1e-7) == "100 %", "no number of decimals that anyone reads tells them apart"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (POINTS.interval(0.04575, 0.05727, beside=0.05, effect=0.0515), "[4.6, 5.7]"),  # the effect, 5.2, takes one
        (PROMPTS.interval(0.409, 0.5049, beside=0.5, effect=0.46), "[40.9, 50.5]"),  # an end does
        (STEPS.interval(-1234.4, math.inf, beside=100, effect=99.6), "[−1,234.4, ...]"),
        (PROMPTS.interval(0.09, 0.15, beside=0.5, effect=0.12), "[9, 15]"),
        (PROMPTS.interval(0.967, 1.0, beside=0.99, effect=0.986), "[96.7, 100]"),  # no share is larger
        (EPOCHS.interval(99.6, 507.0, beside=100, effect=303), "[99.6, 507.0]"),
        (PROMPTS.interval(0.9921, 1.0, beside=0.9, effect=0.99638), "[99.2, 100]"),  # the effect is not all
    ],
)
def test_both_ends_of_an_interval_have_as_many_decimals_as_the_effect(found, words):
    assert found == words


def test_bounds():
    above, below = at_least(0.9, "why"), at_most(0.9, "why")
    assert [above.reached(value) for value in (0.89, 0.9, 0.91)] == [False, True, True]
    assert [below.reached(value) for value in (0.89, 0.9, 0.91)] == [True, True, False]
    assert (above.words(PROMPTS), below.words(SCORE)) == ("at least 90 %", "at most 0.90")


# Readings

COLUMNS = ("arm", "init_seed", "run_id", "step", "metric", "value", "split", "layer")


def results():
    """Two arms: seeds 0 to 2 of "a", seeds 1 and 2 of "b"; two heads' scores at steps 0, 5 and 9."""
    rows = []
    for arm, seed in (("a", 0), ("a", 1), ("a", 2), ("b", 1), ("b", 2)):
        for step in (0, 5, 9):
            base = (arm, seed, f"{arm}{seed}", step)
            rows.append((*base, "accuracy", step / 10 + seed / 100, "test", -1))
            rows += [
                (*base, "routing", level + seed / 100 - step / 100, "", layer) for layer, level in ((0, 0.2), (1, 0.6))
            ]
    return Results(pd.DataFrame(rows, columns=COLUMNS), pd.DataFrame(), "paper")


def values(found):
    return pytest.approx(found)


def test_metrics_at_the_end_the_start_and_ever():
    read = results()
    assert at_end("accuracy", "a", split="test")(read).to_dict() == values({0: 0.9, 1: 0.91, 2: 0.92})
    assert at_start("accuracy", "a")(read).to_dict() == values({0: 0, 1: 0.01, 2: 0.02})
    assert ever("routing", "a")(read).to_dict() == values({0: 0.6, 1: 0.61, 2: 0.62})
    assert at_end("routing", "a", "min")(read).to_dict() == values({0: 0.11, 1: 0.12, 2: 0.13})
    assert at_end("routing", "b", "mean")(read).to_dict() == values({1: 0.32, 2: 0.33})
    assert at_start("routing", "a", layer=1)(read).to_dict() == values({0: 0.6, 1: 0.61, 2: 0.62})
    assert ever("routing", "b", layer=[0, 1])(read).to_dict() == values({1: 0.61, 2: 0.62})
    with pytest.raises(SelectionError, match="several rows per seed; still varying"):
        at_end("routing", "a")(read)


def test_combinations_are_made_seed_by_seed():
    read, a, b = results(), at_end("accuracy", "a"), at_end("accuracy", "b")
    low, high = at_end("routing", "a", layer=0), at_end("routing", "a", layer=1)
    assert Less(a, b)(read).to_dict() == values({1: 0, 2: 0})
    assert Less(high, low)(read).to_dict() == values(dict.fromkeys(range(3), 0.4))
    assert worst_of(high, low)(read).to_dict() == values(low(read).to_dict())
    assert best_of(high, b)(read).to_dict() == values({1: 0.91, 2: 0.92})
    assert OfSeeds(a, "b")(read).to_dict() == values({1: 0.91, 2: 0.92})


def test_a_number_that_is_missing_takes_no_other_ones_place():
    read, a, b = results(), at_end("accuracy", "a"), at_end("accuracy", "b")
    rows = read.measurements
    lost = rows["arm"].eq("a") & rows["init_seed"].eq(1) & rows["step"].eq(9) & ~rows["layer"].eq(0)
    read = Results(rows.assign(value=rows["value"].mask(lost)), pd.DataFrame(), "paper")
    for values_of in (at_end("routing", "a", "max"), ever("routing", "a"), Less(a, b), worst_of(a, b)):
        assert values_of(read).isna().to_dict() in ({0: False, 1: True, 2: False}, {1: True, 2: False})
        with pytest.raises(ValueError, match="1"):
            Reading("routing", PROMPTS, values_of).of(read)


def test_arms_are_those_that_are_read():
    a, b = at_end("accuracy", "a"), at_end("accuracy", "b")
    for made in (Less(a, b), worst_of(a, b, a), OfSeeds(a, "b")):
        assert Reading("accuracy", PROMPTS, made).arms == arms_of(made) == ("a", "b")
    assert Reading("accuracy", PROMPTS, a, arms=("c",)).arms == ("c",)
    assert Reading("accuracy", PROMPTS, lambda found: seeds([1])).arms == ()
    assert isinstance(a, OfMetric) and a == at_end("accuracy", "a") and hash(a) == hash(at_end("accuracy", "a"))


def test_a_reading_gives_sorted_numbers_or_nothing():
    read = results()
    backwards = Reading("any", COUNT, lambda found: pd.Series([2, 1], pd.Index([1, 0], name="init_seed")), arms=("a",))
    assert backwards.of(read).tolist() == [1.0, 2.0] and backwards.of(read).dtype == float
    assert Reading("any", COUNT, at_end("accuracy", "c")).of(read) is None  # its arm was not run
    assert Reading("any", COUNT, lambda found: seeds([])).of(read) is None
    assert Reading("any", COUNT, lambda found: None).of(read) is None
    number = Reading("any", COUNT, lambda found: 3).of(read)
    assert (number, type(number)) == (3.0, float)


@pytest.mark.parametrize(
    ("index", "numbers", "words"),
    [
        ([4, 7, 7], [1, 2, 3], "routing: several numbers of draw 7"),
        ([4, 7], [1, math.nan], "routing: draw 7 has nan, not a number"),
        ([4, 7], [-math.inf, 1], "routing: draw 4 has -inf, not a number"),
    ],
)
def test_readings_that_are_no_numbers_of_draws_are_refused(index, numbers, words):
    with pytest.raises(ValueError, match=words):
        Reading("routing", COUNT, lambda found: pd.Series(numbers, index)).of(results())


# What is refused when a claim is written


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: at_least(math.nan, "x"), "a bound must be finite, got nan"),
        (lambda: at_most(math.inf, "x"), "a bound must be finite, got inf"),
        (lambda: at_least(0.5, " "), "a bound of 0.5 needs the reason for it in words; got an empty string"),
        (lambda: Reading(" ", COUNT, seeds), "a reading needs words; got an empty string"),
        (lambda: claim(HIGH, "KV 1"), "a claim's id is one word; got 'KV 1'"),
        (lambda: claim(HIGH, ""), "a claim's id is one word; got ''"),
        (lambda: claim(HIGH, min_seeds=-1), "claim C1: min_seeds must be >= 0, got -1"),
        (lambda: claim(HIGH, min_seeds=0), "claim C1: min_seeds 0 is for the rule Counted; got 'on average'"),
        (lambda: claim(HIGH, bound=at_least(1.5, "x")), "claim C1: a bound of 1.5 lies outside 0.* to 1"),
        (
            lambda: claim(HIGH, unit=EPOCHS, rule=Share(each=HALF), bound=at_least(80, "x")),
            "claim C1: a bound of 80 lies outside 0.* to 1",  # a share of seeds, whatever the reading's unit
        ),
        (
            lambda: Says(holds="It is so", fails="No.", whether="whether so"),
            "'holds' is a sentence and ends .* 'It is so'",
        ),
        (lambda: Says(holds="Yes.", fails="", whether="whether so"), "'fails' is a sentence and ends .*; got ''"),
        (lambda: Says(holds="Yes.", fails="No.", whether="if so"), "'whether' is a clause, .*; got 'if so'"),
        (lambda: Says(holds="Yes.", fails="No.", whether="whether so."), "no full stop; got 'whether so.'"),
    ],
)
def test_claims_that_cannot_be_meant_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("made", "field", "word", "words"),
    [
        (HALF, "direction", "at_leest", "a bound: unknown direction 'at_leest'; did you mean 'at_least'"),
        (
            at_end("routing", "a"),
            "take",
            "maks",
            "reading of 'routing': unknown take 'maks'; known: max, mean, min, one",
        ),
    ],
)
def test_misspelt_words_are_refused(made, field, word, words):
    """Set after the fact: the tests' own check of types would refuse them first."""
    misspelt = copy.copy(made)
    object.__setattr__(misspelt, field, word)
    with pytest.raises(ValueError, match=words):
        misspelt.__post_init__()


def test_a_question_in_words():
    assert str(claim(HIGH).in_words.asked) == "routing at least 50 %"
    counted = claim(HIGH, unit=EPOCHS, rule=Share(each=at_most(30, "soon")), bound=at_least(0.8, "most")).in_words.asked
    assert str(counted) == "at least 80 % of seeds have routing at most 30 epochs"
    assert (counted.unit.name, counted.of) == ("%", EPOCHS)
    even = claim(HIGH, rule=EvenOdds(each=HALF), bound=at_most(0.1, "near")).in_words.asked
    assert str(even) == "share of seeds with routing within 10 % of one half"


def test_a_claim_takes_the_arms_of_its_controls():
    read = Reading("accuracy", PROMPTS, at_end("accuracy", "a"))
    other = Control(
        reading=Reading("accuracy", PROMPTS, Less(at_end("accuracy", "b"), at_end("accuracy", "a"))), bound=HALF
    )
    made = Claim(id="C1", says=SAYS, reading=read, bound=HALF, controls=(other,), min_seeds=3)
    assert made.arms == ("a", "b")
    assert made.verdict(results()).status is Status.UNDECIDED  # three seeds have no interval
    alone = Results(results().measurements.query("arm == 'a'"), pd.DataFrame(), "rerun")
    assert made.finding(alone) is None and made.verdict(alone).status is Status.NOT_CHECKED
    assert made.verdict(alone).origin == "rerun"


# The six badges

PASSES, FAILS, UNSURE, NEARLY = [0.1] * 5, [0.9] * 5, [0.1, 0.9, 0.7, 0.3, 0.45], [0.1, 0.9, 0.1, 0.7, 0.1]
"""Numbers of a control that is to be at most 0.4: passes, fails, is undecided on either side of its bound."""


@pytest.mark.parametrize(
    ("changes", "high", "low", "wide"),
    [
        ({}, Status.SUPPORTED, Status.REFUTED, Status.UNDECIDED),
        ({"bound": at_most(0.5, "half")}, Status.REFUTED, Status.SUPPORTED, Status.UNDECIDED),
        ({"min_seeds": 6}, *[Status.UNDECIDED] * 3),
        ({"void": "its gate is shut."}, *[Status.VOID] * 3),
        ({"controls": (control(PASSES),)}, Status.SUPPORTED, Status.REFUTED, Status.UNDECIDED),
        ({"controls": (control(FAILS),)}, Status.CONTROL_FAILED, Status.REFUTED, Status.UNDECIDED),
        ({"controls": (control(FAILS, spoils="no"),)}, Status.SUPPORTED, Status.CONTROL_FAILED, Status.UNDECIDED),
        ({"controls": (control(FAILS, spoils="either"),)}, *[Status.CONTROL_FAILED] * 3),
        ({"controls": (control(FAILS), control(FAILS, spoils="no"))}, *[Status.CONTROL_FAILED] * 3),
        ({"controls": (control(PASSES), control(FAILS))}, Status.CONTROL_FAILED, Status.REFUTED, Status.UNDECIDED),
        ({"controls": (control(UNSURE),)}, Status.UNDECIDED, Status.REFUTED, Status.UNDECIDED),
        ({"controls": (control(UNSURE, spoils="no"),)}, Status.SUPPORTED, Status.UNDECIDED, Status.UNDECIDED),
        ({"controls": (control(UNSURE, spoils="either"),)}, *[Status.UNDECIDED] * 3),
        ({"controls": (control(NEARLY),)}, Status.SUPPORTED, Status.REFUTED, Status.UNDECIDED),  # its point holds
        ({"controls": (control(None),)}, *[Status.NOT_CHECKED] * 3),
        ({"controls": (control(None),), "void": "its gate is shut."}, *[Status.VOID] * 3),
    ],
)
def test_badges_by_hand(changes, high, low, wide):
    assert [judged(found, **changes).status for found in (HIGH, LOW, WIDE)] == [high, low, wide]


def test_nothing_read_is_not_checked():
    verdict = judged(None)
    assert (verdict.status, verdict.finding, verdict.estimate) == (Status.NOT_CHECKED, None, None)


def test_failed_controls_are_named():
    finding = judged(HIGH, controls=(control(PASSES), control(FAILS, spoils="no"), control(UNSURE))).finding
    assert [guard.spoils for guard in finding.failed] == ["no"]
    assert [guard.held.outcome for guard in finding.guards] == [Outcome.YES, Outcome.NO, Outcome.OPEN]
    assert [guard.leans for guard in finding.guards] == [Outcome.YES, Outcome.NO, Outcome.OPEN]
    assert judged(HIGH, controls=(control(NEARLY),)).finding.guards[0].leans is Outcome.YES


def test_sentences_never_say_more_than_the_status():
    gate = {"void": "its gate is shut."}
    said = {
        judged(HIGH).sentence: "Heads *route*.",
        judged(LOW).sentence: "Heads do not route: 13 %.",
        judged(WIDE).sentence: "It is not decided whether heads route.",
        judged(HIGH, controls=(control(FAILS),)).sentence: "It cannot be said whether heads route: a control failed.",
        judged(HIGH, **gate).sentence: "It cannot be said by this definition whether heads route: its gate is shut.",
        judged(None).sentence: "It was not checked on these runs whether heads route.",
    }
    assert list(said) == list(said.values())
    counts = Says(holds="All.", fails="{reached} of {n}, all but {against}.", whether="whether all")
    each = {"rule": Share(each=ONE), "says": counts}
    assert judged([1] * 9 + [0], **each).sentence == "All." and judged([0] * 9 + [1], **each).sentence == (
        "1 of 10, all but 9."
    )
    for holds, fails, allowed in (("{n}.", "x.", "none"), ("x.", "{efect}.", "effect, n, against, reached")):
        with pytest.raises(ValueError, match=rf"has \{{(n|efect)\}}; allowed: {allowed}"):
            Says(holds=holds, fails=fails, whether="whether")


# Properties of ``judge``, over estimates of any kind

EDGES = [-math.inf, -1.0, 0.0, 0.25, 0.5, 0.75, 1.0, math.inf]
sides, spoiling = st.sampled_from(["at_least", "at_most"]), st.sampled_from(["yes", "no", "either"])


def question(side="at_least", value=0.5, rule=OnAverage.name):
    return Asked(
        words="routing", unit=COUNT, of=COUNT, rule=rule, each=None, bound=Bound(direction=side, value=value, why="x")
    )


def estimate(low, high, n=5, against=0, effect=None):
    """An estimate with these ends; its point in their middle, or anywhere where there are none."""
    inside = [end for end in (low, high) if math.isfinite(end)] or [0.3]
    point = sum(inside) / len(inside) if effect is None else effect
    return Estimate(effect=point, low=low, high=high, p_value=None, n=n, n_sets=1, against=against)


def declared(asked, guards, min_seeds=5):
    controls = tuple((guard.held.asked, guard.spoils) for guard in guards)
    return Declared(
        id="C1",
        says=SAYS,
        asked=asked,
        controls=controls,
        min_seeds=min_seeds,
        source="ours",
        source_verdict="",
        void="",
    )


def status(asked, found, guards=(), min_seeds=5):
    return judge(
        declared(asked, guards, min_seeds), Finding(held=Held(asked=asked, estimate=found), guards=tuple(guards))
    )


spans = (
    st.tuples(st.sampled_from(EDGES), st.sampled_from(EDGES)).map(sorted).filter(lambda span: span != [math.inf] * 2)
)
spans = spans.filter(lambda span: span != [-math.inf] * 2)
guards = st.tuples(sides, spans, spoiling)  # made in the tests: checks of types draw at random, strategies may not
some_guards = st.lists(guards, max_size=3)


def guarded(side, span, spoils):
    """A control with these ends."""
    return Guard(held=Held(asked=question(side), estimate=estimate(*span)), spoils=spoils)


@quick
@given(sides, spans, some_guards, st.integers(3, 7), st.integers(1, 7))
def test_every_finding_has_the_badge_of_its_words(side, span, controls, n, min_seeds):
    controls = [guarded(*control) for control in controls]
    low, high = span
    yes, no = (low >= 0.5, high < 0.5) if side == "at_least" else (high <= 0.5, low > 0.5)
    yes, no = yes and n >= min_seeds, no and n >= min_seeds
    failed = {guard.spoils for guard in controls if guard.held.outcome is Outcome.NO}
    open_ = {guard.spoils for guard in controls if guard.leans is Outcome.OPEN}
    spoilt = {answer: bool(failed & {answer, "either"}) for answer in ("yes", "no")}
    unsure = {answer: bool(open_ & {answer, "either"}) for answer in ("yes", "no")}
    words = {
        Status.CONTROL_FAILED: spoilt["yes"] and (yes or not no) and (yes or spoilt["no"]) or no and spoilt["no"],
        Status.SUPPORTED: yes and not spoilt["yes"] and not unsure["yes"],
        Status.REFUTED: no and not spoilt["no"] and not unsure["no"],
    }
    expected = [name for name, holds in words.items() if holds] or [Status.UNDECIDED]
    assert [status(question(side), estimate(low, high, n), controls, min_seeds)] == expected


@quick
@given(sides, spans, spans, some_guards)
def test_a_narrower_interval_takes_no_decision_back(side, outer, inner, controls):
    controls = [guarded(*control) for control in controls]
    low, high = max(outer[0], inner[0]), min(outer[1], inner[1])
    if low <= high and not math.isinf(max(low, -high)):
        wide = status(question(side), estimate(*outer), controls)
        narrow = status(question(side), estimate(low, high), controls)
        assert narrow is wide or wide is Status.UNDECIDED


@quick
@given(sides, spans, guards, spans)
def test_a_control_that_is_known_better_takes_no_decision_back(side, span, guard, inner):
    """About the same point; where the point moves, it may cross its bound."""
    guard = guarded(*guard)
    around = guard.held.estimate
    low, high = (max(around.low, min(inner[0], around.effect)), min(around.high, max(inner[1], around.effect)))
    narrow = replace(guard, held=replace(guard.held, estimate=estimate(low, high, effect=around.effect)))
    before, after = (status(question(side), estimate(*span), [control]) for control in (guard, narrow))
    assert after is before or before is Status.UNDECIDED


@quick
@given(sides, spans, some_guards)
def test_directions_mirror_each_other(side, span, controls):
    def turn(held):
        bound = held.asked.bound
        other = {"at_least": "at_most", "at_most": "at_least"}[bound.direction]
        found = held.estimate
        return Held(
            asked=question(other, -bound.value), estimate=estimate(-found.high, -found.low, effect=-found.effect)
        )

    held = Held(asked=question(side), estimate=estimate(*span))
    controls = [guarded(*control) for control in controls]
    turned = [replace(guard, held=turn(guard.held)) for guard in controls]
    assert status(held.asked, held.estimate, controls) is status(turn(held).asked, turn(held).estimate, turned)


@quick
@given(spans, some_guards)
def test_a_control_takes_away_only_the_answers_that_hang_on_it(span, controls):
    controls = [guarded(*control) for control in controls]
    alone = status(question(), estimate(*span))
    spoiling_no = [replace(guard, spoils="no") for guard in controls]
    spoiling_yes = [replace(guard, spoils="yes") for guard in controls]
    assert alone is not Status.SUPPORTED or status(question(), estimate(*span), spoiling_no) is Status.SUPPORTED
    assert alone is not Status.REFUTED or status(question(), estimate(*span), spoiling_yes) is Status.REFUTED


def test_all_badges_are_met():
    met = Tally(
        judged(found, controls=controls, void=void).status
        for found, controls, void in itertools.product(
            (HIGH, LOW, WIDE, None), ((), (control(FAILS),)), ("", "its gate is shut.")
        )
    )
    assert set(met) == set(Status)


# What is kept


def kept():
    """Verdicts of every status and rule."""
    return (
        judged(
            HIGH,
            "C1",
            source="source",
            source_verdict="stated",
            controls=(control(PASSES), control(FAILS, spoils="no")),
        ),
        judged([0.9], "C2", origin="rerun"),  # without an interval
        judged(None, "C3"),
        judged([1, 0, 1, 1, 1, 1], "C4", rule=Every(each=at_least(1, "all")), bound=at_least(0.8, "nearly all")),
        judged(HIGH, "C5", void="its gate is shut."),
        judged(4.0, "C6", unit=COUNT, rule=Counted(), bound=at_least(1, "one"), min_seeds=0),
        judged(data_sets(HIGH, LOW, HIGH), "C7", unit=EPOCHS),
        judged([1, 0] * 40, "C8", rule=EvenOdds(each=HALF), bound=at_most(0.2, "near")),
        judged(HIGH, "C9", rule=Forced(), bound=at_least(0.95, "by definition")),
    )


@pytest.mark.parametrize("samples", [False, True])
def test_verdicts_are_read_back_as_they_were_kept(samples):
    text = to_json(kept(), samples=samples)
    assert from_json(text) == kept() and to_json(from_json(text), samples=samples) == text
    assert from_json(to_json([])) == ()
    found = json.loads(text)[1]["finding"]["held"]["estimate"]
    assert (found["low"], found["high"], found["p_value"]) == ("-Infinity", "Infinity", None)
    assert ("values" in found) == samples
    if samples:
        assert [verdict.estimate and verdict.estimate.values for verdict in from_json(text)] == [
            verdict.estimate and verdict.estimate.values for verdict in kept()
        ]


def places(node, path=()):
    """Every record in a tree of JSON, with the way to it."""
    if isinstance(node, dict):
        yield path, node
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from places(value, (*path, key))


def test_a_key_that_is_unknown_is_refused_wherever_it_stands():
    records = json.loads(to_json(kept()[:1]))
    for path, _ in places(records):
        changed = copy.deepcopy(records)
        node = changed
        for key in path:
            node = node[key]
        node["min_seed"] = 1
        with pytest.raises(ValueError, match="min_seed\n"):
            from_json(json.dumps(changed))


def test_a_claim_declared_after_results_says_what_had_been_seen():
    with pytest.raises(ValueError, match="needs a remark that says what had been seen"):
        claim(HIGH, declared="after")
    with pytest.raises(ValueError, match="ends with a full stop; got 'seen'"):
        claim(HIGH, remark="seen")
    words = claim(HIGH, declared="after", remark="One network had been looked at.").in_words
    assert (words.declared, words.remark) == ("after", "One network had been looked at.")


def test_what_was_drawn_is_named_where_it_is_no_network_of_its_own():
    drawn = Reading("same winner", SEEDS, lambda results: seeds([1.0] * 6), draws="orders of one network")
    found = claim(HIGH, reading=drawn, rule=Share(), bound=HALF).verdict(NO_RUNS["paper"]).finding.held
    assert found_words(found) == "100 % [54, 100], 6 orders of one network"


def test_a_key_that_is_missing_is_refused_or_changes_nothing():
    """Units alone have fields that need not be given, and what came later: a source's stance, draws, remarks."""
    records, refused = json.loads(to_json(kept()[:1])), 0
    for path, found in list(places(records)):
        for lacking in found:
            changed = copy.deepcopy(records)
            node = changed
            for key in path:
                node = node[key]
            del node[lacking]
            try:
                read = from_json(json.dumps(changed))
            except ValueError:
                refused += 1
            else:
                assert read == kept()[:1] and (
                    path[-1] in ("unit", "of") or lacking in ("source_stance", "declared", "remark", "draws")
                )
    assert refused > 50


def changed(records, place, value):
    node = records
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return json.dumps(records)


@pytest.mark.parametrize(
    ("number", "place", "value", "words"),
    [
        (0, ("status",), "Refuted", "claim C1: status Refuted given, but what was found earns Supported"),
        (3, ("status",), "Supported", "claim C4: status Supported given, but what was found earns Refuted"),
        (4, ("claim", "void"), "", "claim C5: status Void given, but what was found earns Supported"),
        (0, ("finding",), None, "claim C1: status Supported given, but what was found earns Not checked"),
        (0, ("finding", "guards"), [], "claim C1: its controls asked .*, but what was found is of"),
        (
            0,
            ("finding", "held", "asked", "words"),
            "copying",
            "claim C1: the claim asked routing at least 50 %, but what",
        ),
        (0, ("finding", "held", "asked", "bound", "value"), 0.4, "found is of routing at least 40 %"),
        (0, ("finding", "guards", 0, "spoils"), "no", "its controls asked"),
        (0, ("finding", "held", "estimate", "effect"), 2.0, "effect 2.0 lies outside its own interval"),
        (0, ("status",), "Unsupported", "Input should be 'Supported', 'Refuted'"),
        (0, ("origin",), "elsewhere", "'paper' or 'rerun'"),
    ],
)
def test_what_was_not_earned_is_refused(number, place, value, words):
    records = json.loads(to_json(kept()))
    with pytest.raises(ValueError, match=words):
        from_json(changed(records, (number, *place), value))


def test_one_seed_decides_nothing_however_few_are_asked_for():
    assert from_json(changed(json.loads(to_json(kept())), (1, "claim", "min_seeds"), 1))[1].status is Status.UNDECIDED


def test_a_verdict_is_what_judge_gives():
    verdict = judged(HIGH)
    for other in set(Status) - {Status.SUPPORTED}:
        with pytest.raises(ValueError, match=f"claim C1: status {other} given, but what was found earns Supported"):
            Verdict(verdict.claim, verdict.finding, other, "paper")


def test_the_schema_names_every_key_that_is_kept():
    named = schema()
    assert named["type"] == "array"
    for kind, example in {"Verdict": (), "Declared": ("claim",), "Estimate": ("finding", "held", "estimate")}.items():
        node = json.loads(to_json(kept()[:1], samples=True))[0]
        for key in example:
            node = node[key]
        assert set(named["$defs"][kind]["properties"]) == set(node)


# How many seeds would decide


def wanted(values, **changes):
    made = claim(values, **changes)
    return needed(made.in_words, made.finding(NO_RUNS["paper"]))


def test_seeds_that_a_mean_needs():
    """Mean 0.48 of five, deviation sqrt(0.112); from the bound, 0.3, it must be t deviations of the mean away."""
    found = wanted(WIDE, bound=at_least(0.3, "x"))
    made = pd.Series(WIDE)
    quantiles = {18: 2.1098, 17: 2.1199, 16: 2.1314, 15: 2.1448}  # of 97.5 % with one degree of freedom less
    assert wanted(WIDE, bound=at_least(0.46, "x")) == Needed(None)  # 0.06 deviations away: not worth naming
    enough = [n for n, t in quantiles.items() if t * made.std() / math.sqrt(n) <= made.mean() - 0.3]
    assert found == Needed(min(enough) - 5)


def test_seeds_that_a_share_needs():
    every = {"rule": Every(each=ONE), "bound": at_least(0.8, "nearly all")}
    assert wanted([1] * 5, **every) == Needed(12)  # 0.8 to the 17th is less than 0.025
    assert wanted([1] * 4 + [0], rule=Share(each=ONE), bound=at_least(0.8, "x")) == Needed(None)  # it lies there
    found = wanted([1, 1, 1, 0], rule=Share(each=ONE), bound=HALF)
    assert judged([1, 1, 1, 0] * -(-(4 + found.more) // 4), rule=Share(each=ONE)).status is Status.SUPPORTED
    assert judged([1, 1, 1, 0] * ((4 + found.more) // 4 - 1), rule=Share(each=ONE)).status is Status.UNDECIDED


def test_nothing_is_needed_where_all_is_decided_but_the_seeds_asked_for():
    assert wanted(HIGH) == Needed(0)
    assert wanted(HIGH, min_seeds=8) == Needed(3)
    assert wanted(HIGH[:2]) == Needed(3)


def test_a_control_that_misses_its_bound_asks_for_seeds_too():
    assert wanted(HIGH, controls=(control([0.1, 0.9, 0.7, 0.3, 0.6]),)).more > 0
    assert wanted(HIGH, controls=(control([0.4, 0.41, 0.39, 0.4, 0.401]),)) == Needed(None, by_control=True)
    assert wanted(HIGH, controls=(control(NEARLY),)) == Needed(0)


def test_data_sets_are_what_is_needed_where_they_were_drawn():
    assert wanted(data_sets(HIGH, HIGH)) == Needed(1, of_sets=True)
    found = wanted(data_sets([0.9] * 3, [0.4] * 3, [0.8] * 3))
    assert found.of_sets and found.more > 0


def test_every_rule_has_a_hand_made_verdict():
    assert {verdict.claim.asked.rule for verdict in kept()} >= set(RULES) - {
        "share of seeds",
        "some seed",
        "on average over pairs",
    }
    assert {verdict.status for verdict in kept()} >= {Status.SUPPORTED, Status.REFUTED, Status.UNDECIDED, Status.VOID}
    assert reading(HIGH).of(NO_RUNS["paper"]).tolist() == HIGH
