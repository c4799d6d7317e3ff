"""Checking runs and published folders, a line for each: fine, or what is wrong with it.

What a published folder holds is compared with its list in other processes while this one checks its runs: the first
takes hashing tables, the second drawing rows and recomputing losses, for which torch is imported. Those that are done
check runs, too, from the end of the list: runs that stand together share rows, which each process makes for itself.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from multiprocessing import connection
from pathlib import Path

from circuitcore.ground.contents import CONTENTS_NAME
from circuitcore.ground.environment import WORKERS, n_workers
from circuitcore.ground.packed import INDEX_NAME
from circuitcore.ground.processes import BothEnds, answering
from circuitcore.ground.progress import Watch, write_line
from circuitcore.ground.reading import inside
from circuitcore.training.errors import StoreError
from circuitcore.training.store.added import added_folders
from circuitcore.training.store.packed import packed_at, read_pack
from circuitcore.training.store.places import Problem, printable, run_folders
from circuitcore.training.store.sealed import contents_of
from circuitcore.training.store.sealing import (
    folder_differences,
    is_published,
    run_batches,
    run_differences,
)

FEW = 64  # runs for each process: it takes longer to start than to compare fewer
Comparing = list[Callable[[], list[Problem]]]
"""Of one published folder: each gives what some of its runs differ in, as soon as that is known."""
Batch = tuple[Path, list[str]]
"""A published folder, and runs of it that share files."""


@dataclass(frozen=True)
class Share:
    """What another process does: it compares batches, then checks subjects that nobody has taken.

    Attributes:
        batches: by their numbers.
        subjects: runs and files.
        allow_tasks: as in ``check_runs``.
        ends: which subjects are left.
    """

    batches: Mapping[str, Batch]
    subjects: list[Path]
    allow_tasks: tuple[str, ...]
    ends: BothEnds

    def __iter__(self) -> Iterator[tuple]:
        for number, batch in self.batches.items():
            yield number, run_problems, *batch
        for place in self.ends.take_last():
            yield place, subject_problems, self.subjects[place], self.allow_tasks


@dataclass
class Others:
    """The other processes, as this one sees them.

    Attributes:
        ends: which subjects are left; None where there are no others.
        receivers: of those that may still answer.
    """

    ends: BothEnds | None = None
    receivers: list[connection.Connection] = field(default_factory=list)
    _found: dict[str | int, list[Problem]] = field(default_factory=dict, init=False)

    def takes_next(self) -> bool:
        """Whether the next subject is this process's own."""
        return self.ends is None or self.ends.take_first()

    def problems(self, name: str | int) -> list[Problem] | None:
        """What one of them found in a batch or a subject; None where the one that looked was lost."""
        while name not in self._found and self.receivers:
            for receiver in connection.wait(self.receivers):
                try:
                    answered, problems = receiver.recv()
                except EOFError:
                    self.receivers.remove(receiver)
                else:
                    self._found[answered] = problems
        return self._found.get(name)


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
        ValueError: ``CIRCUITCORE_WORKERS`` is no number of processes.
    """
    paths = list(dict.fromkeys(paths))
    subjects = [found for path in paths for found in _inside(path) or [path]]
    with _compared(paths, subjects, allow_tasks) as (comparing, others):
        checked = _checked(subjects, allow_tasks, watch, others)
        n_all = n_bad = 0
        for subject, problems in chain(checked, _published_problems(paths, comparing)):
            n_all, n_bad = n_all + 1, n_bad + bool(problems)
            write_line("\n".join([f"BAD  {problem}" for problem in problems] or [f"ok   {printable(str(subject))}"]))
    return n_all - n_bad, n_bad


def _inside(path: Path) -> list[Path]:
    """The runs in a folder, and where tables were added to published ones; nothing for what is no folder."""
    return [*run_folders(path), *added_folders(path)] if os.path.isdir(path) else []


def _checked(
    subjects: list[Path], allow_tasks: Collection[str], watch: Watch, others: Others
) -> Iterator[tuple[Path, list[Problem]]]:
    from circuitcore.tasks import allowed_tasks  # here, since torch takes seconds, which other processes can use

    allowed = allowed_tasks(allow_tasks)
    watch.say(f"Checking {len(subjects)} run(s) or file(s): hashes, chain, and the recorded loss of every checkpoint.")
    loads = {subject: float(_n_checkpoints(subject) or 1) for subject in subjects}
    for place, subject in enumerate(watch.each(loads, "checking")):
        problems = None if others.takes_next() else others.problems(place)
        yield subject, subject_problems(subject, allowed) if problems is None else problems


def answer(name: str | int, function: Callable[..., list[Problem]], *given: object) -> tuple[str | int, list[Problem]]:
    """What a function finds, under a name."""
    return name, function(*given)


def subject_problems(subject: Path, allow_tasks: tuple[str, ...]) -> list[Problem]:
    """What is wrong with a run or a file."""
    from circuitcore.training.engines.engine import one_thread
    from circuitcore.training.store.verify import verify

    with one_thread():  # torch's others would wait, at full speed, for cores that the other processes have
        return verify(subject, allow_tasks=allow_tasks)


@contextmanager
def _compared(
    paths: Iterable[Path], subjects: list[Path], allow_tasks: Collection[str]
) -> Iterator[tuple[Mapping[Path, Comparing], Others]]:
    """Inside, the published folders among ``paths`` are compared with their lists; by all cores but this process's."""
    batches = {path: run_batches(path) for path in paths if is_published(path)}
    todo = [(path, runs) for path, found in batches.items() for runs in found]
    workers = min(n_workers() - 1, sum(len(runs) for _, runs in todo) // FEW)
    if not workers:
        yield {path: [partial(run_problems, path, runs) for runs in found] for path, found in batches.items()}, Others()
        return
    named, ends = {f"batch {number}": batch for number, batch in enumerate(todo)}, BothEnds(len(subjects))
    dealt = [dict(list(named.items())[number::workers]) for number in range(workers)]
    shares = [Share(share, subjects, tuple(allow_tasks), ends) for share in dealt]
    with answering(f"{__name__}:answer", shares) as receivers:
        others, comparing = Others(ends, list(receivers)), {path: [] for path in batches}
        for name, (path, _) in named.items():
            comparing[path].append(partial(_received, path, others, name))
        yield comparing, others


def run_problems(folder: Path, runs: list[str]) -> list[Problem]:
    """What runs of a published folder differ in from its list."""
    return [Problem(*difference) for difference in run_differences(folder, runs)]


def _received(folder: Path, others: Others, name: str) -> list[Problem]:
    problems = others.problems(name)
    if problems is None:
        text = "not all of it was compared with its list: a process that did was lost (out of memory, or killed)"
        return [Problem(folder, f"{folder}: {text}. Run the same command again, with {WORKERS}=1.")]
    return problems


def _n_checkpoints(folder: Path) -> int:
    return sum(path.name.startswith("step-") for path in inside(folder))


def _published_problems(
    paths: Iterable[Path], comparing: Mapping[Path, Comparing]
) -> Iterator[tuple[str, list[Problem]]]:
    """Of every folder of published runs, and every run in one: whether it holds what was published."""
    for path in paths:
        run = path.resolve() if ".." in path.parts else path.absolute()  # "." and ".." are in some folder, too
        if path in comparing:
            beside_runs = (Problem(*difference) for difference in folder_differences(path))
            found = chain(beside_runs, *(problems() for problems in comparing[path]))
            problems = list(dict.fromkeys(found))  # a process that was lost is missed by each of its batches
            listed = None if problems else contents_of(path)
            root = f", root {listed.root}" if listed else ""
            yield f"{path / CONTENTS_NAME}: nothing differs from it{root}", problems
        elif found := _published_in(run):
            home, names = found
            yield f"{path}: as published", run_problems(home, names)


def _published_in(path: Path) -> tuple[Path, list[str]] | None:
    """The published folder that a run or a pack lies in, and the runs that are meant; None for anything else."""
    with suppress(StoreError):  # a damaged index: whoever checked its runs has said so
        if packed_at(path):
            return path.parents[2], [path.name]
        if os.path.isdir(path) and is_published(path.parent):
            pack = os.path.lexists(path / INDEX_NAME)
            return path.parent, [run.line.run_id for run in read_pack(path)] if pack else [path.name]
    return None
