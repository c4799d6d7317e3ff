"""An experiment: a table that no trained decoder stands behind, or none that is kept, as one value named by its hash.

The simulation of a theorem, a count over data sets, a map of capacities, a benchmark of prompts. What a recipe is to a
run of training, an experiment of one seed is to its table: the store keeps it under its hash, and it is computed where
it is absent.
"""

import dataclasses
import hashlib
import inspect
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from circuitcore.ground.contents import json_sha256
from circuitcore.ground.hashed import canonical
from circuitcore.ground.reading import canonical_json
from circuitcore.training.recipe import MAX_INIT_SEED
from circuitcore.training.store.digests import table_sha256

TABLE = "rows"  # key of its table in the store
NAMED = ("run_id", "arm", "init_seed")  # columns that say whose a row is; what computes gives none of them
_NAME = re.compile(r"[a-z][a-z0-9_]{0,50}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """Everything that decides a table. Two equal experiments have one table.

    Attributes:
        name: the table's in ``Results.tables``, and what claims name as they name an arm.
        version: raised where the same parameters would give other numbers.
        function: ``function(params, seed)`` -> a table with rows, or a list of rows as mappings; ``function(params)``
            where there are no seeds. Cells are words, numbers, truths. At the top level of a module, as workers import
            it; its import path is part of the hash.
        params: a frozen dataclass of plain values that the table depends on, or None.
        seeds: of the independent draws, 0..2**32-1 each; none where nothing is drawn.

    Raises:
        ValueError: a field that cannot be used; the text names it, what was given, what is allowed.
    """

    name: str
    version: int
    function: Callable[..., Any]
    params: Any = None
    seeds: tuple[int, ...] = ()

    def __post_init__(self):
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"an experiment called {self.name!r}; allowed: small letters, digits, '_', a letter first")
        if type(self.version) is not int or self.version < 1:
            raise self._refused("version", self.version, "1, 2, ...")
        called, module = (getattr(self.function, word, "") for word in ("__qualname__", "__module__"))
        if not called.isidentifier() or module == "__main__":  # "<lambda>", "outer.<locals>.inner", a notebook's own
            raise self._refused("function", called or self.function, "a function at the top of a module")
        whole = isinstance(self.seeds, tuple) and all(type(seed) is int for seed in self.seeds)
        if not whole or not all(0 <= seed <= MAX_INIT_SEED for seed in self.seeds) or _repeat(self.seeds):
            raise self._refused("seeds", self.seeds, f"a tuple of different whole numbers from 0 to {MAX_INIT_SEED}")
        try:
            inspect.signature(self.function).bind(self.params, *self.seeds[:1])
        except (TypeError, ValueError) as error:  # the latter of what has no signature
            wanted = "(params, seed)" if self.seeds else "(params), as there are no seeds"
            raise self._refused("function", called, f"one that takes {wanted} ({error})") from error
        try:
            self.to_json()
        except (TypeError, ValueError) as error:
            allowed = "None, or a frozen dataclass of finite numbers, words, truths, None, tuples of them"
            raise self._refused("params", self.params, allowed) from error

    @property
    def by_seed(self) -> tuple["Experiment", ...]:
        """The same of one seed each, itself where there are none: what is computed, kept and found."""
        return tuple(dataclasses.replace(self, seeds=(seed,)) for seed in self.seeds) or (self,)

    @property
    def init_seed(self) -> int | None:
        """The seed of one of ``by_seed``; None where nothing is drawn."""
        return self.seeds[0] if self.seeds else None

    def to_json(self) -> str:
        """Canonical JSON: every field, sorted keys, no spaces. Equal experiments give equal text."""
        return canonical_json({**self._of_each_seed, "seeds": list(self.seeds)})

    @property
    def _of_each_seed(self) -> dict[str, Any]:
        if self.params is not None:
            hash(self.params)  # TypeError for a dataclass that may change, and for one with lists or mappings
        return {
            "experiment": self.name,
            "version": self.version,
            "function": f"{self.function.__module__}:{self.function.__qualname__}",
            "params": None if self.params is None else canonical(self.params),
        }

    @property
    def key(self) -> str:
        """What all its seeds have: name, version, and a hash that function and parameters enter. It names no table."""
        return f"{self.name}-v{self.version}-{json_sha256(self._of_each_seed)[:8]}"

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON, 64 hex digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @property
    def run_id(self) -> str:
        """Name under which the table of one of ``by_seed`` is kept: the experiment's, and 12 digits of the hash."""
        return f"{self.name}-{self.sha256[:12]}"

    def compute(self) -> pd.DataFrame:
        """The table of one of ``by_seed``, made anew, with a column ``run_id`` more.

        Raises:
            ValueError: several seeds; or a table without rows, with a column that is the store's to give, or with
                cells that are no words, numbers or truths. Whatever else ``function`` raises.
        """
        if len(self.seeds) > 1:
            raise self._refused("seeds", self.seeds, "one at a time (by_seed)")
        made = self.function(self.params, *self.seeds)
        try:
            table = made if isinstance(made, pd.DataFrame) else pd.DataFrame(list(made))
            names = list(table.columns)
            if table.empty or {*names} & {*NAMED} or _repeat(names) or not all(isinstance(name, str) for name in names):
                raise ValueError(f"{len(table):,} rows of columns {names}")
            table_sha256(table)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"experiment {self.name}: made a table that cannot be kept: {error}; allowed: at least one row of "
                f"words, numbers and truths, and columns each with a name of its own, not {', '.join(NAMED)}"
            ) from error
        return table.assign(run_id=pd.Categorical([self.run_id] * len(table)))

    def _refused(self, field: str, given: object, allowed: str) -> ValueError:
        return ValueError(f"experiment {self.name}: {field} = {given!r}; allowed: {allowed}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Experiment) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)


def _repeat(values: Collection[object]) -> bool:
    return len(set(values)) < len(values)
