"""The sections ``published`` and ``corrected`` again, by plain loops on the second decoder and numpy."""

import dataclasses
import functools
from collections import defaultdict

import numpy as np
import pytest
import reference
import torch
from given_run import GivenRun, lively, picked, untrained

from circuitcore.metrics.instruments.battery import BatterySpec, measure, open_session
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.read_off import source_sites
from circuitcore.models import ModelConfig
from circuitcore.tasks import make_task
from retrieval_circuits import motif_measures
from retrieval_circuits.motif_measures_published import gives_source_answer

SIZES = {"n_train_2": 200, "n_train_3": 300, "n_val": 60, "n_test": 60, "n_ood": 60}
TASK = make_task("textual_kv", SIZES)
OTHERS = ("behavior", "attention", "operators", "attribution", "ablations", "edges", "interchanges", "probes")
SPEC = BatterySpec(
    n_bases=8, n_edge_bases=2, n_reference=24, n_probe=64, n_split=60, own=motif_measures.SECTIONS, left_out=OTHERS
)
CONFIG = ModelConfig(d_vocab=36, n_ctx=16, d_model=12, d_head=4, d_mlp=10, tied=False)
FIRST_VALUE = TASK.alphabet.first_value
STEP = 1  # of two checkpoints, the one that is measured again
SESSION = open_session(TASK, SPEC)
HEADS = [(layer, head) for layer in range(2) for head in range(2)]
LONGER = "longer_context"


NETWORKS = [lively(CONFIG, 0, FIRST_VALUE), lively(CONFIG, 1, FIRST_VALUE)]
WEIGHTS = NETWORKS[STEP]


@pytest.fixture(scope="module")
def table():
    return measure(GivenRun(TASK, CONFIG, NETWORKS), SPEC)


@functools.cache
def clean(prompt):
    """Logits at the read-out, and every vector inside."""
    logits, inside = reference.run(CONFIG, WEIGHTS, prompt)
    return logits[-1], inside


def said(prompt, changes):
    return int(reference.run(CONFIG, WEIGHTS, prompt, changes)[0][-1].argmax())


def prompts(batch):
    return [tuple(row) for row in batch.tokens.tolist()]


def rows_of(metric, table, **where):
    rows = table[(table["metric"] == metric) & (table["step"] == STEP)]
    for column, wanted in where.items():
        rows = rows[rows[column] == wanted]
    assert len(rows), (metric, where)
    return list(rows.itertuples())


def only(metric, table, **where):
    (row,) = rows_of(metric, table, **where)
    return row


def part(site):
    """``"L0H1.q"`` -> ("q", 0, 1)."""
    where, name = site.split(".")
    return name, int(where[1]), int(where[3]) if "H" in where else None


def values_at_read_out(batch, site):
    return np.array([clean(prompt)[1][*part(site), len(prompt) - 1].numpy() for prompt in prompts(batch)])


def ridge(train, labels, test, penalty, intercept):
    """Classes predicted by least squares on the standardised rows with the penalty as further rows."""
    mean, std = train.mean(0), np.maximum(train.std(0, ddof=1), 1e-6)
    x, onehot = (train - mean) / std, np.eye(16)[labels]
    centre = onehot.mean(0) if intercept else np.zeros(16)
    more = np.sqrt(penalty) * np.eye(x.shape[1])
    found = np.linalg.lstsq(np.vstack([x, more]), np.vstack([onehot - centre, np.zeros((len(more), 16))]), rcond=None)
    return ((test - mean) / std @ found[0] + centre).argmax(1)


SOURCE_SITES = [
    *("L0.resid_post", "L0.mlp_out", "L0H0.q", "L0H0.k", "L0H0.v", "L0H0.z", "L0H1.q", "L0H1.k", "L0H1.v", "L0H1.z"),
    *("L1.resid_post", "L1.mlp_out", "L1H0.q", "L1H0.k", "L1H0.v", "L1H0.z", "L1H1.q", "L1H1.k", "L1H1.v", "L1H1.z"),
    "L1.resid_final",
]


