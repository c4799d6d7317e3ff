"""Finished runs shipped with the book, and their verdicts recorded: ``python -m livingpaper.commands.publish``.

Tables go whole, weights only at the epochs the study names. Everything that is copied is checked on the way. The list
of what is published (``contents.json``, see ``circuitcore.ground.contents``) is brought up to date, here and nowhere
else; ``--seal`` makes it anew of what is there.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import ModuleType

import pandas as pd
from pydantic import BaseModel

from circuitcore.ground.contents import CONTENTS_NAME, Contents
from circuitcore.ground.durations import Durations, Work, expected
from circuitcore.ground.interruption import held_back
from circuitcore.ground.progress import SILENT, Watch
from circuitcore.metrics.instruments.instrument import version_of
from circuitcore.training.errors import StoreError
from circuitcore.training.experiment import Experiment
from circuitcore.training.store.durable import write_durably
from circuitcore.training.store.history import is_to_shorten
from circuitcore.training.store.packed import packed_runs
from circuitcore.training.store.packing import pack, put_back
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.store.sealed import contents_of, read_record
from circuitcore.training.store.sealing import seal, seal_all, take_off
from livingpaper.book import studies
from livingpaper.book.changelog import require_named
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.gathering import Units
from livingpaper.book.reproductions import FOLDER, OTHERS, Reproduction
from livingpaper.claims.verdict import to_json


def publish(name: str, folders: Folders, watch: Watch | None = None) -> int:
    """Copy every run of a study's published tier from ``runs`` to ``published`` and judge its claims on the copies.

    A seed of an experiment is a run without weights.

    A run that is not in ``runs`` and has been published before, with the same weights or more, stays as it is, but for
    weights that are not to be shipped any more, and for tables that were measured on it since. These are published in
    place of those by earlier versions of an instrument that no study asks for. A run that was trained again to the same
    bits, as more of its weights are to be shipped, gets the tables that are published of it. One that another study has
    published, with all that is measured here, stays in that one's pack.

    Args:
        name: the study; its ``published_epochs(params, arm, seed)`` says after which epochs weights are shipped, or
            after which steps where the recipe counts those.
        folders: where runs lie and where they go.
        watch: told the expected time, then shows a bar; None for silence.

    Returns:
        Number of runs copied.

    Raises:
        StoreError: a run is damaged, or was never trained and measured, or computed; a file cannot be written.
        OSError: an earlier copy of a run cannot be replaced. StudyError: no such study, or an incomplete one.
        UnnamedVerdictError: runs are published, but verdicts moved that CHANGELOG.md does not name; none is recorded.
    """
    study, params, durations = studies.load(name), studies.load_params(name), Durations.of(folders.root)
    put_back(folders.published, name.rpartition(".")[2])
    steps, changes = _to_publish(study, params, folders, name)
    loads, watch = {run: float(1 + len(kept)) for run, kept in steps.items()}, watch or SILENT
    copying = [Work(f"copying {len(loads)} runs", f"copy a part of {name}", sum(loads.values()))] if loads else []
    judging, store = f"judge {name}", RunStore(folders.runs, None)
    watch.say(expected([*copying, Work("judging", judging)], durations))
    with durations.timed_work(copying):
        copies = [store.publish(run, folders.published, steps[run]) for run in watch.each(loads, "copying")]
    seal(folders.published, [run.run_id for run in copies], ())  # before they are read: reading asks the list
    for run_id, older in _outdated(study, params, folders.published, name).items():
        changes.tables.setdefault(run_id, {}).update(dict.fromkeys(older))
    evidence = Evidence(name, params, folders)
    _pack(name, evidence.published_units, folders.published, changes)
    with durations.timed(judging):
        (results,) = evidence.gather(None)
        verdicts = [evidence.judged(claim, results) for claim in study.CLAIMS]
    require_named(evidence.recorded, verdicts, folders.root)
    record = f"verdicts/{name.rpartition('.')[2]}"
    write_durably(folders.published / f"{record}.json", to_json(verdicts).encode())
    seal(folders.published, (), [record])
    return len(copies)


def kept_record(chapter: str, published: Path) -> Reproduction | None:
    """What is recorded of a chapter's reproduction; None where nothing is.

    Raises:
        StoreError, ContentsError: it is not what was published.
    """
    fields = read_record(published, f"{FOLDER}/{chapter}")
    return Reproduction.of(fields) if fields else None


def require_replaceable(before: Reproduction | None, *, in_parts: bool) -> None:
    """Refuse to record a part of a chapter where more is on record.

    Args:
        before: what is; None where nothing is.
        in_parts: whether what is to be recorded adds to earlier parts; else it is of first seeds.

    Raises:
        StoreError: ``before`` is of the whole chapter, or of parts that first seeds would not add to.
    """
    if before and before.judged:
        raise StoreError(f"The record of {before.chapter} is of the whole chapter; a part of it does not replace it.")
    if before and before.parts and not in_parts:
        raise StoreError(f"The record of {before.chapter} is of parts that add up; first seeds do not replace them.")


def keep(record: Reproduction, published: Path) -> Path:
    """Write the record of a reproduction where the book reads it, and list it.

    One of networks that are all others stands beside one of the published networks, and replaces none.

    Raises:
        StoreError: as ``require_replaceable``; or it is of first seeds, and one of more runs is there.
    """
    part, before = f"{FOLDER}/{record.chapter}", kept_record(record.chapter, published)
    if before and before.equal and record.of_others:
        part += OTHERS
    if before and not record.judged:
        require_replaceable(before, in_parts=bool(record.parts))
        if not record.parts and before.runs > record.runs:
            raise StoreError(f"{published / part}.json is of {before.runs} runs; {record.runs} do not replace them.")
    write_durably(published / f"{part}.json", record.to_json().encode())
    seal(published, (), [part])
    return published / f"{part}.json"


@dataclass(frozen=True)
class Changes:
    """What publishing changes of runs that stay, by run id: tables to add, or None for one that goes; steps to keep."""

    tables: dict[str, dict[str, pd.DataFrame | None]] = field(default_factory=dict)
    steps: dict[str, list[int]] = field(default_factory=dict)


def _pack(name: str, units: Units, folder: Path, changes: Changes) -> None:
    """Put the study's runs into its pack, as changed; what it held of runs that no arm names goes, unlisted."""
    ids = {arm: [recipe.run_id for recipe in recipes] for arm, recipes in units.items()}
    home, named = name.rpartition(".")[2], {run_id for of_arm in ids.values() for run_id in of_arm}
    there = {run.line.run_id: run.ledger for run in packed_runs(folder) if run.address.parents[1] == folder / home}
    shortened = {run_id for run_id, ledger in there.items() if is_to_shorten(ledger)}
    with held_back():  # between the two the list would name other tables and weights than the pack has
        take_off(folder, there.keys() - named)
        pack(folder, home, ids, changes.tables, changes.steps)
        seal(folder, changes.tables.keys() | changes.steps.keys() | (shortened & named), ())


