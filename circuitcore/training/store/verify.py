"""Checking runs on disk against their ledgers: every hash, every link of the chain, every recorded loss.

What is checked may come from a stranger, or have been damaged in any way. Whatever goes wrong with a file becomes a
problem that names it, and checking goes on with the next file; no code is imported that the caller has not allowed.
"""

import os
import stat
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TypeVar

from torch import Tensor

from circuitcore.ground.packed import INDEX_NAME, RUN_NAME
from circuitcore.ground.reading import MAX_RUN_JSON_BYTES, inside, read_file
from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import weight_shapes
from circuitcore.tasks import allowed_tasks
from circuitcore.training.errors import REMEDY, StoreError
from circuitcore.training.loop import data_sha256
from circuitcore.training.probe import probe_loss
from circuitcore.training.recipe import Recipe
from circuitcore.training.store.added import ADDED_FOLDER, LIST_NAME, added_table, listed_in
from circuitcore.training.store.checkpoint import read_sealed, unpack
from circuitcore.training.store.file_bytes import read_bytes, read_checked
from circuitcore.training.store.ledger import (
    HISTORY_NAME,
    LEDGER_NAME,
    RECIPE_NAME,
    RESUME_NAME,
    TABLE_FOLDER,
    Entry,
    Ledger,
    checkpoint_name,
)
from circuitcore.training.store.packed import HISTORY, PackedRun, packed_at, read_pack
from circuitcore.training.store.parquet import table_shape
from circuitcore.training.store.places import Problem
from circuitcore.training.store.run import read_checkpoint, read_recipe_json, recipe_of

# Processors differ in the last bits of a float32 sum. A loss of 1 is recomputed to 1e-6; one near 0 is a difference
# of nearly equal numbers, so its absolute error (about 1e-7) is what is left.
LOSS_RTOL = 1e-4
LOSS_ATOL = 1e-6
EMPTY = "The folder is empty."
NO_RUNS = "Name a run, a folder of runs, or a file of one."
HISTORY_COLUMNS = ("step", "epoch", "tokens_seen", "loss", "grad_norm")

Found = TypeVar("Found")


def verify(path: Path | str, *, allow_tasks: Collection[str] = ()) -> list[Problem]:
    """Everything that is wrong with one run's folder, or with one checkpoint file in it or by itself.

    For a folder: recipe, ledger and its chain, rows of the task, each kept checkpoint (hash, header, shapes, recomputed
    loss within a relative 1e-4 or an absolute 1e-6 of the recorded one), history, tables, the state an unfinished run
    goes on from, and whatever else lies there: files the ledger does not know, links, pipes, folders. For a folder in
    ``.added``: its list, and each table in it.

    Args:
        path: of the folder or the file.
        allow_tasks: tasks outside this package, as ``module:Class``, whose code may be imported to recompute losses. A
            run of any other task is checked as far as that goes without, and named.

    Raises:
        TaskError: an entry of ``allow_tasks`` that is no import path. Nothing else: all that fails is a problem.
    """
    path, allowed = Path(path), allowed_tasks(allow_tasks)
    return list(_guarded(path, _problems(path, allowed)))


def _problems(path: Path, allow_tasks: tuple[str, ...]) -> Iterator[Problem]:
    if path.name == INDEX_NAME:
        read_pack(path.parent)
    elif path.absolute().parent.name == ADDED_FOLDER and path.is_dir():
        yield from _added_problems(path)
    elif packed := packed_at(path):
        yield from _packed_problems(packed, allow_tasks)
    else:
        yield from _run_problems(path, allow_tasks) if path.is_dir() else _file_problems(path)


def _added_problems(folder: Path) -> Iterator[Problem]:
    """Of the tables that were measured on a published run since."""
    listed = yield from _read(folder / LIST_NAME, listed_in, folder)
    if listed is None:
        return
    tables = {folder / f"{key}.parquet": expected for key, expected in listed[1].items()}
    for path, expected in tables.items():
        yield from _read(path, added_table, path, expected)
    for path in inside(folder):
        if path != folder / LIST_NAME and path not in tables:
            yield Problem(
                path, f"{path}: {LIST_NAME} does not know this file. Delete it, or find out where it is from."
            )


def _packed_problems(run: PackedRun, allow_tasks: tuple[str, ...]) -> Iterator[Problem]:
    """Of a run that shares files. Its rows are compared with the list of contents (``sealing.differences``)."""
    index = run.line.index
    ledger = yield from _read(index, lambda: run.ledger)
    if ledger is None:
        return
    if not ledger.trained:  # its rows are compared with the list, and its hash is that of its line
        return
    recipe = yield from _read(index, recipe_of, run.recipe_json, f"{index}{run.of}", ledger, allow_tasks)
    if recipe:
        yield from _guarded(index, _recipe_problems(index, index, ledger, recipe))
    yield from _guarded(run.address, _checkpoint_problems(run.address, ledger, recipe))
    path = run.path(HISTORY)
    shape = yield from _read(path, lambda: run.history_shape)
    if shape is not None:
        yield from _history_shape(path, ledger, recipe, shape)


