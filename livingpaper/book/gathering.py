"""The tables of finished, measured runs and of experiments, put under each other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray

from circuitcore.ground.spelling import unknown
from circuitcore.ground.tables import stacked
from circuitcore.metrics.instruments.measuring import Instruments
from circuitcore.training.experiment import TABLE, Experiment
from circuitcore.training.recipe import Recipe
from circuitcore.training.store.packed import HISTORY
from circuitcore.training.store.run import Run
from circuitcore.training.store.tables import tables_of
from livingpaper.claims.results import KEY_COLUMNS, Origin, Results, SelectionError
from livingpaper.claims.view import View

Arms = Mapping[str, tuple[Recipe, ...]]
Units = Mapping[str, tuple[Recipe | Experiment, ...]]
"""What a study asks for: recipes by arm, and experiments of one seed each by the experiment's name."""


def results_of(
    find: Callable[[Recipe | Experiment], Run], units: Units, instruments: Mapping[str, Instruments], origin: Origin
) -> Results:
    """The tables of finished, measured runs, all arms under each other, and of experiments, each for itself.

    Args:
        find: gives the run of a recipe, or what is kept of an experiment of one seed.
        units: whose tables.
        instruments: what is measured on each arm; experiments are the names that it does not have.
        origin: whose they are.

    Returns:
        Each table with ``arm`` and ``init_seed``.
    """
    found = {"measurements": [], HISTORY: []}
    for name, recipes in units.items():
        runs, seeds = [find(recipe) for recipe in recipes], [recipe.init_seed for recipe in recipes]
        if name not in instruments:
            found.setdefault(name, []).append(_Part(name, seeds, runs, TABLE))
            continue
        for one in instruments[name]:
            found.setdefault(one.name, []).append(_Part(name, seeds, runs, one.key))
        found[HISTORY].append(_Part(name, seeds, runs, HISTORY))
    tables = {name: _named(parts, with_run_id=name == HISTORY) for name, parts in found.items()}
    experiments = tuple(name for name in units if name not in instruments)
    return Results(tables.pop("measurements"), tables.pop(HISTORY), origin, tables, experiments)


@dataclass(frozen=True)
class _Part:
    """The runs of an arm, or the seeds of an experiment, and the key of a table that each of them has."""

    arm: str
    seeds: list[int | None]
    runs: list[Run]
    key: str


def _named(parts: list[_Part], *, with_run_id: bool) -> pd.DataFrame:
    """Tables of runs under each other, with columns that say which arm and seed a row is of, and of which run if asked.

    Without that of the seed where nothing is drawn; without rows where there are no runs.
    """
    read = [tables_of(part.runs, part.key) for part in parts]
    tables, n_rows = [table for some, _ in read for table in some], [n for _, each in read for n in each]
    if not tables:
        return pd.DataFrame(columns=list(KEY_COLUMNS))
    runs = [(part.arm, seed, run.run_id) for part in parts for seed, run in zip(part.seeds, part.runs, strict=True)]
    arms, seeds, run_ids = zip(*runs, strict=True)
    named = {"run_id": _repeated(run_ids, n_rows)} if with_run_id else {}
    named["arm"] = _repeated(arms, n_rows)
    if seeds != (None,):
        named["init_seed"] = np.repeat(seeds, n_rows)
    return stacked(tables).assign(**named)


def _repeated(words: Sequence[str], times: list[int]) -> ExtensionArray:
    return pd.Series(words, dtype="str").repeat(times).array


def runs_behind(view: View, found_in: Sequence[Results]) -> dict[str, tuple[str, ...]]:
    """Runs behind a view, by arm and origin: of its arms, or narrowed to arms, seeds or run ids that the table names.

    One that names none of these is of no training.

    Raises:
        SelectionError: an arm of the view that no results have.
    """
    if unknown_arms := sorted({*view.arms}.difference(*(results.arms for results in found_in))):
        raise SelectionError(unknown("arm", unknown_arms[0], [arm for results in found_in for arm in results.arms]))
    found = {}
    for results in found_in if view.arms or {"init_seed", "arm", "run_id"} & {*view.table} else ():
        rows = results.runs
        drawn = view.table[view.table["origin"] == results.origin] if "origin" in view.table else view.table
        if view.arms:
            rows = rows[rows["arm"].isin(view.arms) & (not drawn.empty)]
        else:
            rows = _narrowed(rows, drawn)
        label = {"paper": "published", "rerun": "yours"}[results.origin]
        for arm, part in rows.groupby("arm", sort=False, observed=True):
            found[f"{arm} ({label})"] = tuple(part["run_id"])
    return found


def _narrowed(rows: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """Runs that a table names by what it has of arms, seeds and run ids."""
    for column in ("arm", "init_seed", "run_id"):
        if column in drawn and (drawn.empty or drawn[column].notna().any()):
            rows = rows[rows[column].isin(drawn[column].dropna().unique())]
    return rows
