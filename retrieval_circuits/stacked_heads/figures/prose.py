"""Numbers that the chapter's sentences name, beside those of its verdicts."""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from livingpaper.claims.reading import OfArms
from livingpaper.claims.results import Results
from livingpaper.claims.rules import OverPairs
from livingpaper.claims.units import STEPS, at_least
from livingpaper.claims.view import View
from livingpaper.figures.verdict_text import NOT_MEASURED
from retrieval_circuits.stacked_heads.design import (
    FRESH,
    FRESH_EVERY,
    MIXED,
    REWARDED,
    SHORT_FIRST,
    SHORTEST_FIRST,
    STEPS_AN_EPOCH,
    Params,
    stages_of,
)
from retrieval_circuits.stacked_heads.figures.four import four_numbers
from retrieval_circuits.stacked_heads.figures.grid import ACCEPTED, ERROR, PLATEAU, SET, SYMBOLS
from retrieval_circuits.stacked_heads.figures.joining import joining_numbers
from retrieval_circuits.stacked_heads.figures.lessons import LESSONS
from retrieval_circuits.stacked_heads.figures.longer import longer_numbers
from retrieval_circuits.stacked_heads.figures.three import three_numbers
from retrieval_circuits.stacked_heads.readings import LEARNT, learnt_time
from retrieval_circuits.stacked_heads.readings.lessons import (
    FRESH_FIRST,
    SECOND_LOOK_UP,
    end_of_stage,
    nearer_own_where_it_came,
    path_rows,
)


def first_stage(results: Results) -> View:
    """Error on chains of one when chains of two begin, one number a network."""
    return View(end_of_stage(results, SHORT_FIRST, 1).rename(columns={"loss": "value"}), ERROR, "training rows")


def second_stage(results: Results) -> View:
    """Error on chains of two when chains of three begin, one number a network."""
    return View(end_of_stage(results, SHORTEST_FIRST, 2).rename(columns={"loss": "value"}), ERROR, "training rows")


def where_it_came(results: Results, path: OfArms, place: int) -> View:
    """SH22's or SH23's reading of the fresh networks in which path and symbol came; of others no number."""
    values = nearer_own_where_it_came(path, learnt_time(place, FRESH))(results)
    values = values.reindex(pd.Index(results.seeds(str(FRESH)), name="init_seed"))
    return View(values.rename("value").reset_index().assign(arm=str(FRESH)), "training steps", "test")


def at_start(results: Results) -> View:
    """Most attention along any link that is looked at, of any head, before training; one number a fresh network."""
    rows = path_rows(results)
    most = rows[rows["step"] == 0].groupby(["arm", "init_seed"], as_index=False, observed=True)["value"].max()
    return View(most, "mean attention", "32 test rows")


def numbers(params: Params, views: Mapping[str, View]) -> dict[str, str]:
    """Name in the prose -> number in words, from those of ``NEEDED``; of published runs where a reader's are beside."""
    return {
        "plateau": f"{PLATEAU:g}",
        **{f"n_steps_{name}": f"{steps:,}" for name, steps in _steps(params).items()},
        **_taught(views["taught"], views["first_stage"]),
        **_fresh(views["first_where_it_came"], views["second_where_it_came"], views["at_start"]),
        **_second(views["by_depth"], views["times"]),
        **joining_numbers(views["joining"]),
        **_set(views["set_attention"]),
        **_worth(views["worth"]),
        **three_numbers(views["ends"]),
        **longer_numbers(views["three_before"]),
        **four_numbers(views["four_times"], views["four_ends"]),
        "second_stage_error": f"{views['second_stage'].published['value'].min():.2f}",
    }


def _steps(params: Params) -> dict[str, int]:
    """How long networks see chains of one, and then chains of two."""
    (_, short), (_, long) = stages_of(params, SHORT_FIRST)
    return {"short": short * STEPS_AN_EPOCH, "long": long * STEPS_AN_EPOCH}