def _guarded(path: Path, problems: Iterable[Problem]) -> Iterator[Problem]:
    """``problems`` as they are found; an exception on the way is the last of them, and a problem of ``path``."""
    try:
        yield from problems
    except Exception as error:
        yield Problem.of(path, error)


def _read(path: Path, read: Callable[..., Found], *given: object) -> Generator[Problem, None, Found | None]:
    """What ``read`` returns; None after a problem of ``path`` where it raises."""
    try:
        return read(*given)
    except Exception as error:
        yield Problem.of(path, error)
        return None


def _file_problems(path: Path) -> Iterator[Problem]:
    if RUN_NAME.fullmatch(path.name):
        raise StoreError(f"{path}: a run is a folder, and there is none here. {REMEDY}")
    unpack(path, read_bytes(path))
    if os.path.lexists(path.parent / LEDGER_NAME):
        ledger = Ledger.read(path.parent)
        entry = next((entry for entry in ledger.entries if entry.file == path.name), None)
        if entry is None:
            raise StoreError(f"{path}: the ledger beside it does not know this file.")
        read_checkpoint(path.parent, entry, ledger.run_id)
    yield from ()


def _run_problems(folder: Path, allow_tasks: tuple[str, ...]) -> Iterator[Problem]:
    if folder.is_symlink():
        yield Problem(folder, f"{folder}: {_wrong_kind(folder, folder.lstat().st_mode)}. Put a copy in its place.")
    path = folder / LEDGER_NAME
    if not os.path.lexists(path):
        # A remedy deletes the folder: it is for one that says that it is a run, not for whatever was named by mistake.
        if RUN_NAME.fullmatch(folder.absolute().name) or os.path.lexists(folder / RECIPE_NAME):
            yield Problem(path, f"{path}: is missing. {_lost(folder)} {REMEDY}")
        else:
            yield Problem(folder, f"{folder}: holds no runs. {NO_RUNS if any(folder.iterdir()) else EMPTY}")
        return
    ledger = yield from _read(path, Ledger.read, folder)
    if ledger is None:
        return
    text = yield from _read(folder / RECIPE_NAME, read_recipe_json, folder, ledger)
    named = folder / RECIPE_NAME, ledger, allow_tasks
    usable = text is not None and ledger.trained
    recipe = (yield from _read(folder / RECIPE_NAME, recipe_of, text, *named)) if usable else None
    parts = {
        path: _spelling_problems(folder, ledger, text),
        folder / RECIPE_NAME: _recipe_problems(path, folder / RECIPE_NAME, ledger, recipe) if recipe else (),
        folder: _checkpoint_problems(folder, ledger, recipe),
        folder / HISTORY_NAME: _history_problems(folder, ledger, recipe),
        folder / TABLE_FOLDER: _table_problems(folder, ledger),
        folder / RESUME_NAME: _resume_problems(folder, ledger),
    }
    for part, problems in parts.items():
        yield from _guarded(part, problems)
    yield from _guarded(folder, _stray_problems(folder, ledger, recipe))


def _lost(folder: Path) -> str:
    """What a folder without a ledger is, as far as it tells."""
    if not any(folder.iterdir()):
        return EMPTY
    if [found.name for found in folder.iterdir() if not found.name.endswith(".tmp")] == [RECIPE_NAME]:
        return "The run was begun and has no checkpoint yet, or it lost its files."
    return "Without it nothing vouches for the other files in the folder."


def _spelling_problems(folder: Path, ledger: Ledger, recipe_json: str | None) -> Iterator[Problem]:
    """A run's two texts have one spelling each: a blank more is a sign that somebody has been at them."""
    texts = {folder / LEDGER_NAME: ledger.to_bytes()}
    if recipe_json is not None:  # one that is damaged is named elsewhere
        texts[folder / RECIPE_NAME] = f"{recipe_json}\n".encode()
    for path, expected in texts.items():
        if read_file(path, MAX_RUN_JSON_BYTES) != expected:
            yield Problem(path, f"{path}: holds what it should, but not in the bytes that it was written in. {REMEDY}")


def _recipe_problems(path: Path, recipe_path: Path, ledger: Ledger, recipe: Recipe) -> Iterator[Problem]:
    due, found = recipe.checkpoint_steps, tuple(entry.step for entry in ledger.entries)
    if found != (due if ledger.finished else due[: len(found)]):
        yield Problem(path, f"{path}: has checkpoints at {found}, the recipe asks for {due}.")
    if data_sha256(recipe) != ledger.data_sha256:
        text = f"{recipe_path.parent}: trained on other rows than task {recipe.task!r} makes now."
        yield Problem(recipe_path, text)


def _checkpoint_problems(folder: Path, ledger: Ledger, recipe: Recipe | None) -> Iterator[Problem]:
    for entry in ledger.entries:
        if entry.kept:
            weights = yield from _read(folder / entry.file, read_checkpoint, folder, entry, ledger.run_id)
            if weights is not None and recipe is not None:
                yield from _guarded(folder / entry.file, _weight_problems(folder / entry.file, entry, recipe, weights))


