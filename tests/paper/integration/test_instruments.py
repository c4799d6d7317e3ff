"""Adding a measurement, or raising one's version, makes that table and touches no other, and no chapter."""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

import paper
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.instruments.measuring import measure_all
from circuitcore.training import RunStore, StoreError
from circuitcore.training.store import added
from circuitcore.training.store.added import ADDED_FOLDER, LIST_NAME
from circuitcore.training.store.sealing import differences
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.claims.results import SelectionError
from livingpaper.claims.verdict import Status
from livingpaper.commands import cli, publishing
from livingpaper.figures import curves
from livingpaper.figures.bundle import Figure
from tests.support import toy_measured, toy_task

ROOT = Path(paper.__file__).resolve().parent
TOY, TASK = "tests.support.toy_measured", f"{toy_task.__name__}:FirstWord"
PARAMS = toy_measured.Params(seeds=(0, 1, 2, 3, 4))
(RECIPES,) = toy_measured.recipes(PARAMS).values()


@pytest.fixture(autouse=True, scope="module")
def published_tier():
    """The toy study publishes ``PARAMS``; all others what they publish."""
    load_params, tiers = studies.load_params, studies.tiers
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studies, "load_params", lambda name: PARAMS if name == TOY else load_params(name))
        patch.setattr(studies, "tiers", lambda name, *folder: ("published",) if name == TOY else tiers(name, *folder))
        yield


def folders_in(root):
    return Folders(root, root / "runs", root / "published")


def evidence_in(root):
    return Evidence(TOY, PARAMS, folders_in(root))


@pytest.fixture(scope="module")
def made(published_tier, tmp_path_factory):
    """The study trained, measured and published with its own instrument."""
    root = tmp_path_factory.mktemp("made")
    evidence_in(root).gather(None, "serial")
    assert publishing.publish(TOY, folders_in(root)) == len(RECIPES)
    return root


@pytest.fixture
def reader(made, tmp_path):
    """Somebody who has what is published and no more: the last weights of each run."""
    shutil.copytree(made / "published", tmp_path / "published")
    return tmp_path


def with_sizes(monkeypatch, **changes):
    """Let the study measure sizes otherwise, and count on which runs that is done."""
    measured = []

    def sizes(run, settings, progress):
        measured.append(run.run_id)
        return toy_measured.sizes(run, settings, progress).assign(value=lambda rows: 2 * rows["value"])

    sizes.__qualname__ = "sizes"
    instrument = dataclasses.replace(toy_measured.SIZES, measures=sizes, **changes)
    asked = lambda params, arm: (*toy_task.instruments(params, arm), instrument)  # noqa: E731
    monkeypatch.setattr(toy_measured, "instruments", asked)
    return measured


