"""Computing a stored table again from the weights that are here, and how far the two differ."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from circuitcore.export import find_run
from circuitcore.ground.spelling import unknown
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.training.errors import CheckpointError, StoreError
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from livingpaper.book import studies

VALUE = "value"
MOST_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Comparison:
    """A stored table beside the same one computed now.

    Attributes:
        run: whose.
        key: the table's.
        n_stored: rows that are stored.
        rows: those that were computed again: the columns that name a row, ``stored`` and ``now``.
    """

    run: Run
    key: str
    n_stored: int
    rows: pd.DataFrame

    @property
    def apart(self) -> pd.Series:
        """How far each pair lies apart: 0 where both have no number, infinite where one has none."""
        stored, now = self.rows["stored"], self.rows["now"]
        apart = (stored - now).abs().where(stored.notna() & now.notna(), float("inf"))
        return apart.mask(stored.isna() & now.isna(), 0.0)

    def lines(self) -> list[str]:
        """What a terminal shows."""
        n_rows, apart = len(self.rows), self.apart
        here = f"weights of {len(self.run.steps)} of {len(self.run.all_steps)} checkpoints are here"
        again = f"{n_rows:,} of {self.n_stored:,} stored numbers computed again; {here}."
        lines = [f"{self.run.run_id}, {self.key}: {again}"]
        if not n_rows:
            return lines
        n_same = int((apart == 0).sum())
        lines.append(f"{n_same:,} are equal to the bit. Largest difference: {apart.max():.3g}.")
        for place in apart[apart > 0].nlargest(MOST_SHOWN).index:
            row = self.rows.loc[place]
            lines.append(f"  {row['stored']:.9g} stored, {row['now']:.9g} now: {_named(row)}")
        return lines


def recompute(name: str, table: str, store: RunStore) -> Comparison:
    """Compute a table of a run again, as far as the weights here allow.

    Rows of checkpoints without weights here are not computed, and rows that compare such a checkpoint neither.

    Args:
        name: a run id, the beginning of one, or a run's place.
        table: the table's key, or the beginning of it ("battery", "snapshots").
        store: where the run is looked up.

    Raises:
        StoreError: no such run or table, or one that no study's parameters ask for.
        CheckpointError: none of its weights are here; says how to train them again.
    """
    run = find_run(name, store)
    if not run.ledger.trained:
        raise StoreError(
            f"{run.run_id}: of an experiment, behind whose table no weights stand. circuitcore measure STUDY "
            "--no-published --runs FOLDER computes it again."
        )
    keys = [key for key in run.tables if key.startswith(table)]
    if len(keys) != 1:
        raise StoreError(f"{run.run_id}: {unknown('table', table, sorted(run.tables))}")
    study, instrument = _asked(run, keys[0])
    if not run.steps:
        raise CheckpointError(
            f"{run.run_id}: none of its weights are here. All runs of {study} are trained again, weights and all, by "
            f"circuitcore sweep {study} --no-published, which says first how long that takes."
        )
    stored, now = run.table(keys[0]), instrument.measure(run)
    return Comparison(run, keys[0], len(stored), paired(stored, now))


def _asked(run: Run, key: str) -> tuple[str, Instrument]:
    """The study that has the run, and what measures the table of that key; StoreError where there is none."""
    for name, instruments in _instruments(run):
        for instrument in instruments:
            if instrument.key == key:
                return name, instrument
    raise StoreError(f"{run.run_id}: no study's parameters ask for its table {key!r}")


def _instruments(run: Run) -> Iterator[tuple[str, tuple[Instrument, ...]]]:
    """What each study measures on the run, and then on others of its task: a reader's seeds are in no parameters."""
    alike = []
    for name in studies.names():
        study = studies.load(name)
        for tier in studies.tiers(name):
            params = studies.load_params(name, tier)
            for arm, recipes in study.recipes(params).items():
                if any(recipe.run_id == run.run_id for recipe in recipes):
                    yield name, study.instruments(params, arm)
                elif any(recipe.task == run.recipe.task for recipe in recipes):
                    alike.append((name, study.instruments(params, arm)))
    yield from alike


def paired(stored: pd.DataFrame, now: pd.DataFrame) -> pd.DataFrame:
    """Rows of two tables that say the same of the same, side by side; those of one table alone are left out.

    A row is named by all its columns but ``value``; of equal names the first meets the first.
    """
    names = [column for column in stored if column != VALUE]
    parts = []
    for table, side in ((stored, "stored"), (now, "now")):
        plain = table[names].astype("str").fillna("").assign(**{side: table[VALUE]})
        plain["number"] = plain.groupby(names, sort=False).cumcount()
        parts.append(plain)
    return parts[0].merge(parts[1], on=[*names, "number"], validate="one_to_one")


def _named(row: pd.Series) -> str:
    labels = row.drop(["stored", "now", "number", "run_id"])
    return ", ".join(f"{name} {value}" for name, value in labels.items() if value != "")
