"""A book stands on what was published: where that is damaged it stops, and neither trains nor shows another number."""

import dataclasses
import json
import shutil

import pytest
from measured import battery_of
from packed_index import index_text, write_index

from circuitcore.ground.contents import RUN, Contents
from circuitcore.ground.packed import INDEX_NAME
from circuitcore.metrics.instruments.measuring import measure_all
from circuitcore.training import ExecutorError, RunStore, StoreError
from circuitcore.training.store import run_store as store
from circuitcore.training.store.file_bytes import sha256
from circuitcore.training.store.parquet import to_parquet
from circuitcore.training.store.sealing import differences
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.situation import require_for_a_book
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
(RECIPE,) = study.recipes(SMALL)["trained"]


@pytest.fixture(autouse=True, scope="module")
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studies, "load_params", lambda name: SMALL)
        patch.setattr(studies, "tiers", lambda name: ("published",))
        yield


@pytest.fixture(scope="module")
def made(small, tmp_path_factory):
    root = tmp_path_factory.mktemp("made")
    folders = Folders(root, root / "runs", root / "published")
    measure_all(RunStore(folders.runs, None), study.instruments(SMALL, "trained"), [RECIPE], "serial")
    publishing.publish("symbolic_kv", folders)
    return folders


@pytest.fixture
def folders(made, tmp_path, monkeypatch):
    """What was published, for a reader who has nothing else; training is an error."""

    def train(recipe, *_):
        raise AssertionError(f"{recipe.run_id} is trained")

    monkeypatch.setattr(store, "train", train)
    shutil.copytree(made.published, tmp_path / "published")
    return Folders(tmp_path, tmp_path / "runs", tmp_path / "published")


def built(folders, params=SMALL):
    """What a page of the book does first."""
    evidence = Evidence("symbolic_kv", params, folders)
    require_for_a_book(evidence)
    evidence.cost()
    (results,) = evidence.gather(None, "serial")
    return evidence, results


def run_of(folders):
    return RunStore(folders.published, None).find(RECIPE)


def test_what_was_published_is_read_without_drawing_a_row(folders, monkeypatch):
    def draw(recipe, *_):
        raise AssertionError(f"rows of {recipe.run_id} are drawn")

    monkeypatch.setattr(store, "check_same_rows", draw)
    _, results = built(folders)
    assert set(results.measurements["run_id"]) == {RECIPE.run_id}


def test_publishing_lists_what_it_has_published(folders):
    assert list(differences(folders.published)) == []
    names = Contents.of(folders.published).hashes
    weights = f"{RUN}/{RECIPE.run_id}/weights/{RECIPE.n_steps}"
    assert names.keys() >= {"verdicts/symbolic_kv", f"{RUN}/{RECIPE.run_id}/recipe", weights}
    before = {path: path.read_bytes() for path in folders.published.rglob("*") if path.is_file()}
    evidence, results = built(folders)
    assert evidence.origins == ("paper",) and len(results.measurements)
    assert {claim.id for claim in study.CLAIMS} == evidence.recorded.keys()
    assert {path: path.read_bytes() for path in folders.published.rglob("*") if path.is_file()} == before


def test_publishing_again_brings_the_list_up_to_date(folders, made, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(studies, "load_params", lambda name: SMALL)
    monkeypatch.setattr(studies, "tiers", lambda name: ("published",))
    root = Contents.of(folders.published).root
    shared_file(folders, "history").write_bytes(b"x")
    again = dataclasses.replace(folders, runs=made.runs)
    assert publishing.publish("symbolic_kv", again) == 1
    assert Contents.of(folders.published).root == root and list(differences(folders.published)) == []
    assert publishing.publish("symbolic_kv", folders) == 0, "what is published already need not be here too"
    assert Contents.of(folders.published).root == root


def shared_file(folders, key):
    return folders.published / "symbolic_kv" / "trained" / f"{key}.parquet"


def a_missing_run(folders):
    write_index(folders.published / "symbolic_kv" / INDEX_NAME, "")


def a_missing_index(folders):
    (folders.published / "symbolic_kv" / INDEX_NAME).unlink()


def a_missing_table(folders):
    shared_file(folders, battery_of(study, SMALL, "trained").key).unlink()


def an_edited_table(folders):
    """Every hash but the list's is computed anew."""
    key, index = battery_of(study, SMALL, "trained").key, folders.published / "symbolic_kv" / INDEX_NAME
    table = run_of(folders).table(key)
    data = to_parquet(table.assign(value=table["value"] * 0.9))
    shared_file(folders, key).write_bytes(data)
    line = json.loads(index_text(index))
    line["tables"][key] = sha256(data)
    write_index(index, json.dumps(line))


@pytest.mark.parametrize("damage", [a_missing_run, a_missing_index, a_missing_table, an_edited_table])
def test_a_damaged_run_stops_the_book_by_name(folders, damage):
    damage(folders)
    with pytest.raises(StoreError, match=f"({RECIPE.run_id}|trained/battery).*(git restore|Restore)"):
        built(folders)
    assert not folders.runs.exists()


def test_an_edited_verdict_stops_the_book_by_name(folders):
    path = folders.published / "verdicts/symbolic_kv.json"
    records = json.loads(path.read_text())
    finding = next(record["finding"] for record in records if record["finding"])
    finding["held"]["estimate"]["effect"] += 1e-4
    path.write_text(json.dumps(records))
    evidence, _ = built(folders)
    with pytest.raises(StoreError, match=f"{path}: its contents are not the published ones"):
        evidence.recorded  # noqa: B018
    path.unlink()
    with pytest.raises(StoreError, match=f"{path}: missing"):
        evidence.recorded  # noqa: B018


def test_a_run_taken_off_the_list_too_is_not_trained_by_a_book(folders):
    a_missing_run(folders)
    contents = Contents.of(folders.published).replaced([RECIPE.run_id], {})
    (folders.published / "contents.json").write_text(contents.to_json())
    with pytest.raises(StoreError, match=f"1 of 1 runs of study symbolic_kv are missing: {RECIPE.run_id}.*publish"):
        built(folders)


def test_a_book_trains_no_chapter_in_the_making(folders, made):
    shutil.rmtree(folders.published)
    with pytest.raises(StoreError, match="not trained or measured yet.*circuitcore measure symbolic_kv"):
        built(folders)
    evidence, results = built(dataclasses.replace(folders, runs=made.runs))
    assert evidence.origins == ("rerun",) and len(results.measurements)


def test_other_seeds_are_trained_as_before(folders):
    with pytest.raises(ExecutorError, match="is trained"):
        Evidence("symbolic_kv", SMALL.model_copy(update={"seeds": (6,)}), folders).gather(None, "serial")
