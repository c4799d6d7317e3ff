import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest

from livingpaper.claims.claim import (
    Check,
    Claim,
    Status,
    Verdict,
    from_json,
    judge,
    mean_check,
    share_check,
    to_json,
    verdict_table,
)


def claim(**changes):
    fixed = {"id": "KV1", "sentence": "Heads route.", "metric": "routing", "direction": "at_least"}
    return Claim(**{**fixed, "smallest_effect": 0.5, "control": "untrained networks", **changes})


def check(low=0.6, high=0.8, **changes):
    return Check(
        **{"effect": (low + high) / 2, "interval": (low, high), "n_seeds": 5, "control_passed": True, **changes}
    )


@pytest.mark.parametrize(
    ("low", "high", "at_least", "at_most"),
    [
        (0.6, 0.8, Status.SUPPORTED, Status.NEGATIVE),
        (0.2, 0.4, Status.NEGATIVE, Status.SUPPORTED),
        (0.4, 0.6, Status.UNSUPPORTED, Status.UNSUPPORTED),
        (0.5, 0.8, Status.SUPPORTED, Status.UNSUPPORTED),  # the bound itself counts as reached, in both directions
        (0.2, 0.5, Status.UNSUPPORTED, Status.SUPPORTED),
        (0.5, 0.5, Status.SUPPORTED, Status.SUPPORTED),
        (-math.inf, math.inf, Status.UNSUPPORTED, Status.UNSUPPORTED),
        (-math.inf, 0.4, Status.NEGATIVE, Status.SUPPORTED),
    ],
)
def test_the_four_badges_by_hand(low, high, at_least, at_most):
    found = check(low, high, effect=min(max(0.3, low), high))
    assert judge(claim(), found) is at_least
    assert judge(claim(direction="at_most"), found) is at_most
    failed = check(low, high, effect=found.effect, control_passed=False)
    few = check(low, high, effect=found.effect, n_seeds=4)
    for direction in ("at_least", "at_most"):
        assert judge(claim(direction=direction), failed) is Status.UNSUPPORTED
        assert judge(claim(direction=direction), few) is Status.HYPOTHESIS
        assert judge(claim(direction=direction), None) is Status.HYPOTHESIS


def grid():
    """Every combination of a fine grid of bounds, control, seeds and claim."""
    ends = [-math.inf, -1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, math.inf]
    spans = [(low, high) for low, high in itertools.product(ends, ends) if low <= high]
    for (low, high), control, n, least in itertools.product(spans, (True, False), range(8), range(7)):
        effects = [end for end in (low, high) if math.isfinite(end)] or [0.0]
        if low == high and math.isinf(low):
            continue
        yield least, Check(effect=effects[0], interval=(low, high), n_seeds=n, control_passed=control)


def test_every_combination_has_exactly_the_badge_of_its_words():
    seen = Counter()
    for least, found in grid():
        low, high = found.interval
        for bound, direction in itertools.product((-0.5, 0.0, 0.5), ("at_least", "at_most")):
            made = claim(smallest_effect=bound, direction=direction, min_seeds=least)
            beyond, excluded = (low >= bound, high < bound) if direction == "at_least" else (high <= bound, low > bound)
            words = {
                Status.HYPOTHESIS: found.n_seeds < least,
                Status.SUPPORTED: found.n_seeds >= least and found.control_passed and beyond,
                Status.NEGATIVE: found.n_seeds >= least and found.control_passed and excluded,
                Status.UNSUPPORTED: found.n_seeds >= least and (not found.control_passed or not (beyond or excluded)),
            }
            assert [status for status, holds in words.items() if holds] == [judge(made, found)]
            seen[judge(made, found)] += 1
    assert set(seen) == set(Status)


def test_directions_mirror_each_other():
    for least, found in grid():
        low, high = found.interval
        mirrored = Check(
            effect=-found.effect, interval=(-high, -low), n_seeds=found.n_seeds, control_passed=found.control_passed
        )
        at_least = claim(smallest_effect=0.25, min_seeds=least)
        at_most = claim(smallest_effect=-0.25, min_seeds=least, direction="at_most")
        assert judge(at_least, found) is judge(at_most, mirrored)


