"""A finished run as the rest of the library sees it: recipe, per-step history, weights at each kept step."""

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Literal

import pandas as pd
import torch
from torch import Tensor

from circuitcore.ground.reading import MAX_RUN_JSON_BYTES, canonical_json
from circuitcore.ground.spelling import first_of
from circuitcore.tasks import OutsideTaskError
from circuitcore.training.errors import REMEDY, CheckpointError, StoreError
from circuitcore.training.recipe import Recipe
from circuitcore.training.store.added import Added
from circuitcore.training.store.checkpoint import unpack, weights_sha256
from circuitcore.training.store.digests import table_sha256
from circuitcore.training.store.file_bytes import (
    read_bytes,
    read_checked,
    read_identity,
    read_json,
    refuse_pickle,
    sha256,
)
from circuitcore.training.store.ledger import HISTORY_NAME, RECIPE_NAME, TABLE_FOLDER, TABLE_KEY, Entry, Ledger
from circuitcore.training.store.packed import HISTORY, PackedRun
from circuitcore.training.store.parquet import from_parquet
from circuitcore.training.store.sealed import require_as_sealed


@dataclass(frozen=True, eq=False)
class Run:
    """One trained run. Reading checks against the ledger each time, and against the contents that were published.

    An experiment of one seed is kept as a run is, with a table and nothing else (``ledger.trained``).

    Attributes:
        path: its folder.
        origin: "local" (trained here) or "published" (shipped with the book, perhaps with fewer checkpoints).
        ledger: its files and their hashes.
        packed: where its numbers are, if it shares files with others; then there are none but weights at ``path``.
        sealed: part -> hash, as the list of a published folder's contents has them (``training.sealed``); None for a
            run that is in no such folder.
        allow_tasks: import paths of tasks outside this package that its ``recipe.json`` may name (see ``RunStore``).
        added: what was measured on it since it was published; None for a run that is not published, or read alone.
    """

    path: Path
    origin: Literal["local", "published"]
    ledger: Ledger = field(repr=False)
    allow_tasks: tuple[str, ...] = field(default=(), repr=False)
    sealed: Mapping[str, str] | None = field(default=None, repr=False)
    packed: PackedRun | None = field(default=None, repr=False)
    added: Added | None = field(default=None, repr=False)

    @property
    def run_id(self) -> str:
        """Name of the task or the experiment, and the hash of its recipe; also the folder's name."""
        return self.ledger.run_id

    @property
    def home(self) -> Path:
        """The folder of runs that it is in."""
        return self.path.parents[2 if self.packed else 0]

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps whose weights are here, increasing."""
        return tuple(entry.step for entry in self.ledger.entries if entry.kept)

    @property
    def all_steps(self) -> tuple[int, ...]:
        """Steps at which a checkpoint was taken, whether or not it is still here."""
        return tuple(entry.step for entry in self.ledger.entries)

    @property
    def final_step(self) -> int:
        """Steps of the whole training; the last checkpoint's."""
        return self.all_steps[-1]

    @property
    def tables(self) -> dict[str, str]:
        """Key -> hash of every table kept with the run when it was opened, and of those added to a published one."""
        return (self.added.tables if self.added else {}) | self.ledger.tables

    @cached_property
    def recipe(self) -> Recipe:
        """What the run was trained from.

        Raises:
            StoreError: ``recipe.json`` is damaged, was written for other code than this, or names a task outside this
                package that is not among ``allow_tasks``.
        """
        if self.packed:
            where = f"{self.packed.line.index}{self.packed.of}"
            return recipe_of(self.recipe_json, where, self.ledger, self.allow_tasks)
        return read_recipe(self.path, self.ledger, self.allow_tasks)

    @property
    def recipe_json(self) -> str:
        """The canonical JSON of the recipe, whatever task it names; StoreError if it is damaged."""
        return self.packed.recipe_json if self.packed else read_recipe_json(self.path, self.ledger)

    @property
    def history(self) -> pd.DataFrame:
        """One row per step: step epoch tokens_seen loss grad_norm.

        Row ``s`` describes update ``s`` (from 1) in epoch ``epoch`` (from 1): ``loss`` is the batch's mean
        cross-entropy in nats before the update, ``tokens_seen`` the input tokens up to and with this batch.

        Of a long run that was published there is one row per epoch (``ledger.history_thinned``): its last step and
        tokens_seen, the means of its losses and gradient norms.

        Raises:
            StoreError: the file is absent or damaged.
        """
        return self._history.copy()

    def table(self, key: str) -> pd.DataFrame | None:
        """The table that was kept under ``key`` when the run was opened, or was added to it; None if there is none.

        Raises:
            StoreError: the file is absent or damaged though the ledger names it, or is not what was published.
        """
        expected = self.ledger.tables.get(key)
        if expected is None:
            return self.added.table(key) if self.added else None
        if self.packed:
            self.require_rows(key)
            return self.packed.table(key)
        path = table_path(self.path, key)
        return self._as_sealed(f"table/{key}", path, from_parquet(path, read_checked(path, expected)))

    def require_rows(self, key: str) -> None:
        """Hold a packed run's rows of a table, or of its ``HISTORY``, to the folder's list of contents, if it has one.

        Raises:
            StoreError: as ``table``.
        """
        if self.sealed is not None:
            part, packed = HISTORY if key == HISTORY else f"table/{key}", self.packed
            require_as_sealed(self.sealed, part, packed.path(key), packed.table_sha256(key), packed.of)

    def tokens_seen(self, step: int) -> int:
        """Input tokens trained on in the first ``step`` updates.

        Raises:
            StoreError: the history is absent or damaged, or has no row for that step.
        """
        if not step:
            return 0
        history = self._history
        found = history.loc[history["step"] == step, "tokens_seen"]
        if found.empty:
            unit = "epoch" if self.ledger.history_thinned else "step"
            raise StoreError(f"{self.run_id}: its history has one row per {unit}, and none for step {step}.")
        return int(found.iloc[0])

    def weights(self, step: int) -> dict[str, Tensor]:
        """The weights after ``step`` updates, named as ``init_weights`` names them.

        Raises:
            CheckpointError: no whole number, no checkpoint at that step, not kept here, absent, damaged, or another
                one's file.
        """
        if isinstance(step, bool) or not isinstance(step, Integral):
            raise CheckpointError(
                f"{self.run_id}: step = {step!r}; allowed: a whole number, {first_of(list(map(str, self.steps)))}"
            )
        entry = self.ledger.entry(step)
        if entry is None or not entry.kept:
            near = min(self.steps, key=lambda kept: abs(kept - step), default=None)
            reason = "no checkpoint was taken at" if entry is None else "this copy of the run does not keep"
            raise CheckpointError(
                f"{self.run_id}: {reason} step {step}; the nearest one here is {near}, of {len(self.steps)}"
                + ("." if entry is None else ". Train the run again for all of them.")
            )
        weights = read_checkpoint(self.path, entry, self.run_id)
        if self.sealed is not None:
            require_as_sealed(self.sealed, f"weights/{entry.step}", self.path / entry.file, weights_sha256(weights))
        return weights

    def stack(self, steps: Iterable[int]) -> dict[str, Tensor]:
        """The weights at several steps, one more leading axis ``checkpoint`` in the order of ``steps``."""
        loaded = [self.weights(step) for step in steps]
        return {name: torch.stack([weights[name] for weights in loaded]) for name in loaded[0]}

    @cached_property
    def _history(self) -> pd.DataFrame:
        if self.packed:
            self.require_rows(HISTORY)
            return self.packed.history
        path = self.path / HISTORY_NAME
        history = from_parquet(path, read_checked(path, self.ledger.history_sha256))
        return self._as_sealed(HISTORY, path, history)

    def _as_sealed(self, part: str, path: Path, table: pd.DataFrame) -> pd.DataFrame:
        """The table, if it is what the folder's list of contents names, or there is no list."""
        if self.sealed is not None:
            require_as_sealed(self.sealed, part, path, table_sha256(table))
        return table

    def only(self, steps: Collection[int]) -> "Run":
        """The same run seen through fewer of its checkpoints; nothing on disk changes.

        Raises:
            CheckpointError: a step whose weights are not here.
        """
        absent = sorted(set(steps) - set(self.steps))
        if absent:
            raise CheckpointError(f"{self.run_id}: no weights here for step(s) {absent}; here: {list(self.steps)}")
        return dataclasses.replace(self, ledger=thinned(self.ledger, steps))


