"""The battery on untrained networks: its table, what it leaves out, and its numbers recomputed one prompt at a time."""

import functools
import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd
import pytest
import reference
import torch
from given_run import GivenRun, picked, untrained

from circuitcore.metrics import interchange, paths
from circuitcore.metrics.battery import BatterySpec, measure, open_session
from circuitcore.metrics.network import Network
from circuitcore.metrics.snapshots import snapshot
from circuitcore.metrics.table import COLUMNS, TEXT
from circuitcore.models import ModelConfig
from circuitcore.models.sites import parse_head
from circuitcore.tasks import Batch, Task, make_task

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
class FirstOfFour(Task):
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


# Brute force: numbers of the table again, one prompt at a time, on the second decoder.

BRUTE_CONFIG = ModelConfig(d_vocab=20, n_ctx=16, d_model=12, d_head=4, d_mlp=10, tied=False)


def lively(seed):
    """Untrained weights under which heads and context, not the arrow's own embedding, decide among the values."""
    weights = untrained(BRUTE_CONFIG, seed)
    factors = {"W_Q": 2, "W_K": 2, "W_V": 4, "W_O": 4, "W_in": 2, "W_gate": 2, "W_out": 2}
    for name, value in weights.items():
        value *= factors.get(name.split(".")[-1], 1)
    weights["embed.W_E"][:4] *= 0.1
    weights["unembed.W_U"][:, :12] *= 0.1
    return weights


class Slow:
    """One checkpoint, measured by plain loops."""

    def __init__(self, weights):
        self.config, self.weights = BRUTE_CONFIG, weights
        self.inside = functools.cache(lambda prompt: reference.run(self.config, weights, prompt)[1])

    def logits(self, prompt, changes):
        """At the read-out."""
        return reference.run(self.config, self.weights, prompt, changes)[0][-1]

    def stream_into_layer_1(self, sender, base, source):
        """What enters layer 1 at each position when only this sender's write to it is the source's."""
        before, after = self.inside(base), self.inside(source)
        return [self._moved(sender, before, after, p) for p in range(len(base))]

    def _moved(self, sender, before, after, p):
        def change(site, head=None):
            return after[site, 0, head, p] - before[site, 0, head, p]

        stream = before["resid_post", 0, None, p]
        if sender == "all":
            return after["resid_post", 0, None, p]
        if sender == "embed":
            return stream + change("resid_pre")
        if sender == "L0MLP":
            return stream + change("mlp_out")
        heads = range(self.config.n_heads) if "*" in sender else [int(sender[3])]
        written = sum(reference.written(self.weights, 0, head, change("z", head)) for head in heads)
        if not sender.endswith(">MLP"):
            return stream + written
        write, hidden = reference.mlp_at(self.config, self.weights, 0, before["resid_mid", 0, None, p] + written)
        return stream + written + write(hidden) - before["mlp_out", 0, None, p]

    def edge_logits(self, edge, base, source):
        sender, receiver = edge.split("->")
        receiver, into = receiver.split(".")
        heads = range(self.config.n_heads) if "*" in receiver else [int(receiver[3])]
        changes = {
            (into, 1, head, p): reference.read_in(self.config, self.weights, (1, head), p, x)["qkv".index(into)]
            for p, x in enumerate(self.stream_into_layer_1(sender, base, source))
            for head in heads
        }
        return self.logits(base, changes)

    def patched_logits(self, site, control, base, source):
        """``source`` is the one that ``control`` says."""
        where, name = site.split(".")
        heads = [None] if "H" not in where else range(self.config.n_heads) if "*" in where else [int(where[3])]
        places = [6] if control == "wrong_position" else [2, 5, 8] if name in "kv" else [len(base) - 1]
        inside, layer = self.inside(source), int(where[1])
        changes = {(name, layer, head, p): inside[name, layer, head, p] for head in heads for p in places}
        return self.logits(base, changes)


SLOW = Slow(lively(1))  # the second of the two checkpoints


