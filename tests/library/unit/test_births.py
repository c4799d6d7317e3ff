import numpy as np
import pandas as pd
import pytest

from circuitcore.emergence.births import BirthError, BirthInterval, BirthRule, births, dated, find_birth, find_births

STEPS = [0, 10, 20, 40, 80]


def reference_birth(steps, scores, gates, rule):
    """Slow and plain: walk the checkpoints one by one."""
    passes, fails = [], []
    for position, score in enumerate(scores):
        ok, bad = score >= rule.threshold, score < rule.threshold
        if rule.gate != "none":
            ok, bad = ok and gates[position] >= rule.gate_threshold, bad or gates[position] < rule.gate_threshold
        passes.append(ok)
        fails.append(bad)
    by = None
    for start in range(len(steps) - rule.persistence + 1):
        if by is None and all(passes[start : start + rule.persistence]):
            by = start
    after = None
    for position in range(len(steps) if by is None else by):
        if fails[position]:
            after = position
    return BirthInterval(*(None if end is None else steps[end] for end in (after, by)))


@pytest.mark.parametrize("gate", ["none", "named_families", "published"])
@pytest.mark.parametrize("persistence", [1, 2, 3, 7])
def test_agrees_with_a_plain_walk_on_random_curves(gate, persistence):
    rng = np.random.default_rng(7)
    rule = BirthRule(0.5, gate=gate, gate_threshold=0.4, persistence=persistence)
    steps = np.sort(rng.choice(1000, size=6, replace=False))
    scores, gates = rng.random((2, 400, 6)).round(1)  # rounded, so that thresholds are met exactly
    scores[rng.random(scores.shape) < 0.15] = np.nan
    gates[rng.random(gates.shape) < 0.15] = np.nan
    after, by = find_births(steps, scores, gates, rule)
    for curve in range(len(scores)):
        wanted = reference_birth(steps.tolist(), scores[curve], gates[curve], rule)
        assert find_birth(steps, scores[curve], gates[curve], rule=rule) == wanted
        both = [None if np.isnan(end[curve]) else int(end[curve]) for end in (after, by)]
        assert BirthInterval(*both) == wanted


@pytest.mark.parametrize(
    ("scores", "after", "by"),
    [
        ([0.1, 0.2, 0.9, 0.9, 0.9], 10, 20),
        ([0.9, 0.9, 0.9, 0.9, 0.9], None, 0),  # born at the first checkpoint
        ([0.1, 0.1, 0.1, 0.1, 0.1], 80, None),  # never born
        ([0.1, 0.9, 0.1, 0.9, 0.9], 0, 10),  # first crossing, though it falls back
        ([0.1, 0.85, 0.1, 0.1, 0.1], 0, 10),  # the threshold itself counts
        ([0.1, np.nan, 0.9, 0.9, 0.9], 0, 20),  # NaN is neither a crossing nor proof of being below
        ([np.nan] * 5, None, None),  # never measured
    ],
)
def test_small_cases_worked_by_hand(scores, after, by):
    found = find_birth(STEPS, scores, rule=BirthRule(0.85))
    assert found == BirthInterval(after, by)
    assert found.born == (by is not None)


@pytest.mark.parametrize(
    ("scores", "after", "by"),
    [
        ([0.1, 0.9, 0.1, 0.9, 0.9], 20, 40),  # the lone crossing does not hold
        ([0.1, 0.9, np.nan, 0.9, 0.9], 0, 40),  # NaN interrupts, but says nothing about being below
        ([0.1, 0.1, 0.1, 0.1, 0.9], 40, None),  # reached at the end, not yet seen to hold
    ],
)
def test_persistence_needs_consecutive_checkpoints(scores, after, by):
    assert find_birth(STEPS, scores, rule=BirthRule(0.85, persistence=2)) == BirthInterval(after, by)


def test_the_gate_must_pass_at_the_same_checkpoint():
    rule = BirthRule(0.85, gate="named_families")
    scores = [0.1, 0.9, 0.1, 0.9, 0.9]
    assert find_birth(STEPS, scores, [0.0, 0.7, 0.9, 0.7, 0.75], rule=rule) == BirthInterval(40, 80)
    assert find_birth(STEPS, scores, [1.0] * 5, rule=rule) == BirthInterval(0, 10)
    assert find_birth(STEPS, scores, [0.0] * 5, rule=rule) == BirthInterval(80, None)


def test_no_checkpoints_no_birth():
    assert find_birth([], [], rule=BirthRule(0.5)) == BirthInterval(None, None)


def test_words():
    assert str(BirthInterval(10, 20)) == "(10, 20]"
    assert str(BirthInterval(None, 0)) == "by step 0"
    assert str(BirthInterval(80, None)) == "not born by step 80"
    assert str(BirthInterval(None, None)) == "not measured"
    assert str(BirthRule(0.85)) == ">= 0.85, no gate"
    assert str(BirthRule(1, "published", 0.75, 2)) == ">= 1, published >= 0.75, held for 2 checkpoints"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: find_birth([0, 1], [0.1], rule=BirthRule(0.5)), "2 steps but 1 scores"),
        (lambda: find_birth([1, 0], [0.1, 0.2], rule=BirthRule(0.5)), r"steps must rise; got \[1, 0\]"),
        (lambda: find_birth([0], [0.1], rule=BirthRule(0.5, gate="published")), "needs one gate score"),
        (lambda: BirthRule(0.5, persistence=0), "at least 1; got 0"),
        (lambda: BirthRule(float("nan")), "thresholds must be finite"),
    ],
)
def test_refusals_say_what_was_seen(call, words):
    with pytest.raises(BirthError, match=words):
        call()


