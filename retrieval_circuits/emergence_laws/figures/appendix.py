"""The tables behind the appendix: every network that was trained for its wait, and the sources' powers beside ours."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, beside, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.emergence_laws.design import (
    BATCH,
    CHANNELS,
    CONTEXT,
    HEADS,
    PAIRS,
    REPEATED,
    SEQUENCE,
    SHAPES,
    TIED,
    TIMES,
    WIDTH,
    axes_of,
    name_of,
)
from retrieval_circuits.emergence_laws.figures.chapter import ROWS, SERIES, WAIT
from retrieval_circuits.emergence_laws.published import PUBLISHED
from retrieval_circuits.emergence_laws.readings import answers_first, before_last, exponent

IN_WORDS = {
    "n_pairs": "N = {}", BATCH: "{} rows a batch", WIDTH: "width {}", HEADS: "heads: {}",
    CHANNELS: "{} channels a head", REPEATED: "{:.0%} of rows repeated", TIMES: "pairs told {} times",
    TIED: "tied embeddings", "other_init": "twin {}, other weights", "other_rows": "twin {}, other rows",
}  # fmt: skip
"""What a network has otherwise than the middle one -> how it is called; of several the first is named."""


def every_setting(results: Results) -> View:
    """Each setting: networks, how many are given up, and the shortest, median and longest wait, in steps."""
    found = []
    for shape in SHAPES:
        found.append(_waits(results.rows(name_of(shape)), shape, "middle", "in the middle"))
        for axis, changes in axes_of(shape).items():
            rows = results.rows(name_of(shape, axis))
            for change in changes:
                name, value = change[0]
                kept = rows[(rows[list(dict(change))] == list(dict(change).values())).all(axis=1)]
                found.append(_waits(kept, shape, axis, IN_WORDS[name].format(value)))
    return View(pd.DataFrame(found), WAIT, ROWS, note="Waits in training steps")


def _waits(rows: pd.DataFrame, shape: str, axis: str, setting: str) -> dict[str, object]:
    times = rows["time"]
    waits = {"shortest": times.min(), "median": times.median(), "longest": times.max()}
    return {
        "task": SERIES[shape],
        "setting": setting,
        "networks": len(rows),
        "given up": int((~rows["there"].astype(bool)).sum()),
        **{name: f"{wait:,.0f}" for name, wait in waits.items()},
        "arm": name_of(shape, axis),
    }


POWERS = {CONTEXT: "context", BATCH: "rows a batch", HEADS: "heads", CHANNELS: "channels a head", TIMES: "times told"}
"""Axis -> what the wait is a power of."""


def seed_powers(results: Results) -> View:
    """The power with which the wait goes along each axis, of each seed."""
    found = [
        pd.DataFrame({"group": POWERS[axis], "series": SERIES[shape], "arm": name_of(shape, axis), "value": powers})
        for (shape, axis), powers in _powers(results).items()
    ]
    table = pd.concat(found).rename_axis("init_seed").reset_index()
    table = in_order(table[["group", "series", "arm", "init_seed", "value"]], "group", POWERS.values())
    return View(table, "power of the wait", ROWS, BAND, note="Pairs alone can be told again")


def numbers(results: Results) -> View:
    """The sources' powers beside ours, of each seed."""
    named = {(shape, axis): f"{POWERS[axis]}, {SERIES[shape]}" for axis in POWERS for shape in SHAPES}
    published = {words: PUBLISHED[axis] for (_, axis), words in named.items()}
    return beside(published, {named[asked]: powers for asked, powers in _powers(results).items()})


LEVELS = (0.25, 0.5, 0.75, 0.9)
"""Parts of the way from chance to its own end at which something might be said to have formed."""
ORDERS = {"copying before either look": answers_first, "one look back after the other": before_last}


def order_by_level(results: Results) -> View:
    """Steps between what forms, by the part of its way at which it is said to have: the chapter says half."""
    found = [
        reading(shape, level)(results).rename("value").reset_index().assign(
            group=f"{words}: {level:.0%}", series=SERIES[shape], arm=shape
        )
        for words, reading in ORDERS.items() for level in LEVELS for shape in SHAPES
    ]  # fmt: skip
    table = pd.concat(found, ignore_index=True)[["group", "series", "arm", "init_seed", "value"]]
    note = "Percent: of the way from chance to its own end. Above 0: in the order that the row says"
    return View(table, "training steps", ROWS, BAND, note=note)


def order_in_words(by_level: View) -> dict[str, str]:
    """What the text says of it, at three quarters of the way on pairs and on sequences: means in steps."""
    rows = by_level.published
    means = rows.groupby(["group", "series"])["value"].mean()
    (copying, back), later = ORDERS, f"{LEVELS[2]:.0%}"
    return {
        "laws_copying_later_pairs": f"{-means[f'{copying}: {later}', SERIES[PAIRS]]:,.0f}",
        "laws_copying_later_sequence": f"{means[f'{copying}: {later}', SERIES[SEQUENCE]]:,.0f}",
        "laws_back_later_sequence": f"{means[f'{back}: {later}', SERIES[SEQUENCE]]:,.0f}",
    }


def _powers(results: Results) -> dict[tuple[str, str], pd.Series]:
    asked = [(shape, axis) for axis in POWERS for shape in SHAPES if axis in axes_of(shape)]
    return {(shape, axis): exponent(shape, axis)(results) for shape, axis in asked}


APPENDIX_VIEWS = {view.__name__: view for view in (every_setting, seed_powers, numbers, order_by_level)}
