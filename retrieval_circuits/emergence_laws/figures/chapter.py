"""The table behind each figure of the chapter, with what its caption must say."""

import math

import numpy as np
import pandas as pd

from circuitcore.emergence import powers
from circuitcore.emergence.seeds import mean_interval
from livingpaper.claims.results import Results
from livingpaper.claims.units import NUMBER
from livingpaper.claims.view import View
from retrieval_circuits.bigrams_and_composition.design import TASK as BIGRAMS
from retrieval_circuits.design import BAND
from retrieval_circuits.emergence_laws.design import (
    AXES,
    BATCH,
    CHANNELS,
    CONTEXT,
    FOLLOWED_EVERY,
    HEADS,
    MIDDLE,
    NARROW,
    PAIRS,
    PERMUTATION_AGAIN,
    RECALLED_EVERY,
    REPEATED,
    SEQUENCE,
    SHAPES,
    TIED,
    TIMES,
    WIDE,
    WIDEST,
    WIDTH,
    Params,
    experiments,
    name_of,
)
from retrieval_circuits.emergence_laws.published import ROOT, SQUARE
from retrieval_circuits.emergence_laws.readings import (
    ANSWER,
    BEFORE,
    FINDS,
    MATCH,
    PICKS,
    RECALL,
    TOLD,
    along,
    best_heads,
    scored,
)

WAIT = "steps until the answer comes"
ROWS = "rows held out"
SERIES = {PAIRS: "pairs", SEQUENCE: "a sequence"}
SQUARED, ROOTED = "power 2", "power −1/2, the law in tokens"
LAWS = {(CONTEXT, SQUARE): SQUARED, (CONTEXT, ROOT): ROOTED, (BATCH, ROOT): ROOTED}
QUARTER = dict(AXES[REPEATED][0])[REPEATED]
"""The least share of repeated rows that was tried."""


def lengths(results: Results) -> View:
    """The wait by the context's length, beside what two laws say."""
    return _by_power(results, "words told before the first query", CONTEXT)


def rows_a_batch(results: Results) -> View:
    """The wait by the rows a batch, beside the law in tokens."""
    return _by_power(results, "rows a batch", BATCH)


def widths(results: Results) -> View:
    """The wait by the width."""
    return _by_power(results, "width", WIDTH, WIDEST)


def tellings(results: Results) -> View:
    """The wait by how often a row tells its pairs."""
    return _by_power(results, "times that each pair is told", TIMES, shapes=(PAIRS,))


def _by_power(results: Results, words: str, axis: str, *others: str, shapes: tuple[str, ...] = SHAPES) -> View:
    """Points a seed on two logarithmic axes; a law goes through the geometric mean of each task's first point."""
    found, laws = [], []
    for shape in shapes:
        rows = along(results, shape, axis, *others)
        found.append(pd.DataFrame(
            {"panel": SERIES[shape], "x": rows[axis], "init_seed": rows["init_seed"], "value": rows["time"],
             "arm": name_of(shape, axis), "law": None, "there": rows["there"]}
        ))  # fmt: skip
        means = np.exp(np.log(rows["time"]).groupby(rows[axis]).mean())
        for (of, power), law in LAWS.items():
            if of == axis:
                at = means.index.to_numpy(float)
                line = means.iloc[0] * (at / at[0]) ** power
                laws.append(pd.DataFrame({"panel": SERIES[shape], "x": at, "law": law, "value": line}))
    networks = pd.concat(found, ignore_index=True)
    table = pd.concat([networks, *laws], ignore_index=True)
    note = "Both axes are logarithmic: a power is a straight line. Line: geometric mean, where all get there"
    if laws:
        note += ". A law starts where the line does, and says nothing but its slope"
    return View(table.assign(axis=words), WAIT, ROWS, note=f"{note}. {_cut(networks)}")


OF_HEADS = {HEADS: "{} heads", CHANNELS: "{} channels a head"}


def heads(results: Results) -> View:
    """The wait by the number of heads and by the channels a head."""
    groups = {(axis, value): words.format(value) for axis, words in OF_HEADS.items() for value in _values(axis)}
    return _groups(results, groups | {(HEADS, 1): "1 head"})


REPEATED_ROWS = "{:.0%} repeated"


