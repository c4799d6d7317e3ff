"""The battery: everything measured on every checkpoint of a run, as one tidy table.

Sections run in order; one that needs named positions, families or later layers that a task or model lacks adds no rows.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import torch

from circuitcore.ground.hashed import canonical, later
from circuitcore.ground.spelling import unknown
from circuitcore.metrics.instruments import sections
from circuitcore.metrics.instruments.next_word import next_word_operators, next_word_writes
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.sparse_converged import LOOK_EVERY, MOST_STEPS
from circuitcore.metrics.table import Rows
from circuitcore.tasks.base import Batch, Task, TaskError
from circuitcore.tasks.token_task import TokenTask
from circuitcore.training.fields import is_count, shown

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

BATTERY_VERSION = 1
CHECKPOINTS_AT_ONCE = 2  # a larger stack only spills the caches
COUNTS = ("n_bases", "n_edge_bases", "n_reference", "n_probe", "n_split")
Section = Callable[[sections.Session, Network, Rows], None]


class Own(NamedTuple):
    """A section that a study brings along.

    Attributes:
        section: at the top level of a module, as workers import it. Where a task lacks what it asks about, it adds no
            rows.
        enters: what it puts into the key of the table, as names and values; by default its name and version.
        version: raised where it gives other numbers.
    """

    section: Section
    enters: tuple[tuple[str, Any], ...] | None = None
    version: int = 1

    @property
    def keyed(self) -> tuple[tuple[str, Any], ...]:
        """What enters the key."""
        return ((self.section.__name__, self.version),) if self.enters is None else self.enters


@dataclass(frozen=True, kw_only=True)
class BatterySpec:
    """What is measured, and how much. Part of the key its tables are stored under.

    Attributes:
        n_bases: test prompts that families and interchanges are made from.
        n_edge_bases: test prompts that edge tests are made from.
        n_reference: training prompts whose activations stand in for a removed part.
        n_probe: training prompts that probes are fitted on.
        n_split: prompts of each split, at most.
        at_end: names of sections that are measured on the last checkpoint alone.
        left_out: names of sections that are not measured.
        own: sections that a study brings along, measured after those of the library.
        snapshots: whether attention and maps are kept whole, too (``metrics.snapshots``), in a table of their own.
        features: whether neurons and sparse features are measured, too (``metrics.features``), in a table of their own.
        feature_steps: steps of a sparse autoencoder that is trained to convergence, at most.

    Raises:
        ValueError: a count below 1, no such section, one that is both left out and measured at the end, or too few
            steps.
    """

    n_bases: int = 64
    n_edge_bases: int = 32
    n_reference: int = 256
    n_probe: int = 1024
    n_split: int = 2000
    at_end: tuple[str, ...] = later(())
    left_out: tuple[str, ...] = later(())
    own: tuple[Own, ...] = ()
    snapshots: bool = later(True)
    features: bool = later(False)
    feature_steps: int = later(MOST_STEPS)

    def __post_init__(self):
        for name in COUNTS:
            if not is_count(given := getattr(self, name)):
                raise ValueError(f"{name} = {shown(given)}; allowed: an integer >= 1")
        allowed = [section.__name__ for section in self._all]
        for name in (*self.at_end, *self.left_out):
            if name not in allowed:
                raise ValueError(unknown("section of the battery", name, allowed))
        if both := set(self.at_end) & set(self.left_out):
            raise ValueError(f"left out and measured at the end: {', '.join(sorted(both))}")
        if self.feature_steps < LOOK_EVERY:
            raise ValueError(f"feature_steps: given {self.feature_steps}; allowed: at least {LOOK_EVERY}")

    @property
    def key(self) -> str:
        """Name of the stored table: version and a hash of these attributes."""
        asked = {name: value for name, value in canonical(self).items() if name != "own"}
        asked |= {name: value for own in self.own for name, value in own.keyed}
        text = json.dumps([BATTERY_VERSION, asked], sort_keys=True)
        return f"battery-v{BATTERY_VERSION}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    @property
    def counts(self) -> "BatterySpec":
        """This spec with nothing but its counts: all that the prompts depend on."""
        return BatterySpec(**{name: getattr(self, name) for name in COUNTS})

    @property
    def ending(self) -> "BatterySpec":
        """What is measured on the last checkpoint alone, as if on all of them."""
        others = (section.__name__ for section in self._all if section.__name__ not in self.at_end)
        return dataclasses.replace(self, at_end=(), left_out=tuple(others))

    @property
    def sections(self) -> tuple["Section", ...]:
        """What is measured on every checkpoint, in order."""
        without = {*self.at_end, *self.left_out}
        return tuple(section for section in self._all if section.__name__ not in without)

    @property
    def _all(self) -> tuple["Section", ...]:
        return (*SECTIONS, *(own.section for own in self.own))


SECTIONS: tuple[Section, ...] = (
    sections.behavior,
    sections.attention,
    sections.operators,
    sections.attribution,
    sections.ablations,
    sections.edges,
    sections.interchanges,
    sections.probes,
    next_word_operators,
    next_word_writes,
)


def measure(run: "Run", spec: BatterySpec, progress: Callable[[int], None] | None = None) -> pd.DataFrame:
    """Measure every checkpoint of a run that is on disk, and then on the last one what is measured there alone.

    Args:
        run: a finished run.
        spec: how much to measure.
        progress: called with the number of checkpoints done since the last call.

    Returns:
        The tidy table; ``attrs["battery"]`` names version and spec.
    """
    session = open_session(run.recipe.make_task(), spec)
    tables = []
    for steps, net in stacks(run):
        tables.append(_measured(run, steps, net, session, spec))
        if progress is not None:
            progress(len(steps))
    if spec.at_end:
        last = tuple(run.steps[-1:])
        tables.append(_measured(run, last, Network(run.recipe.model, run.stack(last)), session, spec.ending))
    return _join([table for table in tables if len(table)], spec)


def stacks(run: "Run") -> Iterator[tuple[tuple[int, ...], Network]]:
    """The run's checkpoints as stacked networks, a few at a time."""
    for start in range(0, len(run.steps), CHECKPOINTS_AT_ONCE):
        steps = tuple(run.steps[start : start + CHECKPOINTS_AT_ONCE])
        yield steps, Network(run.recipe.model, run.stack(steps))


