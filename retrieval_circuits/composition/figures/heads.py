"""Layers of two, four and eight heads, with as many weights: what they answer, and what single heads cost."""

from itertools import product

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.units import POINTS
from livingpaper.claims.view import View, in_order
from livingpaper.figures.circuit import percent
from retrieval_circuits.composition.design import (
    BY_HEADS,
    BY_WIDTH,
    EIGHT_NARROW,
    FEW_HEADS,
    FEW_HEADS_THREE,
    FOUR_WIDE,
    FRESH_TWO,
    HOPS,
    LONG_THREE,
    LONG_TWO,
    MANY_HEADS,
    WORDS,
    Arm,
)
from retrieval_circuits.composition.figures.curves import ACCURACY, GUESS, ROWS, count_answering
from retrieval_circuits.composition.readings import (
    ANSWERED,
    final_accuracy,
    needed,
    present,
    seeds_answering,
    shared_out,
    where_answered,
)
from retrieval_circuits.design import BAND

KINDS = {
    **{f"hop_{hop}": f"by {word} hop" for hop, word in enumerate(("first", "second", "third", "last"), start=1)},
    **{f"x_{HOPS - 1}": "by where it starts", f"x_{HOPS}": "by where it ends"},
}
"""What queries are told apart by -> what a row of the figure is called; the last two are of the last hop."""


def by_heads(results: Results) -> View:
    """Accuracy at three and at four hops at the end, by layers and the number of heads in each.

    Of seeds that all these arms have; of all their seeds, where they have none in common.
    """
    arms = present(
        results, tuple(sorted((LONG_TWO, LONG_THREE, *BY_HEADS), key=lambda arm: (arm.n_layers, arm.n_heads)))
    )
    read = {(arm, hops): final_accuracy(arm, hops)(results) for arm, hops in product(arms, (HOPS - 1, HOPS))}
    common = set.intersection(*(set(values.index) for values in read.values()))
    found = [
        _of(arm, values[values.index.isin(common or values.index)]).assign(
            series=WORDS[hops], group=f"{arm.n_layers} layers of {arm.n_heads} heads"
        )
        for (arm, hops), values in read.items()
    ]
    note = f"Heads of a layer have the same width together. Answered: {ANSWERED:.0%} and more"
    return View(pd.concat(found, ignore_index=True), ACCURACY, ROWS, BAND, chance=GUESS, note=note)


def by_width(results: Results) -> View:
    """Accuracy at four hops at the end, by the number of heads in a layer and how wide each is.

    Where no such networks were trained, of those with as many weights alone.
    """
    called = {arm: arm for arm in present(results, BY_WIDTH)} or {LONG_TWO: FOUR_WIDE, MANY_HEADS: EIGHT_NARROW}
    found = []
    for arm, named in called.items():
        group, series = _place(named)
        found.append(_of(arm, final_accuracy(arm, HOPS)(results)).assign(group=group, series=series))
    note = "Wide heads are twice as wide as narrow ones; four wide heads and eight narrow ones have as many weights."
    return View(pd.concat(found, ignore_index=True), ACCURACY, ROWS, BAND, chance=GUESS, note=note)


def shared(results: Results) -> View:
    """What telling queries of four hops apart by what they pass says of the head that they need.

    Of two layers with eight heads, and with four, that answer four hops; of all these, where none does.
    """
    shown = {arm: seeds_answering(results, arm, HOPS) for arm in present(results, (LONG_TWO, FRESH_TWO, MANY_HEADS))}
    some = {arm: seeds for arm, seeds in shown.items() if len(seeds)}
    found = []
    for arm, (kind, words) in product(some or shown, KINDS.items()):
        own, one = (needed(arm, HOPS, kind, metric)(results) for metric in ("own_head", "one_head"))
        of = _of(arm, own - one).assign(series=f"{arm.n_heads} heads", group=words, one=one.to_numpy())
        found.append(of[of["init_seed"].isin(some[arm])] if some else of)
    table = in_order(pd.concat(found, ignore_index=True), "group", KINDS.values())
    return View(
        table, "share of queries", ROWS, BAND, chance=0.0,
        note="Networks of two layers that answer four hops; all, where none does. Cost of the head of the second layer "
        "that queries of one kind need most, less that of the head that all need most; chosen on other rows",
    )  # fmt: skip


def numbers(by_heads: View, shared: View) -> dict[str, str]:
    """What sentences take from both: how many networks answer four hops, or three, and what heads of eight cost."""
    counted = {
        "eight_answer_four": (4, MANY_HEADS), "four_answer_four": (4, LONG_TWO), "two_answer_four_hops": (4, FEW_HEADS),
        "three_few_answer_four": (4, FEW_HEADS_THREE), "three_answer_four": (4, LONG_THREE),
        "two_answer_three": (3, FEW_HEADS),
    }  # fmt: skip
    rows = shared.published[shared.published["arm"] == str(MANY_HEADS)]
    by_kind = rows.groupby(rows["group"].astype(str))[["value", "one"]].mean().reindex([*KINDS.values()])
    return {name: _answering(by_heads, *of) for name, of in counted.items()} | {
        "by_first_hop": POINTS.words(by_kind["value"][KINDS["hop_1"]]),
        "by_answer": POINTS.words(by_kind["value"][KINDS[f"x_{HOPS}"]]),
        "one_head": f"{by_kind['one'][KINDS[f'hop_{HOPS}']]:.0%}",
    }


def width_numbers(by_width: View) -> dict[str, str]:
    """What sentences take from it: the mean of each of the four, as ``four_narrow``."""
    words = {4: "four", 8: "eight"}
    means = by_width.published.groupby(["group", "series"])["value"].mean()
    found = {f"{words[arm.n_heads]}_{arm.width}": means.get(_place(arm)) for arm in BY_WIDTH}
    return {name: "(not trained)" if mean is None else percent(mean) for name, mean in found.items()}


def _place(arm: Arm) -> tuple[str, str]:
    """Row of the figure, and series, of an arm by the width of its heads."""
    return f"{arm.n_heads} heads a layer", f"{arm.width} heads"


def _answering(by_heads: View, hops: int, arm: Arm) -> str:
    rows = by_heads.published
    return count_answering(rows.loc[(rows["arm"] == str(arm)) & (rows["series"] == WORDS[hops]), "value"])


def costs(results: Results) -> View:
    """What each head of the second layer costs by the last of four hops, in one network of eight heads.

    Of those that answer four hops, the one in the middle by how much the last hop says of the head that is needed; of
    all, where none does.
    """
    read = shared_out(MANY_HEADS, HOPS, f"hop_{HOPS}")
    answering = where_answered(read, MANY_HEADS, HOPS)(results)
    values = (read(results) if answering.empty else answering).sort_values()
    rows = results.rows("removals", arm=str(MANY_HEADS), metric="costs", family=f"hops_{HOPS}")
    rows = rows[rows["init_seed"] == values.index[(len(values) - 1) // 2]].sort_values("head", kind="stable")
    ends = rows["variable"].astype(str).str.split(">", expand=True)
    table = rows.assign(row="from " + ends[0], column=ends[1], panel="head " + (rows["head"] + 1).astype(str))
    return View(
        table[["panel", "row", "column", "value", "arm", "init_seed"]], "share of queries that need the head", ROWS,
        chance=0.0, note="Rows and columns: where the last of four hops starts and ends. Heads of the second layer",
    )  # fmt: skip


def _of(arm: Arm, values: pd.Series) -> pd.DataFrame:
    """A reading of an arm as rows of a table."""
    return values.rename("value").reset_index().assign(arm=str(arm))
