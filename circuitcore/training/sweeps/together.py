"""Runs of one shape trained in step, each into its own folder: its own checkpoints, ledger and resume state."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from circuitcore.models import ModelConfig
from circuitcore.models.transformer import weight_shapes
from circuitcore.training.during import StateOf
from circuitcore.training.engines import make_engine
from circuitcore.training.engines.engine import one_thread
from circuitcore.training.engines.stacked import StackedTorch
from circuitcore.training.loop import Training
from circuitcore.training.recipe import Recipe
from circuitcore.training.schedule import Rows

# Both bounds are constants, not asked of the device, because a run's last bits depend on the height of its stack.
MAX_RUNS = 64  # one launch serves them all; more would save little and make each checkpoint wait for more files
STACK_BYTES = 4 * 2**30  # what autograd keeps for one step; a card of 8 GB holds it and its gradients


def train_together(
    recipes: Sequence[Recipe],
    folders: Mapping[Recipe, Path],
    device: str = "cpu",
    report: Callable[[int], None] | None = None,
    state_of: StateOf | None = None,
) -> dict[Recipe, Exception]:
    """Train a stack to the end, each run into its folder, from its last checkpoint if an earlier attempt left one.

    The caller holds the runs' locks. Files are those of ``loop.train``. The same stack gives the same bits on the
    same machine, however often it was interrupted: runs that come back at different steps wait for the one that
    is furthest behind, and keep their places meanwhile.

    Args:
        recipes: the stack, bottom to top; as ``stacks`` groups them.
        folders: where to train which run. A recipe without a folder keeps its place empty.
        device: as torch names it.
        report: called after each step with the number of runs it updated.
        state_of: gives the states of other runs that recipes name.

    Returns:
        The runs that could not be trained to the end, and why. They do not stop the others.
    """
    with one_thread(), _deterministic():
        lockstep = Lockstep(recipes, folders, device, state_of)
        while lockstep.waiting:
            lockstep.advance(report or (lambda updated: None))
    return lockstep.failures


class Lockstep:
    """A stack being trained, one step at a time.

    Attributes:
        waiting: place -> the batch that run trains on next; empty when every run is finished or has failed.
        failures: as ``train_together`` returns them.
    """

    def __init__(
        self, recipes: Sequence[Recipe], folders: Mapping[Recipe, Path], device: str, state_of: StateOf | None = None
    ):
        self.waiting: dict[int, Rows] = {}
        self.failures: dict[Recipe, Exception] = {}
        self._recipes, self._stack = recipes, empty_stack(recipes, device)
        self._trainings: dict[int, Training] = {}
        self._batches: dict[int, Iterator[Rows]] = {}
        for place, recipe in enumerate(recipes):
            if recipe in folders:
                with self._dropped_on_error(place):
                    make_engine(recipe)  # refuses what this code cannot train
                    self._trainings[place] = Training(recipe, folders[recipe], self._stack.runs[place], state_of)
                    self._batches[place] = self._trainings[place].batches()
        self._fetch(self._batches)

    def advance(self, report: Callable[[int], None]) -> None:
        """One update of the runs that are furthest behind, a report of how many they are, and checkpoints if due."""
        behind = min(self._trainings[place].step for place in self.waiting)
        now = [place for place in self.waiting if self._trainings[place].step == behind]
        rows = {place: self.waiting.pop(place) for place in now}
        stats = self._stack.step({place: (one.tokens, one.targets, one.loss_mask) for place, one in rows.items()})
        for place in now:
            with self._dropped_on_error(place):
                self._trainings[place].note(rows[place], stats[place])
        report(len(now))
        self._fetch([place for place in now if self._recipes[place] not in self.failures])

    def _fetch(self, places: Iterable[int]) -> None:
        """Ask for the next batches, which also takes the checkpoints in between."""
        for place in places:
            with self._dropped_on_error(place):
                rows = next(self._batches[place], None)
                if rows is not None:
                    self.waiting[place] = rows

    @contextmanager
    def _dropped_on_error(self, place: int) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.failures[self._recipes[place]] = error


def empty_stack(recipes: Sequence[Recipe], device: str) -> StackedTorch:
    """The untrained models of ``recipes``, which must be of one shape.

    Raises:
        ValueError: they are not.
    """
    shapes = {_shape(recipe) for recipe in recipes}
    if len(shapes) != 1:
        raise ValueError(f"a stack takes recipes of one shape; these are of {len(shapes)}")
    model, optimizer, batch_size, longest, *_ = shapes.pop()
    seeds = [recipe.init_seed for recipe in recipes]
    return StackedTorch(model, optimizer, seeds, device, (batch_size, longest))


def stacks(recipes: Sequence[Recipe]) -> list[tuple[Recipe, ...]]:
    """``recipes`` in stacks of one shape, each as high as memory allows; a function of ``recipes`` alone."""
    by_shape: dict[tuple, list[Recipe]] = {}
    for recipe in recipes:
        by_shape.setdefault(_shape(recipe), []).append(recipe)
    found = []
    for (model, _, batch_size, longest, *_), alike in by_shape.items():
        height = max(1, min(MAX_RUNS, STACK_BYTES // step_bytes(model, batch_size, longest)))
        found += [tuple(alike[start : start + height]) for start in range(0, len(alike), height)]
    return found


def step_bytes(model: ModelConfig, rows: int, positions: int) -> int:
    """About what one run's step keeps for its backward pass, weights and Adam's moments included; rather too much."""
    joint, mlp = model.n_heads * model.d_head, 0 if model.mlp == "none" else model.d_mlp
    per_layer = 8 * model.d_model + 6 * joint + 2 * model.n_heads * positions + 4 * mlp
    floats_per_position = model.n_layers * per_layer + 3 * model.d_vocab
    parameters = sum(torch.Size(shape).numel() for shape, _ in weight_shapes(model).values())
    return 4 * (floats_per_position * rows * positions + 4 * parameters)


def _shape(recipe: Recipe) -> tuple:
    """What recipes of one stack have in common: model, update rule, sizes of a batch, kind of target, first step."""
    task = recipe.make_task()
    splits = [task.split(name) for stage in recipe.stages for name in stage.splits]
    longest = max(batch.tokens.shape[1] for batch in splits)
    begun = recipe.parent[1] if recipe.parent else 0
    return recipe.model, recipe.optimizer, recipe.batch_size, longest, splits[0].targets.dtype, begun


@contextmanager
def _deterministic() -> Iterator[None]:
    """Let torch use only kernels that add in one order; it refuses an operation that has none."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read at the first matrix product on a GPU
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
