"""Parts taken away at each checkpoint: against what is taken away at the end, and on planted tables."""

import pandas as pd
import pytest
from shipped_stream import BEFORE, BEHIND, TASK, shipped_network

from circuitcore.models import forward
from livingpaper.claims.results import Results
from livingpaper.claims.view import NoRowsError
from retrieval_circuits.sgd_formation.design import JOINED, THROUGH
from retrieval_circuits.sgd_formation.figures.needs import needed, needed_heads
from retrieval_circuits.sgd_formation.measures import (
    Counts,
    Removed,
    joined,
    part_removed,
    parts_needed,
    stream_scores,
)
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.readings import needs as readings
from retrieval_circuits.sgd_formation.readings.needs import BEFORE as EARLY
from retrieval_circuits.sgd_formation.readings.needs import END

COUNTS = Removed(n_rows=12, splits=(TASK.reported,))


@pytest.fixture(scope="module")
def run():
    return shipped_network()


@pytest.fixture(scope="module")
def table(run):
    return parts_needed(run, COUNTS, lambda done: None).astype({"site": str, "edit": str})


def test_at_the_end_it_is_what_single_reads_lose(run, table):
    """The other instrument gives each read a row of its own, cut off behind it, and runs no more of it than it must."""
    other = part_removed(run, COUNTS, lambda done: None).astype({"site": str, "edit": str})
    expected = other[other["metric"] == "removed_accuracy"].set_index(["site", "edit"])["value"].to_dict()
    found = table[table["step"] == BEHIND].set_index(["site", "edit"])["value"]
    expected["", ""] = expected.pop(("none", "none"))
    assert len(found) == 31 and found.to_dict() == pytest.approx(expected)
    assert found.nunique() > 5


@pytest.mark.parametrize("step", [BEFORE, BEHIND])
def test_a_head_at_zero_is_one_whose_output_weights_are_zero(run, table, step):
    weights = {name: value.clone()[None] for name, value in run.by_step[step].items()}
    weights["blocks.1.attn.W_O"][:, 3] = 0
    found = asked(TASK, TASK.reported, COUNTS.n_rows)
    given = found.at_reads(forward(run.recipe.model, weights, found.batch.tokens).logits)[0].argmax(-1)
    expected = (given == found.reads.answer).double().mean().item()
    row = table[(table["step"] == step) & (table["edit"] == "zero") & (table["site"] == "L1H3")]
    assert row["value"].item() == pytest.approx(expected)


def network(right, **without):
    """Share right at steps 0, 50, ... of a whole network, and without some parts."""
    rows = [("accuracy", "", "", right), *(("left", readings.MEAN, *part) for part in without.items())]
    rows += [("left", "zero", part, [0.0] * len(right)) for part in without]
    return pd.DataFrame(
        [(50 * at, *labels, value) for *labels, values in rows for at, value in enumerate(values)],
        columns=["step", "metric", "edit", "site", "value"],
    ).assign(run_id="a run", split=TASK.reported, variable="", layer=-1, head=-1, n=320)


def results(*tables):
    rows = pd.concat([table.assign(arm=THROUGH, init_seed=seed, run_id=str(seed)) for seed, table in enumerate(tables)])
    return Results(rows, pd.DataFrame(), "paper")


FIRST = network(
    [0.0, 0.2, 0.2, 0.8, 1.0],
    L0MLP=[0.0, 0.1, 0.05, 0.1, 0.0],
    L0H0=[0.0, 0.2, 0.16, 0.2, 0.1],
    L0H1=[0.0, 0.2, 0.18, 0.8, 0.9],
    L1H0=[0.0, 0.2, 0.2, 0.2, 0.5],
)
SECOND = network(
    [0.0, 0.1, 0.3, 0.9, 0.9],
    L0MLP=[0.0, 0.1, 0.3, 0.9, 0.9],
    L0H0=[0.0, 0.05, 0.3, 0.9, 0.9],
    L0H1=[0.0, 0.1, 0.0, 0.0, 0.0],
    L1H0=[0.0, 0.02, 0.3, 0.9, 0.9],
)
NEVER = network([0.0, 0.1, 0.1, 0.1, 0.1], L0MLP=[0.0] * 5, L0H0=[0.0] * 5, L0H1=[0.0] * 5, L1H0=[0.0] * 5)


def test_what_is_lost_is_told_by_what_is_read():
    found = results(FIRST, SECOND, NEVER)
    assert readings.lost_without("L0MLP", EARLY)(found).to_dict() == pytest.approx({0: 0.75, 1: 0.0})
    assert readings.lost_without("L0MLP", END)(found).to_dict() == pytest.approx({0: 1.0, 1: 0.0})
    assert readings.lost_without_dearest(EARLY)(found).to_dict() == pytest.approx({0: 0.2, 1: 0.8})
    assert readings.ahead_before("L0")(found).to_dict() == pytest.approx({0: 0.1, 1: -0.5})


