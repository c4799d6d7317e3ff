"""Publishing: runs are copied whole but for weights, checked, and judged on the copies."""

import shutil
from dataclasses import replace
from types import ModuleType

import pandas as pd
import pytest

from circuitcore.ground.contents import Contents
from circuitcore.ground.present import check_present
from circuitcore.metrics.instruments.instrument import Instrument, version_of
from circuitcore.metrics.instruments.measuring import measure_all
from circuitcore.training import RunStore, StoreError
from circuitcore.training.store.ledger import packed_name
from circuitcore.training.store.sealing import differences
from circuitcore.training.store.verify import verify
from circuitcore.training.sweeps.sweep import train_all
from livingpaper.book import studies
from livingpaper.book.evidence import Folders
from livingpaper.claims.verdict import Status, from_json
from livingpaper.commands import publishing
from retrieval_circuits import symbolic_kv as study

SMALL = study.Params(
    seeds=(5,),
    control_seeds=(),
    torch_seeds=(),
    epochs=1,
    torch_epochs=1,
    learning_rate=0.001,
    batch_size=500,
    engine="torch",
    n_bases=8,
)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "load_params", lambda name: SMALL)
    monkeypatch.setattr(studies, "tiers", lambda name: ("published",))
    return Folders(tmp_path, tmp_path / "runs", tmp_path / "published")


def test_a_run_that_was_never_measured_is_named(folders):
    (recipe,) = study.recipes(SMALL)["trained"]
    with pytest.raises(StoreError, match=f"{recipe.run_id}.*circuitcore measure symbolic_kv"):
        publishing.publish("symbolic_kv", folders)
    assert not (folders.published / "verdicts").exists()


def test_what_is_published_is_whole_and_judged(folders):
    (recipe,) = study.recipes(SMALL)["trained"]
    measure_all(RunStore(folders.runs, None), study.instruments(SMALL, "trained"), [recipe], "serial")
    path, elsewhere = folders.published / "verdicts" / "symbolic_kv.json", folders.published.with_name("elsewhere")
    elsewhere.write_text("[]")
    path.parent.mkdir(parents=True)
    path.symlink_to(elsewhere)
    assert publishing.publish("symbolic_kv", folders) == 1
    run = RunStore(folders.published, None).find(recipe)
    assert run.steps == (recipe.n_steps,) and verify(run.path) == []
    assert run.path == folders.published / "symbolic_kv" / "trained" / recipe.run_id
    assert not (folders.published / recipe.run_id).exists(), "one place for each run"
    assert run.tables.keys() == RunStore(folders.runs, None).find(recipe).tables.keys()
    assert elsewhere.read_text() == "[]" and not path.is_symlink(), "written whole under its name, or not at all"
    verdicts = from_json(path.read_text())
    assert [verdict.claim for verdict in verdicts] == [claim.in_words for claim in study.CLAIMS]
    # One seed decides nothing, and there is no arm but one.
    by_status = {status: {one.claim.id for one in verdicts if one.status == status} for status in Status}
    assert by_status[Status.NOT_CHECKED] == {"KV1", "KV1.published", "KV8", "KV11", "KV12"}
    assert not by_status[Status.SUPPORTED] and not by_status[Status.REFUTED] and not by_status[Status.VOID]
    assert {one.estimate.n for one in verdicts if one.finding} == {1}


def test_runs_of_earlier_parameters_go_from_pack_and_list(folders, monkeypatch):
    for seed in (5, 6):
        small = SMALL.model_copy(update={"seeds": (seed,)})
        monkeypatch.setattr(studies, "load_params", lambda name, small=small: small)
        (recipe,) = study.recipes(small)["trained"]
        measure_all(RunStore(folders.runs, None), study.instruments(small, "trained"), [recipe], "serial")
        assert publishing.publish("symbolic_kv", folders) == 1
        assert RunStore(folders.published, None).run_ids() == [recipe.run_id]
        assert list(Contents.of(folders.published).runs) == [recipe.run_id]
        check_present(folders.published)
        assert list(differences(folders.published)) == []


def test_a_run_that_another_study_has_published_stays_in_its_pack(folders, monkeypatch):
    (recipe,) = study.recipes(SMALL)["trained"]
    measure_all(RunStore(folders.runs, None), study.instruments(SMALL, "trained"), [recipe], "serial")
    publishing.publish("symbolic_kv", folders)
    (folders.published / "symbolic_kv").rename(folders.published / "another_study")
    publishing.reseal(folders.published)
    assert publishing.publish("symbolic_kv", folders) == 0
    assert RunStore(folders.published, None).find(recipe).path.parents[1] == folders.published / "another_study"
    monkeypatch.setattr(study, "published_epochs", lambda params, arm, seed: ())
    for _ in range(2):
        assert publishing.publish("symbolic_kv", folders) == 0
        assert RunStore(folders.published, None).find(recipe).steps == (recipe.n_steps,), "the other study ships it"
        shutil.rmtree(folders.runs, ignore_errors=True)
    assert not (folders.published / "symbolic_kv" / "trained").exists() and list(differences(folders.published)) == []


