"""States exchanged between two checkpoints: against networks made of the weights of both, and on planted tables."""

import dataclasses

import pandas as pd
import pytest
import torch
from shipped_stream import BEFORE, BEHIND, TASK, FewCheckpoints, shipped_network

from circuitcore.models import forward
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import LARGE, THROUGH, WINDOWS
from retrieval_circuits.sgd_formation.figures.windows import exchanged_in_small, exchanged_states
from retrieval_circuits.sgd_formation.measures import Window, windows
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.windows import BY_LOT, NOTHING, OTHER_ROWS, SAME
from retrieval_circuits.sgd_formation.readings.windows import LOST, REGAINED, by_stage, carried

WINDOW = Window(begins=0.25, ends=0.9, n_rows=12, n_asked=12)


@pytest.fixture(scope="module")
def run():
    return shipped_network()


def is_upstream(name, stage):
    """Whether a weight acts before a stage of the stream."""
    if name.startswith(("embed", "pos_embed")):
        return True
    if name.startswith("ln_final"):
        return False
    _, layer, part = name.split(".")[:3]
    own = 2 * int(layer) + (part in ("mlp", "ln2"))
    behind = {"resid_pre": -1, "resid_mid": 0, "resid_post": 1}[stage.name]
    return own <= 2 * stage.layer + behind


def read_by_both(run, upstream, downstream, stage, tokens):
    """What a network answers whose weights are one checkpoint's up to a stage, and the other's from there on."""
    config = dataclasses.replace(run.recipe.model, tied=False)
    first, then = run.by_step[upstream], run.by_step[downstream]
    weights = {name: (first if is_upstream(name, stage) else then)[name][None] for name in then}
    weights["unembed.W_U"] = then["embed.W_E"].mT[None]
    return forward(config, weights, tokens).logits[0]


def test_exchanged_states_are_those_of_a_network_made_of_both(run):
    table = windows.states_exchanged(run, WINDOW, lambda done: None)
    assert sorted(table["step"].unique()) == [BEFORE, BEHIND]
    own = table[table["site"] == NOTHING].set_index("step")["value"]
    assert own[BEFORE] < WINDOW.begins and own[BEHIND] >= WINDOW.ends
    right = table[table["edit"] == SAME].set_index(["step", "site"])["value"]
    found = asked(TASK, TASK.reported, WINDOW.n_rows)
    expected = {}
    for stage in windows.stages(run.recipe.model):
        for upstream, downstream in ((BEFORE, BEHIND), (BEHIND, BEFORE)):
            given = read_by_both(run, upstream, downstream, stage, found.batch.tokens)[found.reads.row, found.reads.at]
            expected[downstream, str(stage)] = (given.argmax(-1) == found.reads.answer).double().mean().item()
    assert right.to_dict() == pytest.approx(expected)
    assert len({round(value, 3) for value in expected.values()}) > 3, "stages differ"


def test_states_by_lot_are_as_far_away_as_the_others_and_elsewhere(run):
    states = {"resid_mid.1": torch.randn(2, 3, 5, 8)}
    by_lot, other = windows._by_lot(states)["resid_mid.1"], states["resid_mid.1"].flip(0)
    own = states["resid_mid.1"]
    torch.testing.assert_close((by_lot - own).norm(dim=-1), (other - own).norm(dim=-1))
    cosines = torch.nn.functional.cosine_similarity(by_lot - own, other - own, dim=-1)
    assert cosines.abs().mean() < 0.6
    torch.testing.assert_close(by_lot[0] - own[0], by_lot[1] - own[1])  # one way into either network


def test_states_of_other_rows_are_those_of_the_row_before():
    states = {"resid_pre.0": torch.arange(6.0).reshape(1, 6, 1, 1)}
    assert windows._of_other_rows(states)["resid_pre.0"].flatten().tolist() == [5, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("steps", [(BEFORE,), (BEHIND,)])
def test_a_network_that_does_not_rise_is_asked_and_says_nothing(run, steps):
    still = FewCheckpoints({step: run.by_step[step] for step in steps}, run.recipe.model)
    table = windows.states_exchanged(still, WINDOW, lambda done: None)
    same = table[table["edit"].isin([SAME, ""])]["value"]
    assert same.nunique() == 1, "its own states are put in"
    assert carried(of_arm(table), LARGE).empty


def of_arm(*tables, arm=LARGE):
    """Results of networks of an arm."""
    rows = pd.concat([table.assign(arm=arm, init_seed=seed) for seed, table in enumerate(tables)])
    runs = rows[["arm", "init_seed", "run_id"]].drop_duplicates()
    return Results(runs.assign(metric="", step=0, value=0.0), pd.DataFrame(), "paper", {WINDOWS: rows})


def planted(before, behind, exchanged):
    """A network that reads so many before and behind a rise, and with states exchanged at one stage."""
    rows = [(1, "", NOTHING, before), (2, "", NOTHING, behind)]
    rows += [
        (step, edit, "L0.resid_post", value)
        for edit, pair in exchanged.items()
        for step, value in zip((1, 2), pair, strict=True)
    ]
    return pd.DataFrame(rows, columns=["step", "edit", "site", "value"]).assign(metric="right", run_id="a run")


def test_what_is_regained_and_lost_is_told_by_the_rise():
    some = planted(0.2, 0.9, {SAME: (0.55, 0.2), BY_LOT: (0.13, 0.9)})
    low = planted(0.1, 0.5, {SAME: (0.5, 0.1), BY_LOT: (0.1, 0.5)})
    results = of_arm(some, low)
    assert by_stage(REGAINED, "L0.resid_post")(results).to_dict() == pytest.approx({0: 0.5}), "the other hardly rises"
    assert by_stage(LOST, "L0.resid_post")(results).to_dict() == pytest.approx({0: 1.0})
    assert by_stage(REGAINED, "L0.resid_post", BY_LOT)(results).to_dict() == pytest.approx({0: -0.1})
    assert by_stage(LOST, "L0.resid_post", BY_LOT)(results).to_dict() == pytest.approx({0: 0.0})
    assert by_stage(LOST, "L0.resid_post", OTHER_ROWS)(results).empty


def test_the_figure_names_stages_by_the_part_before_them_and_leaves_other_rows_out(run):
    table = windows.states_exchanged(run, WINDOW, lambda done: None)
    drawn = exchanged_states(of_arm(table)).table
    parts = [f"{part} of layer {layer}" for layer in range(3) for part in ("heads", "MLP")]
    assert drawn["group"].unique().tolist() == ["embeddings", *parts]
    assert [*drawn["series"].unique()] == [
        "regained by later states", "lost by earlier states", "regained by lot", "lost by lot",
    ]  # fmt: skip
    ends = drawn[drawn["group"] == "MLP of layer 2"].set_index("series")["value"]
    assert ends["lost by earlier states"] == pytest.approx(1, abs=0.1) and ends["regained by lot"] < 0.1
    small = exchanged_in_small(of_arm(table, arm=THROUGH)).table
    assert small["value"].tolist() == drawn["value"].tolist() and set(small["arm"]) == {THROUGH}
