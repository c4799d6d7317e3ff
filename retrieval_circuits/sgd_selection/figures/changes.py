"""The tables behind the figures of what is changed in training: heads boosted, damped, held, exchanged, and frozen."""

from collections.abc import Mapping, Sequence

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.readings.networks import total_looks
from retrieval_circuits.sgd_selection.design import (
    ACT,
    BOOSTED,
    BOOSTED_EARLY,
    DAMPED,
    DRAWN_FORK,
    EARLY,
    FROZEN,
    FROZEN_EARLY,
    HEADS,
    HELD,
    HELD_EARLY,
    NETWORKS,
    NEVER_LOOSE,
    NEVER_LOOSE_WIDE,
    ORDERS,
    OTHERS_HEADS,
    OWN_HEADS,
    PARENT,
)
from retrieval_circuits.sgd_selection.figures.chapter import COUNTED, GUESS, OF_ORDERS, OVER_ORDERS, ROWS
from retrieval_circuits.sgd_selection.readings import NOBODY, delays, forked_at, parents_winner, winners

POINTS = {EARLY: (HELD_EARLY, BOOSTED_EARLY), ACT: (HELD, BOOSTED)}
"""The points from which heads are changed -> the arms in which they are held, and boosted."""
ANSWERS_AND_LOOKS = "share of reads answered right, and the most attention of any head"


def boosted(results: Results) -> View:
    """How often each head wins when it is boosted, and when nothing is, by the step at which forks leave."""
    found = []
    for point, (_, arms) in POINTS.items():
        panel = f"from step {forked_at(results, ORDERS[point]):,}"
        found.append(_with_and_without(results, arms, ORDERS[point], "it is boosted").assign(panel=panel))
    return View(pd.concat(found, ignore_index=True), "share of forks", ROWS, COUNTED, note=OF_ORDERS)


def damped(results: Results) -> View:
    """How often each head wins, and none, when the parent's winner is damped, and when nothing is."""
    won = parents_winner(results)
    winner = HEADS[0] if won == NOBODY else won
    arms = {f"head {winner} is damped": DAMPED[winner], "nothing is": OWN_HEADS[0]}
    found = []
    for name, arm in arms.items():
        for wins, head in {**{f"head {head} wins": head for head in HEADS}, "no head wins": NOBODY}.items():
            rows = (winners(results, arm) == head).astype(int).rename("value").reset_index()
            found.append(rows.assign(group=wins, series=name, arm=arm))
    table = pd.concat(found, ignore_index=True).assign(panel="under the same orders")
    return View(table, "share of forks", ROWS, COUNTED, note=OF_ORDERS)


def _with_and_without(results: Results, arms: Sequence[str], plain: str, done: str) -> pd.DataFrame:
    """Whether each head wins where something is done to it, and under the same orders where nothing is."""
    undone, found = winners(results, plain), []
    for head, arm in zip(HEADS, arms, strict=True):
        won = winners(results, arm)
        for name, winner in {done: won, "nothing is": undone[undone.index.isin(won.index)]}.items():
            rows = (winner == head).astype(int).rename("value").reset_index()
            found.append(rows.assign(group=f"head {head} wins", series=name, arm=arm))
    return pd.concat(found, ignore_index=True)


def silenced(results: Results) -> View:
    """By how many steps half of the reads are right later without a head, by the step at which forks leave."""
    found = []
    for point, (arms, _) in POINTS.items():
        at = f"from step {forked_at(results, ORDERS[point]):,}"
        for name, of_winner in {"without the winner": True, "without another": False}.items():
            rows = delays(arms, ORDERS[point], of_winner=of_winner)(results).rename("value").reset_index()
            found.append(rows.assign(group=f"{at}, {name}", arm=arms[0]))
    behind = tuple(arm for point, (arms, _) in POINTS.items() for arm in (*arms, ORDERS[point]))
    note = f"{OF_ORDERS}. Where they never are, the last step counts; without another: the mean of the others"
    table = pd.concat(found, ignore_index=True)
    return View(table, "steps by which half of the reads are right later", ROWS, OVER_ORDERS, note=note, arms=behind)


def frozen(results: Results) -> View:
    """Answers and attention with all queries and keys frozen from one step on or another, and with nothing frozen."""
    arms = {f"frozen from step {forked_at(results, arm):,}": arm for arm in (FROZEN_EARLY, FROZEN)}
    table = _answers_and_looks(results, {**arms, "nothing frozen": ORDERS[ACT]})
    return View(table, ANSWERS_AND_LOOKS, ROWS, OVER_ORDERS, note=OF_ORDERS)


def never_loose(results: Results) -> View:
    """The same of networks whose queries and keys are frozen as they were drawn, and of the ten with nothing frozen."""
    arms = {"drawn small": NEVER_LOOSE, "drawn as the source's": NEVER_LOOSE_WIDE, "nothing frozen": NETWORKS}
    return View(_answers_and_looks(results, arms), ANSWERS_AND_LOOKS, ROWS, BAND)


def _answers_and_looks(results: Results, arms: Mapping[str, str]) -> pd.DataFrame:
    """Two panels through training, a line an arm; ``arms`` by what a reader calls them."""
    found = []
    for name, arm in arms.items():
        answers = results.curve("accuracy", arm)[["step", "init_seed", "value"]]
        looks = total_looks(results, arm).groupby(["init_seed", "step"], as_index=False)["value"].max()
        found += [
            answers.assign(panel="answered right", unit="share of reads", chance=GUESS, arm=arm, series=name),
            looks.assign(panel="attention to the value asked for", unit="most of any head", arm=arm, series=name),
        ]
    return pd.concat(found, ignore_index=True)


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
    note = "All are forks of one network and of its fork; a seed is that of the order of the data"
    behind = (PARENT, DRAWN_FORK, *OWN_HEADS, *OTHERS_HEADS)
    return View(table, "share of forks", ROWS, COUNTED, note=note, arms=behind)


CHANGES = {view.__name__: view for view in (boosted, silenced, frozen, never_loose, exchanged, damped)}
