"""The tables behind what networks go by before they look the key up, and behind how two read without that look."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.design import FRESH, REPORTED, TRAINED_ON
from retrieval_circuits.sgd_formation.figures.chapter import BY_ITS_OWN_TIME, around_half
from retrieval_circuits.sgd_formation.measures.cuts import (
    AFTER,
    BEFORE,
    BEFORE_OTHER,
    EARLIER,
    FINDS_FIRST,
    FINDS_LATER,
    JOINS,
    NOTHING,
)
from retrieval_circuits.sgd_formation.readings.networks import HALF, known_curve, reads_at_end

SHOWN = {
    "right, by where the value stands": {
        "late, where training has reads": {"metric": "right_by_place", "variable": "late"},
        "early": {"metric": "right_by_place", "variable": "early"},
    },
    "right, where only the pair differs": {
        "pairs trained on": {"metric": "pairs_right", "split": "heldout_twins"},
        "pairs never trained on": {"metric": "pairs_right", "split": "heldout_pairs"},
    },
}
"""Panel -> series -> what it shows of ``known``."""


def ways(results: Results) -> View:
    """What networks that read go by around the step at which they come to read."""
    found = [
        around_half(known_curve(results, **where), results).assign(panel=panel, series=series)
        for panel, of_panel in SHOWN.items()
        for series, where in of_panel.items()
    ]
    return View(pd.concat(found, ignore_index=True), "share", REPORTED[FRESH], BAND, note=BY_ITS_OWN_TIME)


CUT = {
    NOTHING: "nothing", JOINS: "values, from the key before them",
    FINDS_FIRST: "the read, from the value asked for, first layer",
    FINDS_LATER: "the read, from the value asked for, later layers",
    BEFORE: "the last place of its key, from values, first layer",
    BEFORE_OTHER: "the key before that place, from values, first layer",
    AFTER: "the read, from values that came after, later layers",
    EARLIER: "the read, from values that came earlier, later layers",
}  # fmt: skip
"""What is cut -> what its row is called."""
LATE, EARLY = "late", "early"


def cuts(results: Results) -> View:
    """What is answered with some looks cut: by networks that read, on average, and by each that reads late values only.

    That is half of the late ones and fewer of the early ones, at a checkpoint at which looks are cut; its last such.
    """
    found, last = _shares(results), results.curve("accuracy", FRESH)["step"].max()
    reads = reads_at_end(results)
    who = found.index.get_level_values("init_seed").map(reads if reads.any() else ~reads)
    at_end = found[who.astype(bool)].loc[(FRESH, slice(None), last)]
    columns = {f"mean of {len(at_end)}" + " that read" * bool(reads.any()): _told(at_end.mean())}
    none = found["right_without"].xs(NOTHING, axis=1, level="variable")
    late_only = found[(none[LATE] >= HALF) & (none[EARLY] < HALF)]
    for seed, of_seed in late_only.groupby("init_seed"):
        arm, _, step = of_seed.index[-1]
        columns[f"seed {seed}, step {step + last * (arm == TRAINED_ON):,}"] = _told(of_seed.iloc[-1])
    table = pd.DataFrame(columns).rename(CUT).rename_axis("cut").reset_index().assign(arm=FRESH)
    note = (
        "Reads whose value stands where training has reads: shares answered right and, in brackets, with other values "
        "of the row, those that stand before the one asked for, and those behind it"
    )
    return View(table, "as named", "validation", note=note)


def _shares(results: Results) -> pd.DataFrame:
    """By arm, seed and step, in this order, what is answered under each cut: columns metric, variable, family."""
    arms = [arm for arm in (FRESH, TRAINED_ON) if arm in results.arms]
    rows = results.rows("cuts", arm=arms).astype({"metric": str, "variable": str, "family": str})
    rows["arm"] = pd.Categorical(rows["arm"].astype(str), arms)
    index, columns = ["arm", "init_seed", "step"], ["metric", "variable", "family"]
    return rows[rows["metric"].isin(TOLD)].pivot(index=index, columns=columns, values="value").sort_index()


TOLD = ("right_without", "gives_before", "gives_after")


def _told(shares: pd.Series) -> pd.Series:
    """Shares of late reads as words, by cut."""
    of_late = shares.xs(LATE, level="family")
    right, before, after = (of_late[name] for name in TOLD)
    words = {cut: f"{right[cut]:.0%} ({100 * before[cut]:.0f}, {100 * after[cut]:.0f})" for cut in CUT}
    return pd.Series(words)


VIEWS = {view.__name__: view for view in (ways, cuts)}