def _weight_problems(path: Path, entry: Entry, recipe: Recipe, weights: dict[str, Tensor]) -> Iterator[Problem]:
    text = _other_weights(recipe.model, weights)
    if text:
        yield Problem(path, f"{path}: holds other weights than the recipe's model has: {text}.")
        return
    loss = probe_loss(recipe, weights)
    if not abs(loss - entry.loss) <= LOSS_ATOL + LOSS_RTOL * abs(entry.loss):
        yield Problem(path, f"{path}: its loss is {loss:.7g} when recomputed, {entry.loss:.7g} in the ledger.")


def _other_weights(model: ModelConfig, weights: dict[str, Tensor]) -> str | None:
    """How tensors differ from the weights of ``model`` in name, shape or type; None where they do not."""
    expected = {name: shape for name, (shape, _) in weight_shapes(model).items()}
    shapes = {name: tuple(weight.shape) for name, weight in weights.items()}
    if shapes != expected:
        name = min(name for name, _ in shapes.items() ^ expected.items())
        here, there = (table.get(name, "missing") for table in (shapes, expected))
        return f"tensor {name!r} is {here}, in the recipe's model {there}"
    whole = [name for name, weight in sorted(weights.items()) if not weight.is_floating_point()]
    return f"tensor {whole[0]!r} is of {weights[whole[0]].dtype}, weights are fractions" if whole else None


def _history_problems(folder: Path, ledger: Ledger, recipe: Recipe | None) -> Iterator[Problem]:
    path = folder / HISTORY_NAME
    if not ledger.finished or not ledger.trained:
        return
    data = yield from _read(path, read_checked, path, ledger.history_sha256)
    shape = (yield from _read(path, table_shape, path, data)) if data is not None else None
    if shape is not None:
        yield from _history_shape(path, ledger, recipe, shape)


def _history_shape(
    path: Path, ledger: Ledger, recipe: Recipe | None, shape: tuple[int, tuple[str, ...]]
) -> Iterator[Problem]:
    unit, n_rows = "step", ledger.entries[-1].step
    if ledger.history_thinned:
        unit, n_rows = "epoch", recipe.schedule.n_epochs_begun if recipe else shape[0]
    if shape != (n_rows, HISTORY_COLUMNS):
        text = f"{shape[0]:,} rows of {', '.join(shape[1])}; this run has {n_rows:,}, one per {unit}, of "
        yield Problem(path, f"{path}: no history of this run: {text}{', '.join(HISTORY_COLUMNS)}.")


def _table_problems(folder: Path, ledger: Ledger) -> Iterator[Problem]:
    for key, expected in ledger.tables.items():
        path = folder / TABLE_FOLDER / f"{key}.parquet"
        data = yield from _read(path, read_checked, path, expected)
        if data is not None:
            yield from _read(path, table_shape, path, data)


def _resume_problems(folder: Path, ledger: Ledger) -> Iterator[Problem]:
    """The state to go on from, which a kill just after the last ledger leaves beside a finished run, too."""
    path = folder / RESUME_NAME
    if os.path.lexists(path):
        _, identity = read_sealed(path)
        if identity.get("run_id") != ledger.run_id:
            yield Problem(path, f"{path}: belongs to another run, {identity.get('run_id')!r}. Delete it.")


def _stray_problems(folder: Path, ledger: Ledger, recipe: Recipe | None) -> Iterator[Problem]:
    """Whatever nothing vouches for. A run still being trained may be ahead of the ledger that was read."""
    known = {LEDGER_NAME, RECIPE_NAME, *((HISTORY_NAME, RESUME_NAME) if ledger.trained else ())}
    known |= _ahead(ledger, recipe)
    known |= {entry.file for entry in ledger.entries if entry.kept or not ledger.finished}
    known |= {f"{TABLE_FOLDER}/{key}.parquet" for key in ledger.tables}
    known |= {TABLE_FOLDER} if ledger.tables else set()
    for path in sorted(Path(place) / name for place, *names in os.walk(folder) for name in chain(*names)):
        name, mode = path.relative_to(folder).as_posix(), _mode(path)
        being_written = not ledger.finished and name.endswith(".tmp")
        wrong = _wrong_kind(path, mode) if mode else None
        if wrong is None and mode and name not in known and not being_written:
            wrong = f"the ledger does not know this {'folder' if stat.S_ISDIR(mode) else 'file'}"
        if wrong:
            yield Problem(path, f"{path}: {wrong}. Delete it, or find out where it is from.")


def _ahead(ledger: Ledger, recipe: Recipe | None) -> set[str]:
    """Checkpoints that an unfinished run is still to take, by their file names."""
    if ledger.finished or recipe is None:
        return set()
    return {checkpoint_name(step) for step in recipe.checkpoint_steps[len(ledger.entries) :]}


def _mode(path: Path) -> int:
    """Kind and rights of what is there, a link itself and not what it leads to; 0 where it has just gone."""
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return 0


def _wrong_kind(path: Path, mode: int) -> str | None:
    if stat.S_ISLNK(mode):
        return f"is a link, to {path.readlink()}, and what it leads to is no part of the run"
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return "is a pipe, a device or a socket"
    return None
