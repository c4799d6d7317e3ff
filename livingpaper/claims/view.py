"""What a figure draws, together with everything its caption must say about it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd


class NoRowsError(ValueError):
    """A table without rows, of which no figure can be drawn."""


@dataclass(frozen=True, eq=False)
class View:
    """One figure's table and the facts its caption states.

    Attributes:
        table: tidy rows; one column per thing drawn. Rows that come from a training run carry ``init_seed``
            (and ``arm`` when there are several), from which the number of seeds is counted, and ``data_set`` where
            several data sets were drawn (see ``on_data_sets``).
        unit: unit of the drawn value, in words ("accuracy", "logit", "attention mass").
        split: which rows the value was measured on ("test", "test and ood", ...).
        band: what a band or error bar is, in words; "" when none is drawn.
        chance: value of a guesser on the drawn scale, None where chance has no meaning.
        note: anything else a reader must know before trusting the picture.
        levels: what theory or a source says of the value, by a name; a line each. For pictures of points along an axis,
            as ``bars.seeds``, and for ``curves.training``; others refuse a view that has some.
        arms: arms all of whose runs are behind the table, where a row stands for several of them.
        turns: panel -> times from which training asks for something else; an upright line each. For
            ``curves.training``; a panel without such a time is left out.

    Raises:
        NoRowsError: an empty table, which would show nothing. ValueError: an empty unit.
    """

    table: pd.DataFrame
    unit: str
    split: str
    band: str = ""
    chance: float | None = None
    note: str = ""
    levels: Mapping[str, float] = field(default_factory=dict)
    arms: tuple[str, ...] = ()
    turns: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self):
        if self.table.empty:
            raise NoRowsError(f"a view needs rows to draw; this table has none (columns {list(self.table.columns)})")
        if not self.unit.strip():
            raise ValueError("a view needs the unit of its value in words; got an empty string")

    @property
    def published(self) -> pd.DataFrame:
        """The rows of the published runs, where there are some; else all: what a sentence takes its numbers from."""
        table = self.table
        return table[table["origin"] == "paper"] if "origin" in table and "paper" in set(table["origin"]) else table

    @property
    def seeds(self) -> tuple[int, ...]:
        """The distinct init seeds behind the rows, sorted; empty when no row comes from a training run."""
        if "init_seed" not in self.table:
            return ()
        return tuple(sorted(int(seed) for seed in self.table["init_seed"].dropna().unique()))

    @property
    def n_seeds(self) -> int:
        """Number of distinct init seeds in the table (0 when no row comes from a training run)."""
        return len(self.seeds)


def on_data_sets(view: View, set_of: Callable[[int], int], arms: Sequence[str] = ()) -> View:
    """The same view of networks on several data sets, over which means and intervals are then, as those of claims are.

    Args:
        view: rows with ``init_seed``; a view without is returned as it is.
        set_of: init seed -> its data set.
        arms: those whose networks have such data sets; () for all. Any others count by seeds.
    """
    if "init_seed" not in view.table:
        return view
    sets = view.table["init_seed"].map(lambda seed: set_of(int(seed)), na_action="ignore").astype("Int64")
    if arms:
        sets = sets.where(view.table["arm"].astype(str).isin(arms))
    return replace(view, table=view.table.assign(data_set=sets))


def in_order(table: pd.DataFrame, column: str, order: Iterable[object]) -> pd.DataFrame:
    """Rows sorted so that ``column`` appears in the order wanted; figures draw in order of appearance."""
    places = {name: place for place, name in enumerate(order)}
    return table.assign(_place=table[column].map(places)).sort_values("_place", kind="stable").drop(columns="_place")


def beside(published: Mapping[str, str], ours: Mapping[str, pd.Series]) -> View:
    """A source's numbers beside ours, for ``figures.tables.comparison``: a row a quantity and seed.

    Args:
        published: quantity -> what the source has, in words.
        ours: quantity -> our values by seed; of these quantities alone, in this order.
    """
    rows = [
        {"quantity": quantity, "source": published[quantity], "init_seed": int(seed), "value": value}
        for quantity, of_seed in ours.items()
        for seed, value in of_seed.items()
    ]
    return View(pd.DataFrame(rows), "as named", "as named")


def joined(parts: Mapping[str, View], silent: Mapping[str, Exception]) -> View:
    """Views of both origins as one with a column ``origin``; a note says whose results could not be drawn.

    A view that no training run enters (counts in a data set) is the same for both, and stays one; so does a summary of
    runs, without a column of seeds, where there is only one. Published runs that stand for a reader's own, too, where
    none of theirs enters, are drawn once, as what they are.
    """
    (whose_first, first), *others = parts.items()
    same = all(view.table.equals(first.table) for _, view in others)
    if same and "init_seed" not in first.table:
        return first
    drawn = {whose_first: first} if same else parts
    table = pd.concat([view.table.assign(origin=origin) for origin, view in drawn.items()], ignore_index=True)
    whose = {"paper": "the published runs", "rerun": "your runs"}
    notes = [first.note.rstrip(".")] if first.note else []
    notes += [f"Not drawn: {whose[origin]} ({error})" for origin, error in silent.items()]
    return replace(first, table=table, note=". ".join(notes))
