"""The list of what is published: blind to how it is stored, and to nothing else."""

import ast
import base64
import dataclasses
import io
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import safetensors.torch
from rights import bound_by_rights
from toy.recall import toy_recipe

from circuitcore.ground import contents
from circuitcore.ground.contents import CONTENTS_NAME, Contents, ContentsError
from circuitcore.ground.present import check_present
from circuitcore.training import RunStore, StoreError
from circuitcore.training.store.checkpoint import pack, unpack, weights_sha256
from circuitcore.training.store.digests import stored_weights_sha256, table_sha256
from circuitcore.training.store.file_bytes import sha256
from circuitcore.training.store.ledger import HISTORY_NAME, LEDGER_NAME, RECIPE_NAME, RESUME_NAME, Ledger
from circuitcore.training.store.parquet import to_parquet
from circuitcore.training.store.sealed import read_record
from circuitcore.training.store.sealing import differences, seal, seal_all
from livingpaper.commands import cli, publishing

ROOT = Path(contents.__file__).resolve().parents[2]
KEY = "scores-v1"
TABLE = pd.DataFrame(
    {
        "metric": pd.Categorical(["accuracy", "loss", "accuracy", "loss"]),
        "head": pd.array([0, None, 1, None], "Int64"),
        "right": [True, False, True, True],
        "value": [0.5, float("nan"), 0.25, -1.75],
        "label": ["a", "b", None, "ä"],
    }
)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Two published runs, a verdict and a measurement, listed."""
    root = tmp_path_factory.mktemp("made")
    store, folder = RunStore(root / "runs", None), root / "published"
    for seed in (0, 1):
        run = store.get_or_train(toy_recipe(seed))
        store.save_table(run, KEY, TABLE)
        store.publish(store.find(run.recipe), folder, [0, run.final_step])
    for name, value in {"verdicts/toy": [{"effect": 0.25}], "bench/results": {"rows": [1]}}.items():
        (folder / name).parent.mkdir()
        (folder / f"{name}.json").write_text(json.dumps(value))
    seal_all(folder)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "published")


@pytest.fixture
def run(folder):
    return RunStore(folder, None).find(toy_recipe(0))


def rewrite(run, name, data, **fields):
    """Put other bytes into a file and give the run a ledger that vouches for them: an edit that hashes cannot show."""
    (run.path / name).write_bytes(data)
    dataclasses.replace(Ledger.read(run.path), **fields).write(run.path)


def store_table(run, table):
    rewrite(run, f"tables/{KEY}.parquet", to_parquet(table), tables={KEY: sha256(to_parquet(table))})


def stored_otherwise(table, codec):
    """The same rows and values: other codec, order, and types."""
    buffer = io.BytesIO()
    other = table.iloc[::-1][sorted(table.columns, reverse=True)].reset_index(drop=True)
    other.to_parquet(buffer, compression=codec, index=False, use_dictionary=codec == "gzip")
    return buffer.getvalue()


def problems(folder):
    return [(path.relative_to(folder).as_posix(), text) for path, text in differences(folder)]


# ---- what the hash does not see ----


def test_another_layout_of_the_files_moves_nothing(folder, run):
    root = Contents.of(folder).root
    plain = TABLE.astype({"metric": "str", "value": "float32"})
    history = run.history.astype({"loss": "float64"})
    for name, table, codec in ((f"tables/{KEY}.parquet", plain, "gzip"), (HISTORY_NAME, history, None)):
        data = stored_otherwise(table, codec)
        assert data != (run.path / name).read_bytes()
        field = {"tables": {KEY: sha256(data)}} if "tables" in name else {"history_sha256": sha256(data)}
        rewrite(run, name, data, **field)
    recipe = run.path / RECIPE_NAME
    recipe.write_text(json.dumps(json.loads(recipe.read_text()), indent=4, sort_keys=False))
    (folder / "verdicts/toy.json").write_text('[\n {"effect" : 2.5e-1}\n]')
    assert problems(folder) == []
    found = RunStore(folder, None)
    pd.testing.assert_series_equal(
        found.load_table(found.get(run.run_id), KEY)["value"][::-1].reset_index(drop=True).astype("float64"),
        TABLE["value"],
    )
    (folder / CONTENTS_NAME).unlink()
    assert seal_all(folder).root == root


def test_tables_are_equal_by_their_values():
    seen = table_sha256(TABLE)
    unused = TABLE.assign(metric=TABLE["metric"].cat.set_categories(["never", "loss", "accuracy"]))
    assert table_sha256(unused) == table_sha256(TABLE.sample(frac=1, random_state=3)) == seen
    assert table_sha256(TABLE.assign(metric=TABLE["metric"].astype("object"))) == seen
    assert table_sha256(TABLE.iloc[:0]) == table_sha256(TABLE.iloc[:0].copy()) != seen
    many = pd.DataFrame({"word": [f"w{i}" for i in range(600)]})
    assert table_sha256(many) == table_sha256(many[::-1]) != table_sha256(many.replace("w7", "w8"))
    assert table_sha256(TABLE) != table_sha256(pd.concat([TABLE, TABLE.iloc[:1]]))
    assert table_sha256(pd.DataFrame({"value": [0.0]})) != table_sha256(pd.DataFrame({"value": [-0.0]}))
    for large in (pd.array([2**64 - 1], "uint64"), pd.array([2**63, None], "UInt64")):
        with pytest.raises(ValueError, match=f"column 'n' holds a whole number above {2**63 - 1}"):
            table_sha256(pd.DataFrame({"n": large}))
    for dtype in ("uint64", "UInt64", "int64"):
        whole = pd.DataFrame({"n": pd.array([2**63 - 1, 0], dtype)})
        assert table_sha256(whole) == table_sha256(whole.astype("int64"))
    with pytest.raises(ValueError, match="column 'when' holds datetime64"):
        table_sha256(pd.DataFrame({"when": pd.to_datetime(["2026-11-22"])}))


@pytest.mark.parametrize(
    "change",
    [
        {"value": [0.5, float("nan"), 0.25, -1.7500000000000002]},
        {"value": [float("nan"), 0.5, 0.25, -1.75]},
        {"head": pd.array([0, None, 2, None], "Int64")},
        {"head": pd.array([0, 0, 1, None], "Int64")},
        {"label": ["a", "b", "", "ä"]},
        {"metric": ["accuracy", "accuracy", "loss", "loss"]},
        {"right": [True, True, True, True]},
        {"more": [1, 2, 3, 4]},
    ],
)
def test_one_changed_cell_changes_a_table(change):
    assert table_sha256(TABLE.assign(**change)) != table_sha256(TABLE)


def test_weights_are_equal_by_their_tensors(run):
    weights = run.weights(run.final_step)
    path = run.path / run.ledger.entries[-1].file
    data = safetensors.torch.save(dict(reversed(weights.items())), {"by": "somebody else"})
    assert data != path.read_bytes()
    assert weights_sha256(unpack(path, data)[0]) == weights_sha256(weights) == stored_weights_sha256(data)
    name = next(iter(weights))
    for other in (weights[name].double(), weights[name][None], weights[name] + 1e-3):
        assert weights_sha256(weights | {name: other}) != weights_sha256(weights)
    assert weights_sha256({f"x{key}": value for key, value in weights.items()}) != weights_sha256(weights)


# ---- what it sees ----


def a_weight(run):
    entry = run.ledger.entries[-1]
    tensors, identity = unpack(run.path / entry.file, (run.path / entry.file).read_bytes())
    next(iter(tensors.values())).view(-1)[0] += 1e-3
    data = pack(tensors, identity)
    entries = (*run.ledger.entries[:-1], dataclasses.replace(entry, sha256=sha256(data)))
    rewrite(run, entry.file, data, entries=entries)


def a_cell(run):
    store_table(run, TABLE.assign(value=TABLE["value"] + 1e-9))


def a_step_of_the_history(run):
    data = to_parquet(run.history.assign(loss=run.history["loss"] * 1.001))
    rewrite(run, HISTORY_NAME, data, history_sha256=sha256(data))


def a_recorded_loss(run):
    first, *rest = run.ledger.entries
    dataclasses.replace(run.ledger, entries=(dataclasses.replace(first, loss=first.loss + 1e-3), *rest)).write(run.path)


def an_unfinished_ledger(run):
    dataclasses.replace(run.ledger, finished=False, history_sha256=None).write(run.path)


def a_dropped_table(run):
    (run.path / f"tables/{KEY}.parquet").unlink()
    dataclasses.replace(run.ledger, tables={}).write(run.path)


def a_dropped_checkpoint(run):
    *others, last = run.ledger.entries
    (run.path / last.file).unlink()
    dataclasses.replace(run.ledger, entries=(*others, dataclasses.replace(last, kept=False))).write(run.path)


def a_table_more(run):
    data = to_parquet(TABLE)
    rewrite(run, "tables/more.parquet", data, tables={KEY: run.tables[KEY], "more": sha256(data)})


STEP = "step-0000036.safetensors"
EDITS = {
    a_weight: {STEP, LEDGER_NAME},
    a_cell: {f"tables/{KEY}.parquet"},
    a_step_of_the_history: {HISTORY_NAME},
    a_recorded_loss: {LEDGER_NAME},
    an_unfinished_ledger: {LEDGER_NAME, "history.parquet"},
    a_dropped_table: {f"tables/{KEY}.parquet"},
    a_dropped_checkpoint: {STEP},
    a_table_more: {"tables/more.parquet"},
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_with_all_hashes_recomputed_is_named_and_never_read(folder, run, edit):
    edit(run)
    found = problems(folder)
    assert {path for path, _ in found} == {f"{run.run_id}/{name}" for name in EDITS[edit]}
    assert all(str(folder / path) in text and "git restore" in text for path, text in found)
    with pytest.raises(StoreError, match=rf"{run.run_id}.*{CONTENTS_NAME}"):
        store = RunStore(folder, None)
        read = store.find(toy_recipe(0))
        assert store.load_table(read, KEY) is None or read.history is None or read.weights(read.final_step)
    other = RunStore(folder, None).find(toy_recipe(1))
    assert len(other.history) and other.weights(0), "another run is none the worse"


@pytest.mark.parametrize("name", ["verdicts/toy", "bench/results"])
def test_an_edited_record_is_named_and_never_read(folder, name):
    path = folder / f"{name}.json"
    assert read_record(folder, name)
    path.write_text(path.read_text().replace("0.25", "0.26").replace("[1]", "[2]"))
    assert [found for found, _ in problems(folder)] == [f"{name}.json"]
    with pytest.raises(StoreError, match=f"{path}: its contents are not the published ones"):
        read_record(folder, name)
    path.unlink()
    assert [found for found, _ in problems(folder)] == [f"{name}.json"]
    with pytest.raises(StoreError, match=f"{path}: missing"):
        read_record(folder, name)
    path.with_stem("other").write_text("{}")
    with pytest.raises(StoreError, match="was not published"):
        read_record(folder, f"{path.parent.name}/other")


def test_a_recipe_that_says_something_else_is_named(folder, run):
    path = run.path / RECIPE_NAME
    path.write_text(path.read_text().replace('"batch_size":6', '"batch_size":7'))
    assert [found for found, _ in problems(folder)] == [f"{run.run_id}/{RECIPE_NAME}"]
    with pytest.raises(StoreError, match=RECIPE_NAME):
        assert RunStore(folder, None).find(toy_recipe(0)).recipe


@pytest.mark.parametrize("gone", ["", LEDGER_NAME])
def test_a_missing_run_is_missed_by_name_and_not_trained(folder, run, tmp_path, gone):
    shutil.rmtree(run.path) if not gone else (run.path / gone).unlink()
    [(path, text)] = problems(folder)
    assert path.startswith(run.run_id) and "missing" in text
    with pytest.raises(ContentsError, match=f"missing: {run.run_id}"):
        check_present(folder)
    store = RunStore(tmp_path / "runs", folder)
    for ask in (store.find, store.get_or_train, RunStore(folder, None).get_or_train):
        with pytest.raises(StoreError, match=f"{run.run_id}.*missing.*not trained again"):
            ask(toy_recipe(0))
    with pytest.raises(StoreError, match=run.run_id):
        store.runs()
    assert not (tmp_path / "runs").exists()
    assert store.get_or_train(toy_recipe(2)).origin == "local", "a seed that was never published is"


def test_what_was_never_published_is_named(folder, run, tmp_path):
    made = RunStore(tmp_path / "runs", None).get_or_train(toy_recipe(3))
    shutil.copytree(made.path, folder / made.run_id)
    (folder / "notes.txt").write_text("x")
    (folder / "verdicts/more.txt").write_text("x")
    assert {path.split("/")[0] for path, _ in problems(folder)} == {made.run_id, "notes.txt", "verdicts"}
    with pytest.raises(ContentsError, match=f"never published: {made.run_id}"):
        check_present(folder)
    with pytest.raises(StoreError, match=f"{made.run_id}.*was not published"):
        RunStore(folder, None).find(toy_recipe(3))


def test_a_damaged_list_is_no_list(folder, run):
    path = folder / CONTENTS_NAME
    text = path.read_text()
    value = json.loads(text)["contents"]["verdicts"]["toy"]
    swapped = text.replace('"toy"', '"tox"')
    assert swapped != text
    for damaged in (
        text.replace(value, value[::-1]),
        text.replace(value, f"{value[:-1]}{chr(ord(value[-1]) + 1)}"),
        swapped,
        text[:99],
        "[]",
        "[" * 10**5,
        '{"root": 1, "contents": {"x": 1}}',
        '{"root": 1, "contents": {"verdicts": {"x": 1}}}',
        text.replace('"run/', '"run/x/'),
    ):
        path.write_text(damaged)
        assert [found for found, _ in problems(folder)] == [CONTENTS_NAME]
        with pytest.raises(StoreError, match=f"{CONTENTS_NAME}: damaged"):
            RunStore(folder, None).find(toy_recipe(0))
    path.unlink()
    assert [found for found, _ in problems(folder)] == [CONTENTS_NAME]
    with pytest.raises(ContentsError, match=f"{CONTENTS_NAME}: missing"):
        check_present(folder)


def test_a_list_that_cannot_be_read_is_not_taken_for_none(folder, run):
    """Else whoever makes it unreadable has the runs read unchecked."""
    path = folder / CONTENTS_NAME
    kept = path.rename(folder.with_name("kept.json"))
    for target in ("gone", path, "a" * 300):
        path.symlink_to(target)
        with pytest.raises(StoreError, match=f"{CONTENTS_NAME}: cannot be read"):
            RunStore(folder, None).find(toy_recipe(0))
        path.unlink()
    kept.rename(path)
    with bound_by_rights():
        for closed in (path, folder):
            mode = closed.stat().st_mode
            closed.chmod(0)
            contents._read.cache_clear()  # which knows a list that it has read by its date
            with pytest.raises(ContentsError, match=r"cannot be read \(Permission denied\)"):
                Contents.of(folder)
            closed.chmod(mode)
    assert Contents.of(folder.with_name("nowhere")) is Contents.of(path) is None


@pytest.mark.parametrize(
    "name",
    ["run/../recipe", "run/a/table/../x", f"run/{'a' * 300}/recipe", "run/a/weights/" + "9" * 5_000, "run/a\n/recipe"],
)
def test_no_list_has_names_that_lead_elsewhere(name):
    assert Contents({"run/a/table/b.c": "0" * 64, "bench/a b-3": "0" * 64}).root
    with pytest.raises(ValueError, match="no name of a part"):
        Contents({name: "0" * 64})


# ---- who writes it ----


def test_nothing_but_publishing_writes_among_published_runs(folder, run):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    store = RunStore(folder, None)
    (run.path / RESUME_NAME).write_bytes(b"x")
    before[run.path / RESUME_NAME] = b"x"
    assert store.get_or_train(toy_recipe(0)).origin == "local", "a store may be asked for what is published alone"
    for write in (lambda: store.get_or_train(toy_recipe(5)), lambda: store.save_table(run, "more", TABLE)):
        with pytest.raises(StoreError, match="is not put there"):
            write()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_only_publish_makes_the_list():
    floors = ("circuitcore", "livingpaper", "retrieval_circuits")
    files = sorted(path for floor in floors for path in (ROOT / floor).rglob("*.py"))
    writers = [path.relative_to(ROOT).as_posix() for path in files if takes_a_writer(path.read_text())]
    assert writers == ["livingpaper/commands/publishing.py"]


def takes_a_writer(text):
    """Whether a file imports what writes the list, or the module that has it."""
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in getattr(node, "names", ())] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        writers = ("", ".seal", ".seal_all", ".take_off", ".*")
        if {f"circuitcore.training.store.sealing{writer}" for writer in writers} & set(names):
            return True
    return False


@pytest.mark.parametrize(
    "line",
    [
        "from circuitcore.training.store.sealing import (\n    differences,\n    seal_all,\n)",
        "def f():\n    from circuitcore.training.store.sealing import seal as put",
        "from circuitcore.training.store import sealing",
        "import circuitcore.training.store.sealing",
        "from circuitcore.training.store.sealing import *",
    ],
)
def test_a_writer_is_seen_however_it_is_imported(line):
    assert takes_a_writer(line) and not takes_a_writer(line.replace("sealing", "sealed"))


def test_publishing_one_study_vouches_for_no_other_run(folder, run):
    a_cell(run)
    other = toy_recipe(1).run_id
    (folder / "verdicts/toy.json").write_text("[1]")
    seal(folder, [other], ["verdicts/toy"])
    assert [path for path, _ in problems(folder)] == [f"{run.run_id}/tables/{KEY}.parquet"]
    assert Contents.of(folder).runs[other] and read_record(folder, "verdicts/toy") == [1]


def test_sealing_says_what_is_listed_otherwise(folder, run):
    a_cell(run)
    shutil.rmtree(folder / toy_recipe(1).run_id)
    (folder / "bench/zen.json").write_text("{}")
    *lines, last = publishing.reseal(folder)
    assert f"changed  run/{run.run_id}/table/{KEY}" in lines and "new      bench/zen" in lines
    assert sum(line.startswith("gone") for line in lines) == 6
    assert Contents.of(folder).root in last and problems(folder) == []
    (run.path / HISTORY_NAME).write_bytes(b"x")
    with pytest.raises(StoreError, match=HISTORY_NAME):
        publishing.reseal(folder)


# ---- the command, and what is published ----


def test_verify_names_what_differs(folder, run, capsys, monkeypatch):
    root = Contents.of(folder).root
    verify = ["verify", "--allow-task", toy_recipe().task]
    assert cli.main([*verify, str(folder)]) == 0
    assert f"root {root}" in capsys.readouterr().out
    a_cell(run)
    shutil.rmtree(folder / toy_recipe(1).run_id)
    assert cli.main([*verify, str(folder)]) == 1
    told = capsys.readouterr().out
    assert (
        f"BAD  {run.path / 'tables' / KEY}.parquet" in told and f"BAD  {folder / toy_recipe(1).run_id}: missing" in told
    )
    monkeypatch.chdir(run.path / "tables")
    for named in (str(run.path), "..", "../../../published/" + run.run_id):
        assert cli.main([*verify, named]) == 1
        assert "not the published ones" in capsys.readouterr().out
    monkeypatch.chdir(run.path)
    assert cli.main([*verify, "."]) == 1
    assert "not the published ones" in capsys.readouterr().out


def test_the_flat_list_of_an_earlier_version_is_read(folder):
    path, listed = folder / CONTENTS_NAME, Contents.of(folder)
    path.write_text(json.dumps({"root": listed.root, "contents": dict(listed.hashes)}))
    assert Contents.of(folder) == listed


def test_a_list_of_hex_digits_of_an_earlier_version_is_read(folder):
    path, listed = folder / CONTENTS_NAME, Contents.of(folder)
    fields = json.loads(path.read_text())
    in_hex = {of: {part: listed.hashes[f"{of}/{part}"] for part in parts} for of, parts in fields["contents"].items()}
    assert all(len(value) == 64 for parts in in_hex.values() for value in parts.values())
    path.write_text(json.dumps({"root": listed.root, "contents": in_hex}))
    assert Contents.of(folder) == listed


def test_the_root_can_be_computed_by_hand(folder):
    listed = json.loads((folder / CONTENTS_NAME).read_text())
    hashes = {f"{of}/{part}": value for of, parts in listed["contents"].items() for part, value in parts.items()}
    named = {name: base64.urlsafe_b64decode(f"{value}=").hex() for name, value in hashes.items()}
    lines = "".join(f"{name} {value}\n" for name, value in sorted(named.items()))
    assert sha256(lines.encode()) == listed["root"] == Contents.of(folder).root
    assert named[f"run/{toy_recipe(0).run_id}/recipe"] == toy_recipe(0).sha256


def test_what_is_published_is_what_its_list_names():
    assert [text for _, text in differences(ROOT / "published")] == []