def repeats(results: Results) -> View:
    """The wait by the share of rows that are repeated."""
    return _groups(results, {(REPEATED, value): REPEATED_ROWS.format(value) for value in _values(REPEATED)})


def tying(results: Results) -> View:
    """The wait with tied embeddings and without."""
    return _groups(results, {(TIED, False): "apart", (TIED, True): "tied"})


def lottery(results: Results) -> View:
    """The wait of the middle network, seed by seed."""
    found = [
        results.rows(name_of(shape)).assign(group=SERIES[shape], value=lambda rows: rows["time"], arm=name_of(shape))
        for shape in SHAPES
    ]
    table = pd.concat(found, ignore_index=True)
    return View(table[["group", "arm", "init_seed", "value", "there"]], WAIT, ROWS, BAND, note=_cut(table, "open"))


PARTS = {"copies what it looks at": ANSWER, "looks at the value": MATCH, "looks one word back": BEFORE}
"""What the best head of a layer does -> how it is read."""


def order(results: Results) -> View:
    """The best heads' scores through training, of the networks that are followed."""
    found = [
        best_heads(results, shape, part).assign(panel=SERIES[shape], series=words, arm=shape)
        for shape in SHAPES
        for words, part in PARTS.items()
    ]
    table = pd.concat(found, ignore_index=True)
    return View(
        table[["panel", "series", "step", "arm", "init_seed", "value"]], "score of the best head", ROWS, BAND,
        note=f"Measured every {FOLLOWED_EVERY} steps. Copying: share of rows; looks: share of attention",
    )  # fmt: skip


RECALLING = {"a y that is seen moves its own logit": TOLD, "recalls": RECALL}
PICKING, ATTENDING = "picks the x asked for among all x", "attends to the x asked for"


def permutation_order(results: Results) -> View:
    """What networks of permutation recall can do through training."""
    arm = PERMUTATION_AGAIN
    found = {words: scored(results, arm, metric) for words, metric in RECALLING.items()}
    found[PICKING] = best_heads(results, arm, PICKS)
    found[ATTENDING] = best_heads(results, arm, FINDS)
    table = pd.concat([rows.assign(series=words, arm=arm) for words, rows in found.items()], ignore_index=True)
    return View(
        table[["series", "step", "arm", "init_seed", "value"]], "score", ROWS, BAND,
        note=f"Measured every {RECALLED_EVERY} steps. Attends: the best head's share of attention; else share of rows",
    )  # fmt: skip


def powers_in_words(view: View) -> dict[str, str]:
    """From each point to the next, the power with which the mean wait goes, by task: name -> words."""
    found = {}
    for shape in _shown(view):
        found[f"laws_powers_{shape}"] = _steps_in_words(np.log(_times(view, shape)).groupby(level="x").mean())
    return found


def channel_powers_in_words(heads: View) -> dict[str, str]:
    """The same from each number of channels a head to the next."""
    names = {OF_HEADS[CHANNELS].format(value): value for value in _values(CHANNELS)}
    found = {}
    for shape in SHAPES:
        table = np.log(_by_seed(heads, shape, "group")[list(names)].rename(columns=names))
        found[f"laws_channel_powers_{shape}"] = _steps_in_words(table.mean())
    return found


def _steps_in_words(means: pd.Series) -> str:
    """Slopes from point to point of logarithms of waits, by what they are a power of."""
    slopes = np.diff(means.to_numpy()) / np.diff(np.log(means.index.to_numpy(float)))
    *most, last = (f"{slope:.1f}".replace("-", "−") for slope in slopes)
    return f"{', '.join(most)} and {last}"


def fitted_in_words(view: View) -> dict[str, str]:
    """The power with which the wait goes over all points, fitted seed by seed, with its interval: name -> words."""
    found = {}
    for shape in _shown(view):
        interval = mean_interval(powers(_by_seed(view, shape, "x")))
        found[f"laws_fitted_{shape}"] = NUMBER.estimate(interval.mean, interval.low, interval.high)
    return found


