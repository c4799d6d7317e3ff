"""Shares of updates: weight by weight on shipped checkpoints, and readings on planted tables."""

import numpy as np
import pandas as pd
import pytest
import torch
from shipped_stream import BEFORE, BEHIND, FewCheckpoints, shipped_network

from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import REPORTED, SHARES, THROUGH
from retrieval_circuits.sgd_formation.figures.updates import update_links, updated
from retrieval_circuits.sgd_formation.measures import update_shares, updates
from retrieval_circuits.sgd_formation.readings import updates as readings

HALF = 2**-11
"""How far a number in float16 may be from the one that it stands for, by its size."""
HEAD_TENSORS = [f"attn.{kind}_{letter}" for letter in "QKV" for kind in "Wb"] + ["attn.W_O"]


@pytest.fixture(scope="module")
def run():
    """A network before its rise, behind it, and with two of its weights moved by known amounts."""
    shipped = shipped_network()
    moved = {name: value.clone() for name, value in shipped.by_step[BEHIND].items()}
    moved["embed.W_E"][5, 0] += 3.0
    moved["blocks.1.attn.W_V"][2, 0, 0] += 4.0
    return FewCheckpoints({**shipped.by_step, BEHIND + 50: moved}, shipped.recipe.model)


@pytest.fixture(scope="module")
def table(run):
    """Length and shares by step: a column each part, "" for the whole."""
    rows = update_shares(run, None, lambda done: None).astype({"site": str, "metric": str})
    assert ((rows["metric"] == "length") == (rows["site"] == "")).all()
    return rows.pivot(index="step", columns="site", values="value")


def test_a_known_move_is_whose_it_is(table):
    found = table.loc[BEHIND + 50]
    assert found.pop("") == pytest.approx(5, rel=HALF)
    assert found["embed.W_E"] == pytest.approx(9 / 25, rel=HALF)
    assert found["L1H2"] == pytest.approx(16 / 25, rel=HALF)
    assert found.drop(["embed.W_E", "L1H2"]).abs().max() == 0


def test_a_real_change_is_summed_tensor_by_tensor_and_the_tied_embedding_once(run, table):
    first, last = run.by_step[BEFORE], run.by_step[BEHIND]
    squares = {name: (last[name].double() - value.double()).square() for name, value in first.items()}
    whole = sum(value.sum().item() for value in squares.values())
    expected = {"embed.W_E": squares["embed.W_E"].sum().item()}
    for layer in range(3):
        inside = f"blocks.{layer}."
        expected[f"L{layer}MLP"] = sum(v.sum().item() for n, v in squares.items() if n.startswith(f"{inside}mlp."))
        for head in range(4):
            expected[f"L{layer}H{head}"] = sum(squares[inside + name][head].sum().item() for name in HEAD_TENSORS)
    found = table.loc[BEHIND]
    assert found.pop("") == pytest.approx(whole**0.5, rel=HALF)
    assert len(found) == 16 and found.nunique() == 16
    assert found.to_dict() == pytest.approx({part: value / whole for part, value in expected.items()}, rel=HALF)
    assert 0.9 < found.sum() < 1


def test_of_many_checkpoints_none_is_left_out(run, monkeypatch):
    """Intervals are taken a few at a time, whose ends must meet."""
    weights = {50 * at: {name: value * (1 + at) for name, value in run.by_step[BEFORE].items()} for at in range(8)}
    whole = update_shares(FewCheckpoints(weights, run.recipe.model), None, lambda done: None)
    done = []
    monkeypatch.setattr(updates, "AT_ONCE", 3)
    parts = update_shares(FewCheckpoints(weights, run.recipe.model), None, done.append)
    order = ["metric", "step", "site"]
    pd.testing.assert_frame_equal(
        *(each.astype({"site": str, "metric": str}).sort_values(order, ignore_index=True) for each in (whole, parts))
    )
    assert sum(done) == 8 and sorted(whole["step"].unique()) == [50 * at for at in range(1, 8)]


