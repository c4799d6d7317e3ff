"""A study from outside the package that trains nothing: how long is the longest run of heads among some throws?

One experiment is drawn, of as many seeds as the reader wants; one counts what follows without drawing anything.
"""

import os
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field

from circuitcore.training import Experiment
from livingpaper.claims.claim import Claim, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Counted
from livingpaper.claims.units import NUMBER, at_least
from livingpaper.claims.view import View


class Params(BaseModel, frozen=True, extra="forbid", strict=True):
    seeds: tuple[int, ...] = Field(min_length=1)
    n_throws: int = 64


@dataclass(frozen=True)
class Throws:
    n_throws: int


def longest(params, seed):
    """The longest run of either side, among the throws of one seed."""
    noted(seed)
    throws = np.random.default_rng(seed).integers(0, 2, params.n_throws)
    lengths = {side: [len(list(run)) for value, run in groupby(throws) if value == side] for side in (0, 1)}
    return [{"side": ("tails", "heads")[side], "value": max([0, *lengths[side]])} for side in (0, 1)]


def doubled(params):
    """How often a number of throws can be halved: nothing is drawn."""
    noted("doubled")
    return pd.DataFrame({"value": [float(np.log2(params.n_throws))]})


def noted(word):
    """A line for each time that something is computed, in the file that ``TOY_NOTES`` names, if it does."""
    if path := os.environ.get("TOY_NOTES"):
        with Path(path).open("a") as file:
            file.write(f"{word}\n")


VERSION = 1


def experiments(params):
    throws = Throws(params.n_throws)
    return (
        Experiment(name="longest", version=VERSION, function=longest, params=throws, seeds=params.seeds),
        Experiment(name="doubled", version=1, function=doubled, params=throws),
    )


def recipes(params):
    return {}


def instruments(params, arm):
    return ()


def heads(results):
    rows = results.tables["longest"]
    return rows[rows["side"] == "heads"].set_index("init_seed")["value"]


def halvings(results):
    return results.tables["doubled"]["value"].item()


def by_side(results):
    rows = results.tables["longest"].rename(columns={"side": "row"})
    return View(rows[["arm", "init_seed", "row", "value"]], "throws", "no prompts")


def counted(results):
    return View(results.tables["doubled"][["arm", "value"]].assign(row="halvings"), "times", "no prompts")


LONG = Says(holds="Runs of heads are long.", fails="Runs of heads are short.", whether="whether runs of heads are long")
MANY = Says(holds="Throws halve often.", fails="Throws halve seldom.", whether="whether throws halve often")
LONGEST = Reading("longest run of heads", NUMBER, heads, arms=("longest",))
HALVINGS = Reading("number of halvings", NUMBER, halvings, arms=("doubled",))
CLAIMS = (
    Claim(id="X1", says=LONG, reading=LONGEST, bound=at_least(3, "as long as anybody expects")),
    Claim(id="X2", says=MANY, reading=HALVINGS, bound=at_least(6, "of 64"), rule=Counted(), min_seeds=0),
)
VIEWS = {"by side": by_side, "counted": counted}
