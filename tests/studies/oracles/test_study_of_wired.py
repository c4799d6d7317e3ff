"""The claims of the symbolic KV study on five "seeds" that all end in the circuit wired by hand."""

import dataclasses

import pandas as pd
import pytest
import torch
import wired
from given_run import GivenRun
from wired import CARRIER, CONFIG, MATCHER, TAGGER, TASK

from circuitcore.metrics.instruments.battery import BatterySpec, measure
from circuitcore.models import init_weights
from circuitcore.models.transformer import weight_shapes
from livingpaper.claims.results import Results
from livingpaper.claims.rules import Outcome
from livingpaper.claims.verdict import Status
from retrieval_circuits.symbolic_kv import CLAIMS, VIEWS
from retrieval_circuits.symbolic_kv.readings import chosen_heads

SPEC = BatterySpec(n_bases=12, n_edge_bases=6, n_reference=48, n_probe=96, n_split=60)
SEEDS = range(5)
# The study's networks have an MLP; here one that writes nothing.
WITH_MLP = dataclasses.replace(CONFIG, mlp="relu", d_mlp=2)
KNOWN = {"KV2.published": 1, "KV2": 1, "KV3.published": 1, "KV3": 1, "KV4.published": 1, "KV4": 1, "KV5": 1, "KV7": 0}


CLAIM = {claim.id: claim for claim in CLAIMS}


def solved():
    silent = {name: torch.zeros(shape) for name, (shape, _) in weight_shapes(WITH_MLP).items() if ".mlp." in name}
    return wired.key_value_circuit() | silent


@pytest.fixture(scope="module")
def results():
    tables = []
    for seed in SEEDS:
        run = GivenRun(TASK, WITH_MLP, [init_weights(WITH_MLP, seed), solved(), solved()])
        tables.append(measure(run, SPEC).assign(arm="trained", init_seed=seed, run_id=f"wired-{seed}"))
    return Results(pd.concat(tables, ignore_index=True), pd.DataFrame(), "rerun")


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_each_link_has_its_known_effect(results, name):
    verdict = CLAIM[name].verdict(results)
    assert (verdict.estimate.effect, verdict.estimate.n) == (pytest.approx(KNOWN[name]), len(SEEDS))
    assert verdict.finding.guards and all(guard.held.outcome is Outcome.YES for guard in verdict.finding.guards)
    assert verdict.status is Status.SUPPORTED


def test_heads_are_chosen_by_where_they_look(results):
    chosen = {role: set(chosen_heads(results, role)) for role in ("carrier", "tagger", "router")}
    assert chosen == {"carrier": {str(CARRIER)}, "tagger": {str(TAGGER)}, "router": {str(MATCHER)}}


def test_two_layer_0_heads_are_more_than_one_per_layer(results):
    found = CLAIM["KV6"].verdict(results)
    assert found.estimate.effect == 0 and found.estimate.against == len(SEEDS)
    assert all(0 <= kept < 0.9 for kept in found.estimate.values)


def test_motifs_born_between_the_same_checkpoints_have_no_order(results):
    found = CLAIM["KV10"].verdict(results)
    assert found.estimate.effect == 0 and set(found.estimate.values) == {0.0}
    born = VIEWS["births"](results).table.groupby("step")["value"]
    assert born.max()[0] == 0 and born.max()[1] == 1, "none at the first checkpoint, some at the second"


def test_every_link_holds_in_every_seed(results):
    assert VIEWS["chain"](results).note.endswith(f"{len(SEEDS)} of {len(SEEDS)} seeds.")


@pytest.mark.parametrize("name", ["KV1", "KV1.published", "KV8", "KV11", "KV12"])
def test_a_claim_without_its_control_arm_is_not_checked(results, name):
    verdict = CLAIM[name].verdict(results)
    assert verdict.finding is None and verdict.status is Status.NOT_CHECKED


def test_the_smallest_circuit_is_the_wired_one(results):
    view = VIEWS["circuit"](results)
    faithful = view.table[view.table["group"].str.startswith("faithfulness")]
    assert (faithful["value"] == 1).all() and "3 (mean)" in view.note
