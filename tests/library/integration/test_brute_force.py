"""Numbers of the battery again, by plain loops: one prompt at a time, on the second decoder, every change by hand."""

import functools
import math

import pytest
import reference
import torch
from given_run import GivenRun, lively, picked
from heads import head_of

from circuitcore.metrics.instruments.battery import BatterySpec, measure, open_session
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores import interchange, paths
from circuitcore.models import ModelConfig
from circuitcore.tasks import make_task

TASK = make_task("symbolic_kv", {})
SPEC = BatterySpec(n_bases=4, n_edge_bases=3, n_reference=24, n_probe=48, n_split=20)
CONFIG = ModelConfig(d_vocab=20, n_ctx=16, d_model=12, d_head=4, d_mlp=10, tied=False)
FIRST_VALUE = TASK.alphabet.first_value


class Slow:
    """One checkpoint, measured by plain loops."""

    def __init__(self, weights):
        self.config, self.weights = CONFIG, weights
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


SLOW = Slow(lively(CONFIG, 1, FIRST_VALUE))  # the second of the two checkpoints


def prompts(batch):
    return [tuple(row) for row in batch.tokens.tolist()]


@pytest.fixture(scope="module")
def table():
    return measure(GivenRun(TASK, CONFIG, [lively(CONFIG, 0, FIRST_VALUE), lively(CONFIG, 1, FIRST_VALUE)]), SPEC)


@pytest.fixture(scope="module")
def network():
    both = [lively(CONFIG, 0, FIRST_VALUE), lively(CONFIG, 1, FIRST_VALUE)]
    return Network(CONFIG, {name: torch.stack([weights[name] for weights in both]) for name in both[0]})


def some(table, metric, count):
    """Rows picked at random, the same ones each time, of checkpoint 1."""
    rows = table[(table["metric"] == metric) & (table["step"] == 1)]
    assert rows["value"].nunique() > 1, f"all {metric} alike: nothing to tell right from wrong"
    return list(rows.sample(count, random_state=0).itertuples())


def share_of(hits):
    values = [float(hit) for hit in hits]
    return math.fsum(values) / len(values)


def test_ablations(table):
    session = open_session(TASK, SPEC)
    replacing = [SLOW.inside(prompt) for prompt in prompts(session.reference)]
    for row in some(table, "ablated_accuracy", 4) + some(table, "ablated_margin", 12):
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
        site = ("mlp_out", int(part[1]), None) if part.endswith("MLP") else ("z", *head_of(part))
        for p in range(n_pos) if where == "all" else [n_pos - 1]:
            mean = sum(inside[*site, p] for inside in replacing) / len(replacing)
            changes[*site, p] = {"zero": torch.zeros_like(mean), "mean": mean, "resample": other[*site, p]}[how]
    return changes


def test_every_edge(network):
    """All 81 edges, each on one prompt of one of the counterfactuals."""
    tests = open_session(TASK, SPEC).edge_tests
    for part, test in enumerate(tests):
        edges, logits = paths.edge_logits(network, 0, 1, test)
        for number, edge in list(enumerate(edges))[part :: len(tests)]:
            row = number % len(test)
            expected = SLOW.edge_logits(str(edge), prompts(test.base)[row], prompts(test.source)[row])
            torch.testing.assert_close(logits[number, 1, row], expected, rtol=1e-9, atol=1e-9, msg=str(edge))


def test_rows_of_edges(table):
    tests = {test.name: test for test in open_session(TASK, SPEC).edge_tests}
    for row in some(table, "edge_switch", 3) + some(table, "edge_kept", 3):
        test = tests[row.family]
        wanted = test.expected["source_answer"] if row.metric == "edge_switch" else test.base.answers
        pairs = zip(prompts(test.base), prompts(test.source), strict=True)
        said = [int(SLOW.edge_logits(row.site, *pair).argmax()) for pair in pairs]
        assert share_of(a == b for a, b in zip(said, wanted.tolist(), strict=True)) == pytest.approx(row.value), row


def unrelated(n):
    """The row whose source stands in for row i's in the control."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(0)).tolist()


def test_every_interchange(network):
    """Every site and control, each on one of the prompts."""
    test = open_session(TASK, SPEC).interchanges[-1]
    patched = interchange.patch_everywhere(network, test)
    for number, (site, control) in enumerate(patched.labels):
        row = number % len(test)
        source = unrelated(len(test))[row] if control == "random_source" else row
        expected = SLOW.patched_logits(site, control, prompts(test.base)[row], prompts(test.source)[source])
        found = patched.answers.logits[number, 1, row]
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9, msg=site + control)


def test_rows_of_interchanges(table):
    tests = {test.name: test for test in open_session(TASK, SPEC).interchanges}
    for row in some(table, "interchange", 6):
        test = tests[row.family]
        wanted = {**test.expected, "base_answer": test.base.answers}[row.variable].tolist()
        sources = unrelated(len(test)) if row.edit == "random_source" else range(len(test))
        hits = []
        for number, (base, want) in enumerate(zip(prompts(test.base), wanted, strict=True)):
            source = prompts(test.source)[sources[number]]
            hits.append(int(SLOW.patched_logits(row.site, row.edit, base, source).argmax()) == want)
        assert share_of(hits) == pytest.approx(row.value), row


def test_attention_and_copying(table):
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
            v = reference.read_in(CONFIG, weights, (1, 0), 0, inside["resid_pre", 1, None, 2 + 3 * slot])[2]
            logits = [float(reference.written(weights, 1, 0, v) @ weights["unembed.W_U"][:, token]) for token in values]
            found["copying"].append(values[logits.index(max(logits))] == int(batch.answers[number]))
        for metric, scores in found.items():
            measured = picked(table, metric, step=1, layer=1, head=0, family=family).item()
            assert sum(scores) / len(scores) == pytest.approx(measured, abs=1e-9), (family, metric)


def test_worst_base(table):
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
    assert min(shares) == pytest.approx(picked(table, "routing_worst_base", step=1, layer=1, head=1).item())
    hits = [hit for group in groups.values() for hit in group]
    assert sum(hits) / len(hits) == pytest.approx(
        picked(table, "routing", step=1, layer=1, head=1, family="all").item()
    )
