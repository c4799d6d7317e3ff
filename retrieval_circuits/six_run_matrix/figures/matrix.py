"""Figures of the matrix: outcomes, localisation, births and their gates."""

from functools import partial

import pandas as pd

from circuitcore.emergence.births import dated, dates
from circuitcore.emergence.seeds import SeedsError, mean_interval
from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.view import View, in_order
from retrieval_circuits.bounds import IN_CONTEXT
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.published import BIRTHS, FINALS, GROUPED
from retrieval_circuits.six_run_matrix.readings import curriculum, per_seed, timing
from retrieval_circuits.six_run_matrix.readings.births import (
    MOTIFS,
    OPERATORS,
    PATCHES,
    PROBES,
    SHOWN,
    VARIABLES,
    corrected_births,
    published_births,
)

SOURCE_SEEDS = (0, 1, 2)
OURS, THEIRS = "as this book dates births", "as the source dates them"
"""Panels of ``birth_rows``."""
DATED = {
    "the source's": published_births,
    "the source's, without its gate": partial(published_births, gate=False),
    "this chapter's": corrected_births,
}
SLOT = "the slot"
"""What a figure that has both calls it: two scores, which the two definitions date under one name."""
SLOT_DATED = (
    "The slot's score is, {ours}, attention under exchanged queries, and, {theirs}, a patch of the site with the best "
    "probe."
)
LEFT_OUT, AT_THE_END, NO_SLOT = "left out", "counted at the last epoch", "the slot left out, too"


def finals(results: Results, arm: str) -> dict[str, pd.Series]:
    """Quantity, as the source's tables call it -> its value per seed at the end."""
    probe = {name: ("probe_published_best", variable) for variable, name in VARIABLES.items()}
    patch = {name: ("faithfulness_published", variable) for variable, name in VARIABLES.items()}
    handed = curriculum.operator_handoffs(results)
    handed = handed[handed["arm"] == arm]
    return {
        "accuracy, val": per_seed.accuracy(results, arm, "val"),
        "accuracy, test": per_seed.accuracy(results, arm),
        "accuracy, four pairs": per_seed.accuracy(results, arm, per_seed.OOD),
        **{
            f"probe, {name}": results.final_values(metric, arm, variable=variable, family="all")
            for name, (metric, variable) in probe.items()
        },
        **{motif: per_seed.best_head(results, metric, arm, family="all") for metric, motif in OPERATORS.items()},
        **{
            f"patch, {name}": results.final_values(metric, arm, variable=variable, family="all")
            for name, (metric, variable) in patch.items()
        },
        **{
            f"handoffs of {motif}": handed[handed["motif"] == motif].set_index("init_seed")["file_order"].astype(float)
            for motif in OPERATORS.values()
        },
    }


def outcomes(results: Results) -> View:
    """The source's grouped outcomes beside ours (its figure 7): shares only, one point a seed."""
    parts = []
    for arm in MATRIX:
        for quantity, values in finals(results, arm).items():
            if quantity.startswith("handoffs"):
                continue
            ours = pd.DataFrame({"init_seed": values.index, "value": values.to_numpy(), "who": "ours"})
            theirs = pd.DataFrame({"init_seed": [None], "value": [GROUPED[quantity][arm]], "who": ["source"]})
            parts.append(
                pd.concat([ours, theirs], ignore_index=True).assign(group=f"{quantity} ({arm})", quantity=quantity)
            )
    table = pd.concat(parts, ignore_index=True)
    order = {quantity: place for place, quantity in enumerate(GROUPED)}
    table = table.assign(place=table["quantity"].map(order)).sort_values(["place", "group"], kind="stable")
    return View(
        table[["group", "who", "init_seed", "value"]], "share of prompts", "the named prompts; probes, patches and "
        "operators on all six families", note="The source's points are means over three seeds.",
    )  # fmt: skip


def grouped(results: Results) -> View:
    """The same numbers and the handoffs as a table."""
    rows = []
    for arm in MATRIX:
        for quantity, values in finals(results, arm).items():
            rows += [
                {"quantity": f"{quantity} ({arm})", "source": GROUPED[quantity][arm], "init_seed": seed, "value": value}
                for seed, value in values.items()
            ]
    return View(pd.DataFrame(rows).sort_values("quantity", kind="stable"), "as named", "as named")


