"""Tables of the factorial that was missing, and of the scan over symbols and widths."""

import itertools

import numpy as np
import pandas as pd

from circuitcore.emergence.seeds import mean_interval
from livingpaper.claims.results import Results
from livingpaper.claims.rules import OnAverage
from livingpaper.claims.view import View, in_order, on_data_sets
from livingpaper.figures.rows import share_over_seeds
from retrieval_circuits.design import BAND, SHARES
from retrieval_circuits.permutation_recall.design import CELLS, CROSSED, NORMAL, REPEATED, WIDTHS, Cell, Width, split_of
from retrieval_circuits.permutation_recall.readings.models import BORN
from retrieval_circuits.permutation_recall.readings.sizes import (
    cells_of,
    doublings,
    present,
    recall_scan,
    recall_times,
)

DATA = {REPEATED: "trained with repeats", NORMAL: "trained without repeats"}
PROBES = "probes of held-out permutations"
LOSES = Cell(32, 1, 32, REPEATED)
"""The size that most often loses recall again."""
WIDER, MORE_HEADS = "width 32, not 16", "two heads, not one"


def success(results: Results) -> View:
    """Which networks recall in the end: every cell."""
    rows = results.at_final("recall", variable="")
    cells = {str(cell): cell for cell in present(results, (*CELLS, *CROSSED))}
    rows = rows[rows["arm"].isin(cells)]
    of = rows["arm"].astype(str).map(cells)
    sizes = [_size(cell) for cell in of]
    table = rows.assign(
        arm=rows["arm"].astype(str), group=sizes, series=[DATA[cell.data] for cell in of],
        panel="recall more than half of the probes", value=(rows["value"] > BORN).astype(float),
    )  # fmt: skip
    table = in_order(table, "series", DATA.values())
    table = in_order(table, "group", dict.fromkeys(_size(cell) for cell in sorted(cells.values())))
    columns = ["panel", "group", "series", "arm", "init_seed", "value"]
    view = View(table[columns], "share of networks", PROBES, SHARES, note=_trained_for(results))
    return on_data_sets(view, split_of)


def survival(results: Results) -> View:
    """Share of networks that do not recall yet, by epoch: cells with repeats; FFN widths apart where crossed."""
    times, found, cells = recall_times(results), [], present(results, cells_of(REPEATED))
    crossed = any(cell in CROSSED for cell in cells)
    for cell in sorted(cells) if crossed else cells:
        runs = times[times["arm"] == str(cell)]
        epochs = np.unique([0.0, *runs["after"], *runs["by"].dropna(), *runs["end"]])
        waiting = [float((runs["by"].isna() | (runs["by"] > epoch)).mean()) for epoch in epochs]
        size, _, ffn = _size(cell).rpartition(", ")
        named = {"series": size, "panel": ffn} if crossed else {"series": _size(cell), "panel": "trained with repeats"}
        found.append(pd.DataFrame({"epoch": epochs, "value": waiting, "arm": str(cell), **named}))
    table = pd.concat(found, ignore_index=True).assign(init_seed=np.nan)
    table = in_order(table, "panel", sorted(table["panel"].unique()))
    note = f"{_counted(results)} Recall comes when more than half of the probes are answered with the y shown."
    return View(
        table[["panel", "series", "epoch", "arm", "init_seed", "value"]],
        "share of networks without recall",
        PROBES,
        note=note,
    )


def kept(results: Results) -> View:
    """Of each network trained with repeats: whether recall came, was gone at a later checkpoint, and ends there."""
    cells = {str(cell): cell for cell in present(results, cells_of(REPEATED))}
    rows = results.curve("recall", variable="", arm=None)
    rows = rows[rows["arm"].isin(cells)].sort_values("step")
    found = []
    for (arm, seed), run in rows.groupby(["arm", "init_seed"], observed=True):
        above = (run["value"] > BORN).to_numpy()
        lost = bool(above.any()) and not above[above.argmax() :].all()
        found.append({"arm": str(arm), "init_seed": seed, "came": above.any(), "lost": lost, "value": float(above[-1])})
    return View(pd.DataFrame(found), "whether it recalls in the end", PROBES)


def size_numbers(success: View, kept: View) -> dict[str, str]:
    """What the page prints of both: how many recall in the end by size, as ``ends_16_1_32``, trained with repeats.

    And of width 32 with one head and FFN 32: in how many recall came, was gone later, and is not there in the end.
    """
    ends = success.published.groupby("arm")["value"]
    counted = {
        "_".join(["ends", *map(str, cell[:3])]): f"{ends.get_group(str(cell)).sum():.0f} of {ends.size()[str(cell)]}"
        for cell in cells_of(REPEATED) if str(cell) in ends.groups
    }  # fmt: skip
    runs = kept.published[kept.published["arm"] == str(LOSES)]
    came = runs[runs["came"].astype(bool)]
    return counted | {
        "recall_came": f"{len(came)} of {len(runs)}",
        "recall_lost": str(int(came["lost"].sum())),
        "recall_ended": str(int((came["value"] == 0).sum())),
    }


def n_crossed(success: View) -> int:
    """How many of the networks in the view ``success`` have an FFN that is not twice as wide as the network."""
    runs = success.table[["arm", "init_seed"]].drop_duplicates()
    return int(runs["arm"].isin([str(cell) for cell in CROSSED]).sum())