def files(folder):
    """Bytes and time of last change of every file, but locks."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def test_finished_runs_are_read_without_drawing_their_rows(made, monkeypatch):
    alone = Evidence(TOY, PARAMS, Folders(made, made / "runs", made / "nothing-is-published"))
    drawn = lambda *arguments: pytest.fail("whoever reads compares the rows of training")  # noqa: E731
    monkeypatch.setattr("circuitcore.training.store.run_store.check_same_rows", drawn)
    (results,) = alone.gather(None, "serial")
    assert results.origin == "rerun" and set(results.measurements["init_seed"]) == set(PARAMS.seeds)


# ---- one is added ----


def test_a_measurement_from_outside_is_written_drawn_claimed_published_and_verified(made, capsys):
    folders = folders_in(made)
    run = RunStore(folders.published, None).find(RECIPES[0])
    assert {"sizes-v1"} < run.tables.keys() and "sizes" not in {one.name for one in toy_task.instruments(PARAMS, "")}
    pd.testing.assert_frame_equal(
        run.table("sizes-v1").astype({"run_id": "str", "tensor": "str"}),
        toy_measured.sizes(run, None, lambda done: None).astype({"run_id": "str", "tensor": "str"}),
    )
    evidence = evidence_in(made)
    assert evidence.origins == ("paper",) and evidence.left() == []
    (results,) = evidence.gather(None, "serial")
    assert evidence.gather(None, "serial") == (results,), "published tables are read once"
    rows = results.tables["sizes"]
    assert set(rows["init_seed"]) == set(PARAMS.seeds) and set(rows["arm"]) == {"trained"}
    assert evidence.judged(evidence.study.CLAIMS[0], results).status == Status.SUPPORTED
    assert {name: verdict.status for name, verdict in evidence.recorded.items()} == {"M1": Status.SUPPORTED}

    view = evidence.view("by tensor", (results,))
    figure = Figure(name="fig-sizes", chart=curves.training(view), view=view, takeaway="They grow.", alt_text="Sizes.",
                    number=1, runs=evidence.run_ids("paper"))  # fmt: skip
    assert all(text in figure.mimebundle()["text/html"] for text in ("They grow.", "n = 5 seeds", "embed.W_E"))

    assert list(differences(folders.published)) == []
    assert cli.main(["verify", str(folders.published), "--allow-task", TASK]) == 0
    assert "0 bad" in capsys.readouterr().out


def test_meanwhile_every_published_chapter_has_its_tables(made, tmp_path):
    assert len(studies.names()) >= 4
    for name in studies.names():
        evidence = Evidence(name, studies.load_params(name), Folders(ROOT, tmp_path / "runs", ROOT / "published"))
        assert evidence.is_published and evidence.left() == [], name


def test_a_table_that_only_some_arms_have_is_rows_of_those_and_an_unknown_one_is_named(tmp_path, monkeypatch):
    few = toy_measured.Params(seeds=(0,))
    arms = lambda params: dict.fromkeys(("with", "without"), toy_task.recipes(params)["trained"])  # noqa: E731
    mine = lambda params, arm: toy_task.instruments(params, arm) + ((toy_measured.SIZES,) * (arm == "with"))  # noqa: E731
    monkeypatch.setattr(toy_measured, "recipes", arms)
    monkeypatch.setattr(toy_measured, "instruments", mine)
    evidence = Evidence(TOY, few, Folders(tmp_path, tmp_path / "runs", tmp_path / "published"))
    monkeypatch.setattr(Evidence, "published_params", None)
    (results,) = evidence.gather(None, "serial")
    assert set(results.tables) == {"measurements", "snapshots", "sizes"}
    assert set(results.tables["sizes"]["arm"]) == {"with"} and set(results.arms) == {"with", "without"}
    assert results.tables["snapshots"] is results.snapshots and results.features.empty
    with pytest.raises(SelectionError, match="unknown table 'size'; did you mean 'sizes'.*measurements, sizes, snapsh"):
        results.tables["size"]


# ---- one's version is raised ----


def test_a_new_version_is_measured_from_the_weights_there_are_and_nothing_else_is(reader, monkeypatch):
    published = files(reader / "published")
    (before,) = evidence_in(reader).gather(None, "serial")
    measured = with_sizes(monkeypatch, version=2)
    evidence = evidence_in(reader)
    assert [work.what for work in evidence.left("serial")] == ["measuring 5 run(s), 5 checkpoints"]
    assert "sizes-v2" in evidence.left("serial")[0].name and "5 of them lack a table" in evidence.situation()
    (after,) = evidence.gather(None, "serial")
    assert sorted(measured) == sorted(recipe.run_id for recipe in RECIPES)
    assert after.tables["sizes"]["value"].tolist() == [2 * value for value in before.tables["sizes"]["value"]]
    pd.testing.assert_frame_equal(after.measurements, before.measurements)

    assert files(reader / "published") == published, "what is published is only read"
    beside = {
        f"{ADDED_FOLDER}/{recipe.run_id}/{name}" for recipe in RECIPES for name in ("sizes-v2.parquet", LIST_NAME)
    }
    trails = {path for path in files(reader / "runs") if path.startswith(".measured/")}
    assert files(reader / "runs").keys() - trails == beside
    again = evidence_in(reader)
    assert again.left() == [] and "nothing is trained or measured" in again.situation()
    again.gather(None, "serial")
    assert len(measured) == len(RECIPES)
    assert again.store.find(RECIPES[0]).tables.keys() == again.shipped[RECIPES[0]].tables.keys() >= {"sizes-v2"}


def test_what_was_measured_beside_published_runs_is_published_with_them(reader, monkeypatch):
    with_sizes(monkeypatch, version=2)
    (beside,) = evidence_in(reader).gather(None, "serial")
    assert publishing.publish(TOY, folders_in(reader)) == 0, "no run is copied: none is among the reader's"
    assert list(differences(reader / "published")) == []
    shutil.rmtree(reader / "runs")
    evidence = evidence_in(reader)
    assert evidence.left() == []
    (packed,) = evidence.gather(None, "serial")
    assert packed.tables["sizes"]["value"].tolist() == beside.tables["sizes"]["value"].tolist()
    kept = evidence.shipped[RECIPES[0]].ledger.tables.keys()
    assert "sizes-v2" in kept and "sizes-v1" not in kept, "in place of the older one, which no study asks for"


def test_weights_that_are_not_here_are_named_with_what_training_them_takes(reader, monkeypatch):
    before, measured = files(reader), with_sizes(monkeypatch, version=2, when="each")
    with pytest.raises(StoreError) as told:
        evidence_in(reader).gather(None, "serial")
    assert not measured and files(reader).items() >= before.items() and not (reader / "runs").exists()
    steps = sum(recipe.n_steps for recipe in RECIPES)
    first = RECIPES[0].run_id
    assert re.fullmatch(
        rf"table 'sizes-v2' is missing for 5 run\(s\) and cannot be measured: it is of each checkpoint, and 10 of 15 "
        rf"have no weights here: {first} step 0, {first} step 24, .* step 0 and 5 more\. Training them again takes "
        rf"{steps} steps\. circuitcore measure {TOY} --no-published trains and measures all 5 runs of it; python -m "
        rf"livingpaper\.commands\.publish {TOY} publishes them\. Expected: .*\(training 5 run\(s\), {steps} steps, .*"
        rf"\)\.",
        str(told.value),
    ), told.value
    with_sizes(monkeypatch, version=2, when="pairs")
    with pytest.raises(StoreError, match="it is of pairs of neighbouring checkpoints, and 10 of 15"):
        evidence_in(reader).gather(None, "serial")
    store = RunStore(reader / "runs", reader / "published")
    with pytest.raises(StoreError, match="10 of 15 have no weights here.*Train them in a store that does without"):
        measure_all(store, toy_measured.instruments(PARAMS, "trained"), RECIPES, "serial")


@pytest.mark.usefixtures("project")
def test_the_command_measures_just_the_new_version_beside_the_readers_own_runs(tmp_path, monkeypatch, capsys):
    Path("params").mkdir()
    Path("params/toy_measured.yaml").write_text("seeds: [0]\n")
    command = ["measure", TOY, "--params", "params", "--executor", "serial"]
    assert cli.main(command) == 0 and "All 1 runs have their tables." in capsys.readouterr().out
    before, measured = files(tmp_path / "runs"), with_sizes(monkeypatch, version=2)
    assert cli.main(command) == 0 and "1 run(s) measured: sizes-v2.\n" in capsys.readouterr().out
    after, run_id = files(tmp_path / "runs"), RECIPES[0].run_id
    changed = {name for name in after if after[name] != before.get(name) and not name.startswith(".measured")}
    assert changed == {f"{run_id}/tables/sizes-v2.parquet", f"{run_id}/ledger.json"} and measured == [run_id]
    with_sizes(monkeypatch, version=3)
    measure_all(RunStore("runs", None), toy_measured.instruments(PARAMS, "trained"), RECIPES[:1], "serial")
    kept = {name for name in after if "/tables/" in name}
    last = files(tmp_path / "runs")
    assert len(kept) == 4 and {name: last[name] for name in kept} == {name: after[name] for name in kept}


# ---- tables beside published runs ----


def added_to(reader, monkeypatch):
    with_sizes(monkeypatch, version=2)
    evidence_in(reader).gather(None, "serial")
    return reader / "runs" / ADDED_FOLDER / RECIPES[0].run_id


@pytest.mark.parametrize(
    ("name", "damage", "told"),
    [
        ("sizes-v2.parquet", lambda data: data[:-1] + b"x", "its bytes do not give the hash"),
        ("sizes-v2.parquet", None, "cannot be read"),
        (LIST_NAME, lambda data: data[:-9], "damaged, it is no list of tables"),
        (LIST_NAME, lambda data: data.replace(b"sizes-v2", b"../sizes"), "a table called '../sizes'"),
    ],
)
def test_a_damaged_one_is_named_with_its_remedy(reader, monkeypatch, name, damage, told):
    path = added_to(reader, monkeypatch) / name
    path.write_bytes(damage(path.read_bytes())) if damage else path.unlink()
    with pytest.raises(StoreError, match=f"{re.escape(str(path))}: .*{told}.*Delete {re.escape(str(path.parent))}"):
        evidence_in(reader).gather(None, "serial")
    shutil.rmtree(path.parent)
    evidence_in(reader).gather(None, "serial")


def test_one_of_another_training_does_not_count(reader, monkeypatch):
    path = added_to(reader, monkeypatch) / LIST_NAME
    fields = json.loads(path.read_text())
    assert "sizes-v2" in evidence_in(reader).shipped[RECIPES[0]].tables
    path.write_text(json.dumps(fields | {"training": "0" * 64}))
    run = evidence_in(reader).shipped[RECIPES[0]]
    assert "sizes-v2" not in run.tables and run.table("sizes-v2") is None


def test_a_local_twin_stands_for_no_published_run(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "both")
    with_sizes(monkeypatch, version=2)
    evidence = evidence_in(tmp_path / "both")
    evidence.gather(None, "serial")
    twin = evidence.store.find(RECIPES[0])
    assert twin.origin == "local" and "sizes-v2" not in twin.tables
    assert "sizes-v2" in evidence.shipped[RECIPES[0]].tables


def test_verify_looks_at_what_was_added_to_published_runs(reader, monkeypatch, capsys):
    with_sizes(monkeypatch, version=2)
    evidence_in(reader).gather(None, "serial")
    folders = [reader / "runs" / ADDED_FOLDER / recipe.run_id for recipe in RECIPES]

    def bad(path):
        code, found = cli.main(["verify", str(path)]), capsys.readouterr().out.splitlines()
        wrong = [line for line in found if line.startswith("BAD ")]
        assert code == bool(wrong) and "bad." in found[-1]
        return wrong

    for path in (reader / "runs", folders[0].parent, folders[0]):
        assert bad(path) == []
    (folders[0] / "sizes-v2.parquet").write_bytes(b"x")
    (folders[1] / "more.parquet").write_bytes(b"x")
    (folders[2] / LIST_NAME).write_text("[]")
    (folders[3] / "sizes-v2.parquet").unlink()
    told = ("do not give the hash that tables.json holds", "tables.json does not know this file", "no list", "No such")
    found = bad(reader / "runs")
    assert len(found) == 4 and all(
        word in line for word, line in zip(told, sorted(found, key=place(folders)), strict=True)
    )
    assert len(bad(folders[0])) == 1 and bad(folders[4]) == [] and len(bad(folders[0].parent / "none")) == 1


def place(folders):
    """Which of some folders a line speaks of."""
    return lambda line: [folder.name in line for folder in folders].index(True)


def test_a_kill_while_one_is_replaced_leaves_none(reader, monkeypatch):
    store, write = RunStore(reader / "runs", reader / "published"), added.write_durably
    run, table = store.find(RECIPES[0]), pd.DataFrame({"run_id": ["r"], "value": [1.0]})
    store.save_table(run, "more", table)

    def killed(path, data):
        write(path, data)
        if path.suffix == ".parquet":
            raise KeyboardInterrupt

    monkeypatch.setattr(added, "write_durably", killed)
    with pytest.raises(KeyboardInterrupt):
        store.save_table(run, "more", table + table)
    assert run.table("more") is None, "neither the old one nor a false alarm"


def test_none_is_put_among_published_runs(reader):
    table = pd.DataFrame({"run_id": ["r"], "value": [1.0]})
    store = RunStore(reader / "published", reader / "published", only_published=True)
    before = files(reader)
    with pytest.raises(StoreError, match="is not put there"):
        store.save_table(store.find(RECIPES[0]), "more", table)
    other = dataclasses.replace(RECIPES[0], init_seed=99, task_params={})
    with pytest.raises(StoreError, match=f"run {other.run_id} is not there, and only published ones count"):
        store.get_or_train(other)
    assert files(reader) == before


# ---- what cannot be used ----


def no_rows(run, settings, progress):
    return pd.DataFrame({"run_id": [], "value": []})


def of_another(run, settings, progress):
    return pd.DataFrame({"run_id": ["somebody"], "value": [1.0]})


def of_nobody(run, settings, progress):
    return pd.DataFrame({"value": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"name": "My sizes"}, "called 'My sizes'; allowed: small letters, digits and '_'"),
        ({"name": "history"}, "called 'history'; allowed: .* not history"),
        ({"version": 0}, r"sizes: version = 0; allowed: 1, 2, \.\.\."),
        ({"version": True}, "version = True"),
        ({"when": "eech"}, "unknown when 'eech'; did you mean 'each'.*known: each, last, pairs"),
        ({"measures": lambda run, settings, progress: None}, "<lambda>; allowed: a function at the top of a module"),
        ({"settings": {"n": 1}}, "settings = {'n': 1}; allowed: a frozen dataclass, None"),
    ],
)
def test_an_instrument_that_cannot_be_is_refused_by_what_is_wrong(changes, told):
    with pytest.raises(ValueError, match=told):
        dataclasses.replace(toy_measured.SIZES, **changes)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"needs": ("read_ot",)}, f"sizes, task {TASK}: unknown position 'read_ot'; did you mean 'read_out'"),
        ({"measures": no_rows}, "columns .*'run_id', 'value'.*, 0 rows of no run; allowed: at least one row"),
        ({"measures": of_another}, "1 rows of somebody; allowed: .* a column 'run_id' that is first_word-"),
        ({"measures": of_nobody}, r"columns \['value'\], 2 rows; allowed"),
    ],
)
def test_a_table_that_cannot_be_kept_is_refused_before_it_is(made, changes, told):
    run = evidence_in(made).shipped[RECIPES[0]]
    with pytest.raises(ValueError, match=told):
        dataclasses.replace(toy_measured.SIZES, **changes).measure(run)
    assert isinstance(toy_measured.SIZES.measure(run), pd.DataFrame)


def test_two_of_an_arm_have_two_names_and_two_keys(monkeypatch):
    other = Instrument(name="other", version=1, measures=of_nobody, known_as="sizes-v1")
    for pair, told in (((toy_measured.SIZES,) * 2, "sizes"), ((toy_measured.SIZES, other), "sizes-v1")):
        monkeypatch.setattr(toy_measured, "instruments", lambda params, arm, pair=pair: pair)
        with pytest.raises(studies.StudyError, match=f"arm 'trained' has '{told}' twice"):
            studies.instruments(toy_measured, PARAMS)


@dataclasses.dataclass(frozen=True)
class Settings:
    n: int


def test_settings_enter_the_key_and_a_version_does():
    plain = toy_measured.SIZES
    one, two = (dataclasses.replace(plain, settings=Settings(n)) for n in (1, 2))
    keys = {plain.key, one.key, two.key, dataclasses.replace(plain, version=2).key}
    assert len(keys) == 4 and plain.key == "sizes-v1" and re.fullmatch("sizes-v1-[0-9a-f]{8}", one.key)
    assert one.key == dataclasses.replace(plain, settings=Settings(1)).key


def test_one_that_another_process_measured_as_well_is_never_missing(reader, monkeypatch):
    store, write, seen = RunStore(reader / "runs", reader / "published"), added.write_durably, []
    run, table = store.find(RECIPES[0]), pd.DataFrame({"run_id": ["r"], "value": [1.0]})
    store.save_table(run, "more", table)

    def looked_at(path, data):
        seen.append(run.table("more"))
        write(path, data)

    monkeypatch.setattr(added, "write_durably", looked_at)
    store.save_table(run, "more", table)
    pd.testing.assert_frame_equal(*seen, table)
