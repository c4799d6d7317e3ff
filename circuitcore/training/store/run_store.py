"""Where runs live: one folder per recipe, found by its hash, trained when absent; and the tables of experiments."""

import dataclasses
import logging
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import pandas as pd
from filelock import FileLock, Timeout

from circuitcore.ground.environment import Folders
from circuitcore.ground.spelling import close_match, first_of
from circuitcore.tasks import allowed_tasks
from circuitcore.training.errors import StoreError
from circuitcore.training.experiment import TABLE, Experiment
from circuitcore.training.loop import Report, check_same_rows, train, versions
from circuitcore.training.recipe import Recipe
from circuitcore.training.replay import states_in
from circuitcore.training.store.added import ADDED_FOLDER, Added
from circuitcore.training.store.durable import cannot_write, write_durably
from circuitcore.training.store.failures import FailureNote
from circuitcore.training.store.file_bytes import read_checked, sha256
from circuitcore.training.store.history import is_to_shorten, per_epoch
from circuitcore.training.store.ledger import HISTORY_NAME, LEDGER_NAME, RECIPE_NAME, RESUME_NAME, TABLE_FOLDER, Ledger
from circuitcore.training.store.packed import packed_run, run_ids
from circuitcore.training.store.parquet import from_parquet, table_shape, to_parquet
from circuitcore.training.store.places import steps_done
from circuitcore.training.store.run import Run, table_path, thinned
from circuitcore.training.store.sealed import contents_of, refuse_sealed, sealed_parts

LOG = logging.getLogger(__name__)
LOCK_FOLDER = ".locks"


