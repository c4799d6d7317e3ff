"""A chapter made again from nothing in parts, where the whole takes longer than one has.

Either the first seeds of every arm, or as many runs as there is time for. The latter add up: what is recorded names the
runs that were made again, on whatever day and machine, so that others follow until all were.
"""

import json
import os
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

from circuitcore.ground import durable
from circuitcore.ground.durations import Durations, expected
from circuitcore.ground.environment import n_workers
from circuitcore.ground.processor import processor
from circuitcore.ground.progress import SILENT, Watch
from circuitcore.ground.spelling import first_of
from circuitcore.training.errors import StoreError
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Recipe
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.gathering import Arms, Units
from livingpaper.book.reproductions import MadeAgain, Reproduction
from livingpaper.book.situation import each
from livingpaper.commands.equal_runs import apart, makers
from livingpaper.commands.reproduction import SPENT, alone_in, shipped_by_name, spent, timed

MADE = "made_again.json"
SECONDS_AT_ONCE = 300  # between two looks at the clock, each of which has processes to start


@dataclass(frozen=True, eq=False, kw_only=True)
class Part(Evidence):
    """Some runs and experiments of a study.

    Attributes:
        chosen: their names.
    """

    chosen: Collection[str]

    @cached_property
    def experiments(self) -> tuple[Experiment, ...]:
        """The reader's experiments, those seeds of them that are chosen."""
        kept = {whole: [one for one in whole.by_seed if one.run_id in self.chosen] for whole in super().experiments}
        return tuple(replace(whole, seeds=sum((one.seeds for one in of), ())) for whole, of in kept.items() if of)

    @cached_property
    def _asked(self) -> Arms:
        found = {arm: tuple(one for one in of if one.run_id in self.chosen) for arm, of in super()._asked.items()}
        return {arm: recipes for arm, recipes in found.items() if recipes}


def reproduce_first(study: str, folder: Path, first: int, watch: Watch | None = None) -> None:
    """Train and measure the first seeds of every arm, and compute those of every experiment, from scratch.

    Runs can be compared with the published ones then, verdicts cannot.

    Args:
        study: the study's name.
        folder: gets ``runs/`` and ``spent.json``, as in ``reproduce``.
        first: how many seeds of each.
        watch: told expected times and progress; None for silence.

    Raises:
        StudyError, ParameterError, StoreError, ExecutorError: as ``reproduce`` does.
    """
    params, alone = studies.load_params(study), alone_in(folder)
    few = Part(study, params, alone, chosen=first_seeds(Evidence(study, params, alone).units, first))
    if watch is not None:
        watch.say(expected(few.left(), Durations.of(few.folders.root)))
    with timed(folder / SPENT):
        few.gather(watch)


def first_seeds(units: Units, first: int) -> set[str]:
    """Names of the first runs of every arm and experiment."""
    return {one.run_id for of in units.values() for one in of[:first]}


