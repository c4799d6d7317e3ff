"""A study from outside the package that trains nothing: how long is the longest run of heads among some throws?

One experiment is drawn, of as many seeds as the reader wants; one counts what follows without drawing anything.
"""

from pydantic import BaseModel, Field

from circuitcore.training import Experiment
from livingpaper.claims.claim import Claim, Says
from livingpaper.claims.reading import Reading, of_experiment
from livingpaper.claims.rules import Counted
from livingpaper.claims.units import NUMBER, at_least
from livingpaper.claims.view import View
from tests.support.toy import throws


class Params(BaseModel, frozen=True, extra="forbid", strict=True):
    seeds: tuple[int, ...] = Field(min_length=1)
    n_throws: int = 64


def experiments(params):
    given = throws.Throws(params.n_throws)
    return (
        Experiment(name="longest", version=1, function=throws.longest, params=given, seeds=params.seeds),
        Experiment(name="halvings", version=1, function=throws.halvings, params=given),
    )


def recipes(params):
    return {}


def instruments(params, arm):
    return ()


def by_side(results):
    rows = results.tables["longest"].rename(columns={"side": "group"})
    return View(rows[["arm", "init_seed", "group", "value"]], "throws", "no prompts")


def counted(results):
    return View(results.tables["halvings"][["arm", "value"]].assign(group="how often"), "times", "no prompts")


LONG = Says(holds="Runs of heads are long.", fails="Runs of heads are short.", whether="whether runs of heads are long")
MANY = Says(holds="Throws halve often.", fails="Throws halve seldom.", whether="whether throws halve often")
LONGEST = Reading("longest run of heads", NUMBER, of_experiment("longest", side="heads"))
HALVINGS = Reading("number of halvings", NUMBER, of_experiment("halvings"))
CLAIMS = (
    Claim(id="X1", says=LONG, reading=LONGEST, bound=at_least(3, "as long as anybody expects")),
    Claim(id="X2", says=MANY, reading=HALVINGS, bound=at_least(6, "of 64"), rule=Counted(), min_seeds=0),
)
VIEWS = {"by side": by_side, "counted": counted}
