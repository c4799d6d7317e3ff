"""The battery on untrained networks: its table, and what it leaves out."""

import dataclasses
import itertools
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd
import pytest
import reference
import torch
from given_run import GivenRun, picked, untrained

from circuitcore.metrics.instruments.battery import SECTIONS, BatterySpec, Own, measure, open_session
from circuitcore.metrics.instruments.snapshots import snapshot
from circuitcore.metrics.table import COLUMNS, TEXT
from circuitcore.models import ModelConfig
from circuitcore.tasks import Batch, TaskError, TokenTask, make_task

TASK = make_task("symbolic_kv", {})
SPEC = BatterySpec(n_bases=4, n_edge_bases=3, n_reference=24, n_probe=48, n_split=20)
CONFIG = ModelConfig(d_vocab=20, n_ctx=16, d_model=12, d_head=4, d_mlp=10)
BEHAVIOR = {"accuracy", "margin", "loss", "in_context"}
ABLATED = {"ablated_accuracy", "ablated_margin", "ablated_logit_difference"}
ATTENTION = {
    *("routing", "routing_value", "routing_worst_base", "value_mass", "query_key_mass", "own_key_mass"),
    *("program_agreement", "choice_follows_query", "query_spread"),
}
OPERATORS = {"copying", "copying_worst_base", "ov_diagonal", "qk_diagonal"}
EDGES = {"edge_switch", "edge_kept"}
INTERCHANGES = {"interchange", "interchange_worst_base", "attention_follows_source"}
PROBES = {"probe_cv", "probe", "probe_random_labels", "probe_published"}
ALL = BEHAVIOR | ABLATED | ATTENTION | OPERATORS | EDGES | INTERCHANGES | PROBES | {"attribution"}
IN_UNITS = {"margin", "loss", "ablated_margin", "ablated_logit_difference", "attribution", "query_spread"}


@dataclass(frozen=True, kw_only=True)
class FirstOfFour(TokenTask):
    """``a b c d ?`` wants ``a``: no families, no slots, no pairs; one variable."""

    name: ClassVar[str] = "first of four"
    vocab, splits, answers, max_length = (*"?abcde",), ("train", "test"), (1, 2, 3, 4, 5), 5
    chance, variables = {"train": 1 / 4, "test": 1 / 4}, {"first": 5}

    def make_splits(self):
        rows = torch.nn.functional.pad(torch.tensor(list(itertools.permutations(self.answers, 4))), (0, 1))
        return {"train": self.ask(rows[::2]), "test": self.ask(rows[1::2])}

    def ask(self, rows):
        where, first = {"read_out": torch.full((len(rows),), 4)}, {"first": rows[:, 0] - 1}
        return Batch(tokens=rows, targets=rows.roll(-1, 1), loss_mask=rows == 0, roles=where, variables=first)


class OnNoSplit(FirstOfFour):
    reported = "val"


def given(config=CONFIG, task=TASK, n_checkpoints=3):
    return GivenRun(task, config, [untrained(config, seed) for seed in range(n_checkpoints)])


@pytest.fixture(scope="module")
def table():
    return measure(given(), SPEC)


def metrics_of(config=CONFIG, task=TASK):
    return set(measure(given(config, task, 1), SPEC)["metric"])


def test_columns_and_kinds(table):
    assert tuple(table.columns) == COLUMNS
    for name in TEXT:
        assert table[name].dtype == "category" and not table[name].isna().any(), name
    assert {str(table[name].dtype) for name in ("layer", "head")} == {"Int64"}
    assert table.attrs["battery"] == SPEC.key
    assert set(table["step"]) == {0, 1, 2}
    assert (table["tokens_seen"] == 1000 * table["step"]).all()
    assert set(table["run_id"]) == {"given"}


def test_every_metric_is_there_and_nothing_else(table):
    assert set(table["metric"]) == ALL


def test_no_value_is_missing_and_shares_lie_between_0_and_1(table):
    assert table["value"].notna().all() and (table["n"] > 0).all()
    shares = table[~table["metric"].isin(IN_UNITS)]["value"]
    assert shares.between(0, 1 + 1e-12).all()
    assert (table[table["metric"].isin(["loss", "query_spread"])]["value"] >= 0).all()


def test_no_number_is_given_twice(table):
    assert not table.drop(columns=["value", "n"]).duplicated().any()