def _to_publish(
    study: ModuleType, params: BaseModel, folders: Folders, name: str
) -> tuple[dict[Run, list[int]], Changes]:
    """Every run of the study that is to be copied, with the steps whose weights are shipped; changes of the others."""
    store, shipped = RunStore(folders.runs, None), RunStore(folders.runs, folders.published, only_published=True)
    instruments, changes, home = studies.instruments(study, params), Changes(), name.rpartition(".")[2]
    packed = packed_runs(folders.published)
    elsewhere = {run.line.run_id for run in packed if run.address.parents[1] != folders.published / home}
    steps = _computed(studies.experiments(study, params), store, shipped, name)
    shipped_at = _steps_to_ship(study, params)
    for arm, recipes in study.recipes(params).items():
        keys = {one.key for one in instruments[arm]}
        for recipe in recipes:
            run, kept, is_here = store.find(recipe), shipped_at[recipe.run_id], recipe.run_id not in elsewhere
            if run is not None and not keys <= run.tables.keys():
                run = _take_tables(store, run, shipped.find(recipe), keys)
            before = None if run and is_here else shipped.find(recipe)
            if run is not None and before is not None and not _has_all(before, run, keys):
                before = None
            if before and keys <= before.tables.keys() and set(kept) <= set(before.steps):
                if new := sorted(keys - before.ledger.tables.keys()):
                    changes.tables.setdefault(before.run_id, {}).update((key, before.table(key)) for key in new)
                if is_here and list(before.steps) != kept:
                    changes.steps[before.run_id] = kept
                continue
            if run is None or not keys <= run.tables.keys():
                raise StoreError(f"{recipe.run_id} ({arm}) is not trained and measured: run circuitcore measure {name}")
            steps[run] = kept
    return steps, changes