def effects(results: Results) -> View:
    """One model of the time to recall: what each factor and pair of factors saves, in doublings, paired by seed."""
    crossed = present(results, cells_of(REPEATED)) == cells_of(REPEATED)
    used = cells_of(REPEATED, crossed=crossed)
    wide = doublings(results, used)
    factors = {WIDER: lambda cell: cell.d_model == 32, MORE_HEADS: lambda cell: cell.n_heads == 2}
    if crossed:
        factors["FFN 64, not 32"] = lambda cell: cell.d_mlp == 64
    found = []
    for n in range(1, len(factors) + 1):
        for names in itertools.combinations(factors, n):
            signs = np.array([np.prod([1 if factors[name](cell) else -1 for name in names]) for cell in used])
            effect = -(wide * signs).sum(axis=1) / (len(used) / 2)
            rows = effect.rename("value").reset_index().assign(group=" x ".join(names))
            found.append(rows)
    table = pd.concat(found, ignore_index=True)
    note = "0: no effect. Never counts as the end of training: a lower bound where some networks never recall."
    view = View(
        table[["group", "init_seed", "value"]], "doublings of the time to recall saved", PROBES,
        BAND, None, f"{note}{_width_over_heads(table)}",
    )  # fmt: skip
    return on_data_sets(view, split_of)


def _width_over_heads(table: pd.DataFrame) -> str:
    """By how much width saves more than a second head, as a sentence; nothing where few splits have no spread."""
    by_seed = table.pivot(index="init_seed", columns="group", values="value")
    of_splits = (by_seed[WIDER] - by_seed[MORE_HEADS]).dropna().groupby(split_of).mean()
    if len(of_splits) < OnAverage.least_sets:
        return ""
    found = mean_interval(of_splits)
    return f" Width less a second head: {found.mean:.2f} [{found.low:.2f}, {found.high:.2f}]"


def cells(results: Results) -> View:
    """Every cell in numbers."""
    times, rows = recall_times(results), []
    final = results.at_final("recall", variable="").astype({"arm": str})
    sure = results.at_final("elimination").astype({"arm": str})
    for cell in present(results, (*CELLS, *CROSSED)):
        came = times.loc[times["arm"] == str(cell), "by"].dropna()
        ends = final.loc[final["arm"] == str(cell), ["init_seed", "value"]]
        born = ends.assign(value=ends["value"] > BORN, data_set=ends["init_seed"].map(split_of))
        rate, _ = share_over_seeds(born)
        n_born = int(born["value"].sum())
        rows.append({
            "size": ", ".join(part.replace(" ", "\u00a0") for part in _size(cell).split(", ")),
            "data": DATA[cell.data].removeprefix("trained "),
            "networks that recall at the end": f"{n_born} of {len(born)} [{rate.low:.2f}, {rate.high:.2f}]",
            "mean recall": f"{ends['value'].mean():.3f}",
            "first recall, epoch (networks)": "-" if came.empty else f"{came.median():.0f} ({len(came)})",
            "mean elimination": f"{sure.loc[sure['arm'] == str(cell), 'value'].mean():.3f}",
        })  # fmt: skip
    note = "Of first recall the median, of the networks that ever recalled; recall and elimination at the end"
    return View(pd.DataFrame(rows).assign(init_seed=pd.NA), "as named", PROBES, note=note)


def widths(results: Results) -> View:
    """Share of probes recalled in the end, by number of symbols and width; one and two layers."""
    rows = recall_scan(results)
    mean = rows.groupby(["n_layers", "n_symbols", "d_model"])["value"].mean().reset_index()
    table = pd.DataFrame({
        "panel": ["one layer" if n == 1 else "two layers" for n in mean["n_layers"]],
        "row": "V " + mean["n_symbols"].astype(str), "column": "d " + mean["d_model"].astype(str),
        "value": mean["value"], "init_seed": np.nan,
    })  # fmt: skip
    table["arm"] = [
        str(Width(v, d, n)) for v, d, n in zip(mean["n_symbols"], mean["d_model"], mean["n_layers"], strict=True)
    ]
    seeds = rows["init_seed"].nunique()
    order = [f"d {width}" for width in sorted({width.d_model for width in WIDTHS})]
    note = f"Mean of {seeds} network{'s' * (seeds > 1)} at each point; 2 heads, FFN twice the width, repeats."
    return View(in_order(table, "column", order), "share of probes recalled", PROBES, note=note)


def _size(cell) -> str:
    return f"d {cell.d_model}, {cell.n_heads} head{'s' * (cell.n_heads > 1)}, FFN {cell.d_mlp}"


def _counted(results: Results) -> str:
    counts = recall_times(results).groupby("arm")["init_seed"].nunique()
    low, high = int(counts.min()), int(counts.max())
    return f"{low} networks a size." if low == high else f"{low} to {high} networks a size."


def _trained_for(results: Results) -> str:
    return f"All trained for {int(recall_times(results)['end'].max())} epochs."


VIEWS = {
    "success": success,
    "kept": kept,
    "survival": survival,
    "effects": effects,
    "cells": cells,
    "widths": widths,
}