def test_every_checkpoint_has_the_same_rows(table):
    labels = [
        part.drop(columns=["step", "tokens_seen", "value"]).reset_index(drop=True) for _, part in table.groupby("step")
    ]
    for other in labels[1:]:
        pd.testing.assert_frame_equal(labels[0], other)


def test_checkpoints_are_measured_as_if_alone(table):
    networks = given().networks
    alone = measure(GivenRun(TASK, CONFIG, [networks[2]]), SPEC)
    last = table[table["step"] == 2].reset_index(drop=True)
    assert (last["value"] - alone["value"]).abs().max() < 1e-9


def test_progress_counts_checkpoints():
    seen = []
    measure(given(), SPEC, seen.append)
    assert sum(seen) == 3


def test_counts_are_what_the_spec_asked_for(table):
    assert set(picked_n(table, "accuracy", split="test")) == {20}
    assert set(picked_n(table, "accuracy", family="query_key_sweep")) == {12}
    assert set(picked_n(table, "ablated_accuracy")) == {12}
    assert set(picked_n(table, "edge_switch")) == {6}
    assert set(picked_n(table, "interchange", family="query_key")) == {24}
    assert set(picked_n(table, "probe")) == {20} and set(picked_n(table, "probe_cv")) == {48}
    assert set(picked_n(table, "probe_published")) == {4 * 19 + 4}
    assert set(picked_n(table, "routing", family="all")) == {4 * 19 + 4}


def picked_n(table, metric, **where):
    chosen = table[table["metric"] == metric]
    for column, wanted in where.items():
        chosen = chosen[chosen[column] == wanted]
    return chosen["n"]


def test_spec_key_changes_with_every_count():
    keys = {BatterySpec(**{name: 7}).key for name in ("n_bases", "n_edge_bases", "n_reference", "n_probe", "n_split")}
    assert len(keys | {BatterySpec().key}) == 6


def test_spec_key_of_published_tables_stays():
    """What was added to the spec later must not rename the tables there are; their names are written here."""
    assert BatterySpec(n_bases=64, n_edge_bases=32).key == "battery-v1-cbf13912"
    own = {"own": (Own(a_section_of_a_study),)}
    others = [{"at_end": ("probes",)}, {"left_out": ("probes",)}, own, {"features": True}]
    assert len({BatterySpec(**other).key for other in others} | {BatterySpec().key}) == 5


def a_section_of_a_study(session, net, rows):
    rows.add("n_heads", torch.full((len(rows.checkpoints),), len(net.heads)), 1)


def test_a_study_brings_sections_along_and_they_enter_the_key_by_name_and_version():
    own = Own(a_section_of_a_study)
    spec = dataclasses.replace(SPEC, own=(own,), left_out=tuple(section.__name__ for section in SECTIONS))
    found = measure(given(), spec)
    assert set(found["metric"]) == {"n_heads"} and set(found["step"]) == {0, 1, 2}
    last = dataclasses.replace(spec, at_end=("a_section_of_a_study",))
    assert set(measure(given(), last)["step"]) == {2}
    without = dataclasses.replace(SPEC, own=(own,), left_out=("a_section_of_a_study", *spec.left_out[1:]))
    assert "n_heads" not in set(measure(given(), without)["metric"])
    silent, raised = own._replace(enters=()), own._replace(version=2)
    keys = {one: dataclasses.replace(SPEC, own=(one,)).key for one in (own, silent, raised)}
    assert len(set(keys.values())) == 3 and keys[silent] == SPEC.key
    assert dataclasses.replace(SPEC, own=(own._replace(enters=(("published", True),)),)).key not in keys.values()


def test_sections_left_out_and_measured_at_the_end(table):
    spec = dataclasses.replace(SPEC, at_end=("edges", "probes"), left_out=("ablations",))
    found = measure(given(), spec)
    assert set(found["metric"]) == ALL - ABLATED
    at_end = found["metric"].isin(EDGES | PROBES)
    assert set(found.loc[at_end, "step"]) == {2} and set(found.loc[~at_end, "step"]) == {0, 1, 2}
    keys = [name for name in COLUMNS if name != "value"]
    both = table.astype({"metric": str}).merge(found.astype({"metric": str}), on=keys)
    assert len(both) == len(found)
    assert (both["value_x"] - both["value_y"]).abs().max() < 1e-9


@pytest.mark.parametrize("name", ["n_bases", "n_edge_bases", "n_reference", "n_probe", "n_split"])
@pytest.mark.parametrize("given", [0, -400, True])
def test_a_count_that_is_none_is_refused(name, given):
    """Of 500 rows, the first -400 are a hundred."""
    with pytest.raises(ValueError, match=f"{name} = {given}.*; allowed: an integer >= 1"):
        BatterySpec(**{name: given})


