"""The battery on tasks of next words again, by plain loops: one prompt at a time, on the second decoder."""

import functools
import itertools

import pytest
import reference
import torch
from given_run import GivenRun, picked, untrained

from circuitcore.metrics.instruments.battery import BatterySpec, measure, open_session
from circuitcore.models import ModelConfig
from circuitcore.tasks import make_task
from retrieval_circuits import motif_measures

STORY = make_task("story", {})
PLANTED = make_task("planted_repeats", {"n_train": 200, "n_val": 30, "n_test": 30, "n_ood": 30})
N = 8
SPEC = BatterySpec(
    n_bases=N, n_edge_bases=1, n_probe=32, n_reference=8, n_split=10, own=motif_measures.SECTIONS,
    left_out=("attribution", "ablations", "edges", "interchanges", "probes", "corrected"),
)  # fmt: skip
HEADS = list(itertools.product(range(2), range(2)))


def config(task):
    return ModelConfig(d_vocab=len(task.vocab), n_ctx=48, d_model=8, d_head=4, d_mlp=6)


def lively(task, seed):
    """Untrained weights whose heads, and not the last word's embedding, decide what is said."""
    factors = {"W_Q": 4, "W_K": 4, "W_V": 4, "W_O": 4, "W_out": 2}
    weights = untrained(config(task), seed)
    return {name: value * factors.get(name.split(".")[-1], 1) for name, value in weights.items()}


class Slow:
    """Checkpoint 1 of a task, by plain loops."""

    def __init__(self, task):
        self.task, self.config, self.weights = task, config(task), lively(task, 1)
        self.session = open_session(task, SPEC)
        self.table = measure(GivenRun(task, self.config, [lively(task, 0), self.weights]), SPEC)
        self.run = functools.cache(lambda prompt: reference.run(self.config, self.weights, prompt))

    def rows(self, family):
        """Prompt, wanted word, base id and place of the last copy (None without one), row by row."""
        batch = self.session.families[family]
        for number, prompt in enumerate(batch.tokens.tolist()):
            wanted = int(batch.answers[number])
            copies = [place for place, token in enumerate(prompt) if token == wanted]
            yield tuple(prompt), wanted, int(batch.base[number]), copies[-1] if copies else None

    def hits(self, metric, head, family):
        """Hits of one head by base prompt: (base, hit) of the rows that count."""
        for prompt, wanted, base, copy in self.rows(family):
            inside, last = self.run(prompt)[1], len(prompt) - 1
            look = [float(inside["pattern", *head, (last, key)]) for key in range(len(prompt))]
            if metric == "recency":
                yield base, look.index(max(look)) == last
            elif copy is not None and metric in ("routing", "routing_after"):
                yield base, look.index(max(look)) == copy + (metric == "routing_after")
            elif copy is not None:
                v = reference.read_in(self.config, self.weights, head, copy, inside["resid_pre", head[0], None, copy])[
                    2
                ]
                logits = reference.written(self.weights, *head, v) @ self.weights["embed.W_E"].T
                yield base, int(logits.argmax()) == wanted


@pytest.fixture(scope="module", params=[STORY, PLANTED], ids=lambda task: task.name)
def slow(request):
    return Slow(request.param)


@pytest.mark.parametrize("metric", ["routing", "routing_after", "copying", "recency"])
def test_operators_per_family_pooled_and_on_the_worst_base(slow, metric):
    for layer, head in HEADS:
        where = {"step": 1, "layer": layer, "head": head}
        everywhere, found = [], {}
        for family in slow.session.families:
            hits = list(slow.hits(metric, (layer, head), family))
            everywhere += hits
            if hits:
                measured = picked(slow.table, metric, family=family, **where).item()
                assert sum(hit for _, hit in hits) / len(hits) == pytest.approx(measured), family
                found[family] = len(hits)
        rows = slow.table[(slow.table["metric"] == metric) & (slow.table["step"] == 1)]
        of_head = rows[(rows["layer"] == layer) & (rows["head"] == head)].set_index("family")["n"].to_dict()
        assert of_head == {**found, "all": len(everywhere)}
        pooled = picked(slow.table, metric, family="all", **where).item()
        assert sum(hit for _, hit in everywhere) / len(everywhere) == pytest.approx(pooled)
        shares = []
        for base in range(N):
            of_base = [hit for number, hit in everywhere if number == base]
            shares.append(sum(of_base) / len(of_base) if of_base else 0.0)
        assert min(shares) == pytest.approx(picked(slow.table, f"{metric}_worst_base", **where).item())


def test_something_is_there_to_be_found():
    """Scores of the networks above are not all alike, or nothing could be told right from wrong."""
    table = Slow(PLANTED).table
    for metric in ("routing", "routing_after", "copying", "recency"):
        assert table.loc[(table["metric"] == metric), "value"].nunique() > 2, metric


