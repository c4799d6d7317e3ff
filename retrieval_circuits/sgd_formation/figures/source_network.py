"""The tables behind what is shown of the source's own network: trained again, beside what the source says of it."""

import math

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.design import FULL, REPORTED
from retrieval_circuits.sgd_formation.measures.bases import ALL, LATE
from retrieval_circuits.sgd_formation.measures.probe_set import ALL_PROBED
from retrieval_circuits.sgd_formation.published import (
    ACCURACY,
    COALITION,
    COALITION_COSINE,
    HELD_OUT_CURVE,
    PROBE_ACCURACY,
    PROBE_CURVE,
    PROBE_STEPS,
    REMOVED,
    SUPPORT_CURVE,
)
from retrieval_circuits.sgd_formation.readings import births as forecasts
from retrieval_circuits.sgd_formation.readings.networks import (
    accuracy,
    cost_of_leader,
    cost_of_part,
    dearest_head,
    floor,
    following_time,
    half_time,
    leader_sites,
    probe_curve,
    probe_end,
    word_loss,
)

OURS, THEIRS = "trained again", "as published (one run)"
WITHOUT_LEADER, WITHOUT_FIRST = "lost without it", "lost without the dearest head of the first layer"
LEAST, AT_END, OWN, FLOOR = "new rows, least", "new rows, at the end", "own rows, at the end", "the least for new rows"
NEEDED = ("starts", "losses", "birth_orders")
"""Views that the numbers of the prose are of."""
PANELS = {
    "all reads of the probe set": ("accuracy", ALL_PROBED, PROBE_CURVE),
    "its reads of held-out pairs": ("accuracy", "heldout_pairs", HELD_OUT_CURVE),
    "its reads of more keys": ("accuracy", "structural_ood", None),
    "attention to the value asked for": ("support", ALL_PROBED, SUPPORT_CURVE),
}
"""Panel -> what is followed, on which part of the probe set, and the source's curve if it shows one."""


def again(results: Results) -> View:
    """What the source follows through training, of its network trained again, and as published."""
    found = []
    for panel, (metric, split, published) in PANELS.items():
        found.append(probe_curve(results, metric, split).assign(panel=panel, series=OURS))
        if published:
            theirs = pd.DataFrame({"step": PROBE_STEPS, "value": published})
            found.append(theirs.assign(panel=panel, series=THEIRS, arm=FULL, init_seed=np.nan))
    table = in_order(pd.concat(found, ignore_index=True), "panel", PANELS)
    note = "Attention: of whichever head has most, read by read. The source shows no curve of more keys alone"
    return View(
        table[["panel", "series", "step", "arm", "init_seed", "value"]], "share", "the source's probe set", BAND,
        note=note,
    )  # fmt: skip


def source_numbers(results: Results) -> View:
    """What the source says of its network at the end, beside the same of it trained again."""
    quantities = {
        "right, new rows": (ACCURACY["test_iid"], accuracy(FULL)),
        "right, pairs never trained on": (ACCURACY["heldout_pairs"], accuracy(FULL, "heldout_pairs")),
        "right, more keys": (ACCURACY["structural_ood"], accuracy(FULL, "structural_ood")),
        "right, its probe set": (PROBE_ACCURACY, probe_end),
        "lost without the head that looks most": (REMOVED["L2H1"], cost_of_leader(FULL)),
        "lost without the first MLP": (REMOVED["L0MLP"], cost_of_part(FULL, "L0MLP")),
        "lost without the second MLP": (REMOVED["L1MLP"], cost_of_part(FULL, "L1MLP")),
    }
    ours = [_rows(values(results), group=name, who="ours") for name, (_, values) in quantities.items()]
    theirs = pd.DataFrame({"group": list(quantities), "value": [number for number, _ in quantities.values()]})
    table = pd.concat([*ours, theirs.assign(who="source", init_seed=np.nan)], ignore_index=True).assign(arm=FULL)
    note = "The source's accuracies are of step 13,000, but for its probe set; its losses are on the probe set"
    return View(in_order(table, "group", quantities), "share of reads", "", BAND, note=note)


def _rows(values: pd.Series, **labels: str) -> pd.DataFrame:
    """Numbers by seed as rows of a view."""
    return values.rename("value").rename_axis("init_seed").reset_index().assign(**labels)


def starts(results: Results) -> View:
    """Start by start: when half of the reads are right, when the key decides, and the head that then looks most."""
    table = pd.DataFrame({
        "half of the reads are right": half_time(FULL)(results).round().astype(int),
        "half of the answers follow another key": following_time(FULL)(results).round().astype(int),
        "right at the end": accuracy(FULL)(results).round(3),
        "the head that looks most": leader_sites(results, FULL),
        WITHOUT_LEADER: cost_of_leader(FULL)(results).round(3),
        "lost without the first MLP": cost_of_part(FULL, "L0MLP")(results).round(3),
        WITHOUT_FIRST: dearest_head(FULL, layer=0)(results).round(3),
    })  # fmt: skip
    note = "Training steps; the rest are shares of reads"
    return View(table.rename_axis("init_seed").reset_index().assign(arm=FULL), "as named", REPORTED[FULL], note=note)