def prompts(batch):
    return [tuple(row) for row in batch.tokens.tolist()]


@pytest.fixture(scope="module")
def brute():
    return measure(GivenRun(TASK, BRUTE_CONFIG, [lively(0), lively(1)]), SPEC)


@pytest.fixture(scope="module")
def network():
    both = [lively(0), lively(1)]
    return Network(BRUTE_CONFIG, {name: torch.stack([weights[name] for weights in both]) for name in both[0]})


def some(table, metric, count):
    """Rows picked at random, the same ones each time, of checkpoint 1."""
    rows = table[(table["metric"] == metric) & (table["step"] == 1)]
    assert rows["value"].nunique() > 1, f"all {metric} alike: nothing to tell right from wrong"
    return list(rows.sample(count, random_state=0).itertuples())


def share_of(hits):
    values = [float(hit) for hit in hits]
    return math.fsum(values) / len(values)


def test_ablations_by_brute_force(brute):
    session = open_session(TASK, SPEC)
    replacing = [SLOW.inside(prompt) for prompt in prompts(session.reference)]
    for row in some(brute, "ablated_accuracy", 4) + some(brute, "ablated_margin", 12):
        scores = []
        for number, prompt in enumerate(prompts(session.ablated)):
            other, answer = replacing[int(session.resampled[number])], int(session.ablated.answers[number])
            logits = SLOW.logits(prompt, removal(row, len(prompt), replacing, other))
            margin = float(logits[answer]) - max(float(logits[token]) for token in range(20) if token != answer)
            scores.append(margin if row.metric == "ablated_margin" else margin > 0)
        assert share_of(scores) == pytest.approx(row.value, abs=1e-9), row


def removal(row, n_pos, replacing, other):
    """Changes that remove the parts a row of the table names, the way it names."""
    (how, where), changes = row.edit.split("@"), {}
    for part in row.site.split("+") if row.site != "none" else []:
        site = ("mlp_out", int(part[1]), None) if part.endswith("MLP") else ("z", *parse_head(part))
        for p in range(n_pos) if where == "all" else [n_pos - 1]:
            mean = sum(inside[*site, p] for inside in replacing) / len(replacing)
            changes[*site, p] = {"zero": torch.zeros_like(mean), "mean": mean, "resample": other[*site, p]}[how]
    return changes


def test_every_edge_by_brute_force(network):
    """All 81 edges, each on one prompt of one of the counterfactuals."""
    tests = open_session(TASK, SPEC).edge_tests
    for part, test in enumerate(tests):
        edges, logits = paths.edge_logits(network, 0, test)
        for number, edge in list(enumerate(edges))[part :: len(tests)]:
            row = number % len(test)
            expected = SLOW.edge_logits(str(edge), prompts(test.base)[row], prompts(test.source)[row])
            torch.testing.assert_close(logits[number, 1, row], expected, rtol=1e-9, atol=1e-9, msg=str(edge))


def test_rows_of_edges_by_brute_force(brute):
    tests = {test.name: test for test in open_session(TASK, SPEC).edge_tests}
    for row in some(brute, "edge_switch", 3) + some(brute, "edge_kept", 3):
        test = tests[row.family]
        wanted = test.expected["source_answer"] if row.metric == "edge_switch" else test.base.answers
        pairs = zip(prompts(test.base), prompts(test.source), strict=True)
        said = [int(SLOW.edge_logits(row.site, *pair).argmax()) for pair in pairs]
        assert share_of(a == b for a, b in zip(said, wanted.tolist(), strict=True)) == pytest.approx(row.value), row