def test_patched_writes_of_the_last_layer(slow):
    test = {test.name: test for test in slow.session.interchanges}["target_token"]
    bases, sources = (list(map(tuple, batch.tokens.tolist())) for batch in (test.base, test.source))
    wanted = test.expected["source_answer"].tolist()
    unrelated = torch.randperm(len(test), generator=torch.Generator().manual_seed(0)).tolist()
    for control, order in {"": range(len(test)), "random_source": unrelated}.items():
        hits = []
        for pair, base in enumerate(bases):
            inside, last = slow.run(sources[order[pair]])[1], len(base) - 1
            changes = {("z", 1, head, last): inside["z", 1, head, last] for head in range(2)}
            said = reference.run(slow.config, slow.weights, base, changes)[0][-1].argmax()
            hits.append(int(said) == wanted[pair])
        measured = picked(slow.table, "interchange_chosen", step=1, site="L1H*.z", edit=control).item()
        assert sum(hits) / len(hits) == pytest.approx(measured)


def ridge(train, labels, rows, n_classes):
    """The source's probe, one site: standardised rows, one-hot labels, penalty 1e-3, no intercept."""
    mean, std = train.mean(0), train.std(0).clamp_min(1e-6)
    x, y = (train - mean) / std, torch.eye(n_classes, dtype=torch.float64)[labels]
    weights = torch.linalg.inv(x.T @ x + 1e-3 * torch.eye(x.shape[1], dtype=torch.float64)) @ x.T @ y
    return ((rows - mean) / std @ weights).argmax(1)


def test_probes_and_patches_at_their_best_site(slow):
    sites = [("resid_post", 0, None), ("mlp_out", 0, None)]
    sites += [(name, 0, head) for head in range(2) for name in "qkvz"]
    sites += [(name, 1, head) for name, head in (("resid_post", None), ("mlp_out", None))]
    sites += [(name, 1, head) for head in range(2) for name in "qkvz"] + [("resid_final", 1, None)]

    def read(batch, site):
        values = [slow.run(tuple(row))[1][*site, len(row) - 1] for row in batch.tokens.tolist()]
        return torch.stack(values).double()

    families = slow.session.families.values()
    tests = {test.name: test for test in slow.session.interchanges}
    for variable, n_classes in slow.task.variables.items():
        labels = slow.session.probe_train.variables[variable]
        asked = torch.cat([batch.variables[variable] for batch in families])
        hits = []
        for site in sites:
            swept = torch.cat([read(batch, site) for batch in families])
            hits.append((ridge(read(slow.session.probe_train, site), labels, swept, n_classes) == asked).double())
        scores = [round(float(hit.mean()), 9) for hit in hits]
        best = scores.index(max(scores))
        name, layer, head = sites[best]
        where = {"step": 1, "variable": variable, "family": "all"}
        found = slow.table[(slow.table["metric"] == "probe_published_best") & (slow.table["step"] == 1)]
        found = found[(found["variable"] == variable) & (found["family"] == "all")]
        assert found["value"].item() == pytest.approx(scores[best])
        assert found["site"].item() == f"L{layer}{'' if head is None else f'H{head}'}.{name}"
        bases = torch.cat([batch.base for batch in families])
        worst = min(float(hits[best][bases == base].mean()) for base in range(N))
        assert worst == pytest.approx(picked(slow.table, "probe_published_best_worst_base", **where).item())
        test, moved = tests[variable], []
        for pair in range(len(test)):
            base, source = (tuple(batch.tokens[pair].tolist()) for batch in (test.base, test.source))
            change = {(*sites[best], len(base) - 1): slow.run(source)[1][*sites[best], len(base) - 1]}
            said = int(reference.run(slow.config, slow.weights, base, change)[0][-1].argmax())
            moved.append(said == int(test.expected["source_answer"][pair]))
        assert sum(moved) / len(moved) == pytest.approx(picked(slow.table, "faithfulness_published", **where).item())
        worst = min(sum(moved[2 * base : 2 * base + 2]) / 2 for base in range(N))
        assert worst == pytest.approx(picked(slow.table, "faithfulness_published_worst_base", **where).item())


def test_tasks_of_another_kind_get_no_rows():
    task = make_task("symbolic_kv", {})
    small = ModelConfig(d_vocab=20, n_ctx=16, d_model=8, d_head=4, d_mlp=6)
    table = measure(GivenRun(task, small, [untrained(small, 0)]), BatterySpec(n_bases=2, n_edge_bases=2, n_probe=16))
    assert not {"recency", "interchange_chosen"} & set(table["metric"])
