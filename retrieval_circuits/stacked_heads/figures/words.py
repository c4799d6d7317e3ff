"""The tables behind the figures of networks that are trained on words."""

import pandas as pd

from circuitcore.tasks.chain_prompts import FORMULATIONS
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import EQUATIONS, KNOWN, RELATIVES, Spoken, share_repeated
from retrieval_circuits.stacked_heads.readings.words import ONE_UNREAD

ANSWERED = "share of answers that are right"
LOOK_UPS = {"1 look-up": "one look-up", "2 look-ups": "two look-ups", "3 look-ups": "three look-ups"}
"""What a table calls a number of look-ups -> what a reader does."""
LINES = {"0 look-ups": "none: the line has the digit", **LOOK_UPS}
KINDS = {"F1": "equations", "F4": "functions", "F5": "relatives"}


def words(results: Results) -> View:
    """Right answers at the end of training on equations, by layers and look-ups."""
    table = _at_end(results, "answered", EQUATIONS, split="test")
    note = "Who knows all links but one scores what a guess does, a quarter. "
    note += f"{100 * share_repeated():.0f} % of prompts of one look-up repeat the lines of a training row"
    return _view(_by_depth(table, LOOK_UPS), note=note)


def word_lines(results: Results) -> View:
    """How often the end of a line says what it comes to, by layers and by what that takes."""
    return _view(_by_depth(_at_end(results, "line", EQUATIONS), LINES), unit="share of lines that are right")


def functions(results: Results) -> View:
    """Right answers on functions, by layers, of networks trained on equations."""
    table = _at_end(results, "answered", EQUATIONS, split="F4")
    note = "Nothing of functions was trained on; their rows are longer than those that were"
    return _view(_by_depth(table.assign(variable="all"), {"all": "functions"}), note=note, split="prompts of functions")


def relatives(results: Results) -> View:
    """Of networks trained on relatives: right answers, and answers that fit all lines but those of one block.

    Blocks without which the same answers fit are drawn once.
    """
    right = _at_end(results, "answered", RELATIVES).assign(variable="right")
    fits = _at_end(results, "fits", RELATIVES).astype({"variable": str})
    chance = _at_end(results, "fits_chance", RELATIVES).astype({"variable": str})
    keys = ["arm", "init_seed", "variable"]
    fits = fits.merge(chance[[*keys, "value"]].rename(columns={"value": "by_chance"}), on=keys)
    alike = _alike(fits)
    names = {"right": "right", **{blocks[0]: f"fits but for {blocks[0]}" for blocks in alike}}
    by_chance = {"right": 1 / len(FORMULATIONS["F5"].acceptable), **fits.groupby("variable")["by_chance"].mean()}
    names = {name: f"{words} ({100 * by_chance[name]:.0f} %)" for name, words in names.items()}
    drawn = fits[fits["variable"].isin(names)].drop(columns="by_chance")
    table = _by_depth(pd.concat([right, drawn], ignore_index=True), names)
    note = "An answer fits if one may give it who leaves those lines unread (households: with which relative a job "
    note += "lives); in brackets, by chance"
    note += "".join(f". Without {' and without '.join(blocks)} the same answers fit" for blocks in alike if blocks[1:])
    return View(table, "share of answers", "test", BAND, note=note)


def readers(results: Results) -> View:
    """What a reader scores who knows so many blocks of lines, at the most, and one choice of blocks that gives it."""
    rows = results.tables[KNOWN]
    best = rows.loc[rows.groupby(["formulation", "look_ups", "n_read"])["accuracy"].idxmax()]
    table = pd.DataFrame(
        {
            "prompts": best["formulation"].map(KINDS),
            "look-ups": best["look_ups"],
            "kinds of line": best["n_blocks"],
            "read": best["n_read"],
            "such as": best["read"].where(best["n_read"] < best["n_blocks"], "all").replace("", "none"),
            "right": best["accuracy"],
        }
    )
    return View(table.assign(arm=KNOWN), ANSWERED, "prompts of a series of their own")


def repeated(results: Results) -> View:
    """Of questions in equations, by look-ups, how many have what some training row has."""
    kinds = {"have the same lines, in the same order": True, "have the same links, in any order": False}
    counts = range(1, len(LOOK_UPS) + 1)
    shares = {words: [_percent(share_repeated(n, in_order=order)) for n in counts] for words, order in kinds.items()}
    note = "Shares of prompts whose lines, or links, are those of some training row of a network, expected over draws"
    return View(pd.DataFrame({"look-ups": counts, **shares}), "share of prompts", "training rows", note=note)


def _percent(share: float) -> str:
    """A share that may be small."""
    if share < 0.0005:
        return "below 0.1 %"
    return f"{100 * share:.{0 if share > 0.01 else 1}f} %"


def _at_end(results: Results, metric: str, arms: tuple[Spoken, ...], **where: str) -> pd.DataFrame:
    found = [results.at_final(metric, str(arm), **where).assign(group=arm.depth) for arm in arms]
    return pd.concat(found, ignore_index=True)


def _by_depth(table: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """Rows in the order of layers and of names."""
    table = table.assign(series=table["variable"].astype(str).map(names))
    table = in_order(table, "series", names.values())
    table = in_order(table, "group", [arm.depth for arm in EQUATIONS])
    return table[["group", "series", "arm", "init_seed", "value"]]


def _alike(fits: pd.DataFrame) -> list[list[str]]:
    """Blocks without which as many answers fit, network by network, together; the shortest word first."""
    wide = fits.pivot(index=["arm", "init_seed"], columns="variable", values="value")
    found: dict[tuple[float, ...], list[str]] = {}
    for block in fits["variable"].unique():
        found.setdefault(tuple(wide[block]), []).append(block)
    return [sorted(blocks, key=len) for blocks in found.values()]


def _view(table: pd.DataFrame, unit: str = ANSWERED, note: str = "", split: str = "test") -> View:
    return View(table, unit, split, BAND, ONE_UNREAD, note)


WORD_VIEWS = {view.__name__: view for view in (words, word_lines, functions, relatives, readers, repeated)}