def curve(metric, values, steps=(0, 10, 20), **columns):
    fixed = {"arm": "main", "init_seed": 0, "family": "", **columns}
    return [
        {"metric": metric, "step": step, "value": value, **fixed} for step, value in zip(steps, values, strict=True)
    ]


def table(*curves):
    frame = pd.DataFrame([row for rows in curves for row in rows])
    return frame.astype({"metric": "category", "family": "category", "arm": "category"})


def test_table_of_births_keeps_curves_and_their_own_grids_apart():
    measured = table(
        curve("routing", [0.1, 0.9, 0.9]),
        curve("routing", [0.1, 0.2, 0.3], init_seed=1),
        curve("routing", [0.95], steps=[5], init_seed=2, arm="short"),
        curve("copying", [0.9, 0.9, 0.9]),
    )
    found = births(measured, {"routing": BirthRule(0.85), "copying": BirthRule(0.85, persistence=2)})
    assert list(found.columns) == ["arm", "init_seed", "motif", "after", "by", "rule"]
    wanted = [
        ("main", 0, "routing", 0, 10), ("main", 1, "routing", 20, pd.NA), ("short", 2, "routing", pd.NA, 5),
        ("main", 0, "copying", pd.NA, 0),
    ]  # fmt: skip
    for row, expected in zip(found.itertuples(index=False), wanted, strict=True):
        assert [str(value) for value in row[:5]] == [str(value) for value in expected]
    assert found["rule"].tolist()[-1] == ">= 0.85, no gate, held for 2 checkpoints"


def test_the_three_gates_from_one_table():
    measured = table(
        curve("routing", [0.1, 0.9, 0.9], family="all"),
        curve("routing", [0.1, 0.9, 0.9], family="query_key_sweep"),
        curve("routing", [0.1, 0.5, 0.8], family="longer_context"),
        curve("routing_worst_base", [0.0, 0.0, 0.0], family="all"),
    )
    for gate, by in {"none": 10, "named_families": 20, "published": None}.items():
        found = births(measured, {"routing": BirthRule(0.85, gate=gate)})
        assert len(found) == 1
        assert str(found["by"].iloc[0]) == str(pd.NA if by is None else by)


def test_a_missing_or_unmeasured_family_is_no_pass():
    whole = curve("routing", [0.9, 0.9, 0.9], family="all")
    sweep = curve("routing", [0.9, 0.9, 0.9], family="query_key_sweep")
    rule = {"routing": BirthRule(0.85, gate="named_families")}
    missing = births(table(whole, sweep, curve("routing", [0.9], steps=[20], family="longer_context")), rule)
    unmeasured = births(table(whole, sweep, curve("routing", [np.nan, np.nan, 0.9], family="longer_context")), rule)
    for found in (missing, unmeasured):
        assert found["by"].tolist() == [20]
        assert found["after"].isna().all()


def test_table_refusals_name_the_metric_and_the_free_columns():
    heads = curve("routing", [0.1, 0.9, 0.9], head=0) + curve("routing", [0.1, 0.2, 0.9], head=1)
    with pytest.raises(BirthError, match=r"2 rows for one checkpoint.*\['head'\]"):
        births(table(heads), {"routing": BirthRule(0.85)})
    assert births(table(heads), {"routing": BirthRule(0.85)}, by=["arm", "init_seed", "head"])["by"].tolist() == [
        10,
        20,
    ]
    with pytest.raises(BirthError, match="unknown metric 'ruoting'; did you mean 'routing'"):
        births(table(heads), {"ruoting": BirthRule(0.85)})
    with pytest.raises(BirthError, match="unknown metric 'routing_worst_base'"):
        births(table(curve("routing", [1.0, 1.0, 1.0])), {"routing": BirthRule(0.85, gate="published")})
    with pytest.raises(BirthError, match="no rows that name a family"):
        births(table(curve("routing", [1.0, 1.0, 1.0])), {"routing": BirthRule(0.85, gate="named_families")})
    with pytest.raises(BirthError, match="rows for families only"):
        births(table(curve("routing", [1.0, 1.0, 1.0], family="one")), {"routing": BirthRule(0.85)})
    assert births(table(heads), {}).empty


def test_the_table_is_left_alone():
    measured = table(curve("routing", [0.1, 0.9, 0.9], family="all"), curve("routing", [0.1, 0.9, 0.9], family="one"))
    before = measured.copy(deep=True)
    births(measured, {"routing": BirthRule(0.85, gate="named_families")})
    pd.testing.assert_frame_equal(measured, before)


def test_what_is_never_born_stands_where_it_is_last_known_not_to_be_and_says_so():
    """The last curve passes at the last checkpoint alone, where the rule asks for two in a row."""
    rule = BirthRule(threshold=0.5, persistence=2)
    curves = {"born": [0.1, 0.9, 0.9], "never": [0.1, 0.1, 0.1], "too late": [0.1, 0.1, 0.9]}
    found = [find_birth([0, 10, 90], values, rule=rule) for values in curves.values()]
    ends = {end: pd.array([getattr(one, end) for one in found], dtype="Int64") for end in ("after", "by")}
    table = dated(pd.DataFrame(ends))
    assert table["value"].tolist() == [10.0, 90.0, 10.0] and table["there"].tolist() == [True, False, False]
