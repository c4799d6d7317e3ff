"""Checking runs and published folders, a line for each: fine, or what is wrong with it."""

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from circuitcore.contents import CONTENTS_NAME
from circuitcore.durations import duration
from circuitcore.progress import Watch, one_by_one, write_line
from circuitcore.tasks import allowed_tasks
from circuitcore.training.sealed import contents_of
from circuitcore.training.sealing import differences, is_published
from circuitcore.training.verify import printable, run_folders, verify


def check_runs(paths: Iterable[Path], allow_tasks: Collection[str], watch: Watch) -> tuple[int, int]:
    """Write what ``verify`` finds in each run or file, and whether published folders hold what was published.

    Args:
        paths: runs, folders of runs, or files.
        allow_tasks: import paths of tasks from elsewhere that the runs may name.
        watch: told the expected time, then shows a bar.

    Returns:
        How many runs, files and folders are fine, and with how many something is wrong.

    Raises:
        TaskError: an entry of ``allow_tasks`` that is no import path.
    """
    paths, check = list(paths), partial(verify, allow_tasks=allowed_tasks(allow_tasks))
    subjects = [found for path in paths for found in (run_folders(path) or [path] if path.is_dir() else [path])]
    what = f"Checking {len(subjects)} run(s) or file(s): hashes, chain, and the recorded loss of every checkpoint"
    loads = {subject: float(len(list(subject.glob("step-*"))) or 1) for subject in subjects}
    checked = one_by_one(lambda subject: (subject, check(subject)), loads, watch, partial(_expected_of, what))
    n_all = n_bad = 0
    for subject, problems in chain(checked, _published_problems(paths)):
        n_all, n_bad = n_all + 1, n_bad + bool(problems)
        write_line("\n".join([f"BAD  {problem}" for problem in problems] or [f"ok   {printable(str(subject))}"]))
    return n_all - n_bad, n_bad


def _published_problems(paths: Iterable[Path]) -> Iterator[tuple[str, list[str]]]:
    """Of every folder of published runs, and every run in one: whether it holds what was published."""
    for path in paths:
        if is_published(path):
            problems = [text for _, text in differences(path)]
            root = "" if problems else f", root {contents_of(path).root}"
            yield f"{path / CONTENTS_NAME}: nothing differs from it{root}", problems
        elif is_published(path.parent) and path.is_dir():
            problems = [text for _, text in differences(path.parent, path.name)]
            yield f"{path}: as published", problems


def _expected_of(what: str, seconds: float) -> str:
    return f"{what}: expected {duration(seconds)} (the first few, timed here, times what is left)."