def table_path(folder: Path, key: str) -> Path:
    """Where a run's folder keeps the table called ``key``; StoreError for what is no file name."""
    if not re.fullmatch(TABLE_KEY, key):
        raise StoreError(f"table key {key!r}; allowed: letters, digits, '.', '_', '-'")
    return folder / TABLE_FOLDER / f"{key}.parquet"


def thinned(ledger: Ledger, steps: Collection[int]) -> Ledger:
    """The whole chain of checkpoints, marked as kept only at ``steps``."""
    entries = (dataclasses.replace(entry, kept=entry.step in steps) for entry in ledger.entries)
    return dataclasses.replace(ledger, entries=tuple(entries))


def read_checkpoint(folder: Path, entry: Entry, run_id: str) -> dict[str, Tensor]:
    """The weights that ``entry`` speaks of.

    Raises:
        CheckpointError: absent, a pickle, cut short, changed in any bit, or another checkpoint under this name.
    """
    path = folder / entry.file
    data = read_bytes(path)
    refuse_pickle(path, data)
    expected = {"run_id": run_id, "step": str(entry.step)}
    if sha256(data) != entry.sha256:
        raise CheckpointError(f"{path}: {_what_is_wrong(path, data, expected)} {REMEDY}")
    weights, identity = unpack(path, data)
    if identity != expected:
        raise CheckpointError(f"{path}: its header says {identity}, the ledger {expected}. {REMEDY}")
    return weights