def change_in_words(repeats: View, share: float = QUARTER) -> dict[str, str]:
    """Where a share of rows is repeated: by how much the wait is longer or shorter, in the geometric mean.

    And how many networks wait less than without repeats; name -> words, by task.
    """
    found = {}
    for shape in SHAPES:
        table = np.log(_by_seed(repeats, shape, "group"))
        longer = table[REPEATED_ROWS.format(share)] - table[REPEATED_ROWS.format(0)]
        interval = mean_interval(longer)
        low, high = sorted(abs(math.expm1(end)) for end in (interval.low, interval.high))
        way = "less" if interval.mean < 0 else "longer"
        found[f"laws_change_{shape}"] = f"{abs(math.expm1(interval.mean)):.0%} {way} [{low:.0%}, {high:.0%}]"
        found[f"laws_shorter_{shape}"] = f"{(longer < 0).sum()} of {len(longer)}"
    return {name: words.replace("%", " %") for name, words in found.items()}


def _by_seed(view: View, shape: str, column: str) -> pd.DataFrame:
    """Published waits of a task, a row a seed, a column a value of ``column``."""
    table = view.published
    task = "panel" if "panel" in table else "series"
    table = table[(table[task] == SERIES[shape]) & table["init_seed"].notna()]
    return table.pivot(index="init_seed", columns=column, values="value")


TELLINGS = tuple(dict(change)[TIMES] for change in AXES[TIMES])
"""How often pairs are told where they are told again."""


def spread_in_words(view: View, *values: int) -> dict[str, str]:
    """By which factors the slowest network waits longer than the fastest at values of an axis: name -> words, by task.

    By default of the narrowest networks.
    """
    found = {}
    for shape in _shown(view):
        times = [_times(view, shape)[value] for value in values or (NARROW,)]
        found[f"laws_spread_{shape}"] = " and ".join(f"{one.max() / one.min():.1f}" for one in times)
    return found


def _shown(view: View) -> list[str]:
    """The tasks that a figure has."""
    return [shape for shape in SHAPES if SERIES[shape] in set(view.published["panel"])]


def _times(view: View, shape: str) -> pd.Series:
    """Waits of a task by ``x``; of published runs alone where a reader's stand beside them."""
    table = view.published
    return table[(table["panel"] == SERIES[shape]) & table["law"].isna()].set_index("x")["value"]


def settings_in_words(params: Params) -> dict[str, str]:
    """What the text says of the networks: name -> words."""
    asked = experiments(params)[0].params
    words = {"n_queries": asked.n_queries, "n_layers": asked.n_layers, "pool": asked.pool, "cap": asked.cap,
             "n_heads": MIDDLE.heads, "width": MIDDLE.width, "n_pairs": MIDDLE.n_pairs, "batch": MIDDLE.batch,
             "narrow": NARROW, "wide": WIDE, "widest_cap": params.widest_cap, "at_most": TELLINGS[-1],
             "followed_every": FOLLOWED_EVERY, "bigrams_every": BIGRAMS.every,
             "told_every": RECALLED_EVERY}  # fmt: skip
    return {f"laws_{name}": f"{value:,}" for name, value in words.items()}


def _values(axis: str) -> list[float | int]:
    """The middle and all others, rising."""
    return sorted([getattr(MIDDLE, axis), *(dict(change)[axis] for change in AXES[axis])])


def _groups(results: Results, groups: dict[tuple[str, float | int], str]) -> View:
    found = []
    for (axis, value), group in groups.items():
        for shape in SHAPES:
            rows = along(results, shape, axis)
            rows = rows[rows[axis] == value]
            found.append(rows.assign(group=group, series=SERIES[shape], value=rows["time"], arm=name_of(shape, axis)))
    table = pd.concat(found, ignore_index=True)
    shown = table[["group", "series", "arm", "init_seed", "value", "there"]]
    return View(shown, WAIT, ROWS, BAND, note=_cut(table, "open"))


def _cut(rows: pd.DataFrame, marks: str = "triangles") -> str:
    """How many networks are given up, by which marks they are drawn, and where they stand then."""
    missing = rows[~rows["there"]].groupby("value").size()
    if missing.empty:
        return "All networks get there"
    where = " and ".join(f"{n} at {time:,.0f}" for time, n in missing.items())
    return f"{missing.sum()} of {len(rows)} networks are given up ({marks}), {where} steps"


CHAPTER_VIEWS = {
    view.__name__: view
    for view in (lengths, rows_a_batch, tellings, widths, heads, repeats, tying, lottery, order, permutation_order)
}
