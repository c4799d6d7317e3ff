"""The tables of finished, measured runs and of experiments, put under each other."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from circuitcore.ground.spelling import unknown
from circuitcore.ground.tables import stacked
from circuitcore.metrics.instruments.measuring import Instruments
from circuitcore.training.errors import StoreError
from circuitcore.training.experiment import TABLE, Experiment
from circuitcore.training.recipe import Recipe
from circuitcore.training.store.run import Run
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
    found = {"measurements": [], "history": []}
    for name, recipes in units.items():
        for recipe in recipes:
            run, named = find(recipe), (name, recipe.init_seed)
            if name not in instruments:
                found.setdefault(name, []).append((*named, _table(run, TABLE)))
                continue
            for one in instruments[name]:
                found.setdefault(one.name, []).append((*named, _table(run, one.key)))
            found["history"].append((*named, run.history.assign(run_id=run.run_id)))
    tables = {name: _named(parts) for name, parts in found.items()}
    experiments = tuple(name for name in units if name not in instruments)
    return Results(tables.pop("measurements"), tables.pop("history"), origin, tables, experiments)


def _named(parts: list[tuple[str, int | None, pd.DataFrame]]) -> pd.DataFrame:
    """Tables of runs under each other, with two columns more that say which arm and seed a row is of.

    Without that of the seed where nothing is drawn; without rows where there are no runs.
    """
    if not parts:
        return pd.DataFrame(columns=list(KEY_COLUMNS))
    arms, seeds, tables = zip(*parts, strict=True)
    n_rows = [len(table) for table in tables]
    named = {"arm": pd.Series(arms, dtype="str").repeat(n_rows).array, "init_seed": np.repeat(seeds, n_rows)}
    if seeds == (None,):
        del named["init_seed"]
    return stacked(list(tables)).assign(**named)


def _table(run: Run, key: str) -> pd.DataFrame:
    table = run.table(key)
    if table is None:
        raise StoreError(
            f"{run.path}: has no table {key!r}. What is measured has changed since this run was published: measure and "
            "publish the runs again."
        )
    return table


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
