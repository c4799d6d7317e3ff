"""The table of features on untrained and hand-wired networks: its rows, and its numbers by a loop."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch
from given_run import GivenRun, picked, untrained

from circuitcore.metrics.instruments import features as module
from circuitcore.metrics.instruments.battery import BatterySpec, open_session
from circuitcore.metrics.instruments.features import COLUMNS, features, features_key
from circuitcore.models import ModelConfig, forward
from circuitcore.tasks import make_task

SIZES = {"n_train_2": 200, "n_train_3": 300, "n_val": 60, "n_test": 60, "n_ood": 60}
TASK = make_task("textual_kv", SIZES)
SPEC = BatterySpec(n_bases=8, n_edge_bases=4, n_reference=24, n_probe=128, n_split=60)
CONFIG = ModelConfig(d_vocab=36, n_ctx=16, d_model=12, d_head=4, d_mlp=14)
CONSTANT = ("L0H0.q", "L0H0.v", "L0H1.v")  # at an arrow that is always the same
TRACKED = 12


@dataclass(frozen=True, eq=False)
class SeededRun(GivenRun):
    """A given run with the one more thing that features need of a recipe."""

    @property
    def recipe(self) -> Any:
        return SimpleNamespace(model=self.model, make_task=lambda: self.task, init_seed=3)


def given(config=CONFIG, task=TASK, n_checkpoints=3):
    return SeededRun(task, config, [untrained(config, seed, torch.float32) for seed in range(n_checkpoints)])


@pytest.fixture(scope="module")
def table():
    return features(given(), SPEC)


def sites(table, kind):
    return set(table[table["kind"] == kind]["site"])


def test_columns_and_kinds(table):
    assert tuple(table.columns) == COLUMNS
    assert set(table["kind"]) == {"eta2", "neurons", "sae_published", "sae", "drift"}
    assert table["value"].notna().all() and set(table["run_id"]) == {"given"}
    assert set(table[table["kind"] != "drift"]["step"]) == {2}
    assert not table.drop(columns="value").duplicated().any()


def test_key_names_version_and_prompts():
    assert features_key(SPEC) == f"features-v1-{SPEC.key}"


def test_constant_sites_are_excluded_by_rule(table):
    flags = table[(table["metric"] == "constant") & (table["kind"] == "eta2")].set_index("site")["value"]
    assert len(flags) == TRACKED and set(flags[flags == 1].index) == set(CONSTANT)
    assert not sites(table[table["metric"] == "eta2"], "eta2") & set(CONSTANT)
    assert not sites(table, "sae") & set(CONSTANT) and len(sites(table, "sae")) == TRACKED - 3
    assert not set(table[table["metric"] == "cka"]["site"]) & set(CONSTANT)
    published = table[table["kind"] == "sae_published"]
    assert len(set(published["site"])) == TRACKED
    assert set(published[(published["metric"] == "constant") & (published["value"] == 1)]["site"]) == set(CONSTANT)
    assert not set(published[published["metric"] == "explained_variance"]["site"]) & set(CONSTANT)


def test_at_the_query_key_no_site_is_constant():
    task = make_task("textual_kv", SIZES | {"read_out": "query"})
    found = features(given(task=task, n_checkpoints=1), replace(SPEC, feature_steps=50))
    assert (picked(found, "constant") == 0).all()
    assert set(picked(found, "steps", kind="sae")) == {50} and not (found["metric"] == "last_gain").any()
    assert not (found["kind"] == "drift").any()  # one checkpoint has none to be compared with


def test_neurons_by_a_loop(table):
    """Every number of every neuron listed, from activations recorded prompt by prompt."""
    families = open_session(TASK, SPEC).families
    weights, rows = given().networks[2], []
    for batch in families.values():
        for row in range(len(batch)):
            one = batch.rows(slice(row, row + 1))
            cache = forward(CONFIG, weights, one.tokens, record=["mlp_post.0", "mlp_post.1"]).cache
            at = int(one.roles["read_out"])
            rows.append({f"L{n}.mlp_post": cache[f"mlp_post.{n}"][0, at] for n in (0, 1)} | {"batch": one})
    listed = table[table["kind"] == "neurons"]
    assert len(listed) == 2 * 10 * 6
    for (site, neuron, variable), part in listed.groupby(["site", "feature", "variable"], observed=True):
        numbers = part.set_index("metric")["value"]
        values = pd.Series([float(row[site][neuron]) for row in rows])
        labels = {name: [int(row["batch"].variables[name]) for row in rows] for name in TASK.variables}
        etas = {name: eta_by_groups(values, found) for name, found in labels.items()}
        assert max(etas, key=etas.get) == variable
        assert numbers["eta2"] == pytest.approx(etas[variable], rel=1e-3)
        means = values.groupby(labels[variable]).mean()
        assert numbers["gap"] == pytest.approx(means.max() - means.min(), rel=1e-3)
        norm = float(weights[f"blocks.{site[1]}.mlp.W_out"][neuron].norm())
        assert numbers["write_norm"] == pytest.approx(norm, rel=1e-5)
        assert numbers["contribution"] == pytest.approx(values.abs().mean() * norm, rel=1e-4)


def eta_by_groups(values, labels):
    means = values.groupby(labels).transform("mean")
    return float(((means - values.mean()) ** 2).sum() / ((values - values.mean()) ** 2).sum())


def test_neurons_listed_are_the_most_selective(table):
    etas = table[(table["kind"] == "neurons") & (table["metric"] == "eta2")]
    for _, part in etas.groupby("site", observed=True):
        assert len(part) == 10 and part["value"].is_monotonic_decreasing


def test_every_autoencoder_is_fully_described(table):
    every = {
        *("eta2", "null95", "null95_bases", "selective", "active", "mean_active", "density", "explained_variance"),
        *("mse", "mean_feature", "decoder_cos_mean", "decoder_cos_max", "decoder_cos_share", "stable_rank"),
    }
    more = {"sae_published": {"constant"}, "sae": {"l1_weight", "last_gain", "steps"}}
    for kind in more:
        found = table[(table["kind"] == kind) & ~table["site"].isin(CONSTANT)]
        for _, part in found.groupby("site", observed=True):
            assert set(part["metric"]) == every | more[kind]
    explained = picked(table, "explained_variance", kind="sae")
    assert (explained > picked(table, "explained_variance", kind="sae_published").min()).all()


def test_drift_by_a_loop(table):
    """One site and one pair from whole passes; the rows are the fixed subsample, here all of them."""
    session, run = open_session(TASK, SPEC), given()
    parts = []
    for step in (1, 2):
        found = []
        for batch in session.families.values():
            cache = forward(CONFIG, run.networks[step], batch.tokens, record=["result.1"]).cache["result.1"]
            found += [cache[row, int(at), 1] for row, at in enumerate(batch.roles["read_out"])]
        parts.append(torch.stack(found).double())
    left, right = parts
    got = table[(table["kind"] == "drift") & (table["site"] == "L1H1.result")]
    assert {tuple(pair) for pair in got[["step", "other_step"]].to_numpy()} == {(0, 2), (1, 0), (1, 2), (2, 0), (2, 1)}
    numbers = got[(got["step"] == 2) & (got["other_step"] == 1)].set_index("metric")["value"]
    assert numbers["relative_change"] == pytest.approx(float((right - left).norm() / left.norm()), rel=1e-4)
    a, b = left - left.mean(0), right - right.mean(0)
    cka = (a.T @ b).square().sum() / ((a.T @ a).norm() * (b.T @ b).norm())
    assert numbers["cka"] == pytest.approx(float(cka), rel=1e-4)
    cosine = torch.cosine_similarity(left.mean(0), right.mean(0), dim=0)
    assert numbers["mean_cosine"] == pytest.approx(float(cosine), rel=1e-3, abs=1e-5)


def test_drift_is_symmetric_in_which_checkpoint_asks(table):
    drift = table[table["kind"] == "drift"]
    there = drift[(drift["step"] == 0) & (drift["other_step"] == 2)].set_index(["site", "metric"])["value"]
    back = drift[(drift["step"] == 2) & (drift["other_step"] == 0)].set_index(["site", "metric"])["value"]
    pd.testing.assert_series_equal(there.sort_index(), back.sort_index())


def test_at_most_24_checkpoints_are_compared(monkeypatch):
    monkeypatch.setattr(module, "_AtEnd", lambda *_: None)
    for section in ("_channels", "_neurons", "_published", "_converged"):
        monkeypatch.setattr(module, section, lambda *_: None)
    found = features(given(n_checkpoints=30), SPEC)
    steps = sorted(set(found["step"]))
    assert len(steps) == 24 and steps[0] == 0 and steps[-1] == 29


@pytest.mark.parametrize(
    "words",
    [{"n_layers": 1}, {"n_layers": 3, "n_heads": 1}, {"n_heads": 4}, {"mlp": "none"}, {"mlp": "gelu", "bias": "all"}],
    ids=str,
)
def test_other_architectures(words):
    config = ModelConfig(**{"d_vocab": 36, "n_ctx": 16, "d_model": 12, "d_head": 4, "d_mlp": 14} | words)
    found = features(given(config, n_checkpoints=2), SPEC)
    assert ("neurons" in set(found["kind"])) == (config.mlp != "none")
    assert sites(found, "sae")


def test_a_float64_run_is_measured_alike(table):
    """Its passes are made by torch, those of float32 natively."""
    networks = [{name: value.double() for name, value in weights.items()} for weights in given().networks]
    found = features(SeededRun(TASK, CONFIG, networks), SPEC)
    for kind, metric in (("eta2", "eta2"), ("neurons", "contribution"), ("drift", "relative_change")):
        ours, theirs = (picked(part, metric, kind=kind).to_numpy() for part in (table, found))
        assert ours == pytest.approx(theirs, rel=1e-3)
