"""Runs on disk as far as names and headers tell, without torch: where they are, how far, what is wrong with them."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from circuitcore.ground.packed import INDEX_NAME, RUN_NAME, packs
from circuitcore.ground.reading import MAX_RUN_JSON_BYTES, parse_json, plain_file, read_file
from circuitcore.ground.task_names import TASK_NAMES
from circuitcore.training.errors import StoreError
from circuitcore.training.store.file_bytes import header_length, read_identity
from circuitcore.training.store.ledger import HISTORY_NAME, LEDGER_NAME, RECIPE_NAME, RESUME_NAME
from circuitcore.training.store.packed import PackedRun, read_pack

MAX_MESSAGE = 2_000  # characters: a file may hold a name of a million


@dataclass(frozen=True)
class Problem:
    """Something wrong with a file of a run; the message names the file."""

    path: Path
    message: str

    @classmethod
    def of(cls, path: Path, error: Exception) -> "Problem":
        """What an exception says of the file at ``path``."""
        if isinstance(error, StoreError):
            return cls(path, str(error))
        return cls(path, f"{path}: cannot be checked ({type(error).__name__}: {error}).")

    def __str__(self) -> str:
        return printable(self.message)


def printable(text: str) -> str:
    """``text`` for a terminal, on one line: what a stranger put in a name can neither steer it nor fill it."""
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text[:MAX_MESSAGE])
    return shown if len(text) <= MAX_MESSAGE else f"{shown}... ({len(text):,} characters)"


def run_folders(path: Path) -> list[Path]:
    """The runs at ``path``: itself if it is a run's folder, else whatever in it is a run or should be one, or packed.

    Those of a pack come ordered by their tasks.

    That is all that holds a file of a run, is named as runs are, or is empty: a run that lost its ledger, or all its
    files, is not passed over. Names that begin with a dot are the store's own.
    """
    try:
        if os.path.lexists(path / INDEX_NAME):
            return _addresses(path)
        if _holds_run(path):
            return [path]
        inside = [found for found in sorted(path.iterdir()) if not found.name.startswith(".")]
    except OSError:  # ``verify`` of the folder says why
        return []
    alone = [found for found in inside if RUN_NAME.fullmatch(found.name) or _may_be_run(found)]
    return alone + [found for pack in packs(path) for found in _addresses(pack)]


def _addresses(pack: Path) -> list[Path]:
    """Of the runs of a pack; of one whose index is damaged the index.

    Runs whose recipes say that they have the same rows, or nearly the same, stand together: whoever checks them one
    after another finds rows still made (``training.loop``, ``Task.split``).
    """
    try:
        return [run.address for run in sorted(read_pack(pack), key=_rows_of)]
    except StoreError:
        return [pack / INDEX_NAME]


def _rows_of(run: PackedRun) -> str:
    recipe = run.line.fields.get("recipe")  # still to be checked: it may be anything
    known = [recipe.get("task"), recipe.get("task_params")] if isinstance(recipe, dict) else []
    return json.dumps(known, sort_keys=True)


def _holds_run(folder: Path) -> bool:
    named = (LEDGER_NAME, RECIPE_NAME, HISTORY_NAME, RESUME_NAME)
    return any(path.name in named or path.name.startswith("step-") for path in folder.iterdir())


def _may_be_run(path: Path) -> bool:
    try:
        return path.is_dir() and (_holds_run(path) or not any(path.iterdir()))
    except OSError:
        return True  # nobody can tell


def steps_done(folder: Path) -> int:
    """Steps an unfinished run can go on from; 0 if there is nothing to go on from."""
    try:
        with plain_file(folder / RESUME_NAME) as file:
            start = file.read(8)
            header = start + file.read(header_length(start))
        return int(read_identity(folder / RESUME_NAME, header)["step"])
    except (OSError, StoreError, KeyError, ValueError):
        return 0  # this only feeds a progress bar; reading the state to use it does complain


def outside_task(folder: Path) -> str | None:
    """The import path of the task that the recipe in ``folder`` names, without importing it.

    None for a task of this package, and where there is no recipe that says.
    """
    try:
        return outside_task_in(parse_json(read_file(folder / RECIPE_NAME, MAX_RUN_JSON_BYTES)))
    except (OSError, ValueError):
        return None


def outside_task_in(recipe: Any) -> str | None:
    """The import path of the task that the JSON of a recipe names; otherwise as ``outside_task``."""
    task = recipe.get("task") if isinstance(recipe, dict) else None
    return task if isinstance(task, str) and task not in TASK_NAMES else None