@pytest.mark.parametrize("variable", TASK.variables)
def test_published_probe_at_its_best_site(table, variable):
    labels, hits = SESSION.probe_train.variables[variable].numpy(), {}
    families = SESSION.families.items()
    for site in SOURCE_SITES:
        train = values_at_read_out(SESSION.probe_train, site)
        for family, batch in families:
            guess = ridge(train, labels, values_at_read_out(batch, site), 1e-3, intercept=False)
            hits[site, family] = guess == batch.variables[variable].numpy()
    pooled = {site: np.concatenate([hits[site, family] for family, _ in families]).mean() for site in SOURCE_SITES}
    best = max(SOURCE_SITES, key=pooled.get)  # the first of those that tie
    found = {row.family: row for row in rows_of("probe_published_best", table, variable=variable)}
    assert {row.site for row in found.values()} == {best}
    assert found["all"].value == pytest.approx(pooled[best], abs=1e-12) and found["all"].n == 8 * 20
    for family, batch in families:
        assert found[family].value == pytest.approx(hits[best, family].mean(), abs=1e-12), family
        assert found[family].n == len(batch)
    groups = defaultdict(list)
    for family, batch in families:
        for hit, base in zip(hits[best, family], batch.base.tolist(), strict=True):
            groups[family == LONGER, base].append(hit)
    worst = only("probe_published_best_worst_base", table, variable=variable)
    assert worst.value == pytest.approx(min(np.mean(group) for group in groups.values())) and worst.site == best


def test_both_checkpoints_have_a_site_of_their_own(table):
    rows = table[(table["metric"] == "probe_published_best") & (table["family"] == "all")]
    assert len(rows) == 2 * 3 and (rows.groupby("variable", observed=True)["site"].nunique() > 1).any()


def patched_to_source(test, site):
    hits = []
    for base, source, answer in zip(
        prompts(test.base), prompts(test.source), test.expected["source_answer"].tolist(), strict=True
    ):
        name = (*part(site), len(base) - 1)
        hits.append(said(base, {name: clean(source)[1][name]}) == answer)
    return hits


@pytest.mark.parametrize(
    ("variable", "interchange"),
    [("query_key", "query_key"), ("matching_slot", "query_key"), ("selected_value", "selected_value")],
)
def test_published_faithfulness(table, variable, interchange):
    test = next(test for test in SESSION.interchanges if test.name == interchange)
    row = only("faithfulness_published", table, variable=variable)
    hits, groups = patched_to_source(test, row.site), defaultdict(list)
    for hit, base in zip(hits, test.base.base.tolist(), strict=True):
        groups[base].append(hit)
    assert row.site == only("probe_published_best", table, variable=variable, family="all").site
    assert row.value == pytest.approx(np.mean(hits)) and row.n == len(hits) == {"query_key": 48}.get(interchange, 16)
    worst = only("faithfulness_published_worst_base", table, variable=variable)
    assert worst.value == pytest.approx(min(np.mean(group) for group in groups.values()))


@pytest.mark.parametrize("interchange", ["query_key", "selected_value"])
def test_a_patch_of_every_site(interchange):
    """Among them the site behind which there is nothing but the unembedding."""
    test = next(test for test in SESSION.interchanges if test.name == interchange)
    few = torch.arange(0, len(test), 4)
    expected = {name: answers[few] for name, answers in test.expected.items()}
    test = dataclasses.replace(test, base=test.base.rows(few), source=test.source.rows(few), expected=expected)
    net = Network(CONFIG, {name: torch.stack([weights[name] for weights in NETWORKS]) for name in WEIGHTS})
    sites = source_sites(net)
    assert [str(site) for site in sites] == SOURCE_SITES
    hits = gives_source_answer(net, test, sites)
    assert 0 < hits.double().mean() < 1
    for number, site in enumerate(SOURCE_SITES):
        assert hits[number, STEP].tolist() == patched_to_source(test, site), site


@pytest.mark.parametrize("head", [(0, 1), (1, 0)])
def test_single_heads_removed_at_the_read_out(table, head):
    drops, margins = [], []
    for batch in SESSION.families.values():
        for prompt, answer in zip(prompts(batch), batch.answers.tolist(), strict=True):
            gone = {("z", *head, len(prompt) - 1): torch.zeros(CONFIG.d_head, dtype=torch.float64)}
            both = [clean(prompt)[0], reference.run(CONFIG, WEIGHTS, prompt, gone)[0][-1]]
            scores = [float(x[answer] - max(x[token] for token in range(36) if token != answer)) for x in both]
            margins.append(scores[0] - scores[1])
            drops.append((scores[0] > 0) - (scores[1] > 0))
    where = {"layer": head[0], "head": head[1]}
    found = only("ablation_drop_published", table, **where)
    assert found.value == pytest.approx(np.mean(drops), abs=1e-12) and found.n == 160
    assert only("ablation_margin_drop_published", table, **where).value == pytest.approx(np.mean(margins), abs=1e-9)


