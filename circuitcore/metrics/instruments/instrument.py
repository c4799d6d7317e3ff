"""What is measured on a run: by name and version, kept as a table of its own beside the run."""

import dataclasses
import hashlib
import re
import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from circuitcore.ground.hashed import canonical
from circuitcore.ground.reading import canonical_json
from circuitcore.ground.spelling import unknown

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

WHEN = ("each", "last", "pairs", "steps")
Progress = Callable[[int], None]
TAKEN = ("history",)  # tables of a run that no instrument writes
_NAME = re.compile(r"[a-z][a-z0-9_]{0,50}")
_KEY = re.compile(rf"({_NAME.pattern})-v([0-9]+)(-[0-9a-f]{{8}})?")


def version_of(key: str) -> tuple[str, int] | None:
    """Name and version of the instrument whose table has this key; None where an earlier rule made the key."""
    found = _KEY.fullmatch(key)
    return (found[1], int(found[2])) if found else None


@dataclass(frozen=True, kw_only=True)
class Instrument:
    """Something that is measured on a run. Adding one, or raising one's version, touches no other table.

    Attributes:
        name: the table's in ``Results.tables``.
        version: raised where the same run would give other numbers.
        measures: ``measures(run, settings, progress)`` -> a pandas table with rows, whose ``run_id`` is the run's;
            ``progress`` is called with the number of checkpoints done since. At the top level of a module, as workers
            import it.
        when: the weights it is measured on: of "each" checkpoint, the "last" one, or "pairs" of neighbours; or on
            "steps" that ``training.replay`` makes again, which needs no weights to be here.
        needs: named positions that the task must have (``Batch.roles``).
        settings: a frozen dataclass that the table depends on, or None.
        known_as: the table's key, where an earlier rule made it; "" for the one of ``key``.

    Raises:
        ValueError: a name, version, word or settings that cannot be used, or a function that no worker can import.
    """

    name: str
    version: int
    measures: Callable[["Run", Any, Progress], pd.DataFrame]
    when: str = "each"
    needs: tuple[str, ...] = ()
    settings: Any = None
    known_as: str = ""

    def __post_init__(self):
        if not _NAME.fullmatch(self.name) or self.name in TAKEN:
            raise ValueError(
                f"an instrument called {self.name!r}; allowed: small letters, digits and '_', a letter first, and not "
                f"{', '.join(TAKEN)}"
            )
        if type(self.version) is not int or self.version < 1:
            raise ValueError(f"instrument {self.name}: version = {self.version!r}; allowed: 1, 2, ...")
        if isinstance(self.needs, str):
            raise ValueError(f"instrument {self.name}: needs = {self.needs!r}; allowed: a tuple of names of positions")
        if self.when not in WHEN:
            raise ValueError(f"instrument {self.name}: {unknown('when', self.when, WHEN)}")
        called = getattr(self.measures, "__qualname__", repr(self.measures))
        if not called.isidentifier():  # "<lambda>", "outer.<locals>.inner", "Class.method"
            raise ValueError(f"instrument {self.name}: measures = {called}; allowed: a function at the top of a module")
        plain = dataclasses.is_dataclass(self.settings) and isinstance(self.settings, Hashable)
        if self.settings is not None and not plain:
            raise ValueError(f"instrument {self.name}: settings = {self.settings!r}; allowed: a frozen dataclass, None")

    @property
    def key(self) -> str:
        """Name under which its table is stored: name, version, and a hash of the settings."""
        if self.known_as:
            return self.known_as
        plain = f"{self.name}-v{self.version}"
        if self.settings is None:
            return plain
        return f"{plain}-{hashlib.sha256(canonical_json(canonical(self.settings)).encode()).hexdigest()[:8]}"

    def measure(self, run: "Run", progress: Progress = lambda done: None) -> pd.DataFrame:
        """The table of one run, from the weights that are here.

        Raises:
            ValueError: the task lacks a position that is needed, or what was made is no table, empty, or does not say
                whose it is.
            Exception: whatever ``measures`` raises, with a note of where.
        """
        if self.needs:
            task = run.recipe.make_task()
            roles = task.split(task.splits[0]).roles
            if absent := [role for role in self.needs if role not in roles]:
                raise ValueError(
                    f"instrument {self.name}, task {run.recipe.task}: {unknown('position', absent[0], roles)}"
                )
        try:
            table = self.measures(run, self.settings, progress)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if frame.filename == self.measures.__code__.co_filename]
            at = (own or frames)[-1]
            error.add_note(f"in instrument {self.name}, {at.filename}:{at.lineno}")
            raise
        if not isinstance(table, pd.DataFrame):
            raise ValueError(f"instrument {self.name}: returned {type(table).__name__}; allowed: a pandas table")
        if "run_id" not in table or table.empty or not (table["run_id"] == run.run_id).all():
            seen = f"columns {list(table.columns)}, {len(table):,} rows"
            if "run_id" in table:
                seen += f" of {', '.join(map(str, table['run_id'].unique()[:5])) or 'no run'}"
            raise ValueError(
                f"instrument {self.name}: made a table with {seen}; allowed: at least one row, and a column 'run_id' "
                f"that is {run.run_id} in each"
            )
        return table

    def steps(self, run: "Run") -> tuple[int, ...]:
        """Steps of the checkpoints that it is measured on."""
        if self.when == "steps":
            return ()
        return run.all_steps[-1:] if self.when == "last" else run.all_steps

    def lacking(self, run: "Run") -> tuple[int, ...]:
        """Those of ``steps`` whose weights are not here."""
        return tuple(step for step in self.steps(run) if step not in run.steps)