def test_sections_that_do_not_exist_or_contradict_are_refused():
    with pytest.raises(
        ValueError, match="unknown section of the battery 'prob'; did you mean 'probes'.*ablations, att"
    ):
        BatterySpec(at_end=("prob",))
    with pytest.raises(ValueError, match="left out and measured at the end: edges"):
        BatterySpec(at_end=("edges",), left_out=("probes", "edges"))


def test_layer_0_is_at_chance_by_construction(table):
    found = picked(table, "routing", layer=0, family="query_key_sweep")
    assert (found - 1 / 3).abs().max() < 1e-9


def test_one_layer_has_everything_but_edges_into_a_next():
    config = ModelConfig(d_vocab=20, n_ctx=16, n_layers=1, d_model=12, d_head=4, d_mlp=10)
    assert metrics_of(config) == ALL - EDGES - {"qk_diagonal"}


def test_without_mlp_only_the_mlp_is_missing():
    config = ModelConfig(d_vocab=20, n_ctx=16, d_model=12, d_head=4, mlp="none")
    found = measure(given(config, n_checkpoints=1), SPEC)
    assert set(found["metric"]) == ALL
    assert not found["site"].astype(str).str.contains("MLP|mlp").any()


def test_post_norm_skips_what_needs_a_stream_that_is_a_sum():
    config = ModelConfig(d_vocab=20, n_ctx=16, d_model=12, d_head=4, d_mlp=10, norm_position="post")
    assert metrics_of(config) == ALL - OPERATORS - EDGES - {"attribution"}


def test_more_ablated_rows_than_reference_rows():
    spec = BatterySpec(n_bases=10, n_edge_bases=1, n_reference=7, n_probe=48, n_split=20)
    found = measure(given(n_checkpoints=1), spec)
    assert set(picked_n(found, "ablated_accuracy")) == {30}


def test_a_task_without_counterfactuals_is_still_measured():
    config = ModelConfig(d_vocab=6, n_ctx=5, d_model=12, d_head=4, d_mlp=10)
    found = measure(given(config, FirstOfFour(), n_checkpoints=1), SPEC)
    assert set(found["metric"]) == BEHAVIOR | ABLATED | {"attribution"} | PROBES - {"probe_published"}
    assert set(picked_n(found, "ablated_accuracy")) == {4}
    assert found["value"].notna().all() and set(found["family"]) == {""}


def test_rows_that_stand_sorted_are_taken_from_all_over_a_split():
    task = make_task("k_fold_composition", {"n_rows": 64})
    session = open_session(task, dataclasses.replace(SPEC, n_split=48))
    for batch in (session.reference, session.probe_train, session.splits["train"]):
        n_of = batch.variables["hops"].bincount(minlength=task.n_hops)
        assert n_of.min() >= len(batch) // task.n_hops - 1


def test_a_task_may_be_reported_on_another_split_than_test():
    task = make_task("stream_kv", {"n_train": 64, "n_eval": 64})
    session = open_session(task, SPEC)
    assert torch.equal(session.reported.tokens, task.split("test_iid").rows(slice(0, SPEC.n_split)).tokens)
    with pytest.raises(TaskError, match=r"on its split 'val' \(Task.reported\); 'first of four' has train, test"):
        open_session(OnNoSplit(), SPEC)


def test_snapshots_hold_patterns_and_maps():
    run = given()
    found = snapshot(run, SPEC)
    assert set(found["kind"]) == {"pattern", "OV", "QK"}
    rows = found[
        (found["kind"] == "pattern") & (found["step"] == 1) & (found["prompt"] == 0) & (found["head"] == "L1H0")
    ]
    assert (rows.groupby("row")["value"].sum() - 1).abs().max() < 1e-6
    inside = reference.run(CONFIG, run.networks[1], TASK.split("test").tokens[0].tolist())[1]
    for row in rows.itertuples():
        assert row.value == pytest.approx(float(inside["pattern", 1, 0, (row.row, row.column)]), abs=1e-9)
    words = TASK.decode(TASK.split("test").tokens[0]).split()
    assert [row.row_label for row in rows.itertuples()] == [words[row.row] for row in rows.itertuples()]
    final = found[found["kind"] == "OV"]
    assert set(final["step"]) == {2} and len(final) == 4 * 8 * 8
