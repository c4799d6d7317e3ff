"""Experiments in the store: computed once, by whoever comes first, seed by seed, and refused where they are damaged."""

import dataclasses
import errno
import os
import re
import shutil
from functools import partial

import pandas as pd
import pytest
from toy import throws
from toy.throws import Throws

from circuitcore.ground import durable
from circuitcore.ground.durations import Durations
from circuitcore.ground.progress import Watch
from circuitcore.training import ExecutorError, Experiment, RunStore, StoreError, map_runs, verify
from circuitcore.training.experiment import TABLE
from circuitcore.training.store.ledger import LEDGER_NAME, RECIPE_NAME
from circuitcore.training.sweeps.computing import compute_all, compute_one, left_to_compute, uncomputed
from circuitcore.training.sweeps.status import sweep_status

FILES = (LEDGER_NAME, RECIPE_NAME, f"tables/{TABLE}.parquet")


@pytest.fixture
def given(tmp_path):
    """Parameters whose seeds leave a line each time that they are begun."""
    return Throws(notes=str(tmp_path / "notes"))


def drawn(given, seeds=(0, 1, 2), function=throws.longest):
    return Experiment(name="longest", version=1, function=function, params=given, seeds=seeds)


def counted(given):
    return Experiment(name="halvings", version=1, function=throws.halvings, params=given)


def store_in(root):
    return RunStore(root / "runs", root / "published")


def compute(root, *experiments, executor="serial", watch=None):
    compute_all(store_in(root), experiments, executor, Durations(root / "durations.json", root / "none"), watch)


def tables(root, experiment):
    return [store_in(root).find(one).table(TABLE) for one in experiment.by_seed]


def test_each_seed_is_computed_once_and_found_by_its_hash(tmp_path, given):
    said, both = [], (drawn(given), counted(given))
    assert [work.units for work in left_to_compute(uncomputed(store_in(tmp_path), both), "serial")] == [3, 1]
    compute(tmp_path, *both, watch=Watch(say=said.append))
    assert throws.notes(given) == ["0", "1", "2", "halvings"]
    assert said.pop() == (
        "Computing 4 table(s) of experiments, on 1 worker(s). Expected: no time is known yet (computing longest, 3 "
        "table(s), not known yet; computing halvings, 1 table(s), not known yet)."
    )
    kept = tables(tmp_path, both[0])
    for one, table in zip(both[0].by_seed, kept, strict=True):
        pd.testing.assert_frame_equal(table.astype({"run_id": "str"}), one.compute().astype({"run_id": "str"}))
    more = drawn(given, (2, 3))
    compute(tmp_path, more, counted(given), watch=Watch(say=said.append))
    assert throws.notes(given)[4 + 3 :] == ["3"], "the seed that is new, after the three that the test computed itself"
    assert "on 1 worker(s). Expected: about 1 s (computing longest, 1 table(s), about 1 s)." in said.pop()
    compute(tmp_path, more, watch=Watch(say=said.append))
    assert said == [] and uncomputed(store_in(tmp_path), both) == []


def test_other_params_and_another_version_are_other_tables(tmp_path, given):
    compute(tmp_path, drawn(given))
    for other in (drawn(dataclasses.replace(given, n_throws=8)), dataclasses.replace(drawn(given), version=2)):
        assert uncomputed(store_in(tmp_path), [other]) == list(other.by_seed)


def test_all_executors_make_the_same_tables(tmp_path, given):
    parallel = tmp_path / "parallel"
    compute(tmp_path, drawn(given))
    compute(parallel, drawn(given), executor="processes")
    for first, second in zip(tables(tmp_path, drawn(given)), tables(parallel, drawn(given)), strict=True):
        pd.testing.assert_frame_equal(first, second)


def test_of_two_processes_one_computes_and_the_other_waits(tmp_path, given):
    slow, store = drawn(dataclasses.replace(given, seconds=1.0), (0,)), store_in(tmp_path)
    seconds = map_runs(partial(compute_one, store), [slow, slow], "processes", workers=2)
    assert throws.notes(slow.params) == ["0"] and max(seconds) >= 1
    assert verify(store.root / slow.run_id) == []


def test_a_seed_that_fails_is_named_and_the_others_are_kept(tmp_path, given):
    fails = drawn(given, function=throws.refused_at_1)
    with pytest.raises(ExecutorError, match="1 of 3 runs failed.*\n.*ArithmeticError: seed 1 is refused"):
        compute(tmp_path, fails)
    (left,) = uncomputed(store_in(tmp_path), [fails])
    assert left.seeds == (1,)
    status = sweep_status(store_in(tmp_path), {}, [fails])
    assert [seed.state for seed in status.experiments["longest"]] == ["done", "failed", "done"]
    assert "seed 1 is refused" in status.seeds[1].error and status.seeds[1].name == f"{left.run_id} (seed 1)"
    assert "Of experiments, 1 of 3 tables are not computed." in status.outlook


def test_a_worker_that_is_killed_costs_its_own_seed_alone(tmp_path, given):
    killed = drawn(given, function=throws.killed_once_at_1)
    compute(tmp_path, killed, executor="processes")
    assert throws.notes(given).count("1") == 2 and uncomputed(store_in(tmp_path), [killed]) == []