def _taught(taught: View, stage: View) -> dict[str, str]:
    """How far the first stage got, and of the networks that see both lengths how many learnt, and how well."""
    values = taught.published
    mixed = values.loc[values["group"] == LESSONS[str(MIXED)], "value"]
    learnt = mixed[mixed < LEARNT]
    return {
        "first_stage_error": f"{stage.published['value'].max():.2f}",
        "n_mixed_learnt": f"{len(learnt)} of {len(mixed)}",
        "mixed_error": f"{learnt.max():.2f}" if len(learnt) else NOT_MEASURED,
    }


def _fresh(first: View, second: View, start: View) -> dict[str, str]:
    """In how many fresh networks a look-up never came, SH22's and SH23's numbers without, attention at the start."""
    firsts, seconds = (view.published["value"] for view in (first, second))
    most = start.published["value"].max()
    return {
        "n_never_first": f"{firsts.isna().sum()} of {len(firsts)}",
        "n_never": f"{seconds.isna().sum()} of {len(seconds)}",
        "nearer_first_where_it_came": _nearer(first),
        "nearer_where_it_came": _nearer(second),
        "attention_at_start": f"{most:.0%}".replace("%", " %"),
    }


def _second(by_depth: View, times: View) -> dict[str, str]:
    """How many networks learnt the second symbol: of most layers, and of the fresh ones."""
    table, dated = by_depth.published, times.published
    deepest = table.loc[(table["arm"] == str(REWARDED[-1])) & (table["series"] == SYMBOLS[2]), "value"] < LEARNT
    event = f"error of the {SYMBOLS[2]} falls"
    fresh = dated.loc[(dated["arm"] == str(FRESH)) & (dated["group"] == event), "there"].astype(bool)
    return {
        "n_deepest_second": f"{deepest.sum()} of {len(deepest)}",
        "n_fresh_second": f"{fresh.sum()} of {len(fresh)}",
    }


def _set(view: View) -> dict[str, str]:
    """Of fresh networks that learnt both symbols, how many answer as well with attention set, and the most it costs."""
    rows = view.published
    wide = rows[rows["arm"] == str(FRESH)].pivot(index="init_seed", columns="group", values="value")
    wide = wide.reindex(columns=[SET["candidates"], SET["none"]])  # where no fresh one learnt both there are none
    costs = wide[SET["candidates"]] - wide[SET["none"]]
    return {
        "n_fresh_set": f"{(costs <= ACCEPTED).sum()} of {len(costs)}",
        "most_fresh_set": f"{costs.max():.1f}" if len(costs) else NOT_MEASURED,
    }


def _nearer(view: View) -> str:
    """The mean over pairs of the networks that have a number, with its interval, as the claims have it."""
    came = view.published["value"].dropna()
    if len(came) < OverPairs.least:
        return NOT_MEASURED
    found = OverPairs().estimate(came, at_least(FRESH_EVERY, "the time between two checkpoints"), STEPS)
    return f"{STEPS.words(found.effect)} {STEPS.interval(found.low, found.high)}"


def _worth(worth: View) -> dict[str, str]:
    """The error of who knows the block of an answer, and of who knows one of the two symbols that it goes by."""
    errors = worth.published.set_index("group")["value"]
    return {
        "knows_the_block": f"{errors['the block']:.2f}",
        "knows_one_of_two": f"{errors[['left', 'right']].mean():.2f}",
    }


NEEDED = (
    *("taught", "first_stage", "first_where_it_came", "second_where_it_came"),
    *("at_start", "worth", "ends", "second_stage", "four_times", "four_ends", "set_attention"),
    *("by_depth", "times", "joining", "three_before"),
)
"""Names of the views that ``numbers`` reads."""
PROSE_VIEWS = {view.__name__: view for view in (first_stage, second_stage, at_start)} | {
    "first_where_it_came": partial(where_it_came, path=FRESH_FIRST, place=1),
    "second_where_it_came": partial(where_it_came, path=SECOND_LOOK_UP, place=2),
}
