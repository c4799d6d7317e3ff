"""Numbers that sentences take from tables: what stands beside a verdict and is drawn nowhere."""

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.units import POINTS
from livingpaper.claims.view import View
from livingpaper.figures.circuit import percent
from retrieval_circuits.bigrams_and_composition.design import BOTH, CUTS, NOISY, ONE
from retrieval_circuits.bigrams_and_composition.figures.chapter import PROMPTS
from retrieval_circuits.bigrams_and_composition.measures import O2
from retrieval_circuits.bigrams_and_composition.readings import IN_ORDER, last

HALF = 0.5
"""What could have been said of every source without looking at one, and comes as close on generated ones."""
NEARLY_ALL = 0.98
"""A prediction from which on a cell of the map has no room to stray."""


def counting_in_words(layers: View, letters: View) -> dict[str, str]:
    """How far one layer is from the closed form, and from one half, in points; and how the form goes along with it."""
    found = {}
    for name, view in (("", layers), ("_letters", letters)):
        wide = view.published.pivot(index="init_seed", columns="group", values="value")
        one, form = wide[ONE], wide["one layer, predicted"]
        found |= {f"form_off{name}": POINTS.words((one - form).abs().mean()),
                  f"half_off{name}": POINTS.words((one - HALF).abs().mean())}  # fmt: skip
        if not name:
            varies = len(one) > 2 and one.std() > 0 and form.std() > 0
            found["form_r"] = f"{np.corrcoef(one, form)[0, 1]:.2f}" if varies else "unknown"
    return found


def off_noise(results: Results) -> View:
    """How far what W_O2 recalls is from what noise predicts, cell by cell of the map of rows and channels."""
    rows = results.rows(BOTH, order=IN_ORDER)
    table = rows.assign(value=(rows[O2] - rows["predicted"]).abs())
    return View(table[["predicted", "arm", "init_seed", "value"]], "share of outputs", PROMPTS)


def off_noise_in_words(off_noise: View) -> dict[str, str]:
    """Of cells that are not predicted to be nearly full: how many of all, and their mean distance; and the worst."""
    rows = off_noise.published
    by_seed, open_cells = rows.groupby("init_seed")["value"], rows[rows["predicted"] < NEARLY_ALL]
    n_seeds = rows["init_seed"].nunique()
    return {
        "cells": f"{len(rows) / n_seeds:.0f}",
        "open_cells": f"{len(open_cells) / n_seeds:.0f}",
        "open_off": POINTS.words(open_cells["value"].mean()),
        "worst_off": POINTS.words(by_seed.max().mean()),
    }


def context_kept(results: Results) -> View:
    """The probability of the context's answer at the end, whole and with the MLP cut."""
    rows = last(results.rows(NOISY, cut=["none", *(f"{kept:g}" for kept in CUTS)])).reset_index()
    table = rows.assign(group=rows["cut"].astype(str), value=rows["context"])
    return View(table[["group", "arm", "init_seed", "value"]], "probability", PROMPTS)


def context_in_words(context_kept: View) -> dict[str, str]:
    """In how many networks it rises by a milder cut, and the most of it that is lost without the MLP."""
    wide = context_kept.published.pivot(index="init_seed", columns="group", values="value")
    mild = wide[f"{max(CUTS):g}"] > wide["none"]
    return {"context_rises": f"{mild.sum()} of {len(mild)}", "context_falls": percent(_most_lost(wide))}


def _most_lost(wide: pd.DataFrame) -> float:
    return float((1 - wide["0"] / wide["none"]).max())


WORD_VIEWS = {view.__name__: view for view in (off_noise, context_kept)}
