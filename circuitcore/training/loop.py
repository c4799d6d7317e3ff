"""Training one run into its folder: steps, checkpoints, and going on after a kill as if nothing had happened."""

import dataclasses
import functools
import hashlib
import math
import platform
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import pandas as pd
import torch
from torch import Tensor

import circuitcore
from circuitcore.tasks.base import Task
from circuitcore.training.during import StateOf, begun, require_alike
from circuitcore.training.engines import intervene, make_engine
from circuitcore.training.engines.engine import Engine, StepStats, one_thread
from circuitcore.training.errors import CheckpointError, DivergedError, StoreError
from circuitcore.training.probe import probe_loss
from circuitcore.training.recipe import Recipe, Stage
from circuitcore.training.schedule import Rows, drawn, rows_by_length
from circuitcore.training.store.checkpoint import pack, read_sealed, seal
from circuitcore.training.store.durable import remove_leftovers, write_durably
from circuitcore.training.store.file_bytes import sha256
from circuitcore.training.store.ledger import (
    HISTORY_NAME,
    LEDGER_NAME,
    RECIPE_NAME,
    RESUME_NAME,
    Entry,
    Ledger,
    checkpoint_name,
)
from circuitcore.training.store.parquet import to_parquet
from circuitcore.training.store.run import read_checkpoint

FINGERPRINT_SEED = 0
RESUME_SECONDS = 60.0  # of training that a kill may cost, and what writing the state to go on from is spread over
Report = Callable[[int], None]


def data_sha256(recipe: Recipe) -> str:
    """Hash of all rows the recipe trains on, stage by stage; of fresh rows, of one epoch that is drawn for this."""
    return _rows_sha256(recipe.make_task(), tuple(dataclasses.replace(stage, epochs=1) for stage in recipe.stages))


@functools.lru_cache(maxsize=64)  # hundreds of runs share a few tasks
def _rows_sha256(task: Task, stages: tuple[Stage, ...]) -> str:
    digest = hashlib.sha256()
    for stage in stages:
        # Fresh rows are too many to hash: a first draw tells whether the task still draws as it did.
        fresh = [drawn(task, stage, FINGERPRINT_SEED)] if stage.fresh else []
        for rows in fresh or rows_by_length(task, stage.splits):
            for tensor in (rows.tokens, rows.targets, rows.loss_mask):
                digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
                digest.update(tensor.contiguous().numpy())
    return digest.hexdigest()


def versions() -> str:
    """What the weights may depend on beside the recipe: library, torch, processor."""
    capability = torch.backends.cpu.get_cpu_capability()
    return f"circuitcore {circuitcore.__version__}, torch {torch.__version__}, {platform.machine()} {capability}"


def train(recipe: Recipe, folder: Path, report: Report | None = None, state_of: StateOf | None = None) -> None:
    """Train ``recipe`` into ``folder`` to the end, from where an earlier attempt left a state to go on from.

    The caller holds the run's lock. Each checkpoint costs one file of weights and the ledger, in this order. The
    resume state has a cadence of its own, every ``RESUME_SECONDS``; checkpoints by epoch have one each, too.

    Args:
        recipe: what to train.
        folder: the run's folder, made if need be.
        report: called after each step with the number of steps done.
        state_of: gives the states of other runs that the recipe names.

    Raises:
        StoreError: a file cannot be written or read, the task's rows changed since the run was begun, or another run
            that the recipe names is not there.
        DivergedError: a loss that is not finite.
    """
    report = report or (lambda step: None)
    with one_thread():
        engine = make_engine(recipe)
        training = Training(recipe, folder, engine, state_of)
        for rows in training.batches():
            training.note(rows, engine.step(rows.tokens, rows.targets, rows.loss_mask))
            report(training.step)