def outcome_table(results: Results) -> View:
    """The source's outcome table, run by run, beside our runs of the same seeds."""
    rows = []
    for arm in MATRIX:
        top = per_seed.top_loss(results, arm).set_index("init_seed")
        heads = {motif: curriculum.final_leaders(results, metric, arm) for metric, motif in OPERATORS.items()}
        longer = per_seed.accuracy(results, arm, per_seed.OOD)
        for seed in longer.index:
            theirs = FINALS.get((arm, seed), {})
            rows.append(
                {
                    "run": f"{arm}, seed {seed}", "init_seed": seed,
                    "four pairs": longer[seed], "source: four pairs": theirs.get("four pairs"),
                    "largest loss": f"{top['value'][seed]:.3f} ({top['site'][seed]})",
                    "source: largest loss": _with_head(theirs, "largest drop", "its head"),
                    "routing": _led(heads["routing"], seed), "source: routing": _with_head(theirs, "routing", "router"),
                    "copying": _led(heads["copying"], seed), "source: copying": _with_head(theirs, "copying", "copier"),
                }
            )  # fmt: skip
    return View(pd.DataFrame(rows), "as named", "all six families")


def _with_head(theirs: dict, value: str, head: str) -> str | None:
    return f"{theirs[value]:.3f} ({theirs[head]})" if theirs else None


def _led(heads: pd.DataFrame, seed: int) -> str:
    row = heads.loc[seed]
    tie = ", tie" if row["tied"] else ""
    return f"{row['value']:.3f} ({row['site']}{tie})"


CALLED = {"off": "no curriculum", "on": "curriculum"}
"""What a row of a picture calls an arm of the matrix."""


def localisation(results: Results) -> View:
    """Accuracy lost without each head (the source's figure 8), and without both heads of a layer: a point a run."""
    ways = {
        "zero at the arrow (as published)": ("ablation_drop_published", {}),
        "mean at every position (ours)": ("joint_ablation_drop", {"edit": "mean@all"}),
    }
    found = [results.at_final(metric, arm, **where).assign(series=name, arm=arm)
             for name, (metric, where) in ways.items() for arm in MATRIX]  # fmt: skip
    table = pd.concat(found, ignore_index=True)
    parts = table["site"].astype(str).str.replace("H*", " both", regex=False)
    table = table.assign(group=parts + ", " + table["arm"].map(CALLED)).sort_values("group", kind="stable")
    split = "all six families (as published) and test prompts, each asked for all three keys (ours)"
    columns = ["group", "series", "arm", "init_seed", "value"]
    return View(
        table[columns], "accuracy lost", split, levels={"a guess loses": 1 - IN_CONTEXT},
        note="A guess, from all right, among three values as in the prompts of ours",
    )  # fmt: skip


def births(results: Results) -> View:
    """Births of the source's nine motifs beside ours under the same definition, in epochs."""
    born = dated(published_births(results))
    theirs = pd.DataFrame(
        [
            {"group": f"{motif} ({arm})", "who": "source", "init_seed": None, "value": float(epoch), "motif": motif}
            for motif, of_run in BIRTHS.items() for (arm, _), epoch in of_run.items()
        ]
    ).dropna(subset=["value"])  # fmt: skip
    ours = born.assign(group=born["motif"] + " (" + born["arm"] + ")", who="ours")
    table = pd.concat([ours, theirs.assign(there=True)], ignore_index=True)
    order = {motif: place for place, motif in enumerate(MOTIFS)}
    table = table.assign(place=table["motif"].map(order)).sort_values(["place", "group"], kind="stable")
    return View(
        table[["group", "who", "init_seed", "value", "there"]], "epoch of birth",
        "validation prompts and all six families",
        note=f"Open: {_never(born)} of ours, which do not happen by the end; the source's that do not are not drawn",
    )  # fmt: skip


def birth_rows(results: Results) -> View:
    """The four births that the source's figure shows, of each seed without a curriculum, by both definitions."""
    parts, never = [], []
    for panel, births_of in {OURS: corrected_births, THEIRS: published_births}.items():
        born = births_of(results)
        born = in_order(born[(born["arm"] == "off") & born["motif"].isin(SHOWN)], "motif", SHOWN)
        born = born.assign(panel=panel, series=born["motif"].map(called), value=dates(born))
        parts.append(born.sort_values("init_seed", kind="stable"))
        never.append(f"{never_of(born['value'])} {panel}")
    return View(
        pd.concat(parts, ignore_index=True)[["panel", "arm", "init_seed", "series", "value"]],
        "epoch", "validation prompts and all six families",
        note=f"Networks without a curriculum. Births that never happen are not drawn: {' and '.join(never)}. "
        + SLOT_DATED.format(ours="in the first panel", theirs="in the second"),
    )  # fmt: skip


def called(motif: str) -> str:
    """What a motif is called in figures that have both definitions."""
    return SLOT if motif == PATCHES["matching_slot"] else motif


