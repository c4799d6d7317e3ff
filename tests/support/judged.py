"""Verdicts on numbers that are made up: what cards, ledgers and counts of claims need, without a run."""

import pandas as pd

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.results import KEY_COLUMNS, Results
from livingpaper.claims.rules import OnAverage
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, PROMPTS, at_most

SAYS = Says(holds="Heads *route*.", fails="Heads do not route: {effect}.", whether="whether heads route")
HALF = MORE_OFTEN_THAN_NOT
NO_RUNS = {origin: Results(pd.DataFrame(columns=KEY_COLUMNS), pd.DataFrame(), origin) for origin in ("paper", "rerun")}


def seeds(values):
    """A number of each seed, 0 1 2 ..."""
    return pd.Series(list(values), pd.RangeIndex(len(values), name="init_seed"), dtype=float)


def data_sets(*sets):
    """Numbers of seeds within data sets, which differ in how many they have."""
    index = [(place, seed) for place, values in enumerate(sets) for seed in range(len(values))]
    names = pd.MultiIndex.from_tuples(index, names=["data_seed", "init_seed"])
    return pd.Series([value for values in sets for value in values], names, dtype=float)


def reading(values, words="routing", unit=PROMPTS):
    """A reading that gives these numbers whatever the runs; a list is one of seeds, None: no such runs."""
    given = seeds(values) if isinstance(values, list | tuple) else values
    return Reading(words, unit, lambda results: given)


def control(values, bound=None, rule=None, spoils="yes"):
    """A control on these numbers."""
    bound = bound or at_most(0.4, "a guess scores 1/3")
    return Control(reading=reading(values, "untrained routing"), bound=bound, rule=rule or OnAverage(), spoils=spoils)


def claim(values, claim_id="C1", unit=PROMPTS, **changes):
    """A claim on these numbers; ``changes`` replace its fields."""
    return Claim(**{"id": claim_id, "says": SAYS, "reading": reading(values, unit=unit), "bound": HALF, **changes})


def judged(values, claim_id="C1", origin="paper", **changes):
    """The verdict on a claim on these numbers."""
    return claim(values, claim_id, **changes).verdict(NO_RUNS[origin])
