"""When numbers of hops are first answered, and which way of training is sooner."""

import pandas as pd

from circuitcore.emergence import by_the_end
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.composition.design import COMPARED, FOUR, HOPS, STEPS_AN_EPOCH, TAUGHT, WAYS, WORDS, Arm
from retrieval_circuits.composition.figures.curves import ROWS
from retrieval_circuits.composition.readings import last_steps, present, times
from retrieval_circuits.design import BAND

SHORT = dict(
    zip(
        (arm.way.name for arm in TAUGHT),
        ("alone", "mixed", "in turn", "one more a turn", "three left out", "reverse"),
        strict=True,
    )
)
"""What rows are called where names of ways are too long."""


def passing(results: Results) -> View:
    """When each number of hops is first answered, by way of mixing, with three layers."""
    return _first(in_order(_passing(results, COMPARED), "group", [way.name for way in WAYS]))


def arrivals(results: Results) -> View:
    """When three and four hops are first answered with four layers: four alone, mixed, and in turn."""
    table = _passing(results, TAUGHT)
    table = table[table["hops"] >= HOPS - 1].replace({"group": SHORT})
    return _first(in_order(table, "group", SHORT.values()))


def raced(arrivals: View, arm: Arm) -> dict[str, str]:
    """Of ``arrivals``: in how many networks four hops come with turns, or from the mixture, and which way is sooner.

    Returns:
        ``neither`` of all; ``either``, how many are left; of these ``sooner`` and ``later`` with turns, by at least two
        measurements.
    """
    table = arrivals.published
    rows = table[table["series"] == WORDS[HOPS]]
    turned, mixed = (rows[rows["arm"] == str(one)].set_index("init_seed") for one in (arm, FOUR))
    there = (turned["there"] | mixed["there"]).loc[turned.index.intersection(mixed.index)].astype(bool)
    before = (mixed["value"] - turned["value"])[there.index][there]
    bound = 2 * STEPS_AN_EPOCH
    counts = {"either": there.sum(), "sooner": (before >= bound).sum(), "later": (before <= -bound).sum()}
    return {"neither": f"{(~there).sum()} of {len(there)}"} | {name: str(count) for name, count in counts.items()}


def _passing(results: Results, arms: tuple[Arm, ...]) -> pd.DataFrame:
    found = [times(results, arm).assign(group=arm.way.name, arm=str(arm)) for arm in present(results, arms)]
    table = pd.concat(found, ignore_index=True)
    table = table.assign(**by_the_end(table["time"], table["arm"].map(last_steps(results))))
    return table.assign(series=table["hops"].map(WORDS)).sort_values("hops", kind="stable")


def _first(table: pd.DataFrame) -> View:
    note = f"Measured every {STEPS_AN_EPOCH} steps, straight lines between. Open: not by the end, where it stands"
    columns = ["group", "series", "arm", "init_seed", "value", "there"]
    return View(table[columns], "training step", ROWS, BAND, note=note)