@pytest.mark.parametrize("is_same", [True, False])
def test_more_weights_of_a_published_run_need_no_measurement_if_training_gives_the_same_bits(
    folders, monkeypatch, is_same
):
    (recipe,) = study.recipes(SMALL)["trained"]
    measure_all(RunStore(folders.runs, None), study.instruments(SMALL, "trained"), [recipe], "serial")
    publishing.publish("symbolic_kv", folders)
    before = dict(Contents.of(folders.published).runs[recipe.run_id])
    shutil.rmtree(folders.runs)
    train_all(RunStore(folders.runs, None), [recipe], "serial")
    monkeypatch.setattr(study, "published_epochs", lambda params, arm, seed: (0, 1))
    if not is_same:  # another processor, whose ledger has other hashes
        whole = publishing.RunStore.find

        def found(store, asked):
            run = whole(store, asked)
            if run is None or not store.only_published:
                return run
            last = replace(run.ledger.entries[-1], sha256="0" * 64)
            return replace(run, ledger=replace(run.ledger, entries=(*run.ledger.entries[:-1], last)))

        monkeypatch.setattr(publishing.RunStore, "find", found)
        with pytest.raises(StoreError, match=f"{recipe.run_id}.*not trained and measured"):
            publishing.publish("symbolic_kv", folders)
        return
    assert publishing.publish("symbolic_kv", folders) == 1
    after = Contents.of(folders.published).runs[recipe.run_id]
    assert RunStore(folders.published, None).find(recipe).steps == (0, recipe.n_steps)
    assert {name: value for name, value in after.items() if name in before} == before
    assert after.keys() - before.keys() == {"weights/0"} and list(differences(folders.published)) == []


@pytest.mark.parametrize("other", [(1,), (0,)], ids=["both arms ship one step", "each arm ships its own"])
def test_weights_that_no_arm_ships_any_more_go_and_nothing_else(folders, monkeypatch, other):
    (recipe,) = study.recipes(SMALL)["trained"]
    measure_all(RunStore(folders.runs, None), study.instruments(SMALL, "trained"), [recipe], "serial")
    monkeypatch.setattr(study, "published_epochs", lambda params, arm, seed: (0, 1))
    publishing.publish("symbolic_kv", folders)
    before = dict(Contents.of(folders.published).runs[recipe.run_id])
    shutil.rmtree(folders.runs)
    recipes, instruments = study.recipes, study.instruments
    monkeypatch.setattr(study, "instruments", lambda params, arm: instruments(params, "trained"))
    monkeypatch.setattr(study, "recipes", lambda params: recipes(params) | {"again": (recipe,)})
    monkeypatch.setattr(study, "published_epochs", lambda params, arm, seed: other if arm == "again" else (1,))
    assert publishing.publish("symbolic_kv", folders) == 0
    run = RunStore(folders.published, None).find(recipe)
    assert run.steps == ((0, recipe.n_steps) if 0 in other else (recipe.n_steps,)) and len(run.all_steps) > 1
    assert sorted(path.name for path in run.path.iterdir()) == [packed_name(step) for step in run.steps]
    after = Contents.of(folders.published).runs[recipe.run_id]
    assert before.keys() - after.keys() == (set() if 0 in other else {"weights/0"}) and after.items() <= before.items()
    assert list(differences(folders.published)) == []


@pytest.mark.parametrize(
    ("still_asked", "is_here"),
    [(False, False), (False, True), (True, False)],
    ids=["nobody asks for it", "nor for one that is in runs, too", "another study asks for it"],
)
def test_a_table_by_an_earlier_version_goes_once_no_study_asks_for_it(folders, monkeypatch, still_asked, is_here):
    (recipe,) = study.recipes(SMALL)["trained"]
    instruments, newer = study.instruments, replace(COUNTED, version=2)
    other = ModuleType("other")
    other.recipes, other.instruments = lambda params: {"arm": (recipe,)}, lambda params, arm: (COUNTED,)
    loaded = studies.load
    monkeypatch.setattr(studies, "names", lambda: ("symbolic_kv", *(("other",) if still_asked else ())))
    monkeypatch.setattr(studies, "load", lambda name: other if name == "other" else loaded(name))
    for one in (COUNTED, newer):
        monkeypatch.setattr(study, "instruments", lambda params, arm, one=one: (*instruments(params, arm), one))
        measure_all(RunStore(folders.runs, None), study.instruments(SMALL, "trained"), [recipe], "serial")
        if one == newer and not is_here:
            made = RunStore(folders.runs, None).find(recipe).table(newer.key)
            shutil.rmtree(folders.runs)
            both = RunStore(folders.runs, folders.published)
            both.save_table(both.find(recipe), newer.key, made)
        publishing.publish("symbolic_kv", folders)
    run = RunStore(folders.published, None).find(recipe)
    assert {key for key in run.tables if key.startswith("counted")} == {newer.key} | (
        {COUNTED.key} if still_asked else set()
    )
    assert run.table(newer.key)["value"].tolist() == [recipe.n_steps]
    assert (run.path.parent / f"{COUNTED.key}.parquet").exists() == still_asked
    assert list(differences(folders.published)) == []


def count_steps(run, settings, progress):
    """The number of steps, as a table."""
    return pd.DataFrame(
        {"run_id": [run.run_id], "step": [run.final_step], "metric": ["steps"], "value": [float(run.final_step)]}
    )


COUNTED = Instrument(name="counted", version=1, measures=count_steps, when="last")


def test_a_key_says_name_and_version_unless_an_earlier_rule_made_it():
    assert version_of(COUNTED.key) == ("counted", 1)
    assert version_of("cuts-v12-f13423da") == ("cuts", 12)
    assert version_of("snapshots-v1-battery-v1-dc1c0d1f") is None and version_of("history") is None
