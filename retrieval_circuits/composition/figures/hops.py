"""How many hops are answered by how many layers: ours, others', and every arm in a table."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.composition.design import ARMS, BY_DEPTH, HOPS, KEPT_BY_DEPTH, LONG, N_HEADS, WORDS, hidden_of
from retrieval_circuits.composition.figures.curves import GUESS, ROWS
from retrieval_circuits.composition.published import ERRORS, FRONTIER
from retrieval_circuits.composition.readings import (
    ANSWERED,
    accuracy_curves,
    end_of,
    hops_answered,
    look_ups_learnt,
    present,
    times,
)

SHOWN = (1, 2, 3, 4, 6, 8, 12, 16)
"""Numbers of hops whose published errors are drawn: all sixteen would not fit a phone."""


def frontier(results: Results) -> View:
    """The most hops that networks answer, by layers that look up: two laws, our networks, and those of two others."""
    ways = {"ours, mixed": BY_DEPTH, "ours, mixed, longer": LONG, "ours, one more a turn": KEPT_BY_DEPTH}
    rows = {row: present(results, arms) for row, arms in ways.items()}
    ours = pd.concat([hops_answered(results, *arms).assign(row=row) for row, arms in rows.items() if arms])
    ours["layers"] = ours["arm"].map({str(arm): arm.n_layers for arms in rows.values() for arm in arms})
    theirs = look_ups_learnt(results).assign(row="stacked heads")
    theirs["layers"] = theirs["n_layers"] - 1  # the first joins pairs
    theirs = theirs[theirs["layers"] > 0]
    measured = (
        pd.concat([ours, theirs], ignore_index=True).groupby(["row", "layers", "arm"], sort=False)["value"].mean()
    )
    found = measured.reset_index().to_dict("records")
    found += [{"row": "k-hop heads", "layers": n - 1, "value": k} for n, k in FRONTIER.items()]
    layers = sorted({line["layers"] for line in found})
    laws = [{"row": "one hop a layer", "layers": n, "value": n} for n in layers]
    laws += [{"row": "doubling", "layers": n, "value": 2**n - 1} for n in layers]
    table = pd.DataFrame([*laws, *found]).sort_values("layers", kind="stable")
    order = dict.fromkeys(line["row"] for line in [*laws, *found])
    table = in_order(table.assign(column=table["layers"].astype(str)), "row", order)
    return View(
        table[["row", "column", "value", "arm"]], "hops", "tests of each study",
        note="Columns: layers that look up; pairs of two words need one more. Asked for: up to "
        f"{HOPS} hops of ours, two of stacked heads, sixteen of others' k-hop "
        "heads. Ours are means over seeds and count from nine in ten right, those of stacked heads, means too, from an "
        "error below one half; k-hop heads are one network each and count from ninety-five in a hundred",
    )  # fmt: skip


def errors(results: Results) -> View:
    """Errors by layers and number of hops: of others' networks with four heads and with eight, and of ours."""
    found = [
        {"panel": f"k-hop heads, {heads} heads", "layers": layers, "hops": hops, "value": wrong}
        for (layers, heads), by_hops in ERRORS.items()
        for hops, wrong in enumerate(by_hops, start=1)
        if hops in SHOWN
    ]
    for arm in present(results, BY_DEPTH):
        rows = accuracy_curves(results, arm)
        ends = 1 - rows[rows["step"] == rows["step"].max()].groupby("hops")["value"].mean()
        ours = {"panel": f"these networks, {N_HEADS} heads", "layers": arm.n_layers, "arm": str(arm)}
        found += [{**ours, "hops": hops, "value": wrong} for hops, wrong in ends.items()]
    table = pd.DataFrame(found)
    table = table.assign(row=table["layers"].map("{} layers".format), column=table["hops"].astype(str))
    table = in_order(table.sort_values(["layers", "hops"], kind="stable"), "panel", dict.fromkeys(table["panel"]))
    return View(
        table[["panel", "row", "column", "value", "arm"]], "share answered wrongly", "tests of each study",
        chance=1 - GUESS,
        note="Columns: hops. Ours are means over seeds, on four symbols; theirs are one network each, on four letters",
    )  # fmt: skip


def every_arm(results: Results) -> View:
    """Each arm: its networks, how many answer each number of hops at the end, and when the median network first does.

    A dash where a number of hops is not asked for in training, "never" where the median does not by the end. Networks
    that share hidden permutations are one draw.
    """
    found = []
    for arm in present(results, ARMS):
        rows, first = accuracy_curves(results, arm), times(results, arm)
        ends = rows[rows["step"] == rows["step"].max()]
        seeds = rows["init_seed"].unique()
        draws = {hidden_of(int(seed)) for seed in seeds}
        line = {"arm": str(arm), "networks (draws)": f"{len(seeds)} ({len(draws)})"}
        for hops, words in WORDS.items():
            answering = (ends[ends["hops"] == hops]["value"] >= ANSWERED).sum()
            median, asked = first[first["hops"] == hops]["time"].median(), hops in (arm.way.mixed or arm.way.in_turn)
            when = f"{median:,.0f}" if median <= end_of(results, arm) else "never"
            line[words] = f"{answering} ({when if asked else '–'})"
        found.append(line)
    note = "Networks that answer at the end, and the training step at which the median network first does"
    return View(pd.DataFrame(found), "as named", ROWS, note=note)
