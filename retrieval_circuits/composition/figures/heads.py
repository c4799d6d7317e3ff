"""Layers of two, four and eight heads, with as many weights: what they answer, and what single heads cost."""

from itertools import product

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.composition.design import (
    BY_HEADS,
    FRESH_TWO,
    HOPS,
    LONG_THREE,
    LONG_TWO,
    MANY_HEADS,
    WORDS,
    Arm,
)
from retrieval_circuits.composition.figures.curves import ACCURACY, GUESS, ROWS
from retrieval_circuits.composition.readings import (
    ANSWERED,
    final_accuracy,
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
    """Accuracy at three and at four hops at the end, by layers and the number of heads in each."""
    arms = sorted((LONG_TWO, LONG_THREE, *BY_HEADS), key=lambda arm: (arm.n_layers, arm.n_heads))
    found = [
        _of(arm, final_accuracy(arm, hops)(results)).assign(
            series=WORDS[hops], group=f"{arm.n_layers} layers of {arm.n_heads} heads"
        )
        for arm in present(results, tuple(arms))
        for hops in (HOPS - 1, HOPS)
    ]
    note = f"Heads of a layer have the same width together. Answered: {ANSWERED:.0%} and more"
    return View(pd.concat(found, ignore_index=True), ACCURACY, ROWS, BAND, chance=GUESS, note=note)


def answering_with(by_heads: View, hops: int, arm: Arm) -> str:
    """Of ``by_heads``: how many networks of an arm answer a number of hops."""
    rows = by_heads.published
    right = rows.loc[(rows["arm"] == str(arm)) & (rows["series"] == WORDS[hops]), "value"] >= ANSWERED
    return f"{right.sum()} of {len(right)}"


def shared(results: Results) -> View:
    """What telling queries of four hops apart by what they pass says of the head that they need.

    Of two layers with eight heads, and with four, that answer four hops; of all these, where none does.
    """
    shown = present(results, (LONG_TWO, FRESH_TWO, MANY_HEADS))
    some = [arm for arm in shown if len(seeds_answering(results, arm, HOPS))]
    found = []
    for arm, (kind, words) in product(some or shown, KINDS.items()):
        values = shared_out(arm, HOPS, kind)
        values = (where_answered(values, arm, HOPS) if some else values)(results)
        found.append(_of(arm, values).assign(series=f"{arm.n_heads} heads", group=words))
    table = in_order(pd.concat(found, ignore_index=True), "group", KINDS.values())
    return View(
        table, "share of queries", ROWS, BAND, chance=0.0,
        note="Networks of two layers that answer four hops; all, where none does. Cost of the head of the second layer "
        "that queries of one kind need most, less that of the head that all need most; chosen on other rows",
    )  # fmt: skip


def mean_shared(shared: View, kind: str, arm: Arm) -> str:
    """Of ``shared``: the mean of an arm's networks for a kind."""
    rows = shared.published
    return f"{rows.loc[(rows['group'] == KINDS[kind]) & (rows['arm'] == str(arm)), 'value'].mean():.0%}".replace(
        "-", "−"
    )


def costs(results: Results) -> View:
    """What each head of the second layer costs by the last of four hops, in one network of eight heads.

    The first that answers four hops; the first of all, where none does.
    """
    seeds = [*seeds_answering(results, MANY_HEADS, HOPS), *final_accuracy(MANY_HEADS, HOPS)(results).index]
    rows = results.rows("removals", arm=str(MANY_HEADS), metric="costs", family=f"hops_{HOPS}")
    rows = rows[rows["init_seed"] == seeds[0]].sort_values("head", kind="stable")
    ends = rows["variable"].astype(str).str.split(">", expand=True)
    table = rows.assign(row="from " + ends[0], column=ends[1], panel="head " + (rows["head"] + 1).astype(str))
    return View(
        table[["panel", "row", "column", "value", "arm", "init_seed"]], "share of queries that need the head", ROWS,
        chance=0.0, note="Rows and columns: where the last of four hops starts and ends. Heads of the second layer",
    )  # fmt: skip


def _of(arm: Arm, values: pd.Series) -> pd.DataFrame:
    """A reading of an arm as rows of a table."""
    return values.rename("value").reset_index().assign(arm=str(arm))