@dataclass(frozen=True)
class RunStore:
    """Runs on disk, in ``root/RUN_ID`` (trained here) and ``published`` (shipped, only read; packed or as in ``root``).

    An experiment of one seed (``Experiment.by_seed``) is kept, found, locked and published as a run is.

    A process that trains a run holds its lock; another one that wants the same run waits and then finds it done.

    A folder with a list of its contents (``circuitcore.ground.contents``) is only read, and what is read from it must
    be what the list names: a run that is listed and missing is an error, not one to be trained.

    Args:
        root: folder of the runs trained here; made when needed. By default that of ``Folders.from_environment``.
        published: folder of shipped runs; None to do without them. Its default is as that of ``root``.
        allow_tasks: tasks outside this package, each as ``module:Class``, that stored runs may name. Reading a run
            imports no other code: a run of another task opens, but its ``recipe`` is refused. A run found by its recipe
            needs none of this, as whoever holds the recipe has named its task.
        only_published: whether the runs in ``root`` are left aside: then nothing is trained, and ``root`` gets no more
            than tables measured on published runs.

    Raises:
        TaskError: an entry of ``allow_tasks`` that is no import path.
    """

    root: Path | str = field(default_factory=lambda: Folders.from_environment().runs)
    published: Path | str | None = field(default_factory=lambda: Folders.from_environment().published)
    allow_tasks: Collection[str] = ()
    only_published: bool = False

    def __post_init__(self):
        object.__setattr__(self, "root", Path(self.root))
        object.__setattr__(self, "published", None if self.published is None else Path(self.published))
        object.__setattr__(self, "allow_tasks", allowed_tasks(self.allow_tasks))

    def find(self, recipe: Recipe | Experiment) -> Run | None:
        """The finished run of ``recipe``: from ``root``, else from ``published``, else None.

        Raises:
            StoreError: there is one, and its ledger is damaged or another recipe's; or it was published, and is gone
                or is not what was published.
        """
        run = self._open(recipe.run_id)
        if run and run.ledger.recipe_sha256 != recipe.sha256:
            raise StoreError(
                f"{run.path / LEDGER_NAME}: of recipe {run.ledger.recipe_sha256}, not {recipe.sha256}; it was put "
                "there under another run's name. Delete that folder: the run is made again."
            )
        named = (recipe.task,) if isinstance(recipe, Recipe) else ()
        return run and dataclasses.replace(run, allow_tasks=(*run.allow_tasks, *named))

    def get(self, run_id: str) -> Run:
        """The finished run called ``run_id``; StoreError with the closest if there is none."""
        run = self._open(run_id)
        if run is None:
            names = self.run_ids()
            if run_id in names:
                raise StoreError(f"{run_id}: this run is not finished; train it to its end first")
            near = next((name for name in names if run_id and name.startswith(run_id)), close_match(run_id, names))
            guess = f"; did you mean {near!r}?" if near else ";"
            raise StoreError(f"unknown run {run_id!r}{guess} known: {first_of(names) or '(none)'}")
        return run

    def runs(self) -> list[Run]:
        """Every finished run by name; one that is in both folders is the local one.

        Raises:
            StoreError: as ``find``.
        """
        return [run for name in self.run_ids() if (run := self._open(name))]

    def run_ids(self) -> list[str]:
        """Names of all runs that are here or should be, finished or not, sorted. StoreError: a damaged list."""
        names = set()
        for folder, _ in self._places:
            names.update(run_ids(folder))
            names.update(contents.runs if (contents := contents_of(folder)) else ())
        return sorted(names)

    def get_or_train(self, recipe: Recipe, progress: Report | None = None) -> Run:
        """The finished run of ``recipe``, trained now if there is none, from its last checkpoint if it was begun.

        Args:
            recipe: what to train.
            progress: called after each step with the number of steps done.

        Raises:
            StoreError: files that cannot be written or are damaged, or a task whose rows have changed since.
            RecipeError, DivergedError: as ``loop.train``.
        """
        make = partial(train, recipe, self.root / recipe.run_id, progress, states_in(self, [recipe]))
        run = self._found_or_made(recipe, make)
        if run.origin == "local" and run.sealed is None:  # nothing is deleted among published runs
            with suppress(OSError):  # a finished run can be used where nothing can be written
                (run.path / RESUME_NAME).unlink()  # left by a kill just after the last ledger
        check_same_rows(recipe, run.ledger.data_sha256, run.path)
        return run

    def of_recipe(self, recipe_sha256: str) -> Run:
        """The finished run of the recipe with that hash; StoreError if there is none."""
        for name in self.run_ids():
            run = self._open(name) if name.endswith(f"-{recipe_sha256[:12]}") else None
            if run and run.ledger.recipe_sha256 == recipe_sha256:
                return run
        places = " or ".join(str(folder) for folder, _ in self._places)
        raise StoreError(
            f"no finished run of recipe {recipe_sha256} in {places}: train it before what goes on from it."
        )

    def get_or_compute(self, experiment: Experiment) -> Run:
        """An experiment of one seed as it is kept, computed now if it is not there; its table has the key ``TABLE``.

        Raises:
            StoreError: files that cannot be written or are damaged. ValueError: as ``Experiment.compute``.
        """
        return self._found_or_made(experiment, lambda: self._keep(experiment, to_parquet(experiment.compute())))

    def steps_done(self, recipe: Recipe) -> int:
        """Steps of ``recipe`` that need not be trained any more; all of them when the run is finished."""
        return recipe.n_steps if self.find(recipe) else steps_done(self.root / recipe.run_id)

    def load_table(self, run: Run, key: str) -> pd.DataFrame | None:
        """The table kept for ``run`` under ``key`` by now, or None; ``Run.table`` reads one that was there before.

        Raises:
            StoreError: the file is absent or damaged though the ledger names it, or is not what was published.
        """
        return (run if run.packed else dataclasses.replace(run, ledger=Ledger.read(run.path))).table(key)

    def save_table(self, run: Run, key: str, table: pd.DataFrame) -> None:
        """Keep ``table`` beside ``run`` as ``tables/KEY.parquet``, in place of an earlier one.

        That of a published run is kept in ``root``, see ``store.added``.

        Raises:
            StoreError: the key is no file name, the file cannot be written, or would lie among published runs.
        """
        refuse_sealed(self.root if run.added else run.home, f"table {key} of run {run.run_id}")
        path, data = table_path(run.path, key), to_parquet(table)
        with self.lock(run.run_id):
            if run.added:
                self._added(run.ledger).save(key, data)
                return
            digest = sha256(data)
            if Ledger.read(run.path).tables.get(key) == digest:
                write_durably(path, data)  # no reader may miss meanwhile what another process has measured as well
                return
            # The ledger forgets the old table first: a kill in between leaves no table, not a false alarm.
            for tables in ({}, {key: digest}):
                if tables:
                    write_durably(path, data)
                ledger = Ledger.read(run.path)
                others = {name: value for name, value in ledger.tables.items() if name != key}
                dataclasses.replace(ledger, tables=others | tables).write(run.path)

    def publish(self, run: Run, to: Path, keep_steps: Collection[int]) -> Run:
        """Copy ``run`` into the folder ``to`` with its whole ledger and tables, but only some of its weights.

        The history of a run longer than ``history.LONGEST_WHOLE`` steps goes along as one row per epoch, and the
        ledger of the copy says so.

        Args:
            run: what to publish; every file that is copied is checked first.
            to: folder of published runs; an earlier copy of the run in it is replaced.
            keep_steps: checkpoints whose weights go along.

        Raises:
            StoreError: a step whose weights are not here, a damaged file, or a run that is packed.
        """
        if run.packed:
            raise StoreError(
                f"{run.path}: is published already, and packed; copy the whole pack, {run.path.parents[1]}"
            )
        chosen = run.only(keep_steps)
        staged, target = to / ".staged" / run.run_id, to / run.run_id
        shutil.rmtree(staged, ignore_errors=True)
        with self.lock(run.run_id):
            ledger = thinned(Ledger.read(run.path), keep_steps)
            for step in chosen.steps:
                run.weights(step)
            files = {entry.file: entry.sha256 for entry in ledger.entries if entry.kept}
            files |= {f"{TABLE_FOLDER}/{key}.parquet": value for key, value in ledger.tables.items()}
            for name, expected in files.items():
                write_durably(staged / name, read_checked(run.path / name, expected))
            recipe = run.recipe_json
            if ledger.trained:
                ledger, history = _history_to_ship(run.path, ledger)
                write_durably(staged / HISTORY_NAME, history)
                recipe = run.recipe.to_json()  # refused where this code cannot use it
            write_durably(staged / RECIPE_NAME, f"{recipe}\n".encode())
            ledger.write(staged)
        shutil.rmtree(target, ignore_errors=True)
        staged.rename(target)
        with suppress(OSError):  # what an interrupted copy of another run has left
            staged.parent.rmdir()
        return Run(target, "published", ledger, run.allow_tasks)

    def make_root(self) -> None:
        """Make the folder of the runs if it is not there; StoreError where that cannot be."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.root, error) from error

    @contextmanager
    def lock(self, run_id: str) -> Iterator[None]:
        """Hold a run: nobody else trains it or changes its ledger meanwhile. A killed process lets go."""
        path = self.root / LOCK_FOLDER / f"{run_id}.lock"
        held = FileLock(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            held.acquire(timeout=0)
        except Timeout:  # which is an OSError too
            LOG.warning("another process works on %s; waiting for it", run_id)
            held.acquire()
        except OSError as error:
            raise cannot_write(path, error) from error
        try:
            yield
        finally:
            held.release()

    def is_held(self, run_id: str) -> bool:
        """Whether a live process holds the run (``lock``); asking may make it wait for a moment."""
        path = self.root / LOCK_FOLDER / f"{run_id}.lock"
        if not path.exists():
            return False
        held = FileLock(path)
        try:
            held.acquire(timeout=0)
        except Timeout:
            return True
        except OSError:  # somebody else's folder, which only they can lock
            return False
        held.release()
        return False

    def absolute(self) -> "RunStore":
        """The same store for a process with another working folder."""
        published = self.published and self.published.absolute()
        return dataclasses.replace(self, root=self.root.absolute(), published=published)

    def _found_or_made(self, recipe: Recipe | Experiment, make: Callable[[], None]) -> Run:
        """The finished run of ``recipe``; where there is none, ``make`` makes it in ``root`` while its lock is held."""
        run = self.find(recipe)
        if run is None:
            if self.only_published:
                raise StoreError(f"{self.published}: run {recipe.run_id} is not there, and only published ones count.")
            refuse_sealed(self.root, f"run {recipe.run_id}")
            with self.lock(recipe.run_id):
                run = self.find(recipe)  # another process may have finished it while this one waited
                if run is None:
                    with FailureNote.of(self.root, recipe.run_id).left_on_error():
                        make()
                    run = self.find(recipe)
        return run

    def _keep(self, experiment: Experiment, data: bytes) -> None:
        """Write what was computed, as Parquet, where runs are; the ledger last: without it nothing counts."""
        folder = self.root / experiment.run_id
        table_shape(table_path(folder, TABLE), data)  # refuses one that would not be read again
        shutil.rmtree(folder, ignore_errors=True)  # what a kill left, for which no ledger vouches
        write_durably(folder / RECIPE_NAME, f"{experiment.to_json()}\n".encode())
        write_durably(table_path(folder, TABLE), data)
        Ledger(
            run_id=experiment.run_id,
            recipe_sha256=experiment.sha256,
            data_sha256=None,
            finished=True,
            tables={TABLE: sha256(data)},
            made_with=(versions(),),
        ).write(folder)

    def _open(self, run_id: str) -> Run | None:
        """The finished run of that name, the local one first."""
        for folder, origin in self._places:
            path = folder / run_id
            alone = os.path.lexists(path / LEDGER_NAME)
            packed = None if alone else packed_run(folder, run_id)
            ledger = Ledger.read(path) if alone else packed and packed.ledger
            sealed = sealed_parts(folder, run_id, ledger, packed)
            if ledger and ledger.finished:
                added = self._added(ledger) if origin == "published" else None
                return Run(packed.address if packed else path, origin, ledger, self.allow_tasks, sealed, packed, added)
        return None

    @property
    def _places(self) -> list[tuple[Path, Literal["local", "published"]]]:
        """The folders that runs are looked up in, and what those in them are; the first one has precedence."""
        local = [] if self.only_published else [(self.root, "local")]
        return local if self.published is None else [*local, (self.published, "published")]

    def _added(self, ledger: Ledger) -> Added:
        return Added(self.root / ADDED_FOLDER / ledger.run_id, ledger)


def _history_to_ship(folder: Path, ledger: Ledger) -> tuple[Ledger, bytes]:
    """The history a copy of a run gets, and the ledger that vouches for it."""
    path = folder / HISTORY_NAME
    data = read_checked(path, ledger.history_sha256)
    if not is_to_shorten(ledger):
        return ledger, data
    data = to_parquet(per_epoch(from_parquet(path, data)))
    return dataclasses.replace(ledger, history_sha256=sha256(data), history_thinned=True), data