class Killed(BaseException):
    """As a kill: nothing handles it."""


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_kill_while_a_table_is_written_leaves_those_before_and_none_of_it(tmp_path, given, monkeypatch, at):
    written, write = [], durable.write

    def killing(path, data):
        written.append(path)
        if len(written) == len(FILES) + at:  # while the second seed is written
            path.with_name(f".{path.name}.1.1.tmp").write_bytes(data[: len(data) // 2])
            raise Killed
        write(path, data)

    monkeypatch.setattr(durable, "write", killing)
    with pytest.raises(Killed):
        compute(tmp_path, drawn(given))
    monkeypatch.undo()
    assert [one.seeds for one in uncomputed(store_in(tmp_path), [drawn(given)])] == [(1,), (2,)]
    compute(tmp_path, drawn(given))
    assert throws.notes(given) == ["0", "1", "1", "2"]
    assert [problem for one in drawn(given).by_seed for problem in verify(tmp_path / "runs" / one.run_id)] == []


def test_a_full_disk_is_told_and_nothing_else_is_lost(tmp_path, given, monkeypatch):
    compute(tmp_path, drawn(given, (0,)))

    def full(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(durable, "write", full)
        with pytest.raises(
            ExecutorError, match="recipe.json: could not be written .No space left on device.. Free disk"
        ):
            compute(tmp_path, drawn(given))
    assert [one.seeds for one in uncomputed(store_in(tmp_path), [drawn(given)])] == [(1,), (2,)]
    compute(tmp_path, drawn(given))
    assert throws.notes(given) == ["0", "1", "2", "1", "2"]


def flipped(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


DAMAGES = {
    "truncated": lambda path, other: os.truncate(path, path.stat().st_size // 2),
    "flipped": lambda path, other: flipped(path),
    "swapped": lambda path, other: shutil.copy(other, path),
    "gone": lambda path, other: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_named_with_its_remedy_and_made_again_once_the_folder_is_gone(tmp_path, given, name, damage):
    compute(tmp_path, drawn(given))
    store, (first, second, third) = store_in(tmp_path), drawn(given).by_seed
    path = store.root / first.run_id / name
    DAMAGES[damage](path, store.root / second.run_id / name)

    def read():
        run = store.find(first)
        assert run.recipe_json == first.to_json()
        return run.table(TABLE)

    (problem, *_) = verify(path.parents[len(name.split("/")) - 1])
    assert str(path) in str(problem)
    if damage == "gone" and name == LEDGER_NAME:
        assert store.find(first) is None, "a folder without its ledger counts for nothing"
    else:
        with pytest.raises(StoreError, match=f"{re.escape(str(path))}: .*(Restore the file|cannot be read).*"):
            read()
        shutil.rmtree(store.root / first.run_id)
    compute(tmp_path, drawn(given))
    assert throws.notes(given) == ["0", "1", "2", "0"] and len(read()) == 2
    assert [problem for one in (first, second, third) for problem in verify(store.root / one.run_id)] == []


def test_another_ones_folder_under_its_name_is_refused(tmp_path, given):
    compute(tmp_path, drawn(given))
    first, second, _ = (store_in(tmp_path).root / one.run_id for one in drawn(given).by_seed)
    shutil.rmtree(first)
    shutil.copytree(second, first)
    with pytest.raises(
        StoreError, match=f"{re.escape(str(first / LEDGER_NAME))}: of run {second.name}, in a folder of"
    ):
        compute(tmp_path, drawn(given))


def test_what_is_beside_its_files_is_a_stray(tmp_path, given):
    compute(tmp_path, counted(given))
    folder = tmp_path / "runs" / counted(given).run_id
    for name in ("history.parquet", "resume.safetensors", "more.txt"):
        (folder / name).write_bytes(b"x")
    assert len([problem for problem in verify(folder) if "the ledger does not know this file" in str(problem)]) == 3


def test_a_ledger_of_something_in_between_is_refused(tmp_path, given):
    compute(tmp_path, counted(given))
    run = store_in(tmp_path).find(counted(given))
    dataclasses.replace(run.ledger, tables={}).write(run.path)
    with pytest.raises(StoreError, match="contradicts itself: an experiment has a table, and nothing was trained"):
        store_in(tmp_path).find(counted(given))


def test_it_is_no_run_of_training(tmp_path, given):
    compute(tmp_path, counted(given))
    run = store_in(tmp_path).get(counted(given).run_id)
    assert not run.ledger.trained and run.steps == () == run.all_steps
    with pytest.raises(StoreError, match="of an experiment: it has a table, and no recipe that a network was trained"):
        print(run.recipe)


def test_where_only_published_ones_count_none_is_computed(tmp_path, given):
    store = dataclasses.replace(store_in(tmp_path), only_published=True)
    with pytest.raises(StoreError, match=f"run {counted(given).run_id} is not there, and only published ones count"):
        store.get_or_compute(counted(given))
    assert throws.notes(given) == []