ACCURACY = [0.1, 0.1, 0.2, 0.2, 0.3, 0.6, 0.9, 0.9, 0.9, 0.9, 0.9]
"""Share right at steps 0, 50, ...; a quarter is right first at 200, so that three intervals are the rise."""
HEADS = [f"L{layer}H{head}" for layer in (0, 1) for head in range(2)]


def planted(shares, seed=1, accuracy=ACCURACY):
    """Results of one network, in which L0H0 and L1H1 cost all reads at the end; ``shares`` by part, one an interval."""
    rows = [("accuracy", "", "", 50 * at, value) for at, value in enumerate(accuracy)]
    for part in HEADS:
        left = 0.0 if part in ("L0H0", "L1H1") else 1.0
        rows += [("left", "mean", part, 50 * at, left * value) for at, value in enumerate(accuracy)]
    columns = ["metric", "edit", "site", "step", "value"]
    common = {"run_id": f"run {seed}", "arm": THROUGH, "init_seed": seed, "split": REPORTED[THROUGH], "variable": ""}
    common |= {"layer": -1, "head": -1, "n": 320}
    own = [
        ("share", "", part, 50 * at, value) for part, of_part in shares.items() for at, value in enumerate(of_part, 1)
    ]
    tables = {SHARES: pd.DataFrame(own, columns=columns).assign(**common)}
    return Results(pd.DataFrame(rows, columns=columns).assign(**common), pd.DataFrame(), "paper", tables)


GAINS = np.diff(ACCURACY)
FLAT = [0.1] * 10


def test_a_lead_is_over_the_others_of_the_layer_and_told_by_phase():
    early = [0.3] * 3 + [0.2] * 3 + [0.9] * 4  # three intervals end before a quarter is right, three are the rise
    found = planted({"L0H0": early, "L0H1": FLAT, "L1H0": FLAT, "L1H1": FLAT})
    assert readings.lead("L0", readings.UNTIL_THEN)(found).to_dict() == pytest.approx({1: 2.0})
    assert readings.lead("L0", readings.RISE)(found).to_dict() == pytest.approx({1: 1.0})
    assert readings.lead("L1", readings.RISE)(found).to_dict() == pytest.approx({1: 0.0})


def test_a_share_that_goes_with_the_gains_has_correlation_one_and_no_shift_is_as_close():
    found = planted({"L0H0": FLAT, "L0H1": FLAT, "L1H0": 0.4 - GAINS / 10, "L1H1": 0.2 + GAINS / 10})
    assert readings.with_gains("L1", readings.DEAREST)(found).to_dict() == pytest.approx({1: 1.0})
    assert readings.with_gains("L1", readings.THE_OTHERS)(found).to_dict() == pytest.approx({1: -1.0})
    assert readings.with_gains("L0", readings.DEAREST)(found).empty  # of what never moves there is none
    assert readings.as_large_by_shifting(found).to_dict() == {1: 0.1}


def test_shares_that_know_nothing_of_the_rise_are_as_close_after_any_shift():
    """Over many draws a tenth of ten shifts is reached as often as any other number of them."""
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        drawn = planted({part: rng.random(10) for part in HEADS}, accuracy=[0.3, *rng.random(9), 0.9])
        found.append(readings.as_large_by_shifting(drawn).item())
    assert np.mean(found) == pytest.approx(0.55, abs=0.05)


def test_shifts_are_as_if_made_one_by_one():
    rng = np.random.default_rng(1)
    parts, gained = rng.random((7, 3)), rng.random(7)
    expected = [
        max(abs(np.corrcoef(parts[:, part], np.roll(gained, shift))[0, 1]) for part in range(3)) for shift in range(7)
    ]
    assert readings.largest_by_shift(parts, gained).tolist() == pytest.approx(expected)