def open_session(task: Task, spec: BatterySpec) -> sections.Session:
    """All prompts the battery uses, made once.

    Raises:
        TaskError: a task whose rows are no words: what the battery asks has a word for an answer.
    """
    if not isinstance(task, TokenTask):
        raise TaskError(
            f"the battery asks for words, and rows of task {task.name!r} are vectors; allowed: instruments of its study"
        )
    return _session(task, spec.counts)


@functools.lru_cache(maxsize=4)  # the prompts are the same for all runs of an arm
def _session(task: TokenTask, spec: BatterySpec) -> sections.Session:
    if task.reported not in task.splits:
        raise TaskError(
            f"the battery measures a task on its split {task.reported!r} (Task.reported); "
            f"{task.name!r} has {', '.join(task.splits)}"
        )
    splits = {name: _some(task, name, spec.n_split) for name in task.splits}
    families = dict(task.families(spec.n_bases))
    train = task.splits[0]
    return sections.Session(
        task=task,
        splits=splits,
        families=families,
        ablated=next(iter(families.values()), None) or task.bases(min(spec.n_bases, len(task.split(task.reported)))),
        reference=_some(task, train, spec.n_reference),
        probe_train=_some(task, train, spec.n_probe),
        interchanges=task.interchanges(spec.n_bases),
        edge_tests=task.edge_tests(spec.n_edge_bases),
    )


def _measured(
    run: "Run", steps: tuple[int, ...], net: Network, session: sections.Session, spec: BatterySpec
) -> pd.DataFrame:
    rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
    with torch.inference_mode():
        for section in spec.sections:
            section(session, net, rows)
    return rows.frame()


def _some(task: TokenTask, split: str, n_rows: int) -> Batch:
    """At most so many rows of a split: its first ones, or where these are no sample of it, from all over it."""
    batch = task.split(split)
    if not task.rows_are_sorted or n_rows >= len(batch):
        return batch.rows(slice(0, n_rows))
    return batch.rows(torch.arange(n_rows) * len(batch) // n_rows)


def _join(tables: list[pd.DataFrame], spec: BatterySpec) -> pd.DataFrame:
    plain = [
        table.astype({name: "str" for name in table.columns if table[name].dtype == "category"}) for table in tables
    ]
    table = pd.concat(plain, ignore_index=True)
    for name in table.columns:
        if pd.api.types.is_string_dtype(table[name]):
            table[name] = table[name].astype("category")
    table.attrs["battery"] = spec.key
    return table