def losses(results: Results) -> View:
    """Start by start: the loss of a word of new rows, at its least and at the end, and of rows that were trained on."""
    new = results.curve("loss_of_all", FULL, split=REPORTED[FULL])
    least = new.loc[new.groupby("init_seed")["value"].idxmin()].set_index("init_seed")
    table = pd.DataFrame({
        LEAST: least["value"].round(3),
        "at step": least["step"],
        AT_END: word_loss(FULL)(results).round(3),
        OWN: word_loss(FULL, "train")(results).round(3),
    })  # fmt: skip
    table[FLOOR] = round(floor(results).mean(), 3)
    return View(
        table.rename_axis("init_seed").reset_index().assign(arm=FULL), "nats a word", REPORTED[FULL], note="Nats a word"
    )


def numbers(started: View, lost: View, orders: View) -> dict[str, str]:
    """What the prose says of published runs, of the views ``NEEDED``: means over starts, and in how many it is so."""
    dearer = started.published[WITHOUT_FIRST] > started.published[WITHOUT_LEADER]
    means = lost.published.mean(numeric_only=True)
    of_all = orders.published[orders.published["series"] == LEARNT_THROUGHOUT]
    return {
        "n_dearer": f"{dearer.sum()}",
        "n_orders": f"{of_all['init_seed'].nunique()}",
        "fewest": f"{forecasts.FEWEST}",
        "step_least": f"{round(means['at step'], -2):,.0f}",
        "loss_least": f"{means[LEAST]:.2f}",
        "loss_end": f"{means[AT_END]:.1f}",
        "loss_own": f"{means[OWN]:.2f}",
        "loss_floor": f"{means[FLOOR]:.2f}",
    }


LEARNT_THROUGHOUT = "useful, learnt from all of training"
FEATURES = {
    "useful, learnt late": (LATE, forecasts.USEFUL),
    LEARNT_THROUGHOUT: (ALL, forecasts.USEFUL),
    "right from wrong, learnt late": (LATE, forecasts.RIGHT),
}
"""Which births are drawn: features of which autoencoder, and by which gap."""
FORECASTS = {
    forecasts.MODEL: "the source's model",
    "drive": "how updates pull at it",
    "alignment": "how straight they pull at it",
    "support": "how active it is",
    "amplification": "how much more active it became",
    forecasts.TAKEN_AWAY: "how it was pushed back",
    forecasts.SCALE: "its scale over all of training",
    forecasts.LATER: "its gap 500 steps later",
}
"""What births are forecast by -> in the figure."""


def birth_orders(results: Results) -> View:
    """How well the order of births agrees with the source's model, with its parts, and with more, by network."""
    parts = [
        _rows(forecasts.birth_order(basis, by, birth)(results), group=name, series=series)
        for series, (basis, birth) in FEATURES.items()
        for by, name in FORECASTS.items()
    ]
    table = in_order(pd.concat(parts, ignore_index=True).assign(arm=FULL), "group", FORECASTS.values())
    if table.empty:
        raise SelectionError("no network has enough features that become useful after a tenth of the reads are right")
    sizes = [
        f"{series}, {counts.min()} to {counts.max()} in {len(counts)} networks"
        for series, (basis, birth) in FEATURES.items()
        if len(counts := forecasts.candidates(results, basis, birth).groupby("init_seed").size())
    ]
    note = f"Of networks with {forecasts.FEWEST} features or more born after the cutoff, of 64: {'; '.join(sizes)}"
    return View(table, "rank correlation with being early", "the source's probe set", BAND, note=note)


SHARES = {
    "same_sign": "pulled alike", "by_angle": "by angles", "off_angle": "apart, in the mean", "redrawn": "apart, by lot",
}  # fmt: skip


def coalitions(results: Results) -> View:
    """At how many neurons training pulls two features alike, and at how many by the angle."""
    positive, negative, conflict = COALITION
    rows = [{
        "features": "the source's two", "arm": FULL, "init_seed": pd.NA,
        SHARES["same_sign"]: (positive + negative) / (positive + negative + conflict),
        SHARES["by_angle"]: 1 - math.acos(COALITION_COSINE) / math.pi,
    }]  # fmt: skip
    for basis in (LATE, ALL):
        columns = {name: forecasts.of_pairs(metric, basis)(results) for metric, name in SHARES.items()}
        of_basis = pd.DataFrame(columns).rename_axis("init_seed").reset_index()
        rows += of_basis.assign(features=f"all pairs, {basis}", arm=FULL).to_dict("records")
    return View(pd.DataFrame(rows), "share of neurons", "the source's probe set")


VIEWS = {view.__name__: view for view in (again, source_numbers, starts, losses, birth_orders, coalitions)}