@pytest.mark.parametrize("head", HEADS)
def test_operators_of_the_source(table, head):
    routed, ranks, values = [], [], list(TASK.answers)
    for batch in SESSION.families.values():
        for number, prompt in enumerate(prompts(batch)):
            inside, last, slot = clean(prompt)[1], len(prompt) - 1, int(batch.variables["matching_slot"][number])
            keys = [float(inside["pattern", *head, (last, 1 + 3 * s)]) for s in range((len(prompt) - 4) // 3)]
            routed.append(keys.index(max(keys)) == slot)
            v = reference.read_in(CONFIG, WEIGHTS, head, 0, inside["resid_pre", head[0], None, 2 + 3 * slot])[2]
            raised = reference.written(WEIGHTS, *head, v) @ WEIGHTS["unembed.W_U"][:, values]
            ranks.append(sorted(raised.tolist(), reverse=True).index(float(raised[values.index(prompt[2 + 3 * slot])])))
    where = {"layer": head[0], "head": head[1]}
    assert only("routing_key", table, **where).value == pytest.approx(np.mean(routed))
    assert only("copy_rank", table, **where).value == pytest.approx(np.mean(ranks) + 1)


PROBED = [f"L{layer}.{name}" for layer in range(2) for name in ("resid_mid", "resid_post", "mlp_out")]
PROBED += ["L1.resid_final", *(f"L{layer}H{head}.{name}" for layer in range(2) for name in "qkvz" for head in range(2))]


@pytest.mark.parametrize("variable", TASK.variables)
def test_probe_at_the_cross_validated_site(table, variable):
    train, test = SESSION.probe_train, SESSION.splits["test"]
    labels, wanted = train.variables[variable].numpy(), test.variables[variable].numpy()
    seen = {site: values_at_read_out(train, site) for site in PROBED}
    scores = {}
    for site, x in seen.items():
        hits = []
        for fold in range(4):
            out = np.arange(64) % 4 == fold
            guess = ridge(x[~out], labels[~out], x[out], 1e-3 * (~out).sum(), intercept=True)
            hits += (guess == labels[out]).tolist()
        scores[site] = np.mean(hits)
    row = only("probe_chosen", table, variable=variable)
    assert scores[row.site] == max(scores.values()), (row.site, scores)
    shuffled = torch.randperm(64, generator=torch.Generator().manual_seed(0)).numpy()
    at_test = values_at_read_out(test, row.site)
    right, random = (
        ridge(seen[row.site], given, at_test, 1e-3 * 64, intercept=True) == wanted
        for given in (labels, labels[shuffled])
    )
    assert row.value == pytest.approx(right.mean()) and row.n == 60
    found = only("probe_chosen_random", table, variable=variable)
    assert (found.value, found.site) == (pytest.approx(random.mean()), row.site)
    recalls = [right[wanted == number].mean() for number in set(wanted.tolist())]
    found = only("probe_chosen_worst_class", table, variable=variable)
    assert (found.value, found.site) == (pytest.approx(min(recalls)), row.site)


def test_spread_of_sites_tells_the_constant_ones(table):
    found = {row.site: row.value for row in rows_of("site_spread", table)}
    assert set(found) == set(PROBED)
    constant = {f"L0H{head}.{name}" for head in range(2) for name in "qkv"}
    for site, spread in found.items():
        values = values_at_read_out(SESSION.splits["test"], site)
        assert spread == pytest.approx(values.std(0).max(), abs=1e-12)
        assert (spread < 1e-12) == (site in constant), site


def separating():
    return next(test for test in SESSION.interchanges if test.name == "separating")


def with_layer_patched(test, name, row, source):
    """Answer and inside of a base row with all heads' ``name`` of layer 1 from another row's source."""
    base, other = prompts(test.base)[row], prompts(test.source)[source]
    last = len(base) - 1
    changes = {(name, 1, head, last): clean(other)[1][name, 1, head, last] for head in range(2)}
    logits, inside = reference.run(CONFIG, WEIGHTS, base, changes)
    return int(logits[-1].argmax()), inside


@pytest.mark.parametrize("name", ["q", "z"])
@pytest.mark.parametrize("edit", ["", "random_source"])
def test_interchange_of_a_whole_layer(table, name, edit):
    test = separating()
    unrelated = torch.randperm(len(test), generator=torch.Generator().manual_seed(0)).tolist()
    sources = unrelated if edit else range(len(test))
    answers = [with_layer_patched(test, name, row, sources[row])[0] for row in range(len(test))]
    for variable in TASK.variables:
        share = np.mean(np.array(answers) == test.expected[variable].numpy())
        where = {"variable": variable, "site": f"L1H*.{name}", "edit": edit}
        found = only("interchange_chosen", table, **where)
        assert (found.value, found.n, found.family) == (pytest.approx(share), 16, "separating"), where


def test_attention_goes_to_the_slot_of_the_patched_query(table):
    test, hits = separating(), []
    for row, (base, source) in enumerate(zip(prompts(test.base), prompts(test.source), strict=True)):
        inside = with_layer_patched(test, "q", row, row)[1]
        slots = []
        for s in range(3):
            places = (1 + 3 * s, 2 + 3 * s)
            slots.append(sum(float(inside["pattern", 1, head, (12, key)]) for head in range(2) for key in places))
        held = [base[1 + 3 * s] for s in range(3)].index(source[-2])
        hits.append(slots.index(max(slots)) == held)
    found = only("attention_slot_follows", table)
    assert (found.value, found.site, found.n) == (pytest.approx(np.mean(hits)), "L1H*.q", 16)


@pytest.mark.parametrize(
    ("site", "edit"),
    [
        *[("L0H*", "mean@all"), ("L0H*", "resample@read_out"), ("L1H*", "zero@all"), ("L1H*", "mean@read_out")],
        *[("L0H1", "mean@all"), ("L1H0", "resample@all")],
    ],
)
def test_whole_layers_and_single_heads_removed(table, site, edit):
    batch, (how, where), layer = SESSION.ablated, edit.split("@"), int(site[1])
    heads = range(2) if "*" in site else [int(site[3])]
    standing = [clean(prompt)[1] for prompt in prompts(SESSION.reference)]
    drops = []
    for number, (prompt, answer) in enumerate(zip(prompts(batch), batch.answers.tolist(), strict=True)):
        changes, other = {}, standing[int(SESSION.resampled[number])]
        for head in heads:
            for p in range(13) if where == "all" else [12]:
                name = ("z", layer, head, p)
                mean = sum(inside[name] for inside in standing) / len(standing)
                changes[name] = {"zero": torch.zeros_like(mean), "mean": mean, "resample": other[name]}[how]
        drops.append((int(clean(prompt)[0].argmax()) == answer) - (said(prompt, changes) == answer))
    found = only("joint_ablation_drop", table, site=site, edit=edit)
    assert found.value == pytest.approx(np.mean(drops), abs=1e-12)
    assert found.layer == layer and (found.n, "*" in site) == (24, str(found.head) == "<NA>")


def test_rows_of_joint_ablation(table):
    rows = rows_of("joint_ablation_drop", table)
    assert len(rows) == 2 * 6 + 4 * 2 and len({(row.site, row.edit) for row in rows}) == len(rows)


def test_other_tasks_have_the_rows_they_can_have():
    """Symbolic prompts have no interchange of the value; and nothing is published unless it is asked for."""
    task, config = make_task("symbolic_kv", {}), dataclasses.replace(CONFIG, d_vocab=20)
    run = GivenRun(task, config, [untrained(config, 0)])
    found = measure(run, dataclasses.replace(SPEC, n_bases=4))
    assert set(picked_variables(found, "faithfulness_published")) == {"query_key", "matching_slot"}
    assert set(picked_variables(found, "probe_published_best")) == set(task.variables)
    without = measure(run, BatterySpec(n_bases=4, n_edge_bases=2, n_reference=24, n_probe=64, n_split=60))
    assert set(found["metric"]) & set(without["metric"]) == set()
    assert picked(found, "copy_rank").between(1, 8).all()


def picked_variables(table, metric):
    return table.loc[table["metric"] == metric, "variable"].astype(str)


def test_float32_passes_give_the_same_numbers(table):
    """Natively, where the decoder compiles."""
    rounded = [{name: value.float() for name, value in weights.items()} for weights in NETWORKS]
    found = measure(GivenRun(TASK, CONFIG, rounded), SPEC)
    keys = [name for name in table.columns if name != "value"]
    both = table.astype({"site": str}).merge(found.astype({"site": str}), on=keys, suffixes=("", "_rounded"))
    assert len(both) == len(table)
    assert (both["value"] - both["value_rounded"]).abs().max() < 1e-4
