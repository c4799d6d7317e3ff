"""Handoffs of the leading head: against loops over single runs, and by hand."""

import numpy as np
import pandas as pd
import pytest

from circuitcore.emergence.handoffs import HandoffError, handoffs, noise_margin, source_order_handoffs

SITES = ("L0H0", "L0H1", "L1H0", "L1H1")


def run_table(scores, seed=0, arm="on", steps=None):
    """Rows of one run from scores [checkpoint, head]."""
    scores = np.asarray(scores, dtype=float)
    steps = range(len(scores)) if steps is None else steps
    rows = [
        (arm, seed, step, SITES[head], int(SITES[head][1]), int(SITES[head][3]), value)
        for step, at in zip(steps, scores, strict=True)
        for head, value in enumerate(at)
    ]
    return pd.DataFrame(rows, columns=["arm", "init_seed", "step", "site", "layer", "head", "value"])


def by_loop(scores, margin):
    """Both counts of one run, one checkpoint and head at a time."""
    raw, beyond, before, established = 0, 0, None, None
    for at in scores:
        leader = max(range(len(at)), key=lambda head: (at[head], -head))
        raw += before is not None and leader != before
        before = leader
        if established is None:
            if all(at[leader] - at[head] > margin for head in range(len(at)) if head != leader):
                established = leader
        elif leader != established and at[leader] - at[established] > margin:
            beyond, established = beyond + 1, leader
    return raw, beyond


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.3, 2.0])
def test_both_counts_agree_with_a_loop_over_runs_of_different_lengths(margin):
    rng = np.random.default_rng(7)
    runs = {seed: rng.integers(0, 8, (3 + seed, 4)) / 8 for seed in range(12)}  # eighths: ties are common
    table = pd.concat([run_table(scores, seed, steps=np.arange(len(scores)) * 5) for seed, scores in runs.items()])
    found = handoffs(table.sample(frac=1, random_state=1), margin).set_index("init_seed")
    for seed, scores in runs.items():
        assert (found["raw"][seed], found["beyond_noise"][seed]) == by_loop(scores, margin), seed
    assert (found["beyond_noise"] <= found["raw"]).all()


def test_noise_between_saturated_heads_hands_nothing_off():
    tied = [[0.3, 0.3, 1.0, 0.99], [0.3, 0.3, 0.99, 1.0]] * 3
    found = handoffs(run_table(tied), 0.05).iloc[0]
    assert (found["raw"], found["beyond_noise"], found["tied"]) == (5, 0, True)
    assert found["final_site"] == "L1H1" and found["final_lead"] == pytest.approx(0.01)


def test_a_takeover_counts_once_however_slow_it_is():
    slow = [[0.9 - 0.1 * t, 0.4 + 0.1 * t, 0, 0] for t in range(6)]
    found = handoffs(run_table(slow), 0.25).iloc[0]
    assert (found["raw"], found["beyond_noise"], found["tied"]) == (1, 1, False)


def test_the_first_head_to_lead_takes_over_from_nobody():
    found = handoffs(run_table([[0.34, 0.33, 0.3, 0.3], [0.3, 0.3, 0.9, 0.3]]), 0.1).iloc[0]
    assert (found["raw"], found["beyond_noise"]) == (1, 0)


def test_time_decides_the_order_and_an_exact_tie_is_a_tie():
    table = run_table([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 1]], steps=[10, 2, 30])
    found = handoffs(table, 0.0).iloc[0]  # L0H1, L0H0, L0H1
    assert (found["raw"], found["beyond_noise"], found["final_site"], found["tied"]) == (2, 2, "L0H1", True)


def test_one_head_never_hands_off_and_leads_by_nothing_known():
    alone = run_table([[0.1, 0, 0, 0], [0.2, 0, 0, 0]]).query("site == 'L0H0'")
    found = handoffs(alone, 0.1).iloc[0]
    assert (found["raw"], found["beyond_noise"], found["tied"]) == (0, 0, False) and np.isnan(found["final_lead"])


def test_a_lead_at_the_end_that_is_unknown_is_not_that_of_an_earlier_checkpoint():
    table = run_table([[0.1, 0.9, 0, 0], [0.5, 0, 0, 0]])
    found = handoffs(table[(table["step"] == table["step"].min()) | (table["site"] == "L0H0")], 0.05).iloc[0]
    assert (found["raw"], found["final_site"], found["tied"]) == (1, "L0H0", False) and np.isnan(found["final_lead"])