def test_a_network_that_never_reads_a_quarter_has_no_dearest_head():
    found = planted({part: FLAT for part in HEADS}, accuracy=[0.1] * 11)
    assert readings.lead("L0", readings.UNTIL_THEN)(found).empty
    assert readings.as_large_by_shifting(found).empty


def test_figure_and_table_take_the_dearest_heads_of_each_layer():
    shares = {"L0H0": 0.2 + GAINS, "L0H1": FLAT, "L1H0": 0.4 - GAINS / 10, "L1H1": 0.2 + GAINS / 10}
    found = planted(shares)
    drawn = updated(found).table
    lines = {name: rows["value"].tolist() for name, rows in drawn.groupby("series", observed=True)}
    expected = {"first": ("L0H0", "L0H1"), "second": ("L1H1", "L1H0")}
    for layer, (head, other) in expected.items():
        assert lines[f"the {layer} layer's dearest head"] == pytest.approx(shares[head])
        assert lines[f"the {layer} layer's others, mean"] == pytest.approx(shares[other])
    assert drawn["step"].tolist()[:10] == list(range(-200, 300, 50))  # half is right first at step 240 of 500
    (row,) = update_links(found).table.to_dict("records")
    assert (row["init_seed"], row["the first layer's dearest head"]) == (1, "L0H0")
    assert row["its link with what is gained"] == row["link of the second layer's dearest head"] == 1
    assert row["in the rise, ahead by"] == pytest.approx((0.2 + np.mean(GAINS[3:6])) / 0.1 - 1, abs=0.01)
    assert np.isnan(row["link of the layer's others"]) and row["shifts with a link as close"] == 0.1


@pytest.mark.parametrize(("accuracy", "in_rise"), [([0.3, *[0.9] * 10], 0), ([0.1, *[0.9] * 10], 1)])
def test_a_network_that_reads_at_once_has_no_interval_until_then(accuracy, in_rise):
    found = planted({part: FLAT for part in HEADS}, accuracy=accuracy)
    assert len(readings.lead("L0", readings.RISE)(found)) == in_rise
    until_then = readings.lead("L0", readings.UNTIL_THEN)(found)
    assert until_then.empty and until_then.index.name == "init_seed"


def test_by_the_sources_measure_a_share_is_a_length_within_the_layer():
    """What all heads gain together is no link then, and of two heads one loses what the other gains."""
    rising = {part: 0.1 * (1 + 2 * GAINS) for part in ("L0H0", "L0H1")}
    together = planted({**rising, "L1H0": FLAT, "L1H1": FLAT})
    assert readings.with_gains("L0", readings.DEAREST)(together).to_dict() == pytest.approx({1: 1.0})
    assert readings.with_gains("L0", readings.DEAREST, in_layer=True)(together).abs().max() < 1e-9
    apart = planted({"L0H0": 0.1 + GAINS / 5, "L0H1": 0.9 - GAINS / 5, "L1H0": FLAT, "L1H1": FLAT})
    length = np.sqrt(0.1 + GAINS / 5)
    expected = np.corrcoef(length, GAINS)[0, 1]
    assert readings.with_gains("L0", readings.DEAREST, in_layer=True)(apart).to_dict() == pytest.approx({1: expected})


def test_an_interval_without_a_gain_is_refused():
    found = planted({part: [*FLAT, 0.1] for part in HEADS})  # one interval more than the network was asked about
    with pytest.raises(ValueError, match="no share of reads answered right"):
        readings.as_large_by_shifting(found)


def test_broken_weights_have_no_shares():
    masks = torch.eye(2, dtype=torch.bool)
    change = torch.tensor([[3.0, 4.0], [0.0, 0.0], [float("nan"), 1.0]], dtype=torch.float64)
    found = updates.shares_of(change, masks)
    assert found[:2].tolist() == [[0.36, 0.64], [0.0, 0.0]] and found[2].isnan().all()
