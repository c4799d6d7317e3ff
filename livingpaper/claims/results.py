"""Everything measured on a set of runs, and the few selections that checks and views are written in."""

import functools
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from circuitcore.ground.spelling import unknown

Origin = Literal["paper", "rerun"]
KEY_COLUMNS = ("arm", "init_seed", "run_id", "step", "metric", "value")


class SelectionError(LookupError):
    """Nothing in the results matches what was asked for; the message lists what exists."""


class Tables(dict[str, pd.DataFrame]):
    """Tables by instrument; SelectionError for one that was measured on no arm."""

    def __missing__(self, name: str):
        raise SelectionError(unknown("table", name, self))


@dataclass(frozen=True, eq=False)
class Results:
    """Everything measured on a set of runs: what checks and views read.

    Attributes:
        measurements: the battery's tidy table with two more columns, ``arm`` (str) and ``init_seed`` (int).
        history: per-step training table, same two columns.
        origin: "paper" for the published runs, "rerun" for the reader's.
        tables: what each instrument measured, by its name (``measurements`` among them), same two columns; rows of the
            arms that have it. What each experiment gave, by its name, which stands in ``arm``; without ``init_seed``
            where nothing is drawn. A name that none has is a SelectionError.
        experiments: those of ``tables`` that are experiments'.
    """

    measurements: pd.DataFrame
    history: pd.DataFrame
    origin: Origin
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    experiments: tuple[str, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "tables", Tables({**self.tables, "measurements": self.measurements}))
        missing = [column for column in KEY_COLUMNS if column not in self.measurements]
        if missing:
            raise ValueError(f"measurements lack {missing}; columns are {list(self.measurements.columns)}")

    @property
    def snapshots(self) -> pd.DataFrame:
        """Attention patterns and circuit maps (``metrics.snapshots``); empty where no arm has them."""
        return self.tables.get("snapshots", pd.DataFrame())

    @property
    def features(self) -> pd.DataFrame:
        """Neurons, sparse features and drift (``metrics.features``); empty where no arm has them."""
        return self.tables.get("features", pd.DataFrame())

    @property
    def arms(self) -> tuple[str, ...]:
        """Arms present, in the order they first appear; experiments after them."""
        return (*(str(arm) for arm in self._measured["arm"].unique()), *self.experiments)

    def seeds(self, arm: str) -> tuple[int, ...]:
        """Init seeds measured in one arm, or of one experiment, sorted; none where nothing is drawn."""
        rows = self.tables[arm] if arm in self.experiments else _select(self._measured, arm=arm)
        return tuple(sorted(int(seed) for seed in rows.get("init_seed", pd.Series(dtype="int64")).unique()))

    @functools.cached_property
    def runs(self) -> pd.DataFrame:
        """``arm init_seed run_id`` of every run and every experiment's seed; NaN where an experiment has none."""
        each = [self._measured, *(_runs_in(self.tables[name]) for name in self.experiments)]
        return pd.concat([rows for rows in each if len(rows)] or each, ignore_index=True)

    @functools.cached_property
    def _measured(self) -> pd.DataFrame:
        return _runs_in(self.measurements)

    def rows(self, table: str, **where) -> pd.DataFrame:
        """Rows of one of ``tables``; filters and errors as in ``curve``."""
        return _select(self.tables[table], **where)

    def curve(self, metric: str, arm: str | None = None, **where) -> pd.DataFrame:
        """Rows of one metric at every checkpoint, sorted by arm, seed and step.

        Args:
            metric: the battery's name for it.
            arm: one arm; None for all of them.
            **where: further columns and the value, or list of values, wanted (``split="test"``, ``layer=1``).

        Raises:
            SelectionError: nothing is left; names the filter that emptied the selection and what exists.
        """
        rows = self._of_metric(metric) if arm is None else self._of_arm(metric, arm)
        return _select(rows, **where).reset_index(drop=True)

    def at_final(self, metric: str, arm: str | None = None, **where) -> pd.DataFrame:
        """Rows of one metric at the last measured checkpoint of each run; arguments as in ``curve``."""
        if isinstance(metric, str) and isinstance(arm, (str, type(None))):
            with suppress(SelectionError):  # what there is to choose from is said of all checkpoints, below
                return _select(self._ends(metric, arm), **where).reset_index(drop=True)
        rows = self._last_of_each(self.curve(metric, arm, **where)).reset_index(drop=True)
        if rows.empty:
            raise SelectionError(f"metric {metric!r} was not measured at the last checkpoint of any selected run")
        return rows

    def final_values(self, metric: str, arm: str, **where) -> pd.Series:
        """One number per seed at the end of training, indexed by ``init_seed``: the unit of evidence.

        Raises:
            SelectionError: more than one row per seed; names the columns that still vary.
        """
        rows = self.at_final(metric, arm, **where)
        if rows["init_seed"].duplicated().any():
            group = rows[rows["init_seed"] == rows.loc[rows["init_seed"].duplicated(), "init_seed"].iloc[0]]
            free = [column for column in rows if column != "value" and group[column].nunique(dropna=False) > 1]
            varying = f"still varying: {free}" if free else "the rows are repeated: is a seed in the arm twice?"
            raise SelectionError(f"{metric!r} in {arm!r} has several rows per seed; {varying}")
        return rows.set_index("init_seed")["value"].sort_index()

    def at_steps(self, arm: str, steps: Collection[int]) -> Iterator[tuple[int, "Results"]]:
        """Step by step what was measured on an arm's runs: at each of some steps, results in which it is the last."""
        rows = _select(self.measurements, arm=arm)
        for step, at_step in rows[rows["step"].isin(steps)].groupby("step", sort=True):
            yield int(step), Results(at_step, self.history, self.origin)

    # Readings ask for one metric of half a million rows thousands of times: each is taken and put in order once.
    def _of_metric(self, metric: object) -> pd.DataFrame:
        places = self._places.get(metric) if isinstance(metric, str) else None
        if places is None:
            return _in_order(_select(self.measurements, metric=metric))
        if metric not in self._taken:
            self._taken[metric] = _in_order(self.measurements.take(places))
        return self._taken[metric]

    def _of_arm(self, metric: object, arm: object) -> pd.DataFrame:
        if not isinstance(metric, str) or not isinstance(arm, str):
            return _select(self._of_metric(metric), arm=arm)
        if (metric, arm) not in self._taken:
            self._taken[metric, arm] = _select(self._of_metric(metric), arm=arm)
        return self._taken[metric, arm]

    def _ends(self, metric: str, arm: str | None) -> pd.DataFrame:
        """Rows of a metric, in one arm or all, at the last checkpoints; SelectionError where there is none."""
        if (metric, arm) not in self._at_ends:
            rows = self._last_of_each(self._of_metric(metric) if arm is None else self._of_arm(metric, arm))
            if rows.empty:
                raise SelectionError
            self._at_ends[metric, arm] = rows
        return self._at_ends[metric, arm]

    def _last_of_each(self, rows: pd.DataFrame) -> pd.DataFrame:
        return rows[rows["step"] == rows["run_id"].map(self._last_steps)]

    @functools.cached_property
    def _at_ends(self) -> dict[tuple[str, str | None], pd.DataFrame]:
        return {}

    @functools.cached_property
    def _taken(self) -> dict[str | tuple[str, str], pd.DataFrame]:
        return {}

    @functools.cached_property
    def _places(self) -> dict[str, np.ndarray]:
        return self.measurements.groupby("metric", observed=True).indices

    @functools.cached_property
    def _last_steps(self) -> pd.Series:
        return self.measurements.groupby("run_id", observed=True)["step"].max()


