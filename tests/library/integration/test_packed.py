"""Packed runs: the same values in a few files, each of them checked whenever it is read."""

import json
import shutil
from dataclasses import replace

import pandas as pd
import pyarrow.parquet
import pytest
from packed_index import index_text, write_index
from toy.recall import ALLOWED, toy_recipe

from circuitcore.ground import packed as ground_packed
from circuitcore.ground.contents import CONTENTS_NAME, Contents, ContentsError
from circuitcore.ground.packed import INDEX_NAME, Line, index_of, packs
from circuitcore.ground.present import check_present
from circuitcore.ground.tables import stacked
from circuitcore.training import RunStore, StoreError
from circuitcore.training.store import packing, places, squeezed
from circuitcore.training.store.digests import table_sha256, training_sha256
from circuitcore.training.store.file_bytes import sha256
from circuitcore.training.store.ledger import checkpoint_name
from circuitcore.training.store.packed import HISTORIES_NAME, HISTORY, PackedRun, packed_run, rows_of
from circuitcore.training.store.packing import folder_names, pack
from circuitcore.training.store.parquet import to_parquet
from circuitcore.training.store.places import run_folders
from circuitcore.training.store.sealing import differences, seal, seal_all
from circuitcore.training.store.tables import tables_of
from circuitcore.training.store.verify import verify

KEY, SOME = "scores-v1", "few-v1"
SEEDS = (0, 1, 2)
IDS = [toy_recipe(seed).run_id for seed in SEEDS]
ARMS = {"All of it, twice": IDS[:2], "all of it: twice!": IDS[1:]}
FOLDERS = ("all-of-it-twice", "all-of-it-twice-2")