def test_a_network_that_reads_from_the_first_has_nothing_before():
    at_once = network([0.3, 0.9], L0MLP=[0.1, 0.0], L0H0=[0.3, 0.9], L0H1=[0.3, 0.9], L1H0=[0.3, 0.9])
    found = results(at_once)
    assert readings.lost_without("L0MLP", EARLY)(found).empty
    assert readings.lost_without("L0MLP", END)(found).to_dict() == pytest.approx({0: 1.0})
    assert readings.ahead_before("L0")(found).empty
    with pytest.raises(NoRowsError):
        needed_heads(found)


def test_a_network_that_reads_nothing_at_the_end_has_no_share_then():
    lost_all = network([0.2, 0.5, 0.0], L0MLP=[0.1] * 3, L0H0=[0.1] * 3, L0H1=[0.1] * 3, L1H0=[0.1] * 3)
    found = results(FIRST, lost_all)
    assert readings.lost_without("L0MLP", END)(found).index.tolist() == [0]
    assert readings.lost_without("L0MLP", EARLY)(found).to_dict() == pytest.approx({0: 0.75, 1: 0.5})
    assert needed_heads(found).table["init_seed"].tolist() == [0] and len(needed(found).table)


def test_the_table_has_each_networks_dearest_heads_of_the_first_layer():
    table = needed_heads(results(FIRST, SECOND, NEVER)).table.set_index("init_seed")
    assert table["dearest before"].to_dict() == {0: "L0H0", 1: "L0H0"}
    assert table["dearest at the end"].to_dict() == {0: "L0H0", 1: "L0H1"}
    assert table.loc[1, "lost without it before":"lost without it at the end"].tolist() == [0.5, 0.0]
    assert table.loc[1, "lost without that before":"lost without that at the end"].tolist() == [0.0, 1.0]
    assert table["lost without the first MLP before"].tolist() == [0.75, 0.0]


def test_the_figure_takes_the_dearest_heads_at_the_end_away():
    drawn = needed(results(FIRST, SECOND, NEVER)).table
    assert set(drawn["init_seed"]) == {0, 1}
    lines = drawn[drawn["init_seed"] == 0].pivot(index="step", columns="series", values="value")
    means = FIRST[FIRST["edit"] == readings.MEAN].groupby("site")["value"].apply(list)
    assert lines["without the first layer's dearest head"].tolist() == means["L0H0"]
    assert lines["without the second layer's dearest head"].tolist() == means["L1H0"]
    assert lines["without the first MLP"].tolist() == means["L0MLP"]
    assert lines["the whole network"].tolist() == FIRST[FIRST["metric"] == "accuracy"]["value"].tolist()


def joining(found, *networks):
    """The same results with what heads join, of each network by head and checkpoint."""
    columns = ["init_seed", "step", "site", "layer", "value"]
    rows = [
        (seed, 50 * at, head, int(head[1]), value)
        for seed, heads in enumerate(networks)
        for head, values in heads.items()
        for at, value in enumerate(values)
    ]
    table = pd.DataFrame(rows, columns=columns).assign(arm=THROUGH, metric="joins", run_id="a run")
    return Results(found.measurements, pd.DataFrame(), "paper", {JOINED: table})


def test_what_the_dearest_head_joins_is_held_against_the_best_of_the_others():
    """L0H0 costs most at the end in the first network, L0H1 in the second, where L0H0 did before."""
    found = joining(
        results(FIRST, SECOND, NEVER),
        {"L0H0": [0, 0, 0.3, 0, 0.9], "L0H1": [0, 0, 0.5, 0, 0.1], "L1H0": [1.0] * 5},
        {"L0H0": [0, 0.8, 0, 0, 0.2], "L0H1": [0, 0.1, 0, 0, 0.6], "L1H0": [1.0] * 5},
        {"L0H0": [0.5] * 5, "L0H1": [0.4] * 5, "L1H0": [1.0] * 5},
    )
    assert readings.joins_ahead(EARLY)(found).to_dict() == pytest.approx({0: -0.2, 1: -0.7})
    assert readings.joins_ahead(END)(found).to_dict() == pytest.approx({0: 0.8, 1: 0.4})
    assert readings.dearest_joins(EARLY)(found).to_dict() == {0: 0.0, 1: 1.0}
    assert readings.dearest_joins(END)(found).to_dict() == {0: 1.0, 1: 1.0}


def test_what_is_joined_is_what_the_long_list_of_scores_has(run):
    """The other instrument asks for far more; both round otherwise."""
    counts = Counts(n_rows=12, n_looked=12)
    short, whole = (measures(run, counts, lambda done: None) for measures in (joined, stream_scores))
    places = ["step", "layer", "head"]
    whole = whole[whole["metric"] == "joins"].set_index(places)["value"]
    found = short.set_index(places)["value"]
    assert set(short["metric"]) == {"joins"} and len(found) == 24 and found.max() > 0.5
    assert found.to_dict() == pytest.approx(whole.to_dict(), rel=2**-11)