def never_of(epochs: pd.Series) -> str:
    """How many of these births never happen."""
    return f"{int(epochs.isna().sum())} of {len(epochs)}"


def _never(born: pd.DataFrame) -> str:
    return f"{(~born['there']).sum()} of {len(born)} births"


def birth_table(results: Results) -> View:
    """Births run by run for the source's seeds: its epoch, a slash, ours."""
    ours = timing.wide(published_births(results))
    rows = [
        {"source / ours": motif}
        | {
            f"{arm} {seed}": f"{_epoch(epoch)} / {_epoch(ours.loc[(arm, seed), motif])}"
            for (arm, seed), epoch in of_run.items() if (arm, seed) in ours.index
        }
        for motif, of_run in BIRTHS.items()
    ]  # fmt: skip
    if len(rows[0]) == 1:
        raise SelectionError(f"none of the source's seeds {SOURCE_SEEDS} is among these runs")
    return View(pd.DataFrame(rows), "epoch of birth", "as published", note="Epochs of birth")


def _epoch(epoch: float | int) -> str:
    return "never" if pd.isna(epoch) else f"{epoch:.0f}"


def gates(results: Results) -> View:
    """Births of the operators under the published gate, no gate, and our definitions."""
    under = {
        "published gate": published_births(results),
        "no gate": published_births(results, gate=False),
        "ours": corrected_births(results),
    }
    motifs = [*OPERATORS.values(), PROBES["query_key"], PATCHES["matching_slot"]]
    parts = [born[born["motif"].isin(motifs)].assign(series=series) for series, born in under.items()]
    table = dated(pd.concat(parts, ignore_index=True))
    table = table.assign(group=table["motif"].map(called) + " (" + table["arm"] + ")")
    table = table.sort_values(["group"], kind="stable")
    note = (
        f"Open: {_never(table)}, which do not happen by the end, where they were last seen not to have. By our rule a "
        "score must hold for two checkpoints, so that one that passes at the last alone stands at the one before. "
        + SLOT_DATED.format(ours="by our rule", theirs="by the source's")
    )
    shown = table[["group", "series", "init_seed", "value", "there"]]
    return View(shown, "epoch of birth", "all six families", note=note)


def robustness(results: Results) -> View:
    """In how many runs the operators are born, and when, as threshold and gate are moved one at a time."""
    rows = []
    for gate in (True, False):
        for threshold in timing.ROBUST:
            born = published_births(results, threshold=threshold, gate=gate)
            for motif in (*OPERATORS.values(), PATCHES["matching_slot"]):
                epochs = dates(born[born["motif"] == motif])
                rows.append(
                    {
                        "motif": motif, "gate": "published" if gate else "none", "threshold": f"{threshold:.2f}",
                        "born": f"{int(epochs.notna().sum())} of {len(epochs)}", "median epoch": epochs.median(),
                        "earliest": epochs.min(), "latest": epochs.max(),
                    }
                )  # fmt: skip
    table = pd.DataFrame(rows).sort_values(["motif", "gate", "threshold"], kind="stable")
    return View(table, "epoch of birth", "all six families")


def unborn(results: Results) -> View:
    """How far apart the births of a run lie, with those that never happen left out and counted as at the end."""
    rows = []
    for definition, born_under in DATED.items():
        never = timing.wide(born_under(results), SHOWN).isna()
        rows.append(
            {
                "definition": definition, "births that never happen": f"{int(never.sum().sum())} of {never.size}",
                LEFT_OUT: mean_and_interval(timing.apart(results, born_under)),
                NO_SLOT: mean_and_interval(timing.apart(results, born_under, timing.ORDERED)),
                AT_THE_END: mean_and_interval(timing.apart_at_least(results, born_under)),
            }
        )  # fmt: skip
    unit = "epochs from the first to the last birth of a run"
    return View(pd.DataFrame(rows), unit, "all six families", note=unit.capitalize())


def mean_and_interval(values: pd.Series) -> str:
    """Mean over data sets and its interval, in whole epochs or steps."""
    try:
        found = mean_interval(per_seed.independent(values))
    except SeedsError:
        return "–" if values.empty else f"{values.mean():,.0f}"
    return f"{found.mean:,.0f} [{found.low:,.0f}, {found.high:,.0f}]"


VIEWS = {
    "outcomes": outcomes,
    "grouped": grouped,
    "per_seed": outcome_table,
    "localisation": localisation,
    "births": births,
    "birth_rows": birth_rows,
    "birth_table": birth_table,
    "gates": gates,
    "robustness": robustness,
    "unborn": unborn,
}