def reproduce_for(
    study: str, folder: Path, minutes: int, done: Collection[str] = (), watch: Watch | None = None
) -> None:
    """Make published runs again from scratch for so long, and hold each against the published one, as ``apart`` does.

    They come in the order of the hashes in their names, which knows nothing of arms and seeds: a part of them is a
    sample of all. What another goes on from comes with it. Those that are under way when time is over are finished.

    Args:
        study: the study's name.
        folder: gets ``runs/``, ``spent.json`` and ``made_again.json`` (see ``made_in``); an earlier part's goes on.
        minutes: by the clock.
        done: names of runs that need not be made again.
        watch: shows a bar of runs; None for silence.

    Raises:
        StudyError, ParameterError, StoreError, ExecutorError: as ``reproduce`` does; StoreError, too, where runs that
            should be published are not here.
    """
    start, watch, params = time.monotonic(), watch or SILENT, studies.load_params(study)
    at_once = fewest = 2 * n_workers()  # so that one that takes long leaves no worker without work
    published = Evidence(study, params, Folders.from_environment())
    if published.unpublished:
        raise StoreError(
            f"{published.folders.published}: {len(published.unpublished)} runs of study {study} are missing: "
            f"{first_of(published.unpublished)}. Those made again are held to them."
        )
    shipped, recipes = shipped_by_name(published), each(published.published_arms)
    left = sorted(shipped.keys() - {*done, *made_in(folder)}, key=lambda run_id: run_id.rpartition("-")[2])
    with watch.bar(total=len(shipped), initial=len(shipped) - len(left), unit="run", desc="made again") as bar:
        while left and time.monotonic() - start < 60 * minutes:
            begun = time.monotonic()
            chosen = with_parents(left[:at_once], recipes) - made_in(folder).keys()
            with timed(folder / SPENT):
                Part(study, params, alone_in(folder), chosen=chosen).gather(None)
            _note(folder, {run_id: shipped[run_id] for run_id in sorted(chosen)})
            left = [run_id for run_id in left if run_id not in chosen]
            bar.update(len(chosen))
            ended = time.monotonic()
            room = min(SECONDS_AT_ONCE, 60 * minutes - (ended - start))
            at_once = max(fewest, int(room * len(chosen) / (ended - begun)))


def with_parents(chosen: Iterable[str], recipes: Iterable[Recipe]) -> set[str]:
    """Names of runs, and of those that they go on from or are grafted from, of some recipes."""
    by_hash, by_name = {one.sha256: one for one in recipes}, {one.run_id: one for one in recipes}
    found, asked = set(), set(chosen)
    while asked:
        found |= asked
        named = {name for run_id in asked if run_id in by_name for name in by_name[run_id].named_runs}
        asked = {by_hash[name].run_id for name in named & by_hash.keys()} - found
    return found


def made_in(folder: Path) -> dict[str, MadeAgain]:
    """What was made again in a folder of ``reproduce_for``, by name of the run."""
    path = folder / MADE
    kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {run_id: MadeAgain(**fields) for run_id, fields in kept.items()}


def _note(folder: Path, published: Mapping[str, Run]) -> None:
    """Note of runs that were just made again whether each is the published one, and its share of the time."""
    made, store = made_in(folder), RunStore(folder / "runs", None)
    hours = spent(folder / SPENT) / 3600 - sum(one.hours for one in made.values())
    for run_id, old in published.items():
        made[run_id] = MadeAgain.of(apart(store.get(run_id), old), hours / len(published), processor())
    durable.write(folder / MADE, json.dumps({name: asdict(one) for name, one in made.items()}, indent=1).encode())


def record_in_parts(study: str, folder: Path, before: Reproduction | None) -> Reproduction:
    """What came of all parts of a reproduction, to be kept: those in ``folder``, and those of an earlier record.

    Claims are not judged again: they are judged on the measured numbers, which are held to the published ones.

    Args:
        study: whose runs ``reproduce_for`` made again.
        folder: where.
        before: an earlier record; None, or one that is not in parts, adds nothing.
    """
    here, name = Folders.from_environment(), study.rpartition(".")[2]
    shipped = shipped_by_name(Evidence(study, studies.load_params(study), here))
    new = made_in(folder)
    made = {run_id: one for run_id, one in {**(before.parts if before else {}), **new}.items() if run_id in shipped}
    store = RunStore(folder / "runs", None)
    earlier = before if before and before.parts else None
    return Reproduction(
        chapter=name,
        finished=time.strftime("%Y-%m-%d") if new or earlier is None else earlier.finished,
        processor=" and ".join(sorted({one.processor for one in made.values()})) or processor(),
        made_with=tuple(sorted({*(earlier.made_with if earlier else ()), *makers(map(store.get, new))})),
        published_with=makers(shipped[run_id] for run_id in made),
        runs=len(made),
        published=len(shipped),
        equal=sum(one.equal for one in made.values()),
        claims=0,
        differing=(),
        largest=None,
        moved=0.0,
        hours=sum(one.hours for one in made.values()),
        cores=max(os.cpu_count() or 1, earlier.cores if earlier else 1),
        parts=made,
    )
