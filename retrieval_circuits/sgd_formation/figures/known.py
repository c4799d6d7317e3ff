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
    FINDS_FIRST,
    FINDS_LATER,
    JOINS,
    NOTHING,
)
from retrieval_circuits.sgd_formation.readings.networks import known_curve, reads_at_end

SHOWN = {
    "right, by where the value stands": {
        "late, where training has reads": {"metric": "right_by_place", "variable": "late"},
        "early": {"metric": "right_by_place", "variable": "early"},
    },
    "right, where only the pair differs": {
        "pairs trained on": {"metric": "pairs_right", "split": "heldout_twins"},
        "pairs never trained on": {"metric": "pairs_right", "split": "heldout_pairs"},
    },
    "of answers not written to the key, never trained with": {
        "the key asked for": {"metric": "gives_held_out"},
        "keys of other reads": {"metric": "gives_held_out_of_others"},
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
    table = pd.concat(found, ignore_index=True).dropna(subset="value")
    return View(table, "share", REPORTED[FRESH], BAND, note=BY_ITS_OWN_TIME)


CUT = {
    NOTHING: "nothing", JOINS: "values, from the key before them",
    FINDS_FIRST: "the read, from the value asked for, first layer",
    FINDS_LATER: "the read, from the value asked for, later layers",
    BEFORE: "the last place of its key, from values, first layer",
    AFTER: "the read, from values that came after, later layers",
}  # fmt: skip
"""What is cut -> what its row is called."""
LATE = "late"


def cuts(results: Results) -> View:
    """What is answered with some looks cut: in networks that read, on average, and in each other one at its end."""
    reads, columns = reads_at_end(results), {}
    arms = [arm for arm in (FRESH, TRAINED_ON) if arm in results.arms]
    last = results.curve("accuracy", FRESH)["step"].max()
    for part, arm in enumerate(arms, 1):
        shares = _shares(results, arm)
        if arm == FRESH and reads.any():
            columns[f"mean of {reads.sum()} that read"] = _told(shares[reads[reads].index].T.groupby(level=1).mean().T)
        of_each = {seed: shares[seed] for seed in shares.columns.levels[0] if arm == TRAINED_ON or not reads[seed]}
        columns |= {f"seed {seed}, step {part * last:,}": _told(table) for seed, table in of_each.items()}
    table = pd.DataFrame(columns).rename(CUT).rename_axis("cut").reset_index().assign(arm=FRESH)
    note = (
        "Reads whose value stands where training has reads: shares answered right and, in brackets, with other values "
        "of the row, those that stand before the one asked for, and those behind it"
    )
    return View(table, "as named", "validation", note=note)


def _shares(results: Results, arm: str) -> pd.DataFrame:
    """By cut, for each network what is right, and which other values are given."""
    rows = results.rows("cuts", arm=arm).astype({"metric": str, "variable": str, "family": str})
    of_late = rows[(rows["family"] == LATE) & rows["metric"].isin(TOLD)]
    return of_late.pivot(index="variable", columns=["init_seed", "metric"], values="value").loc[list(CUT)]


TOLD = ("right_without", "gives_before", "gives_after")


def _told(shares: pd.DataFrame) -> pd.Series:
    """One network's shares as words, by cut."""
    right, before, after = (shares[name] for name in TOLD)
    words = [f"{one:.0%} ({100 * two:.0f}, {100 * three:.0f})"
             for one, two, three in zip(right, before, after, strict=True)]  # fmt: skip
    return pd.Series(words, index=shares.index)


VIEWS = {view.__name__: view for view in (ways, cuts)}
