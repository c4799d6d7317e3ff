"""What carries a rise and what carries an answer, in SGD formation: counts of prose and remarks, from the tables."""

import numpy as np
import pandas as pd
import pytest
from published_stage import claims_of
from scipy import stats

from retrieval_circuits.sgd_formation import design as formation


@pytest.fixture(scope="module")
def only():
    return claims_of("sgd_formation")[1]


@pytest.fixture(scope="module")
def ends(only):
    """Start -> what either end of the rise reads with the other's states, as shares of the rise: regained, lost."""
    rows = only.rows(formation.WINDOWS, arm=formation.LARGE).astype({"site": "str", "edit": "str"})
    found = {}
    for seed, of in rows.groupby("init_seed"):
        before, behind = (of[of["step"] == step].set_index(["edit", "site"])["value"] for step in sorted({*of["step"]}))
        rise = behind["", "none"] - before["", "none"]
        found[seed] = ((before - before["", "none"]) / rise, (behind["", "none"] - behind) / rise)
    assert len(found) == 5
    return found


def test_what_each_part_adds_to_the_rise(ends):
    given, cost = ({seed: pair[way]["the same rows"] for seed, pair in ends.items()} for way in (0, 1))
    four = sorted(seed for seed in ends if given[seed]["L1.resid_mid"] >= 0.9)
    assert len(four) == 4 and all(0.89 < cost[seed]["L0.resid_mid"] for seed in four)
    for seed in four:
        heads, mlp = given[seed]["L0.resid_mid"], given[seed]["L0.resid_post"] - given[seed]["L0.resid_mid"]
        assert 0.05 < heads < 0.2 and 0.05 < mlp < 0.2
        assert given[seed]["L1.resid_mid"] - given[seed]["L0.resid_post"] == pytest.approx(2 / 3, abs=0.08)
    (other,) = ends.keys() - {*four}
    assert cost[other]["L0.resid_post"] == pytest.approx(0.5, abs=0.05) and cost[other]["L1.resid_mid"] > 0.8
    assert given[other]["L1.resid_post"] < 0.4 and given[other]["L2.resid_mid"] > 0.9


def test_what_changes_by_lot_cost(ends):
    by_lot = pd.DataFrame({seed: lost["by lot"] for seed, (_, lost) in ends.items()})
    first = by_lot.loc["L0.resid_post"]
    assert 0.32 < first.min() and first.max() < 0.53 and (first > 0.5).sum() == 1
    assert by_lot.loc["L2.resid_post"].min() > 0.88
    more = np.array([lost["the same rows"]["L0.resid_post"] for _, lost in ends.values()]) - first
    low, high = stats.t.interval(0.95, 4, more.mean(), stats.sem(more))
    assert [round(100 * value) for value in (more.mean(), low, high)] == [51, 27, 74]


@pytest.fixture(scope="module")
def carried(only):
    """What a part carries at the end on new rows: by what differs, hypothesis and site, network by network."""
    text = ("metric", "site", "variable", "edit", "split", "family")
    rows = only.rows("hypotheses", arm=formation.OTHERS).astype(dict.fromkeys(text, "str"))
    rows = rows[rows["split"] == "test"]
    change = rows[rows["metric"] == "change"].pivot(index="init_seed", columns="variable", values="value")
    assert change.min().min() > 1 and len(change) == 9

    def of(differs, edit, site, family="other answer"):
        part = rows[(rows["metric"] == "moved") & (rows["variable"] == differs) & (rows["edit"] == edit)]
        part = part[(part["site"] == site) & (part["family"] == family)].set_index("init_seed")["value"]
        return part / change[differs]

    return of


def test_one_network_of_nine_looks_up_one_layer_later(carried):
    drawn = [
        carried("the key asked for", "QK", "L1H*"), carried("the stored value", "OV", "L1H*"),
        carried("the stored keys", "path", "L0H*>MLP->L1H*.k"), carried("the key asked for", "path", "L0MLP->L1H*.q"),
    ]  # fmt: skip
    assert all({*of.index[of < 1 / 3]} == {9} for of in drawn)
    later = carried("the key asked for", "QK", "L2H*"), carried("the stored value", "OV", "L2H1")
    assert [round(of[9], 1) for of in later] == [0.6, 0.6]


def test_three_networks_bring_some_of_another_key(carried):
    brought = carried("the key asked for", "OV", "L1H*")
    assert {*brought.index[brought > 0.1]} == {2, 8, 10} and brought[[2, 8, 10]].between(0.2, 0.25).all()


def test_a_stored_value_goes_mostly_through_the_first_mlp(carried):
    direct, through = (carried("the stored value", "path", f"{part}->L1H*.v") for part in ("embed", "L0MLP"))
    assert (direct <= through).all()
    assert {*direct.index[(through - direct) < 0.1]} == {4, 9} and through[4] - direct[4] < 0.01


def test_rows_of_the_same_answer_carry_nothing(carried):
    for part in (("the key asked for", "QK", "L1H*"), ("the stored value", "OV", "L1H*")):
        assert carried(*part, "same answer").abs().max() < 0.02


def test_reads_of_one_key_push_alike_in_the_drawn_network_before_it_reads(only):
    rows = only.rows("geometry", arm=formation.DRAWN, variable="key").astype({"metric": "str"})
    wide = rows.pivot(index="step", columns="metric", values="value")
    apart = wide["alike"] - wide["unlike"]
    first, middle = formation.SHOWN_AT
    assert apart[first] > 0.05 > apart[middle]