def unrelated(n):
    """The row whose source stands in for row i's in the control."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(0)).tolist()


def test_every_interchange_by_brute_force(network):
    """Every site and control, each on one of the prompts."""
    test = open_session(TASK, SPEC).interchanges[-1]
    patched = interchange.patch_everywhere(network, test)
    for number, (site, control) in enumerate(patched.labels):
        row = number % len(test)
        source = unrelated(len(test))[row] if control == "random_source" else row
        expected = SLOW.patched_logits(site, control, prompts(test.base)[row], prompts(test.source)[source])
        torch.testing.assert_close(patched.logits[number, 1, row], expected, rtol=1e-9, atol=1e-9, msg=site + control)


def test_rows_of_interchanges_by_brute_force(brute):
    tests = {test.name: test for test in open_session(TASK, SPEC).interchanges}
    for row in some(brute, "interchange", 6):
        test = tests[row.family]
        wanted = {**test.expected, "base_answer": test.base.answers}[row.variable].tolist()
        sources = unrelated(len(test)) if row.edit == "random_source" else range(len(test))
        hits = []
        for number, (base, want) in enumerate(zip(prompts(test.base), wanted, strict=True)):
            source = prompts(test.source)[sources[number]]
            hits.append(int(SLOW.patched_logits(row.site, row.edit, base, source).argmax()) == want)
        assert share_of(hits) == pytest.approx(row.value), row


def test_attention_and_copying_by_brute_force(brute):
    session, weights, values = open_session(TASK, SPEC), SLOW.weights, list(TASK.answers)
    for family in ("value_permutation", "longer_context"):
        batch = session.families[family]
        found = {name: [] for name in ("routing", "value_mass", "own_key_mass", "query_key_mass", "copying")}
        for number, prompt in enumerate(prompts(batch)):
            inside, last, slot = SLOW.inside(prompt), len(prompt) - 1, int(batch.variables["matching_slot"][number])
            n_slots = (len(prompt) - 4) // 3
            look = [float(inside["pattern", 1, 0, (last, key)]) for key in range(len(prompt))]
            by_slot = [look[1 + 3 * s] + look[2 + 3 * s] for s in range(n_slots)]
            found["routing"].append(by_slot.index(max(by_slot)) == slot)
            found["value_mass"].append(look[2 + 3 * slot])
            found["query_key_mass"].append(look[-2])
            own = [float(inside["pattern", 1, 0, (2 + 3 * s, 1 + 3 * s)]) for s in range(n_slots)]
            found["own_key_mass"].append(sum(own) / n_slots)
            v = reference.read_in(BRUTE_CONFIG, weights, (1, 0), 0, inside["resid_pre", 1, None, 2 + 3 * slot])[2]
            logits = [float(reference.written(weights, 1, 0, v) @ weights["unembed.W_U"][:, token]) for token in values]
            found["copying"].append(values[logits.index(max(logits))] == int(batch.answers[number]))
        for metric, scores in found.items():
            measured = picked(brute, metric, step=1, layer=1, head=0, family=family).item()
            assert sum(scores) / len(scores) == pytest.approx(measured, abs=1e-9), (family, metric)


def test_worst_base_by_brute_force(brute):
    """The published gate: groups of 19 rows made from one prompt, and each longer prompt a group of its own."""
    session, groups = open_session(TASK, SPEC), {}
    for family, batch in session.families.items():
        for number, prompt in enumerate(prompts(batch)):
            inside, last = SLOW.inside(prompt), len(prompt) - 1
            look = [float(inside["pattern", 1, 1, (last, key)]) for key in range(len(prompt))]
            by_slot = [look[1 + 3 * s] + look[2 + 3 * s] for s in range((len(prompt) - 4) // 3)]
            hit = by_slot.index(max(by_slot)) == int(batch.variables["matching_slot"][number])
            groups.setdefault((family == "longer_context", int(batch.base[number])), []).append(hit)
    assert sorted(len(hits) for hits in groups.values()) == [1] * 4 + [19] * 4
    shares = [sum(hits) / len(hits) for hits in groups.values()]
    assert min(shares) == pytest.approx(picked(brute, "routing_worst_base", step=1, layer=1, head=1).item())
    hits = [hit for group in groups.values() for hit in group]
    assert sum(hits) / len(hits) == pytest.approx(
        picked(brute, "routing", step=1, layer=1, head=1, family="all").item()
    )