def scores(run_id, seed):
    """Words, some of which only one run has; whole numbers, some missing; numbers."""
    return pd.DataFrame(
        {
            "run_id": run_id,
            "metric": pd.Categorical(["accuracy", f"only of {seed}", "accuracy"]),
            "head": pd.array([0, None, seed], "Int64"),
            "value": [0.1 + seed, float("nan"), -0.0],
        }
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Three published runs, each in a folder of its own; the last has one table more."""
    root = tmp_path_factory.mktemp("made")
    store, folder = RunStore(root / "runs", None), root / "published"
    for seed in SEEDS:
        run = store.get_or_train(toy_recipe(seed))
        store.save_table(run, KEY, scores(run.run_id, seed))
        if seed == 2:
            store.save_table(run, SOME, scores(run.run_id, 9))
        store.publish(store.find(run.recipe), folder, [0, run.final_step])
    seal_all(folder)
    return folder


@pytest.fixture(scope="module")
def packed_once(alone, tmp_path_factory):
    folder = shutil.copytree(alone, tmp_path_factory.mktemp("packed") / "published")
    pack(folder, "toy", ARMS)
    return folder


@pytest.fixture
def folder(packed_once, tmp_path):
    return shutil.copytree(packed_once, tmp_path / "published")


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run_of(folder, seed):
    return RunStore(folder, None).find(toy_recipe(seed))


def everything(folder):
    """Every value of every run, read as anybody reads it."""
    for seed in SEEDS:
        run = run_of(folder, seed)
        yield run.recipe.to_json()
        yield run.history
        yield from (run.table(key) for key in sorted(run.tables))
        yield from (run.weights(step) for step in run.steps)


# ---- the same values ----


def test_few_files_and_no_value_has_moved(alone, folder):
    steps = [f"step-{step:07d}.safetensors.squeezed" for step in (0, run_of(folder, 0).final_step)]
    shared = {f"toy/{HISTORIES_NAME}", f"toy/{FOLDERS[0]}/{KEY}.parquet"}
    shared |= {f"toy/{FOLDERS[1]}/{name}.parquet" for name in (KEY, SOME)}
    at = zip((FOLDERS[0], FOLDERS[0], FOLDERS[1]), IDS, strict=True)
    weights = {f"toy/{arm}/{run_id}/{step}" for arm, run_id in at for step in steps}
    assert files(folder).keys() == {CONTENTS_NAME, f"toy/{INDEX_NAME}"} | shared | weights
    assert (folder / CONTENTS_NAME).read_bytes() == (alone / CONTENTS_NAME).read_bytes()
    assert list(differences(folder)) == []
    for seed in SEEDS:
        before, after = run_of(alone, seed), run_of(folder, seed)
        assert after.recipe == before.recipe and after.recipe_json == before.recipe_json
        assert training_sha256(after.ledger) == training_sha256(before.ledger)
        plain = [replace(entry, file=checkpoint_name(entry.step)) for entry in after.ledger.entries]
        assert plain == list(before.ledger.entries)
        pd.testing.assert_frame_equal(after.history, before.history, check_exact=True)
        shared = {key: sha256((after.path.parent / f"{key}.parquet").read_bytes()) for key in before.tables}
        assert after.tables == shared
        for key in after.tables:
            plain = {"run_id": "str", "metric": "str"}
            found, expected = (table.astype(plain) for table in (after.table(key), before.table(key)))
            pd.testing.assert_frame_equal(found, expected, check_exact=True)
        for step in before.steps:
            assert all(value.equal(after.weights(step)[name]) for name, value in before.weights(step).items())
    assert RunStore(folder, None).run_ids() == sorted(IDS)


@pytest.mark.parametrize(("seeds", "n_shared"), [((0, 1, 2), 2), ((2, 1, 0), 2), ((1,), 1), ((0, 2, 0), 3), ((), 0)])
@pytest.mark.parametrize("key", [KEY, HISTORY])
def test_tables_of_many_runs_are_those_of_each_whether_they_share_a_file_or_not(alone, folder, seeds, n_shared, key):
    for where, n_tables in ((alone, len(seeds)), (folder, min(n_shared, 1) if key == HISTORY else n_shared)):
        runs = [run_of(where, seed) for seed in seeds]
        each = [run.history if key == HISTORY else run.table(key) for run in runs]
        tables, n_rows = tables_of(runs, key)
        assert n_rows == [len(table) for table in each]
        pd.testing.assert_frame_equal(stacked(tables), stacked(each), check_exact=True)
        assert len(tables) == n_tables


def test_tables_of_runs_that_share_a_file_and_of_others_stand_in_their_order(alone, folder):
    runs = [run_of(folder, 0), run_of(alone, 2), run_of(folder, 1)]
    tables, n_rows = tables_of(runs, KEY)
    assert [table["run_id"].unique().tolist() for table in tables] == [[run.run_id] for run in runs]
    assert n_rows == [3, 3, 3]


def test_many_runs_are_held_to_the_list_and_to_what_they_have_as_each_is(folder):
    first, second, last = (run_of(folder, seed) for seed in SEEDS)
    for key, part in {KEY: f"table/{KEY}", HISTORY: HISTORY}.items():
        forged = replace(second, sealed={**second.sealed, part: "0" * 64})
        name = second.packed.path(key).name
        with pytest.raises(StoreError, match=f"{name}, run {IDS[1]}: its contents are not"):
            tables_of([first, forged], key)
    with pytest.raises(StoreError, match=f"{IDS[0]}: has no table 'few-v1'"):
        tables_of([last, first], SOME)


def test_rows_of_several_files_are_not_taken_from_one(folder):
    first, second = (packed_run(folder, IDS[seed]) for seed in (0, 1))
    moved = PackedRun(replace(second.line, address=folder / "elsewhere" / "arm" / IDS[1]))
    with pytest.raises(ValueError, match=f"rows of {KEY} stand in 2 files"):
        rows_of([first, moved], KEY)


def test_a_shared_file_is_a_plain_table(folder):
    """Read by another library, without this one."""
    table = pyarrow.parquet.read_table(folder / "toy" / FOLDERS[0] / f"{KEY}.parquet").to_pylist()
    assert [(row["run_id"], row["metric"], row["head"]) for row in table] == [
        (run_id, metric, head)
        for seed, run_id in enumerate(IDS[:2])
        for metric, head in (("accuracy", 0), (f"only of {seed}", None), ("accuracy", seed))
    ]


@pytest.mark.parametrize("order", ["as packed", "mixed"])
def test_the_hash_of_a_table_is_that_of_its_rows_wherever_they_stand(folder, order):
    """``mixed``: no run's rows stand together, as another program may have written them."""
    lines = index_text(folder / "toy" / INDEX_NAME)
    for path in [folder / name for name in SHARED.values()] if order == "mixed" else ():
        before, table = sha256(path.read_bytes()), pd.read_parquet(path)
        path.write_bytes(to_parquet(table.sample(frac=1, random_state=0, ignore_index=True)))
        lines = lines.replace(before, sha256(path.read_bytes()))
    write_index(folder / "toy" / INDEX_NAME, lines)
    for seed in SEEDS[:2]:
        packed, listed = run_of(folder, seed).packed, Contents.of(folder).runs[IDS[seed]]
        assert packed.table_sha256(HISTORY) == table_sha256(packed.history) == listed["history"]
        assert packed.table_sha256(KEY) == table_sha256(packed.table(KEY)) == listed[f"table/{KEY}"]
        assert packed.history_shape == (len(packed.history), tuple(packed.history))
    assert list(differences(folder)) == []


def test_packing_again_writes_the_same_bytes(folder):
    before = files(folder)
    pack(folder, "toy", ARMS)
    assert files(folder) == before


def test_a_run_that_is_published_anew_takes_the_place_of_the_packed_one(alone, folder):
    shutil.copytree(alone / IDS[1], folder / IDS[1])
    assert run_of(folder, 1).path == folder / IDS[1] and list(differences(folder)) == []
    before = files(folder)
    pack(folder, "toy", ARMS)
    assert files(folder) == {name: data for name, data in before.items() if not name.startswith(IDS[1])}


def test_what_no_arm_names_any_more_is_not_packed_and_is_missed_by_name(folder):
    pack(folder, "toy", {"rest": IDS[1:]})
    with pytest.raises(ContentsError, match=f"missing: {IDS[0]}"):
        check_present(folder)
    with pytest.raises(StoreError, match=f"{IDS[0]}: missing.*git restore"):
        run_of(folder, 0)
    assert run_of(folder, 1).path == folder / "toy" / "rest" / IDS[1]


def test_a_run_that_another_pack_holds_stays_there(folder):
    before = files(folder)
    pack(folder, "more", {"shared": IDS})
    assert files(folder) == before | {f"more/{INDEX_NAME}": index_of([])}


def test_arms_get_folders_that_any_disk_can_have():
    assert folder_names(ARMS) == dict(zip(ARMS, FOLDERS, strict=True))
    names = folder_names(["", "ä", "x" * 300, "a/../b", "A/..\\B", "a-b-2"])
    assert list(names.values()) == ["arm", "arm-2", "x" * 60, "a-b", "a-b-2", "a-b-2-2"]


@pytest.mark.parametrize("name", ["bench", "verdicts", "../toy", "a b", "", "toy-0123456789ab"])
def test_a_name_that_no_pack_can_have_is_refused(folder, name):
    with pytest.raises(StoreError, match=f"a pack called {name!r}; allowed"):
        pack(folder, name, ARMS)


TABLES = {
    "no column": (KEY, lambda table: table.drop(columns="run_id")),
    "another run": (KEY, lambda table: table.assign(run_id="another-run")),
    "a history": ("history", lambda table: table),
}


@pytest.mark.parametrize("what", TABLES)
def test_a_table_that_cannot_share_a_file_is_refused(alone, tmp_path, what):
    store, to = RunStore(tmp_path / "runs", None, ALLOWED), tmp_path / "published"
    shutil.copytree(alone.parent / "runs", tmp_path / "runs")
    key, change = TABLES[what]
    store.save_table(store.get(IDS[0]), key, change(scores(IDS[0], 0)))
    store.publish(store.get(IDS[0]), to, [0])
    seal(to, (), ())
    before = files(to)
    told = f"table '{key}' needs another name than 'history', and a column 'run_id' that is"
    with pytest.raises(StoreError, match=told):
        pack(to, "toy", {"all": IDS[:1]})
    assert files(to).items() >= before.items(), "nothing is lost"


# ---- everything is checked ----


def cut(data):
    return data[:-1]


def flipped(data):
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


def gone(data):
    return None


SHARED = {"history": f"toy/{HISTORIES_NAME}", "table": f"toy/{FOLDERS[0]}/{KEY}.parquet"}
ALL = {**SHARED, "index": f"toy/{INDEX_NAME}"}


def doubled(data):
    return data + data


@pytest.mark.parametrize("damage", [cut, doubled, flipped, gone])
@pytest.mark.parametrize("file", [*ALL, "weights"])
def test_a_damaged_file_is_named_and_none_of_its_numbers_are_read(folder, file, damage):
    path = folder / ALL[file] if file in ALL else next((folder / "toy" / FOLDERS[0] / IDS[0]).iterdir())
    data = damage(path.read_bytes())
    path.unlink() if data is None else path.write_bytes(data)
    with pytest.raises(StoreError, match=IDS[0] if (file, damage) == ("index", gone) else str(path)):
        list(everything(folder))
    assert any(str(path) in text or IDS[0] in text for _, text in differences(folder))


def vouch(index, path):
    """Put the hash of an edited file into the index: what only the list of contents can tell."""
    lines = [json.loads(line) for line in index_text(index).splitlines()]
    for line in lines:
        if path.name == HISTORIES_NAME:
            line[HISTORY] = sha256(path.read_bytes())
        elif line["arm"] == path.parent.name and path.stem in line["tables"]:
            line["tables"][path.stem] = sha256(path.read_bytes())
    write_index(index, "\n".join(map(json.dumps, lines)))


@pytest.mark.parametrize("file", SHARED)
def test_an_edited_cell_is_named_with_its_run_even_if_the_index_vouches_for_it(folder, file):
    path, index = folder / SHARED[file], folder / "toy" / INDEX_NAME
    table = pd.read_parquet(path)
    column = "loss" if file == "history" else "value"
    place = table.index[table["run_id"] == IDS[1]][0]
    table.loc[place, column] += 1e-3
    table.to_parquet(path, index=False)
    with pytest.raises(StoreError, match=f"{path}: its bytes do not give the hash"):
        list(everything(folder))
    vouch(index, path)
    assert run_of(folder, 0).table(KEY) is not None, "the other run of that file is none the worse"
    with pytest.raises(StoreError, match=rf"{path}, run {IDS[1]}: its contents are not the published ones"):
        list(everything(folder))
    assert [(found, IDS[1] in text) for found, text in differences(folder)] == [(path, True)]


def test_rows_of_one_run_under_the_name_of_another_are_noticed(folder):
    path = folder / SHARED["table"]
    table = pd.read_parquet(path)
    swapped = table["run_id"].astype("str").map(dict(zip(IDS[:2], IDS[1::-1], strict=True)))
    table.assign(run_id=swapped.astype("category")).to_parquet(path, index=False)
    vouch(folder / "toy" / INDEX_NAME, path)
    for seed in (0, 1):
        with pytest.raises(StoreError, match=f"{path}, run {IDS[seed]}"):
            run_of(folder, seed).table(KEY)


def edited(change):
    """The first line of the index, changed; the others as they are."""

    def damage(lines):
        first = json.loads(lines[0])
        return [json.dumps(change(first) or first), *lines[1:]]

    return damage


DAMAGES = {
    "no JSON": (lambda lines: ["{", *lines[1:]], "line 1 is damaged"),
    "brackets": (lambda lines: ["[" * 10**5, *lines[1:]], "line 1 is damaged"),
    "a list": (lambda lines: ["[]", *lines], "line 1 is damaged .run_id = 'None'"),
    "a run twice": (lambda lines: [*lines, lines[0]], f"line 4 is damaged .run {IDS[0]} stands there twice"),
    "a run elsewhere": (edited(lambda line: line.update(run_id="../x")), "run_id = '../x'"),
    "an arm elsewhere": (edited(lambda line: line.update(arm="../x")), "arm = '../x'"),
    "no recipe": (edited(lambda line: line.pop("recipe") and None), f", run {IDS[0]}: damaged.*'recipe'"),
    "another recipe": (edited(lambda line: line["recipe"].update(batch_size=7)), "run_id does not end as the hash"),
    "a key more": (edited(lambda line: line.update(more=1)), "unknown: more"),
    "no list of checkpoints": (edited(lambda line: line.update(checkpoints=3)), "damaged"),
    "a step is text": (edited(lambda line: line["checkpoints"][0].__setitem__(0, "0")), "damaged"),
    "checkpoints swapped": (edited(lambda line: line["checkpoints"].reverse()), "does not follow"),
    "another loss": (edited(lambda line: line["checkpoints"][0].__setitem__(2, 0.5)), "not the published ones"),
    "weights more": (edited(lambda line: line["kept"].append(12)), "not the published ones"),
    "weights of no checkpoint": (edited(lambda line: line["kept"].append(13)), "no checkpoint"),
    "a table less": (edited(lambda line: line["tables"].clear()), "not the published ones"),
    "a table elsewhere": (edited(lambda line: line["tables"].update({"../x": "0" * 64})), "damaged"),
    "a hash of no hex": (edited(lambda line: line.update(history="x")), "damaged"),
    "other versions": (edited(lambda line: line.update(made_with=[])), "not the published ones"),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_line_is_named_and_its_run_is_not_read(folder, what):
    change, told = DAMAGES[what]
    index = folder / "toy" / INDEX_NAME
    write_index(index, "\n".join(change(index_text(index).splitlines())))
    with pytest.raises(StoreError, match=rf"{INDEX_NAME}.*?{told}"):
        list(everything(folder))
    assert list(differences(folder))


def test_a_line_that_is_gone_is_a_run_that_is_missing(folder, tmp_path):
    index = folder / "toy" / INDEX_NAME
    write_index(index, "\n".join(index_text(index).splitlines()[1:]))
    with pytest.raises(ContentsError, match=f"missing: {IDS[0]}"):
        check_present(folder)
    for ask in (RunStore(tmp_path / "runs", folder).get_or_train, RunStore(folder, None).get_or_train):
        with pytest.raises(StoreError, match=f"{IDS[0]}: missing.*not trained again"):
            ask(toy_recipe(0))
    strays = {path for path, _ in differences(folder)}
    assert folder / "toy" / FOLDERS[0] / IDS[0] in strays, "its weights are nobody's now"


def test_a_stray_in_a_pack_is_named(folder):
    for name in (
        "notes.txt",
        f"{FOLDERS[0]}/more.parquet",
        f"{FOLDERS[0]}/{IDS[0]}/step-0000099.safetensors",
        "more/x",
    ):
        path = folder / "toy" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        found = [found for found, _ in differences(folder)]
        assert found == [path if name != "more/x" else path.parent]
        shutil.rmtree(path.parent) if name == "more/x" else path.unlink()


# ---- packed runs are runs ----


def test_a_packed_run_is_verified_at_its_address(folder):
    addresses = run_folders(folder)
    assert addresses == [run_of(folder, seed).path for seed in SEEDS] == run_folders(folder / "toy")
    assert [verify(path, allow_tasks=ALLOWED) for path in addresses] == [[], [], []]
    assert [problem.path for problem in verify(addresses[0])] == [folder / "toy" / INDEX_NAME], "whose task is outside"
    checkpoint = next(addresses[1].iterdir())
    checkpoint.write_bytes(flipped(checkpoint.read_bytes()))
    assert [problem.path for problem in verify(addresses[1], allow_tasks=ALLOWED)] == [checkpoint]


def test_nothing_is_written_among_packed_runs(folder):
    before, run = files(folder), run_of(folder, 0)
    store = RunStore(folder.parent / "runs", folder)
    with pytest.raises(StoreError, match="is not put there"):
        store.save_table(run, "more", scores(run.run_id, 0))
    with pytest.raises(StoreError, match="published already"):
        store.publish(run, folder.parent / "copy", [0])
    assert store.get_or_train(toy_recipe(0)).path == run.path and store.load_table(run, KEY) is not None
    assert files(folder) == before


def test_the_list_is_made_anew_from_packed_runs_too(folder):
    root = Contents.of(folder).root
    (folder / CONTENTS_NAME).unlink()
    assert seal_all(folder).root == root
    with pytest.raises(ContentsError, match="missing"):
        (folder / CONTENTS_NAME).unlink()
        check_present(folder)


def test_runs_of_the_same_rows_stand_together(tmp_path, monkeypatch):
    """Whoever checks them one after another makes rows once; a line that says nothing of them is passed on, too."""
    recipes = [{"task": "toy", "task_params": {"seed": number % 2, "size": 3}} for number in range(6)]
    recipes[3] = {"task_params": {"size": 3, "seed": 1}, "task": "toy"}
    lines = [Line(tmp_path / "pack" / "arm" / f"run-{at}", {"recipe": one}) for at, one in enumerate([*recipes, None])]
    monkeypatch.setattr(places, "read_pack", lambda pack: [PackedRun(line) for line in lines])
    assert [path.name[-1] for path in places._addresses(tmp_path / "pack")] == list("0241356")


@pytest.mark.parametrize("name", ["kv-with_padding", "a-0123456789aX"])
def test_a_pack_may_have_a_name_that_is_nearly_a_runs(folder, name):
    pack(folder, name, {"first": IDS[:1]})
    assert folder / name in packs(folder) and list(differences(folder)) == []


@pytest.mark.parametrize("limit", ["index", "weights"])
def test_what_could_not_be_read_again_is_not_packed(alone, tmp_path, monkeypatch, limit):
    root = shutil.copytree(alone, tmp_path / "here")
    home, name = {"index": (ground_packed, "MAX_JSON_BYTES"), "weights": (squeezed, "MAX_BYTES")}[limit]
    monkeypatch.setattr(home, name, 50)
    before = files(root)
    with pytest.raises(StoreError, match="bytes .*allowed.*at most 50"):
        pack(root, "toy", ARMS)
    assert {file: data for file, data in files(root).items() if not file.startswith(".staged")} == before


def test_packing_again_copies_squeezed_weights_as_they_are(folder, monkeypatch):
    """Another version of the compressor would rewrite them all."""
    before = files(folder)
    monkeypatch.setattr(packing, "squeeze", lambda data: b"otherwise")
    pack(folder, "toy", ARMS)
    assert files(folder) == before