def test_a_narrower_interval_never_takes_a_decision_back():
    ends = [-1.0, 0.0, 0.25, 0.5, 0.75, 1.0]
    for low, left, right, high in itertools.product(ends, repeat=4):
        if low <= left <= right <= high:
            for direction in ("at_least", "at_most"):
                made = claim(direction=direction)
                wide, narrow = judge(made, check(low, high)), judge(made, check(left, right))
                # one point can be "reached" for both directions; otherwise decided stays decided
                assert wide is narrow or wide is Status.UNSUPPORTED


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: check(effect=math.nan), "use None for 'not checked'"),
        (lambda: check(math.nan, 1.0, effect=0.5), "use None"),
        (lambda: check(effect=math.inf), "use None"),
        (lambda: check(effect=0.9), "effect 0.9 lies outside its own interval"),
        (lambda: check(0.8, 0.6, effect=0.7), "outside its own interval"),
        (lambda: check(n_seeds=-1), "n_seeds must be >= 0"),
        (lambda: claim(id="KV 1"), "one word; got 'KV 1'"),
        (lambda: claim(id=""), "one word"),
        (lambda: claim(control=" "), "name the control"),
        (lambda: claim(smallest_effect=math.nan), "must be finite"),
        (lambda: claim(min_seeds=-1), "min_seeds must be >= 0, got -1"),
    ],
)
def test_impossible_claims_and_checks_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_check_takes_numpy_numbers_and_keeps_plain_ones():
    found = check(
        effect=np.float32(0.75),
        interval=(np.float64(0.5), np.int64(1)),
        n_seeds=np.int64(5),
        control_passed=np.bool_(True),  # noqa: FBT003
    )
    assert [type(value) for value in (found.effect, *found.interval, found.n_seeds, found.control_passed)] == [
        float, float, float, int, bool,
    ]  # fmt: skip


def test_checks_from_values():
    found = mean_check([0.9, 1.0, 0.95, 0.92, 0.93], control_passed=True, control_value="0.33")
    assert (found.effect, found.n_seeds, found.control_value) == (pytest.approx(0.94), 5, "0.33")
    assert judge(claim(), found) is Status.SUPPORTED
    single = mean_check([0.9], control_passed=True)
    assert single.interval == (-math.inf, math.inf)
    assert judge(claim(min_seeds=1), single) is Status.UNSUPPORTED  # one seed bounds nothing
    assert mean_check([], control_passed=True) is None
    share = share_check(5, 5, control_passed=True)
    assert share.interval[0] == pytest.approx(0.5655, abs=1e-4)
    assert judge(claim(), share) is Status.SUPPORTED
    assert share_check(0, 0, control_passed=True) is None
    with pytest.raises(ValueError, match="not finite"):
        mean_check([0.9, math.nan], control_passed=True)


def verdicts():
    checked = Verdict.of(claim(source="source", source_verdict="stated"), check(note="n"), "paper")
    open_end = Verdict.of(claim(id="KV2"), mean_check([0.9], control_passed=True), "rerun")
    return (checked, open_end, Verdict.of(claim(id="KV3"), None, "paper"))


def test_json_round_trip_is_exact_and_plain():
    text = to_json(verdicts())
    assert from_json(text) == verdicts()
    assert to_json(from_json(text)) == text
    assert json.loads(text)[1]["check"]["interval"] == ["-inf", "inf"]
    assert from_json(to_json([])) == ()


def test_json_with_a_badge_that_was_not_earned_is_refused():
    records = json.loads(to_json(verdicts()))
    records[1]["status"] = "Supported"
    with pytest.raises(ValueError, match="claim KV2: status Supported given, but its check earns Hypothesis"):
        from_json(json.dumps(records))
    with pytest.raises(ValueError, match="earns Supported"):
        Verdict(claim(), check(), Status.NEGATIVE, "paper")


def test_json_with_other_keys_is_refused():
    records = json.loads(to_json(verdicts()))
    records[0]["claim"]["min_seed"] = records[0]["claim"].pop("min_seeds")
    with pytest.raises(ValueError, match="unknown key 'min_seed'; did you mean 'min_seeds'"):
        from_json(json.dumps(records))
    del records[0]["claim"]["min_seed"]
    with pytest.raises(ValueError, match="Claim record lacks min_seeds"):
        from_json(json.dumps(records))


def test_verdict_table_has_one_row_per_verdict_in_order():
    table = verdict_table(verdicts())
    assert table["claim"].tolist() == ["KV1", "KV2", "KV3"]
    assert table["status"].tolist() == ["Supported", "Hypothesis", "Hypothesis"]
    assert table["n_seeds"].tolist() == [5, 1, 0]
    assert table[["effect", "low", "high"]].iloc[2].isna().all()
    assert verdict_table([]).empty
