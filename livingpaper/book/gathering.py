"""The tables of finished, measured runs, put under each other."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from circuitcore.ground.tables import stacked
from circuitcore.metrics.instruments.measuring import Instruments
from circuitcore.training.errors import StoreError
from circuitcore.training.recipe import Recipe
from circuitcore.training.store.run import Run
from livingpaper.claims.results import Origin, Results
from livingpaper.claims.view import View

Arms = Mapping[str, tuple[Recipe, ...]]


def results_of(
    find: Callable[[Recipe], Run], arms: Arms, instruments: Mapping[str, Instruments], origin: Origin
) -> Results:
    """The tables of finished, measured runs, all arms under each other, with ``arm`` and ``init_seed``."""
    found = {"measurements": [], "history": []}
    for arm, recipes in arms.items():
        for recipe in recipes:
            run, named = find(recipe), (arm, recipe.init_seed)
            for one in instruments[arm]:
                found.setdefault(one.name, []).append((*named, _table(run, one.key)))
            found["history"].append((*named, run.history.assign(run_id=run.run_id)))
    tables = {name: _named(parts) for name, parts in found.items()}
    return Results(tables.pop("measurements"), tables.pop("history"), origin, tables)


def _named(parts: list[tuple[str, int, pd.DataFrame]]) -> pd.DataFrame:
    """Tables of runs under each other, with two columns more that say which arm and seed a row is of."""
    if not parts:
        return pd.DataFrame()
    arms, seeds, tables = zip(*parts, strict=True)
    n_rows = [len(table) for table in tables]
    return stacked(list(tables)).assign(
        arm=pd.Series(arms, dtype="str").repeat(n_rows).array, init_seed=np.repeat(seeds, n_rows)
    )


def _table(run: Run, key: str) -> pd.DataFrame:
    table = run.table(key)
    if table is None:
        raise StoreError(
            f"{run.path}: has no table {key!r}. What is measured has changed since this run was published: measure and "
            "publish the runs again."
        )
    return table


def runs_behind(view: View, found_in: Sequence[Results]) -> dict[str, tuple[str, ...]]:
    """Runs behind a view, by arm and origin; narrowed to its arms, seeds or run ids where the table names them."""
    found = {}
    for results in found_in if "init_seed" in view.table else ():
        rows = results.measurements[["arm", "init_seed", "run_id"]].drop_duplicates().astype({"run_id": "str"})
        drawn = view.table[view.table["origin"] == results.origin] if "origin" in view.table else view.table
        for column in ("arm", "init_seed", "run_id"):
            if column in drawn and (drawn.empty or drawn[column].notna().any()):
                rows = rows[rows[column].isin(drawn[column].dropna().unique())]
        label = {"paper": "published", "rerun": "yours"}[results.origin]
        for arm, part in rows.groupby("arm", sort=False, observed=True):
            found[f"{arm} ({label})"] = tuple(part["run_id"])
    return found
