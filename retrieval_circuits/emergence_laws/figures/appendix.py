"""The tables behind the appendix: every network that was trained for its wait, and the sources' powers beside ours."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.emergence_laws.design import (
    AXES,
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
    name_of,
)
from retrieval_circuits.emergence_laws.figures.chapter import ROWS, SERIES, WAIT
from retrieval_circuits.emergence_laws.published import PUBLISHED
from retrieval_circuits.emergence_laws.readings import exponent

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
        for axis, changes in AXES.items():
            if (shape, axis) == (SEQUENCE, TIMES):  # which is told once
                continue
            rows = results.rows(name_of(shape, axis))
            for change in changes:
                name, value = change[0]
                kept = rows[(rows[list(dict(change))] == list(dict(change).values())).all(axis=1)]
                found.append(_waits(kept, shape, axis, IN_WORDS[name].format(value)))
    return View(pd.DataFrame(found), WAIT, ROWS)


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


def numbers(results: Results) -> View:
    """The sources' powers beside ours, of each seed."""
    axes = {CONTEXT: "context", BATCH: "rows a batch", HEADS: "heads", CHANNELS: "channels a head"}
    asked = {(shape, axis): f"{words}, {SERIES[shape]}" for axis, words in axes.items() for shape in SHAPES}
    asked[PAIRS, TIMES] = "times that pairs are told"
    rows = [
        {"quantity": f"power of {words}", "source": PUBLISHED[axis], "init_seed": int(seed), "value": value}
        for (shape, axis), words in asked.items()
        for seed, value in exponent(shape, axis)(results).items()
    ]
    return View(pd.DataFrame(rows), "power", ROWS)


APPENDIX_VIEWS = {view.__name__: view for view in (every_setting, numbers)}
