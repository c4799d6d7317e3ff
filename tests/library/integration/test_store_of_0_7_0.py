"""Runs that version 0.7.0 left in a reader's ``runs/`` are found, read and measured as those of today.

``tests/support/store_0_7_0`` is what its code wrote: a tiny network on symbolic KV, three checkpoints, two tables.
"""

import shutil
from pathlib import Path

import pandas as pd
import pytest
import torch

from circuitcore.metrics.instruments.battery import BatterySpec
from circuitcore.metrics.instruments.standard import standard
from circuitcore.models import ModelConfig, init_weights
from circuitcore.tasks.symbolic_kv import SymbolicKV
from circuitcore.training import Optimizer, Recipe, RunStore, Stage

LEFT = Path(__file__).parents[2] / "support/store_0_7_0"
TASK = SymbolicKV(n_train=96, n_val=32, n_test=32, n_ood=32)
RECIPE = Recipe(
    task=TASK.name,
    task_params=TASK.params,
    model=ModelConfig(
        d_vocab=20, n_ctx=16, n_layers=1, n_heads=1, d_model=8, d_head=8, d_mlp=8, norm="rms", positions="rope",
        mlp="swiglu", tied=True, bias="none",
    ),
    optimizer=Optimizer(lr=3e-3),
    batch_size=32,
    stages=(Stage(("train",), 2),),
    init_seed=0,
    data_seed=10_000,
    checkpoint_epochs=(0, 1, 2),
)  # fmt: skip
SPEC = BatterySpec(n_bases=8)
MADE_WITH = ("circuitcore 0.7.0, torch 2.13.0+cpu, x86_64 AVX512",)


@pytest.fixture
def store(tmp_path):
    shutil.copytree(LEFT, tmp_path / "runs")
    return RunStore(tmp_path / "runs", None)


def test_it_is_found_by_todays_recipe_and_holds_what_it_held(store):
    run = store.find(RECIPE)
    assert run.run_id == "symbolic_kv-0f25e9d5bb55" and run.steps == (0, 3, 6)
    assert run.recipe.sha256 == RECIPE.sha256
    assert run.ledger.made_with == MADE_WITH
    for name, value in init_weights(RECIPE.model, RECIPE.init_seed).items():
        assert torch.equal(run.weights(0)[name], value), name
    assert not torch.equal(run.weights(6)["embed.W_E"], run.weights(0)["embed.W_E"])
    assert run.history["step"].tolist() == [1, 2, 3, 4, 5, 6]
    assert run.history["loss"].iloc[-1] == pytest.approx(7.752926, abs=1e-6)


def test_it_is_not_trained_again(store):
    """The same weights would come again; a run that was trained today would say so in its ledger."""
    before = {path: path.read_bytes() for path in store.root.rglob("*.*")}
    assert store.get_or_train(RECIPE).ledger.made_with == MADE_WITH
    assert {path: path.read_bytes() for path in store.root.rglob("*.*")} == before and len(before) == 8


def test_its_table_is_the_battery_of_today(store):
    """One rule for hashes: the key that names its instrument and settings is still its own, and so are the numbers."""
    run, battery = store.find(RECIPE), standard(SPEC)[0]
    kept = run.table(battery.key)
    assert kept is not None and set(run.tables) >= {battery.key}
    fresh = battery.measure(run)
    names = ["step", "metric", "layer", "head", "site", "variable", "edit", "split", "family"]
    tables = [table.astype({name: str for name in names if name != "step"}) for table in (kept, fresh)]
    both = pd.merge(*tables, on=names, how="outer", suffixes=("", "_today"), indicator=True)
    assert (both["_merge"] == "both").all() and len(both) == len(kept) == 1755
    off = (both["value"] - both["value_today"]).abs()
    fitted = both["metric"] == "probe_published"  # a probe is fitted: rounding turns an answer or two of its 160
    assert off[~fitted].max() < 1e-4 and off[fitted].max() <= 2.5 / 160
