"""Checking runs on disk against their ledgers: every hash, every link of the chain, every recorded loss."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from circuitcore.training.checkpoint import read_bytes, unpack
from circuitcore.training.errors import StoreError
from circuitcore.training.ledger import LEDGER_NAME, Ledger
from circuitcore.training.loop import RESUME_NAME, data_sha256, probe_loss
from circuitcore.training.recipe import Recipe
from circuitcore.training.run import HISTORY_NAME, RECIPE_NAME, read_checked, read_checkpoint, read_recipe
from circuitcore.training.store import TABLE_FOLDER

# Processors differ in the last bits of a float32 sum. A loss of 1 is recomputed to 1e-6; one near 0 is a difference
# of nearly equal numbers, so its absolute error (about 1e-7) is what is left.
LOSS_RTOL = 1e-4
LOSS_ATOL = 1e-6


@dataclass(frozen=True)
class Problem:
    """Something wrong with a file of a run; the message names the file."""

    path: Path
    message: str

    def __str__(self) -> str:
        return self.message


def run_folders(path: Path) -> list[Path]:
    """The runs at ``path``: itself if it is a run's folder, else its run folders, finished or not."""
    if (path / LEDGER_NAME).exists():
        return [path]
    return sorted(ledger.parent for ledger in path.glob(f"[!.]*/{LEDGER_NAME}"))


def verify(path: Path) -> list[Problem]:
    """Everything that is wrong with one run's folder, or with one checkpoint file in it or by itself.

    For a folder: recipe, ledger and its chain, rows of the task, each kept checkpoint (hash, header, recomputed
    loss within a relative 1e-4 or an absolute 1e-6 of the recorded one), history, tables, and files the ledger does
    not know.
    """
    if path.is_dir():
        return list(_run_problems(path))
    return list(_file_problems(path))


def _file_problems(path: Path) -> Iterator[Problem]:
    try:
        unpack(path, read_bytes(path))
        if (path.parent / LEDGER_NAME).exists():
            ledger = Ledger.read(path.parent)
            entry = next((entry for entry in ledger.entries if entry.file == path.name), None)
            if entry is None:
                raise StoreError(f"{path}: the ledger beside it does not know this file.")
            read_checkpoint(path.parent, entry, ledger.run_id)
    except StoreError as error:
        yield Problem(path, str(error))


def _run_problems(folder: Path) -> Iterator[Problem]:
    try:
        ledger = Ledger.read(folder)
    except StoreError as error:
        yield Problem(folder / LEDGER_NAME, str(error))
        return
    recipe = None
    try:
        recipe = read_recipe(folder, ledger)
    except StoreError as error:
        yield Problem(folder / RECIPE_NAME, str(error))
    if recipe is not None:
        yield from _recipe_problems(folder, ledger, recipe)
    yield from _checkpoint_problems(folder, ledger, recipe)
    yield from _table_problems(folder, ledger)
    yield from _stray_problems(folder, ledger)


def _recipe_problems(folder: Path, ledger: Ledger, recipe: Recipe) -> Iterator[Problem]:
    if data_sha256(recipe) != ledger.data_sha256:
        text = f"{folder}: trained on other rows than task {recipe.task!r} makes now."
        yield Problem(folder / RECIPE_NAME, text)
    due, found = recipe.checkpoint_steps, tuple(entry.step for entry in ledger.entries)
    if found != (due if ledger.finished else due[: len(found)]):
        text = f"{folder / LEDGER_NAME}: has checkpoints at {found}, the recipe asks for {due}."
        yield Problem(folder / LEDGER_NAME, text)


def _checkpoint_problems(folder: Path, ledger: Ledger, recipe: Recipe | None) -> Iterator[Problem]:
    for entry in ledger.entries:
        path = folder / entry.file
        if not entry.kept:
            continue
        try:
            weights = read_checkpoint(folder, entry, ledger.run_id)
        except StoreError as error:
            yield Problem(path, str(error))
            continue
        if recipe is None:
            continue
        loss = probe_loss(recipe, weights)
        if not abs(loss - entry.loss) <= LOSS_ATOL + LOSS_RTOL * abs(entry.loss):
            text = f"{path}: its loss is {loss:.7g} when recomputed, {entry.loss:.7g} in the ledger."
            yield Problem(path, text)


def _table_problems(folder: Path, ledger: Ledger) -> Iterator[Problem]:
    hashes = {f"{TABLE_FOLDER}/{key}.parquet": value for key, value in ledger.tables.items()}
    if ledger.finished:
        hashes[HISTORY_NAME] = ledger.history_sha256
    for name, expected in hashes.items():
        try:
            read_checked(folder / name, expected)
        except StoreError as error:
            yield Problem(folder / name, str(error))


def _stray_problems(folder: Path, ledger: Ledger) -> Iterator[Problem]:
    """Files nothing vouches for. A run still being trained may be one checkpoint ahead of its ledger."""
    known = {LEDGER_NAME, RECIPE_NAME, HISTORY_NAME, RESUME_NAME}
    known |= {entry.file for entry in ledger.entries if entry.kept or not ledger.finished}
    known |= {f"{TABLE_FOLDER}/{key}.parquet" for key in ledger.tables}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        ahead = not ledger.finished and (name.startswith("step-") or name.endswith(".tmp"))
        if path.is_file() and name not in known and not ahead:
            yield Problem(path, f"{path}: the ledger does not know this file. Delete it, or find out where it is from.")
