"""A table of words and numbers as a page shows it."""

import html
import math

import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures.caption import escape_markdown
from livingpaper.figures.rows import rows_of
from livingpaper.figures.style import ORIGIN_LABELS


def comparison(view: View) -> pd.DataFrame:
    """A source's numbers beside ours: one row a quantity, and for each set of runs mean and range over seeds.

    Columns of the view: ``quantity`` (in the order given), ``source``, ``init_seed``, ``value``; optional ``origin``.
    """
    rows = rows_of(view, ["quantity", "source", "init_seed", "value"])
    table = rows.groupby("quantity", sort=False)["source"].first().to_frame()
    for origin, words in ORIGIN_LABELS.items():
        part = rows[rows["origin"] == origin]
        if part.empty:
            continue
        found = part.groupby("quantity", sort=False)["value"]
        n = part["init_seed"].nunique()
        table[f"{words}, n = {n}" if n == 1 else f"{words}, mean of {n}"] = found.mean()
        if n > 1:
            ends = found.agg(["min", "max", "count"])  # a set of runs may lack a quantity
            ranges = [
                f"{_short(low)} to {_short(high)}" if of_seeds > 1 else "one seed"
                for low, high, of_seeds in ends.itertuples(index=False)
            ]
            table["range" if origin == "paper" else "your range"] = pd.Series(ranges, ends.index)
    return table.reset_index()


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value + 0.0:.3g}"  # no zero has a sign


def table_markdown(rows: pd.DataFrame, digits: int, note: str = "") -> str:
    """The table in Markdown, numbers to the right, and a sentence below it.

    Args:
        rows: column names are the headings; the index is not shown.
        digits: significant digits of numbers that are not whole.
        note: the sentence, in plain text; "" for none.
    """
    numeric = [pd.api.types.is_numeric_dtype(rows[name]) for name in rows]
    head = [escape_markdown(str(name)) for name in rows]
    lines = [head, ["--:" if number else ":--" for number in numeric]]
    lines += [[escape_markdown(cell_text(cell, digits)) for cell in row] for row in rows.itertuples(index=False)]
    below = f"\n{escape_markdown(note)}\n" if note else ""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n" + below


def table_html(rows: pd.DataFrame, digits: int, note: str = "") -> str:
    """The same in HTML, for a live notebook."""
    shown = rows.map(lambda cell: cell_text(cell, digits))
    return shown.to_html(index=False, border=0) + (f"<p>{html.escape(note)}</p>" if note else "")


def cell_text(cell: object, digits: int) -> str:
    """A cell in words: whole numbers whole, others to ``digits`` significant digits, missing ones a dash."""
    if cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, float) and not cell.is_integer():
        return f"{cell:.{digits}g}"
    return f"{cell:,.0f}" if isinstance(cell, int | float) and not isinstance(cell, bool) else str(cell)