def begin(recipe: Recipe, engine: Engine, state_of: StateOf | None) -> None:
    """Put the untrained ``engine`` of a recipe where its training begins: at its parent's state, with what is held.

    Raises:
        RecipeError: a parent of another model or with other moments.
        StoreError: another run that the recipe names is not there.
    """
    if recipe.parent is None and not recipe.during:
        return
    state_of, state = state_of or _no_state, engine.state()
    if recipe.parent is not None:
        from_parent = state_of(*recipe.parent)
        require_alike(f"parent {recipe.parent[0][:12]}", from_parent, state)
        state = from_parent
    engine.load(begun(recipe.model, recipe.during, state, state_of))


def _no_state(recipe_sha256: str, step: int) -> dict[str, Tensor]:
    raise StoreError(f"the state of run {recipe_sha256[:12]} at step {step} is wanted: train this recipe in a RunStore")


class Training:
    """A run being trained: its engine, its ledger, and what each step reported so far.

    Whoever trains takes ``batches()`` one by one, has the engine step on each, and notes what came of it; the files
    are written on the way. Made in a folder where an earlier attempt left a resume state, it goes on from there.

    Args:
        recipe: what is trained.
        folder: the run's folder, made if need be.
        engine: holds the untrained model of ``recipe``.
        state_of: as for ``train``.

    Raises:
        StoreError: as ``train``.
    """

    def __init__(self, recipe: Recipe, folder: Path, engine: Engine, state_of: StateOf | None = None):
        self.recipe, self.folder, self.engine = recipe, folder, engine
        self.losses, self.grad_norms, self.tokens_seen = [], [], []
        self._saved = monotonic()
        self.ledger = Ledger(
            run_id=recipe.run_id,
            recipe_sha256=recipe.sha256,
            data_sha256=data_sha256(recipe),
            made_with=(versions(),),
        )
        remove_leftovers(folder)
        intervene(recipe, engine)
        if (folder / RESUME_NAME).exists():
            self._resume()
        else:
            begin(recipe, engine, state_of)
            write_durably(folder / RECIPE_NAME, f"{recipe.to_json()}\n".encode())
            self._checkpoint_if_due()

    @property
    def step(self) -> int:
        """Updates done and noted."""
        return len(self.losses)

    def batches(self) -> Iterator[Rows]:
        """The batches that are left, in training order.

        Each must be trained on and noted before the next one is asked for: that is when a checkpoint is taken, and
        after the last batch the run is finished.
        """
        for rows in self.recipe.schedule.batches(self.step):
            yield rows
            self._checkpoint_if_due()
        self._finish()

    def note(self, rows: Rows, stats: StepStats) -> None:
        """Keep what the update on ``rows`` reported.

        Raises:
            DivergedError: its loss is not finite.
        """
        if not math.isfinite(stats.loss):
            raise self._diverged(f"the loss of step {self.step + 1} is {stats.loss}")
        self.losses.append(stats.loss)
        self.grad_norms.append(stats.grad_norm)
        seen = self.tokens_seen[-1] if self.tokens_seen else 0
        self.tokens_seen.append(seen + rows.loss_mask.numel())

    def _diverged(self, what: str) -> DivergedError:
        return DivergedError(
            f"{self.recipe.run_id}: {what}; learning rate {self.recipe.optimizer.lr}. Checkpoints up to step "
            f"{self._last_step()} are in {self.folder}."
        )

    def _last_step(self) -> int | None:
        return self.ledger.entries[-1].step if self.ledger.entries else None

    def _checkpoint_if_due(self) -> None:
        due = self.step in self._checkpoint_steps
        if due:
            self.checkpoint()
        if monotonic() - self._saved >= RESUME_SECONDS or (due and not self.recipe.checkpoint_at):
            self._write_resume_state()
            self._saved = monotonic()

    @functools.cached_property
    def _checkpoint_steps(self) -> frozenset[int]:
        return frozenset(self.recipe.checkpoint_steps)

    def checkpoint(self) -> None:
        """Write the weights, and the ledger that vouches for them.

        Raises:
            DivergedError: their loss is not finite; nothing is written.
        """
        weights, name = self.engine.weights(), checkpoint_name(self.step)
        loss = probe_loss(self.recipe, weights)
        if not math.isfinite(loss):
            raise self._diverged(f"with the weights of step {self.step} the loss is {loss}")
        data = pack(weights, {"run_id": self.recipe.run_id, "step": str(self.step)})
        write_durably(self.folder / name, data)
        entry = Entry(
            step=self.step,
            file=name,
            sha256=sha256(data),
            parent=self.ledger.last_hash,
            loss=loss,
        )
        self.ledger = dataclasses.replace(self.ledger, entries=(*self.ledger.entries, entry))
        self.ledger.write(self.folder)

    def _write_resume_state(self) -> None:
        state = {f"engine.{name}": value for name, value in self.engine.state().items()}
        state["history.loss"] = torch.tensor(self.losses, dtype=torch.float32)
        state["history.grad_norm"] = torch.tensor(self.grad_norms, dtype=torch.float32)
        state["history.tokens_seen"] = torch.tensor(self.tokens_seen, dtype=torch.int64)
        identity = {
            "run_id": self.recipe.run_id,
            "step": str(self.step),
            "data_sha256": self.ledger.data_sha256,
        }
        write_durably(self.folder / RESUME_NAME, seal(state, identity))

    def _resume(self) -> None:
        path = self.folder / RESUME_NAME
        remedy = f"Delete {path}: the run then starts again from step 0, and no other run is touched."
        try:
            state, identity = read_sealed(path)
            if identity["run_id"] != self.recipe.run_id:
                raise CheckpointError(f"{path}: belongs to another run, {identity['run_id']}.")
            ledger = Ledger.read(self.folder)
            step = int(identity["step"])
            entries = tuple(entry for entry in ledger.entries if entry.step <= step)
            due = [at for at in self.recipe.checkpoint_steps if at <= step]
            if [entry.step for entry in entries] != due:
                raise StoreError(f"{self.folder / LEDGER_NAME}: does not hold the checkpoints up to step {step}.")
            for entry in entries:
                read_checkpoint(self.folder, entry, self.recipe.run_id)
        except StoreError as error:
            raise type(error)(f"{error} {remedy}") from error
        check_same_rows(self.recipe, identity["data_sha256"], self.folder)
        self.engine.load({name[7:]: value for name, value in state.items() if name.startswith("engine.")})
        self.losses = state["history.loss"].tolist()
        self.grad_norms = state["history.grad_norm"].tolist()
        self.tokens_seen = state["history.tokens_seen"].tolist()
        made_with = tuple(dict.fromkeys((*ledger.made_with, versions())))
        self.ledger = dataclasses.replace(self.ledger, entries=entries, made_with=made_with)

    def _finish(self) -> None:
        steps = range(1, self.step + 1)
        history = pd.DataFrame(
            {
                "step": pd.Series(steps, dtype="int64"),
                "epoch": [bisect_left(self.recipe.schedule.epoch_ends, step) for step in steps],
                "tokens_seen": pd.Series(self.tokens_seen, dtype="int64"),
                "loss": pd.Series(self.losses, dtype="float32"),
                "grad_norm": pd.Series(self.grad_norms, dtype="float32"),
            }
        )
        data = to_parquet(history)
        write_durably(self.folder / HISTORY_NAME, data)
        self.ledger = dataclasses.replace(self.ledger, history_sha256=sha256(data), finished=True)
        self.ledger.write(self.folder)
        (self.folder / RESUME_NAME).unlink(missing_ok=True)


def check_same_rows(recipe: Recipe, recorded: str, folder: Path) -> None:
    """Refuse to go on with a run whose task now makes other rows than it was trained on.

    Raises:
        StoreError: the hashes differ.
    """
    if data_sha256(recipe) != recorded:
        raise StoreError(
            f"{folder}: trained on other rows than task {recipe.task!r} makes now, under the same parameters. Restore "
            "the task's code, or delete that folder to train the run again."
        )
