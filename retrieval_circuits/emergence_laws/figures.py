"""The table behind each figure of the chapter, with what its caption must say."""

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.design import BAND
from retrieval_circuits.emergence_laws.design import (
    AXES,
    BATCH,
    CHANNELS,
    CONTEXT,
    HEADS,
    MIDDLE,
    PAIRS,
    REPEATED,
    SEQUENCE,
    TIED,
    TOLD,
    WIDTH,
    name_of,
)
from retrieval_circuits.emergence_laws.published import ROOT, SQUARE
from retrieval_circuits.emergence_laws.readings import along

WAIT = "steps until the answer comes"
ROWS = "rows held out"
SERIES = {PAIRS: "pairs", SEQUENCE: "a sequence"}
LAWS = {(CONTEXT, SQUARE): "square of the context", (CONTEXT, ROOT): "batch and context, in tokens",
        (BATCH, ROOT): "batch and context, in tokens"}  # fmt: skip
CUT = "Who does not get there stands at the cap, {cap:,} steps"


def lengths(results: Results) -> View:
    """The wait by the context's length, beside what two laws say."""
    return _by_power(results, CONTEXT, "words told before the first query")


def rows_a_batch(results: Results) -> View:
    """The wait by the rows a batch, beside the law in tokens."""
    return _by_power(results, BATCH, "rows a batch")


def widths(results: Results) -> View:
    """The wait by the width."""
    return _by_power(results, WIDTH, "width")


def _by_power(results: Results, axis: str, words: str) -> View:
    """Points a seed on two logarithmic axes; a law goes through the geometric mean of each task's first point."""
    found, laws = [], []
    for told in TOLD:
        rows = along(results, told, axis)
        found.append(pd.DataFrame(
            {"panel": SERIES[told], "x": rows[axis], "init_seed": rows["init_seed"], "value": rows["time"],
             "arm": name_of(told, axis)}
        ))  # fmt: skip
        means = np.exp(np.log(rows["time"]).groupby(rows[axis]).mean())
        for (of, power), law in LAWS.items():
            if of == axis:
                at = means.index.to_numpy(float)
                line = means.iloc[0] * (at / at[0]) ** power
                laws.append(pd.DataFrame({"panel": SERIES[told], "x": at, "law": law, "value": line}))
    table = pd.concat([*found, *laws], ignore_index=True)
    note = "Both axes are logarithmic: a power is a straight line. Line: geometric mean"
    if laws:
        note += ". A law starts where the line does, and says nothing but its slope"
    return View(table.assign(axis=words), WAIT, ROWS, note=f"{note}. {CUT.format(cap=_cap(results))}")


def heads(results: Results) -> View:
    """The wait by the number of heads and by the channels a head."""
    names = {HEADS: "{} heads", CHANNELS: "{} channels a head"}
    return _groups(results, {(axis, value): words.format(value) for axis, words in names.items()
                             for value in _values(axis)})  # fmt: skip


def repeats(results: Results) -> View:
    """The wait by the share of rows that are repeated."""
    return _groups(results, {(REPEATED, value): f"{value:.0%} repeated" for value in _values(REPEATED)})


def tying(results: Results) -> View:
    """The wait with tied embeddings and without."""
    return _groups(results, {(TIED, False): "apart", (TIED, True): "tied"})


def lottery(results: Results) -> View:
    """The wait of the middle network, seed by seed."""
    found = [
        results.rows(name_of(told)).assign(group=SERIES[told], value=lambda rows: rows["time"], arm=name_of(told))
        for told in TOLD
    ]
    table = pd.concat(found, ignore_index=True)
    return View(table[["group", "arm", "init_seed", "value"]], WAIT, ROWS, BAND)


def _values(axis: str) -> list[float]:
    """The middle and all others, rising."""
    return sorted([getattr(MIDDLE, axis), *(dict(change)[axis] for change in AXES[axis])])


def _groups(results: Results, groups: dict[tuple[str, float], str]) -> View:
    found = []
    for (axis, value), group in groups.items():
        for told in TOLD:
            rows = along(results, told, axis)
            rows = rows[rows[axis] == value]
            found.append(rows.assign(group=group, series=SERIES[told], value=rows["time"], arm=name_of(told, axis)))
    table = pd.concat(found, ignore_index=True)
    note = CUT.format(cap=_cap(results))
    return View(table[["group", "series", "arm", "init_seed", "value"]], WAIT, ROWS, BAND, note=note)


def _cap(results: Results) -> int:
    """Steps after which a network is given up, as the longest that was trained shows."""
    return int(max(results.rows(name_of(told, axis))["steps"].max() for told in TOLD for axis in AXES))


VIEWS = {view.__name__: view for view in (lengths, rows_a_batch, widths, heads, repeats, tying, lottery)}
