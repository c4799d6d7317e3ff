"""What a caption says besides its author's sentence, computed from the view: seeds, interval, unit, rows, chance."""

import html
import re

import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures.rows import MIN_SEEDS, MIN_SETS
from livingpaper.figures.style import ORIGIN_LABELS

LEVEL = 0.95
"""Confidence of the bound that says what few seeds cannot show."""


def facts(view: View) -> list[str]:
    """Sentences in plain text, in the order a caption prints them."""
    sentences = [_seeds_sentence(view)] if view.n_seeds else []
    counts = _seeds_by_origin(view)
    enough = [_are_enough(view, words) for _, words in counts]
    if view.band and _has_means(view.table) and any(enough):
        sentences.append(f"Intervals: {_band(view)}.")
    few = [of for of, many in zip(counts, enough, strict=True) if not many]
    if few:
        n, words = min(few)
        several = len(counts) > 1 and len(few) == 1
        sentences.append(f"{few_seeds(n)} This is about {words}." if several else few_seeds(n))
    where = f", on {view.split.rstrip('.')}" if view.split else ""
    sentences.append(f"Value: {view.unit}{where}.")
    if view.chance is not None:
        sentences.append(f"Chance level: {view.chance:.3g}.")
    if view.levels:
        sentences.append(f"Lines: {'; '.join(f'{name} {level:.3g}' for name, level in view.levels.items())}.")
    if view.turns:
        sentences.append("Upright lines: training asks for something else from there on.")
    if view.note:
        sentences.append(sentence(view.note))
    return sentences


def sentence(note: str) -> str:
    """A note with its full stop; "" for none."""
    return f"{note.rstrip('.')}." if note else ""


def few_seeds(n: int) -> str:
    """What ``n`` seeds, too few for an interval, can and cannot show.

    If all n seeds agree, shares of agreeing seeds below (1 - 0.95)^(1/n) are excluded at 95 %: the exact (binomial)
    one-sided bound. That number is printed so that nobody takes two agreeing seeds for a law.
    """
    share = (1 - LEVEL) ** (1 / n)
    agree = {1: "one seed", 2: "both seeds"}.get(n, f"all {n} seeds")
    return (
        f"With n = {n} no interval is drawn: this shows what can happen, not how often. Whatever {agree} "
        f"{'shows' if n == 1 else 'agree on'} may still hold in as few as {100 * share:.0f} % of seeds (95 % bound)."
    )


def _band(view: View) -> str:
    """What the intervals are; of seeds that share data sets, over which of both."""
    band = view.band.rstrip(".")
    several = _n_sets(view.table) > 1
    return band.replace("over seeds", "over data sets (over seeds that all share one)") if several else band


def _are_enough(view: View, origin: str) -> bool:
    """Whether there is an interval for all the seeds of an origin, "" where there is but one."""
    rows = view.table[view.table["origin"].map(ORIGIN_LABELS) == origin] if origin else view.table
    n_sets = _n_sets(rows)
    return n_sets >= MIN_SETS if n_sets > 1 else rows["init_seed"].nunique() >= MIN_SEEDS


def _n_sets(table: pd.DataFrame) -> int:
    """Number of distinct data sets behind some rows; one where the rows do not say that there are several."""
    return table["data_set"].nunique() if "data_set" in table else 1


def _seeds_by_origin(view: View) -> list[tuple[int, str]]:
    table = view.table
    if "init_seed" not in table:
        return []
    if "origin" not in table:
        return [(view.n_seeds, "")] if view.n_seeds else []
    counts = []
    for origin, words in ORIGIN_LABELS.items():
        n = table.loc[table["origin"] == origin, "init_seed"].nunique()
        counts += [(n, words)] if n else []
    return counts


def _seeds_sentence(view: View) -> str:
    parts = []
    for n, words in _seeds_by_origin(view):
        rows = view.table if not words else view.table[view.table["origin"].map(ORIGIN_LABELS) == words]
        seeds = sorted(int(seed) for seed in rows["init_seed"].dropna().unique())
        named = f"n = {n} {'seed' if n == 1 else 'seeds'} ({_listed(seeds)}{_per_arm(rows)})"
        parts.append(f"{words}: {named}" if words else named)
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "." if ":" in text else f"Training runs: {text}."


def _has_means(table: pd.DataFrame) -> bool:
    """Whether some row of a plot has no open mark, and so a mean with its interval."""
    apart = [name for name in ("group", "series", "origin") if name in table]
    return "there" not in table or not apart or bool(table.groupby(apart, observed=True)["there"].all().any())


def _per_arm(rows: pd.DataFrame) -> str:
    """How seeds spread over arms, when an arm has fewer than the others; by the picture's own words, if it has some."""
    if "arm" not in rows:
        return ""
    counts = rows.groupby(_called(rows), sort=False, observed=True)["init_seed"].nunique()
    if counts.nunique() < 2:
        return ""
    usual = counts.mode()[0]
    others = counts[counts != usual]
    if len(others) > 2 or len(counts) - len(others) < 3:
        return "".join(f"; {arm}: {n}" for arm, n in counts.items())
    return "".join(f"; {arm}: {n}" for arm, n in others.items()) + f"; each other arm: {usual}"


def _called(rows: pd.DataFrame) -> str:
    """The column with what arms are called: their series, groups or panels, if each is one arm and all of it."""
    for column in ("series", "group", "panel"):
        if column in rows:
            pairs = rows[["arm", column]].astype(str).drop_duplicates()
            if pairs["arm"].is_unique and pairs[column].is_unique:
                return column
    return "arm"


def _listed(seeds: list[int]) -> str:
    """The seeds in words: three or more in a row as their ends ("0 to 24, 1000 to 1024")."""
    starts = [place for place, seed in enumerate(seeds) if not place or seed != seeds[place - 1] + 1]
    rows = [seeds[start:end] for start, end in zip(starts, [*starts[1:], None], strict=False)]
    words = [[f"{row[0]} to {row[-1]}"] if len(row) > 2 else map(str, row) for row in rows]
    return ", ".join(word for row in words for word in row)


def escape_markdown(text: str) -> str:
    """Plain text as MyST that prints the same characters (``->``, ``<bos>``, ``_`` and ``$`` included)."""
    return re.sub(r"([\\`*_{}\[\]<>$|#])", r"\\\1", text)


def markdown_to_html(text: str) -> str:
    """The little Markdown an author's sentence may hold (code, bold, emphasis) as HTML, for a live notebook."""
    safe = html.escape(text)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    safe = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", safe)
