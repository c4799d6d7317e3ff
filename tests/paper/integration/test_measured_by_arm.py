"""What is measured may differ by arm: a run of two arms is measured for each, and each arm reads its own table."""

import dataclasses
import re
import sys
from types import ModuleType

import pandas as pd

from circuitcore.ground.durations import Durations, expected
from circuitcore.metrics import instruments
from circuitcore.metrics.instruments.battery import BatterySpec
from circuitcore.metrics.instruments.measuring import unmeasured
from circuitcore.metrics.instruments.snapshots import snapshot_key
from circuitcore.metrics.instruments.standard import standard
from livingpaper.book.evidence import Evidence, Folders
from tests.support import toy_task

MANY, FEW = BatterySpec(n_bases=60), BatterySpec(n_bases=30, n_split=10)
PARAMS = toy_task.Params(seeds=(0, 1))


def recipes(params):
    (all_seeds,) = toy_task.recipes(params).values()
    return {"all": all_seeds, "again": all_seeds, "first": all_seeds[:1]}


def spec_of(arm):
    return FEW if arm == "first" else MANY


def given(folder, spec_of=spec_of):
    class Given(Evidence):
        study = ModuleType("by_arm")
        published_params = None

    Given.study.recipes, Given.study.instruments = recipes, lambda params, arm: standard(spec_of(arm))

    return Given("by_arm", PARAMS, Folders(folder, folder / "runs", folder / "published"))


def test_recipes_are_grouped_by_what_is_measured_each_once():
    arms = recipes(PARAMS)
    found = unmeasured(lambda recipe: None, arms, {arm: standard(spec_of(arm)) for arm in arms})
    assert found == {standard(MANY): list(arms["all"]), standard(FEW): list(arms["first"])}


def test_each_arm_is_measured_and_read_with_its_own_spec(tmp_path):
    evidence = given(tmp_path)
    training, *measuring = evidence.left("serial")
    assert training.units == sum(recipe.n_steps for recipe in recipes(PARAMS)["all"])
    assert [work.units for work in measuring] == [6, 3] and measuring[0].name != measuring[1].name
    assert "measuring 1 run(s), 3 checkpoints, not known yet" in evidence.cost("serial"), "the first run twice"
    (results,) = evidence.gather(None, "serial")
    n = {arm: set(results.at_final("accuracy", arm, split="test")["n"]) for arm in results.arms}
    assert n == {"all": {60}, "again": {60}, "first": {10}}
    first, second = (evidence.store.find(recipe) for recipe in recipes(PARAMS)["all"])
    assert {MANY.key, FEW.key} <= first.tables.keys() and FEW.key not in second.tables
    assert dataclasses.replace(evidence).left("serial") == []
    known = Durations.of(tmp_path).here()
    assert set(known) == {training.name, *(work.name for work in measuring)} and min(known.values()) > 0
    assert re.match(r"Expected: about \d+ s \(training", expected([training, *measuring], Durations.of(tmp_path)))


def test_features_are_measured_where_they_are_asked_for(tmp_path, monkeypatch):
    module = ModuleType("features")
    module.FEATURES_VERSION = 1
    module.features_key = lambda spec: f"features-{spec.key}"
    module.features = lambda run, spec: pd.DataFrame({"run_id": [run.run_id], "kind": ["neurons"], "value": [1.0]})
    monkeypatch.setitem(sys.modules, "circuitcore.metrics.instruments.features", module)
    monkeypatch.setattr(instruments, "features", module, raising=False)
    evidence = given(tmp_path, lambda arm: dataclasses.replace(FEW, features=arm == "first"))
    assert len(evidence.left("serial")) == 3, "training, and measuring in two ways"
    (results,) = evidence.gather(None, "serial")
    assert results.features[["arm", "init_seed", "kind"]].to_numpy().tolist() == [["first", 0, "neurons"]]
    assert set(results.at_final("accuracy", split="test")["arm"]) == {"all", "again", "first"}


def test_snapshots_are_kept_where_they_are_not_declined(tmp_path):
    without = dataclasses.replace(FEW, snapshots=False)
    assert without.key != FEW.key and dataclasses.replace(FEW, snapshots=True).key == FEW.key
    evidence = given(tmp_path, lambda arm: without if arm == "first" else MANY)
    (results,) = evidence.gather(None, "serial")
    first = evidence.store.find(recipes(PARAMS)["first"][0])
    assert set(first.tables) == {without.key, MANY.key, snapshot_key(MANY)}
    assert set(results.snapshots["arm"].astype(str)) == {"all", "again"}
    (alone,) = given(tmp_path, lambda arm: without).gather(None, "serial")
    assert alone.snapshots.empty
