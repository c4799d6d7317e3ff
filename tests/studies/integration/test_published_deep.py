"""What the pages say in words of the source's network of twelve layers, trained again, and of needed looks."""

import pytest
from published_stage import evidence

from retrieval_circuits.stacked_heads.design import DEEP, FOLLOWED
from retrieval_circuits.stacked_heads.figures.deepest import deepest_times
from retrieval_circuits.stacked_heads.measures.circuit import ACCEPTED
from retrieval_circuits.stacked_heads.readings import ENOUGH, circuit_rows, heads_left
from retrieval_circuits.stacked_heads.readings.needed import looks

FIRST_PAIR = "value_0>key_0"


@pytest.fixture(scope="module")
def found():
    of, (results, *_) = evidence("stacked_heads")
    return of.recorded, results


@pytest.mark.slow
def test_it_waits_for_nine_thousand_steps_then_learns_all_in_the_next_thousand(found):
    table = deepest_times(found[1]).table
    times = table[table["arm"] == DEEP].set_index("group")["value"]
    symbols = times[[name for name in times.index if name.startswith("error of")]]
    assert 9_000 < symbols.min() < 9_100 and symbols.max() - symbols.min() < 1_000
    assert times["path: query to second answer"] == 24_000, "it never looks there"
    losses = found[1].curve("loss", DEEP).set_index("step")["value"]
    assert losses[losses.index < 9_000].min() > 0.7 and losses.iloc[-1] < 0.01
    assert heads_left(found[1], DEEP).to_list() == [3]
    first = (
        table[(table["arm"] != DEEP) & table["group"].str.startswith("error of")].groupby("init_seed")["value"].max()
    )
    assert sorted(first < 800) == [False, True], "one of the others has all within eight hundred steps"


@pytest.mark.slow
def test_two_looks_that_its_circuit_has_not_cost_two_of_three_symbols(found):
    table = looks(found[1], DEEP)
    beside = table[~table["left"] & (table["rise"] > ACCEPTED) & ~table["site"].str.contains("key")]
    assert {(row.layer, row.site) for row in beside.itertuples()} == {(5, "value_0>value_1"), (7, "queries>value_0")}
    assert (beside["x_1"] < 0.1).all() and (beside[["x_2", "x_3"]] > 1).all().all()
    fetched = table[(table["layer"] == 5) & (table["site"] == "queries>value_0")]
    assert fetched["left"].all() and fetched["x_1"].item() > 1


@pytest.mark.slow
def test_in_all_followed_networks_the_look_that_joins_the_first_pair_is_left_out_and_in_five_another(found):
    recorded, results = found
    table = looks(results, str(FOLLOWED))
    out = table[~table["left"] & (table["rise"] >= ACCEPTED)]
    losses = (
        circuit_rows(results, "circuit_loss")
        .astype({"edit": str})
        .pivot(index="init_seed", columns="edit", values="value")
    )
    without = set(losses.index[losses["paths"] - losses["none"] > ENOUGH])
    asked = set(losses.index) - without
    assert len(without) == 2 and set(out.loc[out["site"] == FIRST_PAIR, "init_seed"]) >= asked
    assert len(set(out.loc[out["site"] != FIRST_PAIR, "init_seed"]) & asked) == 5
    estimate = recorded["SH59"].finding.held.estimate
    assert estimate.effect == 1 and estimate.n == len(asked)
    needless = table[table["rise"] < ACCEPTED]
    assert (len(table), len(needless)) == (77, 21) and not needless["left"].any()
    second = out[(out["site"] != FIRST_PAIR) & out["init_seed"].isin(asked)]
    kept = set(table.loc[table["left"], ["init_seed", "site"]].itertuples(index=False, name=None))
    copies = {row.init_seed for row in second.itertuples() if (row.init_seed, row.site) in kept}
    assert len(copies) == 4, "networks in which a second head makes a look that the circuit has"
