"""The battery: everything measured on every checkpoint of a run, as one tidy table.

Sections run in order; one that needs named positions, families or later layers that a task or model lacks adds no rows.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch

from circuitcore.metrics import sections
from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.tasks.base import Batch, Task

if TYPE_CHECKING:
    from circuitcore.training.run import Run

BATTERY_VERSION = 1
CHECKPOINTS_AT_ONCE = 2  # a larger stack only spills the caches


@dataclass(frozen=True, kw_only=True)
class BatterySpec:
    """How much is measured; all counts are prompts. Part of the key its tables are stored under."""

    n_bases: int = 64
    n_edge_bases: int = 32
    n_reference: int = 256
    n_probe: int = 1024
    n_split: int = 2000

    @property
    def key(self) -> str:
        """Name of the stored table: version and a hash of these counts."""
        text = json.dumps([BATTERY_VERSION, dataclasses.asdict(self)], sort_keys=True)
        return f"battery-v{BATTERY_VERSION}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


SECTIONS: tuple[Callable[["sections.Session", Network, Rows], None], ...] = (
    sections.behavior,
    sections.attention,
    sections.operators,
    sections.attribution,
    sections.ablations,
    sections.edges,
    sections.interchanges,
    sections.probes,
)


def measure(run: "Run", spec: BatterySpec, progress: Callable[[int], None] | None = None) -> pd.DataFrame:
    """Measure every checkpoint of a run that is on disk.

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
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        with torch.inference_mode():
            for section in SECTIONS:
                section(session, net, rows)
        tables.append(rows.frame())
        if progress is not None:
            progress(len(steps))
    return _join(tables, spec)


def stacks(run: "Run") -> Iterator[tuple[tuple[int, ...], Network]]:
    """The run's checkpoints as stacked networks, a few at a time."""
    for start in range(0, len(run.steps), CHECKPOINTS_AT_ONCE):
        steps = tuple(run.steps[start : start + CHECKPOINTS_AT_ONCE])
        yield steps, Network(run.recipe.model, run.stack(steps))


@functools.lru_cache(maxsize=4)  # the prompts are the same for all runs of an arm
def open_session(task: Task, spec: BatterySpec) -> "sections.Session":
    """All prompts the battery uses, made once."""
    splits = {name: _first(task.split(name), spec.n_split) for name in task.splits}
    families = dict(task.families(spec.n_bases))
    train = task.split(task.splits[0])
    return sections.Session(
        task=task,
        splits=splits,
        families=families,
        ablated=next(iter(families.values()), None) or task.bases(min(spec.n_bases, len(task.split("test")))),
        reference=_first(train, spec.n_reference),
        probe_train=_first(train, spec.n_probe),
        interchanges=task.interchanges(spec.n_bases),
        edge_tests=task.edge_tests(spec.n_edge_bases),
    )


def _first(batch: Batch, n_rows: int) -> Batch:
    return batch.rows(slice(0, n_rows))


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
