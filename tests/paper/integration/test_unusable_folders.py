"""Folders that cannot be written, or are none: finished runs stay usable there, and all else is a sentence."""

import errno
import os

import pandas as pd
import pytest
from toy.recall import toy_recipe

from circuitcore.training import RunStore, StoreError
from circuitcore.training.store.ledger import RESUME_NAME
from circuitcore.training.sweeps.sweep import train_all
from livingpaper.commands import cli

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """Two finished runs on a disk that refuses to be written, as the kernel does it: before it looks for the file."""
    root = tmp_path / "disk" / "runs"
    store = RunStore(root, None)
    for seed in (0, 1):
        run = store.get_or_train(toy_recipe(seed))
    store.save_table(run, "scores-v1", pd.DataFrame({"value": [1.0]}))

    def refusing(name, is_write=lambda *_: True):
        function = getattr(os, name)

        def call(path, *rest, **options):
            if is_write(path, *rest) and os.fspath(path).startswith(str(root)):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fspath(path))
            return function(path, *rest, **options)

        monkeypatch.setattr(os, name, call)

    refusing("open", lambda path, flags, *_: flags & WRITES)
    for name in ("unlink", "mkdir", "rename", "replace", "rmdir"):
        refusing(name)
    return store


def test_a_finished_store_on_a_read_only_disk_is_opened(read_only):
    runs = train_all(read_only, [toy_recipe(0), toy_recipe(1)], "serial")
    assert [run.recipe for run in runs] == [toy_recipe(0), toy_recipe(1)]
    assert read_only.get_or_train(toy_recipe(0)).weights(36) and len(read_only.load_table(runs[1], "scores-v1")) == 1


@pytest.mark.usefixtures("project")
def test_commands_work_on_a_read_only_disk_as_far_as_nothing_is_missing(read_only, tmp_path, capsys):
    (tmp_path / "recall.yaml").write_text("seeds: [0, 1]\nepochs: 6\n")
    words = ["toy.recall", "--params", ".", "--runs", str(read_only.root)]
    assert cli.main(["sweep", *words, "--executor", "serial"]) == 0
    assert cli.main(["status", *words]) == 0
    assert cli.main(["verify", str(read_only.root), "--allow-task", "toy.recall:Recall"]) == 0
    capsys.readouterr()
    assert cli.main(["train", *words, "--seed", "7", "--executor", "serial"]) == 1
    said = capsys.readouterr().err
    assert str(read_only.root) in said and "Read-only file system" in said and "Traceback" not in said


def test_what_a_kill_left_of_a_finished_run_is_still_removed_elsewhere(tmp_path):
    store = RunStore(tmp_path, None)
    left = store.get_or_train(toy_recipe()).path / RESUME_NAME
    left.write_bytes(b"left")
    store.get_or_train(toy_recipe())
    assert not left.exists()


@pytest.mark.parametrize("runs", [os.devnull, f"{os.devnull}/runs", "/proc/runs"])
def test_a_store_that_can_be_no_folder_is_a_sentence(runs):
    with pytest.raises(StoreError, match=f"{runs}.*: could not be written .*Name a folder, or a place"):
        train_all(RunStore(runs, None), [toy_recipe()], "serial")


@pytest.mark.usefixtures("project")
def test_status_is_read_where_its_page_cannot_be_written(tmp_path, capsys):
    (tmp_path / "recall.yaml").write_text("seeds: [0]\nepochs: 6\n")
    (tmp_path / "build").write_text("no folder")
    assert cli.main(["status", "toy.recall", "--params", "."]) == 1
    output = capsys.readouterr()
    assert output.out.startswith("arm ") and "Time left: unknown, since nothing is running." in output.out
    assert "build/status/toy.recall.html: could not be written" in output.err
