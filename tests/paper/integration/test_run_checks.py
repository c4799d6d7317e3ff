"""``circuitcore verify`` over several processes: the same lines as over one, whatever happens to the others."""

import multiprocessing
import shutil
from functools import partial

import pandas as pd
import pytest
from packed_index import index_text, write_index
from toy.recall import ALLOWED, toy_recipe

from circuitcore.ground.environment import WORKERS
from circuitcore.ground.packed import INDEX_NAME
from circuitcore.ground.processes import BothEnds, answering
from circuitcore.ground.progress import SILENT
from circuitcore.training import RunStore
from circuitcore.training.store.file_bytes import sha256
from circuitcore.training.store.packed import HISTORIES_NAME
from circuitcore.training.store.packing import pack
from circuitcore.training.store.parquet import to_parquet
from circuitcore.training.store.sealing import differences, run_batches, seal_all
from livingpaper.commands import run_checks
from livingpaper.commands.run_checks import check_runs

SEEDS = (0, 1, 2)
IDS = [toy_recipe(seed).run_id for seed in SEEDS]


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """Three published runs: two packed in one arm, one in a folder of its own."""
    root = tmp_path_factory.mktemp("made")
    store, folder = RunStore(root / "runs", None), root / "published"
    for seed in SEEDS:
        run = store.get_or_train(toy_recipe(seed))
        store.publish(store.find(run.recipe), folder, [0, run.final_step])
    seal_all(folder)
    last = shutil.move(folder / IDS[2], root / IDS[2])
    pack(folder, "toy", {"arm": IDS[:2]})
    shutil.move(last, folder / IDS[2])
    return folder


@pytest.fixture
def folder(sealed, tmp_path):
    return shutil.copytree(sealed, tmp_path / "published")


@pytest.fixture
def lines(capsys, monkeypatch):
    """What is written about a folder, checked by so many processes."""

    def of(folder, workers):
        monkeypatch.setenv(WORKERS, str(workers))
        monkeypatch.setattr(run_checks, "FEW", 1)
        capsys.readouterr()
        counts = check_runs([folder], ALLOWED, SILENT)
        return counts, capsys.readouterr().out.splitlines()

    return of


def test_what_shares_files_is_compared_together(folder):
    assert sorted(map(sorted, run_batches(folder))) == sorted([sorted(IDS[:2]), IDS[2:]])


def test_processes_find_what_one_finds(folder, lines):
    assert lines(folder, 1) == lines(folder, 3)
    assert lines(folder, 3)[0] == (4, 0)


def test_a_folder_named_twice_is_checked_once(folder, monkeypatch):
    monkeypatch.setenv(WORKERS, "2")
    monkeypatch.setattr(run_checks, "FEW", 1)
    assert check_runs([folder, folder], ALLOWED, SILENT) == (4, 0)


def test_damage_is_found_by_file_and_run(folder, lines):
    path = folder / "toy" / HISTORIES_NAME
    table = pd.read_parquet(path)
    table.loc[table["run_id"] == IDS[1], "loss"] += 1
    before, after = path.read_bytes(), to_parquet(table)
    path.write_bytes(after)
    index = folder / "toy" / INDEX_NAME
    hashes = [sha256(data) for data in (before, after)]
    write_index(index, index_text(index).replace(*hashes))
    (folder / IDS[2] / "recipe.json").unlink()
    (folder / "left.txt").write_text("by somebody")
    serial = lines(folder, 1)
    assert lines(folder, 2) == serial
    (n_ok, n_bad), found = serial
    assert (n_ok, n_bad) == (2, 2)
    bad = [line for line in found if line.startswith("BAD")]
    assert any(f"{path}, run {IDS[1]}: its contents are not the published ones" in line for line in bad)
    assert any(f"{folder / IDS[2] / 'recipe.json'}: cannot be read" in line for line in bad)
    assert any(f"{folder / 'left.txt'}: it was not published" in line for line in bad)
    assert not any(IDS[0] in line for line in bad)


@pytest.mark.parametrize("damage", ["list", "index"])
def test_a_list_or_an_index_that_is_damaged_is_named_once(folder, lines, damage):
    path = folder / ("contents.json" if damage == "list" else f"toy/{INDEX_NAME}")
    path.write_bytes(path.read_bytes()[:-30])
    assert run_batches(folder) == []
    assert len([text for _, text in differences(folder) if str(path) in text]) == 1
    assert lines(folder, 2) == lines(folder, 1)


def test_a_process_that_is_lost_is_a_problem_of_the_folder(folder, lines, monkeypatch):
    monkeypatch.setattr(run_checks, "answering", partial(answering_with, "os:_exit"))
    counts, found = lines(folder, 2)
    assert counts == (3, 1)
    assert f"BAD  {folder}: not all of it was compared with its list: a process that did was lost" in found[-1]


def answering_with(other, function, shares):
    """Processes that take all that is left with them."""
    return answering(other, [[(1,) for _ in share] for share in shares])


def test_others_check_runs_from_the_end_and_find_the_same(folder, lines, monkeypatch):
    (folder / IDS[2] / "recipe.json").unlink()
    serial = lines(folder, 1)
    assert any(line.startswith("BAD") for line in serial[1])
    checked = []
    monkeypatch.setattr(BothEnds, "take_first", lambda ends: False)  # they are left everything
    monkeypatch.setattr(run_checks, "subject_problems", lambda subject, allowed: checked.append(subject))
    assert lines(folder, 2) == serial
    assert checked == []  # nothing was looked at here


def test_each_place_is_taken_once_from_either_end():
    ends = BothEnds(5)
    last = ends.take_last()
    assert ends.take_first()  # place 0
    assert [next(last), next(last)] == [4, 3]
    assert ends.take_first()  # place 1
    assert list(last) == [2]
    assert not ends.take_first()
    assert list(ends.take_last()) == []


def test_processes_end_with_the_body():
    with answering("time:sleep", [[(60,)], [(0,)]]) as receivers:
        assert receivers[1].recv() is None
    assert not multiprocessing.active_children()


def test_few_runs_take_no_process(folder, monkeypatch):
    monkeypatch.setenv(WORKERS, "2")
    monkeypatch.setattr(run_checks, "answering", None)
    assert check_runs([folder], ALLOWED, SILENT) == (4, 0)
