"""Computing the tables of experiments that are not there yet: each seed once, by any executor, kept as it is done."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from statistics import mean

from circuitcore.ground.durations import Durations, Work, expected
from circuitcore.ground.progress import SILENT, Watch
from circuitcore.training.experiment import Experiment
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.sweeps.executor import map_runs, width
from circuitcore.training.sweeps.sweep import lost_noted


def uncomputed(store: RunStore, experiments: Iterable[Experiment]) -> list[Experiment]:
    """Of the seeds of some experiments those whose table is not in ``store``, each as an experiment of its own, once.

    Raises:
        StoreError: as ``RunStore.find``.
    """
    parts = dict.fromkeys(part for one in experiments for part in one.by_seed)
    return [part for part in parts if store.find(part) is None]


def left_to_compute(missing: Sequence[Experiment], executor: str) -> list[Work]:
    """What computing ``missing`` (of ``uncomputed``) comes to: a part for each experiment."""
    counts = Counter((one.name, one.key) for one in missing)
    return [
        Work(f"computing {name}, {n} table(s)", _unit(key), n / min(width(executor), len(missing)))
        for (name, key), n in counts.items()
    ]


def compute_all(
    store: RunStore, experiments: Iterable[Experiment], executor: str, durations: Durations, watch: Watch | None = None
) -> None:
    """Compute what is missing of some experiments, and keep each table in ``store`` as soon as it is there.

    Args:
        store: where the tables are looked up and kept.
        experiments: may have tables already, and repeat.
        executor: as in ``map_runs``.
        durations: says how long it should take, and is told how long it took.
        watch: told what there is to compute, then shows a bar; None for silence.

    Raises:
        ExecutorError: some that failed; the tables of the others are kept.
        StoreError: the folder of the runs cannot be made.
    """
    missing, watch = uncomputed(store, experiments), watch or SILENT
    if not missing:
        return
    store.make_root()
    workers = min(width(executor), len(missing))
    forecast = expected(left_to_compute(missing, executor), durations)
    watch.say(f"Computing {len(missing)} table(s) of experiments, on {workers} worker(s). {forecast}")
    with watch.bar(total=len(missing), unit="table", desc="computing") as bar, lost_noted(store):
        call = partial(compute_one, store.absolute())
        seconds = map_runs(call, missing, executor, progress=lambda done: bar.update(done - bar.n))
    taken = defaultdict(list)
    for one, of_one in zip(missing, seconds, strict=True):
        taken[one.key].append(of_one)
    for key, of_each in taken.items():
        durations.remember(_unit(key), mean(of_each))


def compute_one(store: RunStore, experiment: Experiment) -> float:
    """Compute one seed if need be; what a worker of ``compute_all`` runs. Returns the seconds that it took."""
    start = time.perf_counter()
    store.get_or_compute(experiment)
    return time.perf_counter() - start


def _unit(key: str) -> str:
    """Under which the time of a table is remembered, of experiments that differ in seeds alone."""
    return f"a table of {key}"
