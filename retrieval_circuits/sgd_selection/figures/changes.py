"""The tables behind the figures of what is changed in training: heads boosted, damped, held, exchanged, and frozen."""

from collections.abc import Sequence

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.readings.networks import total_looks
from retrieval_circuits.sgd_selection.design import (
    ACT,
    BOOSTED,
    DAMPED,
    DRAWN_FORK,
    FROZEN,
    FROZEN_EARLY,
    HEADS,
    HELD,
    NETWORKS,
    NEVER_LOOSE,
    NEVER_LOOSE_WIDE,
    ORDERS,
    OTHERS_HEADS,
    OWN_HEADS,
    PARENT,
)
from retrieval_circuits.sgd_selection.figures.chapter import COUNTED, OVER_ORDERS, ROWS
from retrieval_circuits.sgd_selection.readings import delays, forked_at, winners


def boosted(results: Results) -> View:
    """How often each head wins when it is boosted, and when nothing is."""
    return _with_and_without(results, BOOSTED, ORDERS[ACT], "it is boosted")


def damped(results: Results) -> View:
    """How often each head wins when it is damped, and when nothing is."""
    return _with_and_without(results, DAMPED, OWN_HEADS[0], "it is damped")


def _with_and_without(results: Results, arms: Sequence[str], without: str, done: str) -> View:
    plain, found = winners(results, without), []
    for head, arm in zip(HEADS, arms, strict=True):
        won = winners(results, arm)
        orders = plain[plain.index.isin(won.index)]
        for name, winner in {done: won, "nothing is": orders}.items():
            rows = (winner == head).astype(int).rename("value").reset_index()
            found.append(rows.assign(group=f"head {head} wins", series=name, arm=arm))
    table = pd.concat(found, ignore_index=True).assign(panel="under the same orders")
    return View(table, "share of forks", ROWS, COUNTED, arms=(*arms, without))


def silenced(results: Results) -> View:
    """By how many steps half of the reads are right later without a head."""
    found = []
    for name, of_winner in {"without the winner": True, "without another": False}.items():
        late = delays(HELD, ORDERS[ACT], of_winner=of_winner)(results)
        found.append(late.rename("value").reset_index().assign(group=name, arm=HELD[0]))
    note = "Where they never are, the last step counts; without another: the mean of the others"
    table = pd.concat(found, ignore_index=True)
    unit = "steps by which half of the reads are right later"
    return View(table, unit, ROWS, OVER_ORDERS, note=note, arms=(*HELD, ORDERS[ACT]))


def frozen(results: Results) -> View:
    """Answers and attention with all queries and keys frozen from one step on or another, and with nothing frozen."""
    arms = {f"frozen from step {forked_at(results, arm):,}": arm for arm in (FROZEN_EARLY, FROZEN)}
    found = []
    for name, arm in {**arms, "nothing frozen": ORDERS[ACT]}.items():
        found.append(_answers_and_looks(results, arm).assign(series=name))
    return View(pd.concat(found, ignore_index=True), "share", ROWS, OVER_ORDERS)


def never_loose(results: Results) -> View:
    """The same of networks whose queries and keys are frozen as they were drawn, and of the ten with nothing frozen."""
    found = []
    arms = {"drawn small": NEVER_LOOSE, "drawn as the source's": NEVER_LOOSE_WIDE, "nothing frozen": NETWORKS}
    for name, arm in arms.items():
        found.append(_answers_and_looks(results, arm).assign(series=name))
    return View(pd.concat(found, ignore_index=True), "share", ROWS, BAND)


def _answers_and_looks(results: Results, arm: str) -> pd.DataFrame:
    answers = results.curve("accuracy", arm)[["step", "init_seed", "value"]]
    looks = total_looks(results, arm).groupby(["init_seed", "step"], as_index=False)["value"].max()
    answers = answers.assign(panel="answered right", unit="share of reads")
    looks = looks.assign(panel="attention to the value asked for", unit="most of any head")
    return pd.concat([answers, looks], ignore_index=True).assign(arm=arm)


def exchanged(results: Results) -> View:
    """Whose winner wins in forks of the parent and of the drawn fork, each with its own heads and with the other's."""
    trainings = {"the parent's": PARENT, "the fork's": DRAWN_FORK}
    own = {whose: int(winners(results, arm).iloc[0]) for whose, arm in trainings.items()}
    names = ("parent, its own heads", "fork, its own heads", "parent, the fork's heads", "fork, the parent's heads")
    found = []
    for name, arm in zip(names, (*OWN_HEADS, *OTHERS_HEADS), strict=True):
        for whose, head in own.items():
            rows = (winners(results, arm) == head).astype(int).rename("value").reset_index()
            found.append(rows.assign(group=name, series=f"{whose} winner wins", arm=arm))
    table = pd.concat(found, ignore_index=True).assign(panel="under the same orders")
    return View(table, "share of forks", ROWS, COUNTED, arms=(PARENT, DRAWN_FORK, *OWN_HEADS, *OTHERS_HEADS))


CHANGES = {view.__name__: view for view in (boosted, silenced, frozen, never_loose, exchanged, damped)}
