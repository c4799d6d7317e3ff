"""In which order notebooks are executed: longest studies first, each appendix after its chapter."""

import threading
import time
from pathlib import Path

import pytest

from circuitcore.ground.durations import Durations
from circuitcore.ground.progress import Stages
from livingpaper.book import build, study_kernel
from livingpaper.book.notebooks import BookError


@pytest.fixture
def root(tmp_path):
    for name in ("short", "long", "claims", "appendix/short", "appendix/long"):
        path = tmp_path / "book" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"cells": []}')
    for name, seconds in {"short": 5.0, "long": 4.0, "appendix/short": 1.0, "appendix/long": 9.0}.items():
        Durations.of(tmp_path).remember(f"published {name}", seconds)
    return tmp_path


@pytest.fixture
def executed(root, monkeypatch):
    """Begin and end of each notebook as they come; the chapter called "long" fails."""
    found, both = [], threading.Barrier(2, timeout=60)

    def run(job, folder, kernel):
        found.append(("begun", job.name))
        if "/" not in job.name:
            both.wait()  # chapters are executed side by side
        time.sleep(0.05)
        found.append(("ended", job.name))
        if job.name == "long":
            raise BookError("long.ipynb failed")
        return f"{build.EXECUTED_IN}1.0 s"

    monkeypatch.setattr(build, "run_notebook", run)
    monkeypatch.setattr(build, "kernels", lambda: 2)
    return found


def test_studies_that_take_longest_come_first_each_with_its_appendix(root):
    chapters, summaries = build.find_jobs(root, "published", root / "executed")
    assert [job.name for job in chapters] == ["long", "appendix/long", "short", "appendix/short"]
    assert [job.name for job in summaries] == ["claims"]


def test_an_appendix_begins_when_its_chapter_has_ended_be_it_badly(root, executed):
    chapters, _ = build.find_jobs(root, "published", root / "executed")
    with pytest.raises(BookError, match="^long.ipynb failed$"):
        build.run_all(chapters, root, "published", Stages({}))
    assert {name for _, name in executed[:2]} == {"long", "short"}
    for name in ("long", "short"):
        assert executed.index(("ended", name)) < executed.index(("begun", f"appendix/{name}"))
    assert len(executed) == 8


def test_an_appendix_has_its_chapters_kernel_unless_that_failed(root, monkeypatch):
    events = []

    class Kernel:
        def close(self):
            events.append((self, "closed"))

    def run(job, folder, kernel):
        events.append((kernel, job.name))
        if job.name == "long":
            raise BookError("long.ipynb failed")
        return f"{build.EXECUTED_IN}1.0 s"

    monkeypatch.setattr(build, "run_notebook", run)
    monkeypatch.setattr(study_kernel, "StudyKernel", Kernel)
    chapters, _ = build.find_jobs(root, "published", root / "executed")
    with pytest.raises(BookError):
        build.run_all(chapters, root, "published", Stages({}))
    by_kernel = [[what for kernel, what in events if kernel is one] for one in {kernel for kernel, _ in events}]
    assert sorted(by_kernel) == [
        ["long", "closed", "appendix/long", "closed"],
        ["short", "appendix/short", "closed"],
    ]


def test_after_an_interruption_no_appendix_is_begun(root, monkeypatch):
    begun, interrupted = [], threading.Event()

    def run(job, folder, kernel):
        begun.append(job.name)
        interrupted.wait(timeout=60)
        return f"{build.EXECUTED_IN}1.0 s"

    def interrupt(futures):
        while len(begun) < 2:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "run_notebook", run)
    monkeypatch.setattr(build, "kernels", lambda: 2)
    monkeypatch.setattr(build, "as_completed", interrupt)
    chapters, _ = build.find_jobs(root, "published", root / "executed")
    with pytest.raises(KeyboardInterrupt):
        build.run_all(chapters, root, "published", Stages({}))
    interrupted.set()
    time.sleep(0.2)
    assert sorted(begun) == ["long", "short"]


def test_times_are_kept_whole_whoever_reads_meanwhile(root, executed, monkeypatch):
    chapters, _ = build.find_jobs(root, "published", root / "executed")
    before, seen = Durations.of(root).here(), []
    replace = Path.replace

    def looked_at(path, target):
        seen.append(Durations.of(root).here())
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", looked_at)
    with pytest.raises(BookError):
        build.run_all(chapters, root, "published", Stages({}))
    assert len(seen) == 3 and all(found.keys() == before.keys() for found in seen)
    assert Durations.of(root).here() == before | {
        f"published {name}": 1.0 for name in ("short", "appendix/short", "appendix/long")
    }