def _outdated(study: ModuleType, params: BaseModel, published: Path, name: str) -> dict[str, set[str]]:
    """Id of a run that is the study's to publish -> its tables by earlier versions of instruments.

    Those that no study asks for, while a later version by the same instrument is asked for. The parameters of all other
    studies are read if there is any.
    """
    store, home = RunStore(published, None), published / name.rpartition(".")[2]
    own, found = _asked((study, params)), {}
    for run in filter(None, map(store.find, chain.from_iterable(study.recipes(params).values()))):
        if not run.packed or run.path.parents[1] == home:
            latest = dict(sorted(filter(None, map(version_of, own[run.run_id]))))
            of_table = {key: version_of(key) for key in run.tables.keys() - own[run.run_id]}
            if older := {key for key, of in of_table.items() if of and of[1] < latest.get(of[0], 0)}:
                found[run.run_id] = older
    others = (other for other in studies.names() if other != name) if found else ()
    asked = _asked(*((studies.load(other), studies.load_params(other)) for other in others))
    return {run_id: older - asked.get(run_id, set()) for run_id, older in found.items()}


def _asked(*of: tuple[ModuleType, BaseModel]) -> dict[str, set[str]]:
    """Run id -> keys of the tables that studies with these parameters ask for."""
    found: dict[str, set[str]] = {}
    for study, params in of:
        instruments = studies.instruments(study, params)
        for arm, recipes in study.recipes(params).items():
            for recipe in recipes:
                found.setdefault(recipe.run_id, set()).update(one.key for one in instruments[arm])
    return found


def _steps_to_ship(study: ModuleType, params: BaseModel) -> dict[str, list[int]]:
    """Run id -> steps whose weights are shipped with any of the arms that it is in."""
    found: dict[str, set[int]] = {}
    arms = study.recipes(params)
    if arms and not hasattr(study, "published_epochs"):
        raise studies.StudyError(
            f"study {study.__name__!r} lacks published_epochs(params, arm, seed), the epochs whose weights are shipped"
        )
    for arm, recipes in arms.items():
        for recipe in recipes:
            kept = study.published_epochs(params, arm, recipe.init_seed)
            if not recipe.checkpoint_at:  # else it says steps
                kept = [recipe.schedule.epoch_ends[epoch] for epoch in kept]
            found.setdefault(recipe.run_id, set()).update(kept)
    return {run_id: sorted(steps) for run_id, steps in found.items()}


def _has_all(before: Run, run: Run, keys: Collection[str]) -> bool:
    """Whether what another study has published of a run is all that is asked for, measured on the same weights.

    Then it stays there. In two packs it would be said differently as soon as either is published again.
    """
    return _same_weights(before, run) and keys <= before.ledger.tables.keys()


def _same_weights(one: Run, other: Run) -> bool:
    return one.ledger.weights == other.ledger.weights


def _take_tables(store: RunStore, run: Run, before: Run | None, keys: Collection[str]) -> Run:
    """A run that was trained again, with tables that are published of the same weights, which ``store`` has then."""
    if before is None or not _same_weights(before, run):
        return run
    for key in sorted(keys & before.tables.keys() - run.tables.keys()):
        store.save_table(run, key, before.table(key))
    return store.get(run.run_id)


def _computed(experiments: Iterable[Experiment], store: RunStore, shipped: RunStore, name: str) -> dict[Run, list[int]]:
    """Every seed of the study's experiments that is to be copied, without a step of which there were weights."""
    found = {}
    for one in (part for experiment in experiments for part in experiment.by_seed):
        if run := store.find(one):
            found[run] = []
        elif shipped.find(one) is None:
            raise StoreError(f"{one.run_id} ({one.name}) is not computed: run circuitcore measure {name}")
    return found


def reseal(folder: Path) -> list[str]:
    """List everything that is in ``folder`` now; returns lines that say what the list names otherwise than before.

    Raises:
        StoreError: something in it is damaged in itself.
    """
    path = folder / CONTENTS_NAME
    before = contents_of(folder) or Contents({})
    after = seal_all(folder)
    changed = {
        "new": after.hashes.keys() - before.hashes.keys(),
        "gone": before.hashes.keys() - after.hashes.keys(),
        "changed": {name for name, value in before.hashes.items() if after.hashes.get(name, value) != value},
    }
    lines = [f"{word:<8} {name}" for word, names in changed.items() for name in sorted(names)]
    counts = ", ".join(f"{len(names)} {word}" for word, names in changed.items())
    return [*lines, f"{path}: {len(after.hashes)} parts ({counts}), root {after.root}"]
