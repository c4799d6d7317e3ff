"""The runs in some folders, a line each: finished, or how far, or what is wrong with them."""

import os
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from circuitcore.ground.packed import INDEX_NAME
from circuitcore.ground.reading import inside, is_there
from circuitcore.training.store.ledger import LEDGER_NAME, RECIPE_NAME, Ledger
from circuitcore.training.store.packed import PackedRun, packed_at, packed_runs, read_pack
from circuitcore.training.store.places import RUN_NAME, outside_task, outside_task_in, printable, steps_done

SHARED = "in files shared by its arm"
"""In place of the size of a run that has no files of its own."""


def run_lines(folders: Iterable[Path], allow_tasks: Collection[str] = ()) -> list[str]:
    """A line for each run, finished or not, and their number.

    Args:
        folders: hold runs, or are runs.
        allow_tasks: import paths of tasks from elsewhere that the runs may name.

    Raises:
        TaskError: an entry of ``allow_tasks`` that is no import path.
    """
    allowed = _checked(allow_tasks) if allow_tasks else ()
    rows = []
    for path in folders:
        packed = _packed(path)
        within = [path] if _is_run(path) else inside(path) if path.is_dir() else []
        own = [folder for folder in within if _is_run(folder)]
        rows += [(str(folder), _state(folder, allowed), f"{_size(folder) / 1e6:.1f} MB") for folder in own]
        rows += [(str(run.address), _packed_state(run), SHARED) for run in packed]
    rows = [(printable(folder), printable(state), size) for folder, state, size in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [*lines, f"{len(rows)} run(s)."]


def _packed(path: Path) -> list[PackedRun]:
    """The packed run at a path; or those of the pack, the arm of one, or the packs that lie there."""
    if run := packed_at(path):
        return [run]
    if is_there(path / INDEX_NAME):
        return read_pack(path)
    if is_there(path.parent / INDEX_NAME):
        return [run for run in read_pack(path.parent) if run.address.parent == path]
    return packed_runs(path)


def _checked(allow_tasks: Collection[str]) -> tuple[str, ...]:
    from circuitcore.tasks import allowed_tasks  # here as in ``_n_steps``: torch takes longer than most listings

    return allowed_tasks(allow_tasks)


def _is_run(folder: Path) -> bool:
    """Whether it holds a recipe; where nobody may look, whether it is named as runs are."""
    try:
        return not folder.name.startswith(".") and is_there(folder / RECIPE_NAME)
    except OSError:
        return bool(RUN_NAME.fullmatch(folder.name))


def _state(folder: Path, allow_tasks: Collection[str]) -> str:
    """Finished, or how far; or why that cannot be said."""
    try:
        if not is_there(folder / LEDGER_NAME):
            return "begun"
        ledger = Ledger.read(folder)
        if not ledger.finished:
            return f"{steps_done(folder):,} of {_n_steps(folder, ledger, allow_tasks):,} steps"
    except Exception as error:  # a folder that may be a stranger's: the others are still to be listed
        return f"BAD: {error}"
    return _finished(ledger, outside_task(folder))


def _n_steps(folder: Path, ledger: Ledger, allow_tasks: Collection[str]) -> int:
    """Steps of the whole training. Only an unfinished run's ledger does not have them, and their number needs rows."""
    from circuitcore.training.store.run import read_recipe

    return read_recipe(folder, ledger, allow_tasks).n_steps


def _packed_state(run: PackedRun) -> str:
    try:
        return _finished(run.ledger, outside_task_in(run.line.fields["recipe"]))
    except Exception as error:
        return f"BAD: {error}"


def _finished(ledger: Ledger, outside: str | None) -> str:
    if not ledger.trained:
        return "finished, an experiment"
    kept = sum(entry.kept for entry in ledger.entries)
    note = f"; its task {outside!r} is from outside and was not imported" if outside else ""
    return f"finished, {ledger.entries[-1].step:,} steps, {kept} of {len(ledger.entries)} checkpoints here{note}"


def _size(folder: Path) -> int:
    """Bytes of its files; those that go while they are counted count for nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found = os.stat(os.path.join(place, name))
                total += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return total