def read_recipe(folder: Path, ledger: Ledger, allow_tasks: Collection[str] = ()) -> Recipe:
    """The recipe in ``folder``, if it is the one the ledger was kept for. Imports no code but that of ``allow_tasks``.

    Args:
        folder: of the run.
        ledger: the run's.
        allow_tasks: import paths of tasks outside this package that the recipe may name.

    Raises:
        StoreError: absent, damaged, another run's, written for other code, or of a task that is not allowed.
    """
    return recipe_of(read_recipe_json(folder, ledger), folder / RECIPE_NAME, ledger, allow_tasks)


def read_recipe_json(folder: Path, ledger: Ledger) -> str:
    """The canonical JSON of the recipe in ``folder``. StoreError: absent, damaged, or another run's."""
    path = folder / RECIPE_NAME
    canonical = read_json(path, MAX_RUN_JSON_BYTES, canonical_json)
    if sha256(canonical.encode()) != ledger.recipe_sha256:
        raise StoreError(f"{path}: damaged, or another run's: its hash is not in the ledger. {REMEDY}")
    return canonical


def recipe_of(canonical: str, where: Path | str, ledger: Ledger, allow_tasks: Collection[str] = ()) -> Recipe:
    """The recipe of some canonical JSON, found in a place called ``where``; otherwise as ``read_recipe``."""
    if not ledger.trained:
        raise StoreError(f"{where}: of an experiment: it has a table, and no recipe that a network was trained from.")
    try:
        recipe = Recipe.from_json(canonical, allow_tasks)
    except OutsideTaskError as error:
        raise StoreError(f"{where}: {error}") from error
    except Exception as error:  # a task from outside may raise anything
        raise StoreError(f"{where}: this circuitcore cannot use the recipe. {error}") from error
    if recipe.sha256 != ledger.recipe_sha256:
        raise StoreError(
            f"{where}: written for other code: its task or model has parameters now that the recipe does not name. "
            f"It was made with {' then '.join(ledger.made_with)}."
        )
    return recipe


def _what_is_wrong(path: Path, data: bytes, expected: dict[str, str]) -> str:
    """Why bytes are not the ones the ledger holds a hash for, as far as they tell."""
    try:
        identity = read_identity(path, data)
    except CheckpointError:
        return "its header is damaged or cut."
    if identity != expected:
        return f"another checkpoint under this name: its header says {identity}, the ledger {expected}."
    try:
        unpack(path, data)
    except CheckpointError:
        return "cut short, or damaged in its header."
    return "its bytes have changed: they do not give the hash that the ledger holds."