def with_epochs(rows: pd.DataFrame, results: Results) -> pd.DataFrame:
    """The rows with the epoch that ends at their step (0 before training)."""
    found = rows.assign(run_id=rows["run_id"].astype("str")).merge(
        _epoch_ends(results), on=["run_id", "step"], how="left"
    )
    return found.assign(epoch=found["epoch"].fillna(0).astype("int64"))


@functools.lru_cache(maxsize=4)  # histories hold a row for every step, and results come as one object
def _epoch_ends(results: Results) -> pd.DataFrame:
    ends = results.history.groupby(["run_id", "epoch"], observed=True)["step"].max().reset_index()
    return ends.astype({"run_id": "str"})


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """By arm, seed and step; rows that are chosen from it are in that order, too."""
    return rows.sort_values(["arm", "init_seed", "step"], kind="stable")


def _runs_in(table: pd.DataFrame) -> pd.DataFrame:
    """``arm init_seed run_id`` of every run that has rows in a table; NaN in columns that it lacks."""
    return table.reindex(columns=["arm", "init_seed", "run_id"]).drop_duplicates().astype({"run_id": "str"})


def _select(rows: pd.DataFrame, /, **where: object) -> pd.DataFrame:
    """The rows that have what is wanted in each column: a value, or one of several."""
    kept = np.ones(len(rows), bool)
    for column, wanted in where.items():
        if column not in rows:
            raise SelectionError(unknown("column", column, rows.columns))
        many = isinstance(wanted, (list, tuple, set, frozenset, range))
        fits = kept & rows[column].isin(list(wanted) if many else [wanted]).to_numpy(bool)
        if not fits.any():
            present = [str(value) for value in rows.loc[kept, column].dropna().unique()]
            raise SelectionError(unknown(column, str(wanted), present))
        kept = fits
    return rows[kept] if where else rows