def test_runs_are_told_apart_by_the_columns_given_even_as_categories():
    parts = [run_table([[0, 1, 0, 0], [1, 0, 0, 0]], arm=arm).assign(motif=motif) for arm in "ab" for motif in "xy"]
    table = pd.concat(parts).astype({"arm": "category", "site": "category"})
    found = handoffs(table, 0.1, by=("arm", "init_seed", "motif"))
    assert list(found) == ["arm", "init_seed", "motif", "raw", "beyond_noise", "final_site", "final_lead", "tied"]
    assert len(found) == 4 and found["raw"].eq(1).all() and found["beyond_noise"].eq(1).all()


def test_the_sources_walk_counts_early_changes_twice_and_leaps_back():
    # Leaders of epochs 0..4: a b b a a. In time: 2 changes.
    scores = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    table = run_table(scores)
    # best_val 1, 3: b a; final 4: a; scheduled 0..4: a b b a a. Changes: b-a, a-b, b-a.
    walked = source_order_handoffs(table, best={("on", 0): (3, 1)}, scheduled=range(5))
    assert walked.to_dict("records") == [{"arm": "on", "init_seed": 0, "file_order": 3}]
    # A final leader that differs from the first one adds the leap.
    leap = run_table([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    assert handoffs(leap, 0.1)["raw"].tolist() == [1]
    assert source_order_handoffs(leap, {("on", 0): [1]}, [0, 1, 2])["file_order"].tolist() == [3]


def test_the_walk_agrees_with_a_loop_over_file_names():
    rng = np.random.default_rng(3)
    best = {("on", seed): tuple(sorted(rng.choice(9, 4, replace=False).tolist())) for seed in range(6)}
    runs = {run: rng.random((9, 4)) for run in best}
    table = pd.concat([run_table(scores, seed) for (_, seed), scores in runs.items()])
    scheduled = (0, 1, 2, 4, 8)
    found = source_order_handoffs(table, best, scheduled).set_index(["arm", "init_seed"])["file_order"]
    for run, scores in runs.items():
        files = {f"best_val_{epoch:03d}": epoch for epoch in best[run]} | {"final_008": 8}
        files |= {f"scheduled_{epoch:03d}": epoch for epoch in scheduled}
        leaders = [int(scores[files[name]].argmax()) for name in sorted(files)]
        assert found[run] == sum(a != b for a, b in zip(leaders[:-1], leaders[1:], strict=True))


def test_a_margin_is_two_errors_of_a_share_over_base_prompts():
    assert noise_margin(128) == pytest.approx(0.0884, abs=1e-4)
    rng = np.random.default_rng(0)
    assert noise_margin(128) == pytest.approx(2 * (rng.random((20_000, 128)) < 0.5).mean(axis=1).std(), rel=0.03)
    with pytest.raises(HandoffError, match="got 0"):
        noise_margin(0)


def test_what_cannot_be_counted_is_refused_with_the_place():
    table = run_table([[1, 0, 0, 0], [0, 1, 0, 0]])
    with pytest.raises(HandoffError, match="step=0, site=L0H0"):
        handoffs(pd.concat([table, table.head(1)]), 0.1)
    with pytest.raises(HandoffError, match="1 values are not finite.*step=1, site=L0H1"):
        handoffs(table.assign(value=table["value"].where(table.index != 5)), 0.1)
    with pytest.raises(HandoffError, match="at least 0"):
        handoffs(table, -0.1)
    with pytest.raises(HandoffError, match=r"no scores at epochs \[7\]"):
        source_order_handoffs(table, {("on", 0): [1]}, [0, 1, 7])
    with pytest.raises(HandoffError, match="no epochs of best"):
        source_order_handoffs(table, {("on", 9): [1]}, [0, 1])


def test_runs_may_be_told_apart_by_a_column_of_any_name():
    table = pd.concat([run_table([[0, 1, 0, 0], [1, 0, 0, 0]], 7), run_table([[0, 1, 0, 0], [0, 1, 0, 0]], 9)])
    found = handoffs(table.rename(columns={"init_seed": "run"}), 0.1, by=("run",))
    assert found.set_index("run")["beyond_noise"].to_dict() == {7: 1, 9: 0}
