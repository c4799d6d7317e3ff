"""The tables behind the appendix: what was measured and not needed for the argument, and the source's numbers."""

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.view import View, beside, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import (
    ALONE,
    FOLLOWED,
    FOUR,
    FRESH,
    FRESH_FOUR,
    FRESH_SCARCE,
    GRID,
    LONG_SCARCE,
    ONE_DEEP,
    SIX_ALONE,
    SOURCE_GRID,
    THREE,
    THREE_LAST,
    THREE_TAUGHT,
)
from retrieval_circuits.stacked_heads.figures.grid import ERROR, LINKS, PATH, PLATEAU, SYMBOLS, in_words
from retrieval_circuits.stacked_heads.published import PUBLISHED
from retrieval_circuits.stacked_heads.readings import (
    circuit_rows,
    final_attention,
    final_losses,
    heads_left,
    learning_times,
    learnt_time,
)
from retrieval_circuits.stacked_heads.readings.lessons import path_attention

OWN, OTHERS = "to its own chain", "to the other chains, together"


def elsewhere(results: Results) -> View:
    """Attention along each link at the end of training, and that of the same head to the other chains' positions."""
    found = []
    for name, link in LINKS.items():
        rows = results.at_final("attention", str(FOLLOWED), site=">".join(link))
        best = rows.loc[rows.groupby("init_seed")["value"].idxmax(), ["init_seed", "layer", "head", "value"]]
        others = results.at_final("attention_elsewhere", str(FOLLOWED), site=">".join(link))
        others = others.merge(best[["init_seed", "layer", "head"]], on=["init_seed", "layer", "head"])
        found += [best.assign(group=name, series=OWN), others.assign(group=name, series=OTHERS)]
    table = pd.concat(found, ignore_index=True).assign(arm=str(FOLLOWED))
    note = "Of each network the head with most attention along the link"
    return View(
        table[["group", "series", "arm", "init_seed", "value"]], "mean attention", "32 test rows", BAND, note=note
    )


def candidate_paths(results: Results) -> View:
    """For every link: in how many networks a head has it as a candidate, how many such heads, how many are left."""
    found = []
    for arm in (arm for arm in (str(FOLLOWED), str(FRESH)) if arm in results.arms):
        tried, left = (circuit_rows(results, metric, arm) for metric in ("candidate_path", "path"))
        n_networks = len(results.seeds(arm))
        for site, part in tried.groupby(tried["site"].astype(str)):
            found.append(
                {
                    "arm": arm,
                    "link": in_words(site),
                    "networks": f"{part['init_seed'].nunique()} of {n_networks}",
                    "heads a network": len(part) / n_networks,
                    "mean attention": part["value"].mean(),
                    "share left": (left["site"].astype(str) == site).sum() / len(part),
                }
            )
    if not found:
        raise SelectionError("no head of any network attends along a link with more than one half of its attention")
    table = pd.DataFrame(found).sort_values(["arm", "heads a network"], ascending=[True, False], kind="stable")
    return View(table, "paths", "64 test rows")


def without_path(results: Results) -> View:
    """Squared error when one of the paths that are left is taken away, too, by the link; the mean over such heads."""
    rows = circuit_rows(results, "loss_without_path")
    means = rows.assign(site=rows["site"].astype(str)).groupby(["site", "init_seed"], as_index=False)["value"].mean()
    order = means.groupby("site")["init_seed"].size().sort_values(ascending=False, kind="stable").index
    table = in_order(means, "site", order).assign(arm=str(FOLLOWED))
    table = table.assign(group=table["site"].map(answers_in_words))
    note = "A network has a point where such a path is left in it. All other heads look evenly"
    levels = {"one symbol of two lost": PLATEAU / FOLLOWED.n_steps}
    return View(table[["group", "arm", "init_seed", "value"]], ERROR, "64 test rows", BAND, note=note, levels=levels)


def answers_in_words(site: str) -> str:
    """``query to second answer`` for ``queries>value_1``: symbols counted as elsewhere on the page."""
    words = in_words(site)
    for place, ordinal in enumerate(("first", "second")):
        words = words.replace(f"value {place}", f"{ordinal} answer").replace(f"key {place}", f"{ordinal} key")
    return words


def every_network(results: Results) -> View:
    """Every network of the grid and of longer chains: when it learnt each symbol, and the error that is left.

    Where networks of the source's own grid are trained, these, too.
    """
    every = (
        *GRID,
        *ONE_DEEP,
        *ALONE,
        SIX_ALONE,
        *THREE,
        FRESH_SCARCE,
        LONG_SCARCE,
        THREE_LAST,
        *THREE_TAUGHT,
        *FOUR,
        FRESH_FOUR,
        *SOURCE_GRID,
    )
    cells = [cell for cell in every if str(cell) in results.arms]
    finals = final_losses(results, *cells).set_index(["cell", "init_seed", "place"])["value"].unstack()
    times = learning_times(results, *cells).set_index(["cell", "init_seed", "place"])["time"].unstack()
    table = pd.DataFrame(index=finals.index)
    for place in finals.columns:
        shown = times[place].map(lambda time: f"{time:,.0f}" if np.isfinite(time) else "")
        symbol = SYMBOLS[place]
        table[f"{symbol} learnt"], table[f"error of the {symbol}"] = shown, finals[place].map(_error)
    order = {str(cell): at for at, cell in enumerate(cells)}
    table = table.reset_index().sort_values(["cell", "init_seed"], key=lambda part: part.map(order).fillna(part))
    note = "A symbol is learnt at a training step; errors are squared errors at the end"
    return View(table.rename(columns={"cell": "arm"}), "squared error", "test", note=note)


def _error(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


def numbers(results: Results) -> View:
    """The source's numbers beside those of the followed networks; its chains are longer and its networks larger."""
    losses = circuit_rows(results, "circuit_loss").astype({"edit": str})
    without = circuit_rows(results, "loss_without_path").groupby("init_seed")["value"]
    ours = {
        "squared error at the end": results.final_values("loss", str(FOLLOWED)),
        "squared error with every map replaced": losses[losses["edit"] == "paths"].set_index("init_seed")["value"],
        "heads that are used": heads_left(results),
        "squared error without one path, the least": without.min(),
        "squared error without one path, the most": without.max(),
        "first symbol learnt before the second": (learnt_time(1)(results) < learnt_time(2)(results)).astype(float),
    }
    return beside(PUBLISHED, ours)


def fresh_paths(results: Results) -> View:
    """Attention along each link at the end of training in the fresh networks beside the followed ones."""
    found = []
    for name, link in LINKS.items():
        followed = final_attention(*link)(results).rename("value").reset_index()
        curve = path_attention(results, link)
        fresh = curve[curve["step"] == curve["step"].max()][["init_seed", "value"]]
        found += [
            followed.assign(group=name, series="the ten followed", arm=str(FOLLOWED)),
            fresh.assign(group=name, series="the fresh ones", arm=str(FRESH)),
        ]
    note = "Of each network the head with most of it"
    return View(pd.concat(found, ignore_index=True), "mean attention", "32 test rows", BAND, note=note, levels=PATH)


APPENDIX_VIEWS = {
    view.__name__: view for view in (elsewhere, candidate_paths, every_network, without_path, numbers, fresh_paths)
}
