"""Accuracy through training, a panel a way or a depth, and the numbers that sentences take from these curves."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from circuitcore.emergence import crossing_times
from circuitcore.tasks.k_fold_composition import unable_to_stop
from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.view import View, in_order
from retrieval_circuits.composition.design import (
    ALONE_DEEP,
    BY_DEPTH,
    COMPARED,
    HOPS,
    IN_TURN,
    LONG,
    MUCH_LONGER,
    N_SYMBOLS,
    SHALLOW,
    STEPS_AN_EPOCH,
    STEPWISE,
    WORDS,
    Arm,
    Params,
    Way,
)
from retrieval_circuits.composition.readings import ANSWERED, accuracy_curves, last_steps, present
from retrieval_circuits.design import BAND

GUESS, UNABLE_TO_STOP = 1 / N_SYMBOLS, unable_to_stop(N_SYMBOLS, HOPS)
ACCURACY = "share of queries answered right"
ROWS = "held-out rows"


def training(results: Results) -> View:
    """Accuracy by number of hops through training, a panel a way of training, all with three layers."""
    return _curves(results, {arm: arm.way.name for arm in COMPARED})


def depths(results: Results) -> View:
    """The same of the mixture, a panel a number of layers."""
    return _curves(results, {arm: f"{arm.n_layers} layers" for arm in BY_DEPTH})


def longer(results: Results) -> View:
    """The same of the mixture trained for much longer."""
    view = _curves(results, {arm: f"{arm.n_layers} layers" for arm in LONG})
    return replace(view, note=f"{view.note}. Measured every {STEPS_AN_EPOCH * MUCH_LONGER} steps")


def beyond(depths: View) -> str:
    """Of ``depths``: how many networks answer more hops than they have layers at the end, of those that are asked."""
    layers = {str(arm): arm.n_layers for arm in BY_DEPTH if arm.n_layers < HOPS}
    hops = {words: number for number, words in WORDS.items()}
    ends = _final(depths, layers)
    more = ends["series"].astype(str).map(hops) > ends["arm"].astype(str).map(layers)
    networks = (more & (ends["value"] >= ANSWERED)).groupby([ends["arm"].astype(str), ends["init_seed"]]).any()
    return f"{networks.sum()} of {len(networks)}"


def _final(view: View, arms: Iterable[str]) -> pd.DataFrame:
    """Of curves: the last rows of some arms' networks."""
    ends = view.published.sort_values("step", kind="stable")
    ends = ends.drop_duplicates(["arm", "init_seed", "series"], keep="last")
    return ends[ends["arm"].isin(arms)]


def answering(curves: View, hops: int, *arms: Arm) -> str:
    """Of ``shallow`` or ``longer``: how many networks of some arms answer a number of hops at the end."""
    return count_answering(_right(curves, hops, arms))


def count_answering(accuracies: pd.Series) -> str:
    """How many networks answer, of those whose accuracies are given."""
    right = accuracies >= ANSWERED
    return f"{right.sum()} of {len(right)}"


def median_answered(curves: View, hops: int, arm: Arm) -> str:
    """Of ``longer``: the step at which an arm's median network first answers a number of hops; never, by the end."""
    rows = curves.published
    rows = rows[(rows["arm"] == str(arm)) & (rows["series"] == WORDS[hops])]
    median = crossing_times(rows[["init_seed", "step", "value"]], ANSWERED).median()
    return f"{median:,.0f}" if math.isfinite(median) else "never"


def right_at_end(curves: View, hops: int, arm: Arm) -> str:
    """Of ``shallow`` or ``depths``: the share of queries of a number of hops that an arm's mean network gets right."""
    return f"{_right(curves, hops, [arm]).mean():.0%}"


def _right(curves: View, hops: int, arms: Iterable[Arm]) -> pd.Series:
    """The share of queries of a number of hops that each network of some arms gets right at the end."""
    ends = _final(curves, map(str, arms))
    return ends.loc[ends["series"] == WORDS[hops], "value"]


def turns(results: Results) -> View:
    """The same of networks of four layers: four hops alone, and numbers of hops in turn."""
    return _curves(results, {arm: arm.way.name for arm in (ALONE_DEEP, *IN_TURN)})


def shallow(results: Results) -> View:
    """The same of numbers of hops in turn with fewer layers."""
    return _curves(results, {arm: str(arm) for arm in SHALLOW})


def questions(hops: int) -> int:
    """How many there are of a number of hops: as many permutations, and a symbol to start from."""
    return math.factorial(N_SYMBOLS) ** hops * N_SYMBOLS


def times_asked(params: Params, hops: int) -> float:
    """How often a mixture of all numbers of hops asks each question of one of them, on average."""
    return params.steps * params.batch_size * params.n_queries / HOPS / questions(hops)


def turn_lengths(steps: int) -> str:
    """How many steps the turns of one to four hops last, in words."""
    *first, last = (f"{STEPS_AN_EPOCH * epochs:,}" for epochs in STEPWISE.turns(steps // STEPS_AN_EPOCH))
    return f"{', '.join(first)} and {last}"


def _curves(results: Results, panels: dict[Arm, str]) -> View:
    shown = present(results, tuple(panels))
    if not shown:
        raise SelectionError(f"none of these arms was trained: {', '.join(map(str, panels))}")
    found = [accuracy_curves(results, arm).assign(panel=panels[arm], arm=str(arm)) for arm in shown]
    table = pd.concat(found, ignore_index=True).sort_values(["hops", "step"], kind="stable")
    table = in_order(table.assign(series=table["hops"].map(WORDS)), "panel", panels.values())
    ends = last_steps(results)
    turns = {panels[arm]: begin_at(arm.way, ends[str(arm)]) for arm in shown if arm.way.parts}
    return View(
        table[["panel", "series", "step", "arm", "init_seed", "value"]], ACCURACY, ROWS, BAND, chance=GUESS,
        note=f"Answered: {ANSWERED:.0%} and more", turns=turns,
    )  # fmt: skip


def begin_at(way: Way, steps: int) -> tuple[int, ...]:
    """The steps at which each turn but the first begins, of a training of so many."""
    *first, _ = way.turns(steps // STEPS_AN_EPOCH)
    return tuple(STEPS_AN_EPOCH * epochs for epochs in itertools.accumulate(first))
