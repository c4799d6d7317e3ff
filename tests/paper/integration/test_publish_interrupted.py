"""Publishing that is stopped on the way: the same command ends as if nothing had happened, wherever it was."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from circuitcore.ground import durable
from circuitcore.ground.present import check_present
from circuitcore.training.store.sealing import differences
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.commands import publishing
from tests.support import toy_measured

TOY = toy_measured.__name__
EVERY = 7  # of the changes before which a stop is tried: all of them were, once, which takes minutes
BEFORE, AFTER = (toy_measured.Params(seeds=seeds) for seeds in ((0, 1), (1, 2)))


class Stop(BaseException):
    """As a kill: nothing handles it."""


def folders_in(root):
    return Folders(root, root / "runs", root / "published")


def published(root, params, monkeypatch):
    """Publish the study with some parameters; what then lies there."""
    monkeypatch.setattr(studies, "load_params", lambda name: params)
    monkeypatch.setattr(studies, "tiers", lambda name, *folder: ("published",))
    publishing.publish(TOY, folders_in(root))
    here = root / "published"
    check_present(here)
    assert list(differences(here)) == []
    return {path.relative_to(here).as_posix(): path.read_bytes() for path in here.rglob("*") if path.is_file()}


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """Runs of both parameters, published with the earlier ones."""
    root = tmp_path / "trained"
    for params in (BEFORE, AFTER):
        with monkeypatch.context() as patch:
            patch.setattr(studies, "tiers", lambda name, *folder: ())
            Evidence(TOY, params, folders_in(root)).gather(None, "serial")
    published(root, BEFORE, monkeypatch)
    return root


def stopping(monkeypatch, at, stop):
    """Let ``stop`` be called before the change to the disk that has number ``at``; the list of those that were made."""
    made = []

    def counted(change):
        def changed(*given, **options):
            made.append(change.__name__)
            if len(made) == at:
                stop()
            return change(*given, **options)

        return changed

    for home, name in ((durable, "write"), (shutil, "rmtree"), (Path, "rename")):
        monkeypatch.setattr(home, name, counted(getattr(home, name)))
    return made


def kill():
    raise Stop


def test_stopped_anywhere_the_same_command_ends_as_if_it_had_not_been(trained, tmp_path, monkeypatch):
    shutil.copytree(trained, tmp_path / "whole")
    with monkeypatch.context() as patch:
        made = stopping(patch, 0, kill)
        wanted = published(tmp_path / "whole", AFTER, patch)
    assert len(made) > 20 and {"write", "rmtree", "rename"} == set(made)
    for at in range(1, len(made) + 1, EVERY):
        root = shutil.copytree(trained, tmp_path / f"stopped-{at}")
        with monkeypatch.context() as patch, pytest.raises(Stop):
            stopping(patch, at, kill)
            published(root, AFTER, patch)
        assert published(root, AFTER, monkeypatch) == wanted, made[at - 1]


def test_ctrl_c_waits_until_list_and_pack_say_the_same(trained, monkeypatch):
    """Between the two, another reader would find runs that are not what the list names."""
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(publishing, "pack", with_ctrl_c(publishing.pack))
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            published(trained, AFTER, patch)
        finally:
            signal.signal(signal.SIGINT, before)
    check_present(trained / "published")
    assert list(differences(trained / "published")) == []


def with_ctrl_c(pack):
    def packed(*given):
        os.kill(os.getpid(), signal.SIGINT)
        return pack(*given)

    return packed
