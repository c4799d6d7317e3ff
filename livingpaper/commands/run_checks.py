"""Checking runs and published folders, a line for each: fine, or what is wrong with it."""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path

from circuitcore.ground.contents import CONTENTS_NAME
from circuitcore.ground.packed import INDEX_NAME
from circuitcore.ground.progress import Watch, write_line
from circuitcore.ground.reading import inside
from circuitcore.tasks import allowed_tasks
from circuitcore.training.errors import StoreError
from circuitcore.training.store.packed import packed_at, read_pack
from circuitcore.training.store.places import Problem, printable, run_folders
from circuitcore.training.store.sealed import contents_of
from circuitcore.training.store.sealing import differences, is_published
from circuitcore.training.store.verify import verify


def check_runs(paths: Iterable[Path], allow_tasks: Collection[str], watch: Watch) -> tuple[int, int]:
    """Write what ``verify`` finds in each run or file, and whether published folders hold what was published.

    Args:
        paths: runs, folders of runs, or files.
        allow_tasks: import paths of tasks from elsewhere that the runs may name.
        watch: told what there is to check, then shows a bar.

    Returns:
        How many runs, files and folders are fine, and with how many something is wrong.

    Raises:
        TaskError: an entry of ``allow_tasks`` that is no import path.
    """
    paths, check = list(paths), partial(verify, allow_tasks=allowed_tasks(allow_tasks))
    subjects = [found for path in paths for found in (run_folders(path) if os.path.isdir(path) else []) or [path]]
    watch.say(f"Checking {len(subjects)} run(s) or file(s): hashes, chain, and the recorded loss of every checkpoint.")
    loads = {subject: float(_n_checkpoints(subject) or 1) for subject in subjects}
    checked = ((subject, check(subject)) for subject in watch.each(loads, "checking"))
    n_all = n_bad = 0
    for subject, problems in chain(checked, _published_problems(paths)):
        n_all, n_bad = n_all + 1, n_bad + bool(problems)
        write_line("\n".join([f"BAD  {problem}" for problem in problems] or [f"ok   {printable(str(subject))}"]))
    return n_all - n_bad, n_bad


def _n_checkpoints(folder: Path) -> int:
    return sum(path.name.startswith("step-") for path in inside(folder))


def _published_problems(paths: Iterable[Path]) -> Iterator[tuple[str, list[Problem]]]:
    """Of every folder of published runs, and every run in one: whether it holds what was published."""
    for path in paths:
        run = path.resolve() if ".." in path.parts else path.absolute()  # "." and ".." are in some folder, too
        if is_published(path):
            problems = [Problem(*found) for found in differences(path)]
            listed = None if problems else contents_of(path)
            root = f", root {listed.root}" if listed else ""
            yield f"{path / CONTENTS_NAME}: nothing differs from it{root}", problems
        elif found := _published_in(run):
            home, names = found
            yield f"{path}: as published", [Problem(*other) for name in names for other in differences(home, name)]


def _published_in(path: Path) -> tuple[Path, list[str]] | None:
    """The published folder that a run or a pack lies in, and the runs that are meant; None for anything else."""
    with suppress(StoreError):  # a damaged index: whoever checked its runs has said so
        if packed_at(path):
            return path.parents[2], [path.name]
        if os.path.isdir(path) and is_published(path.parent):
            pack = os.path.lexists(path / INDEX_NAME)
            return path.parent, [run.line.run_id for run in read_pack(path)] if pack else [path.name]
    return None
