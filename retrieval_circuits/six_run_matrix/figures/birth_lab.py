"""The two definitions of a birth, as the birth lab shows them: what is measured, and what counts as born."""

import pandas as pd

from circuitcore.emergence.births import POOLED
from circuitcore.emergence.definitions import Definition, Definitions
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.six_run_matrix.readings.births import (
    MOTIFS,
    SHOWN,
    corrected_curves,
    corrected_rules,
    published_on_grid,
    published_rules,
)

OURS, SOURCE = "ours", "source"
DEFINITIONS = Definitions(
    among=(
        Definition(name="This chapter's definition", scores=OURS, whose="this chapter's", rules=corrected_rules()),
        Definition(name="The source's definition", scores=SOURCE, whose="the source's", rules=published_rules()),
    ),
    apart=SHOWN,
)
"""The first is the chapter's own, on which its lab opens; ``apart`` are the births of SR5."""
KEYS = ["arm", "init_seed", "epoch"]


def birth_lab(results: Results) -> View:
    """All nine scores under both definitions, each at the checkpoints it is dated on, with the gates it has."""
    curves = {OURS: corrected_curves(results), SOURCE: published_on_grid(results)}
    table = pd.concat([_with_gates(rows).assign(scores=scores) for scores, rows in curves.items()], ignore_index=True)
    columns = ["scores", "arm", "init_seed", "motif", "epoch", "score", "gate_published", "gate_named"]
    return View(
        table[columns], "epoch of birth", "validation prompts and all six families",
        note="A gate binds where it is measured: among this chapter's scores for copying and routing; among the "
        "source's for all but behaviour, with named families for copying, routing and the probes. What is called the "
        "slot's patch is attention under exchanged queries among this chapter's scores.",
    )  # fmt: skip


def _with_gates(curves: pd.DataFrame) -> pd.DataFrame:
    """A row a motif and checkpoint: its score, and the score of either gate, missing where there is none."""
    is_pooled = curves["family"].isin(POOLED)
    pooled, families = curves[is_pooled], curves[~is_pooled & curves["metric"].isin(MOTIFS)]
    table = pooled[pooled["metric"].isin(MOTIFS)].rename(columns={"value": "score", "metric": "motif"})
    worst = pooled[pooled["metric"].str.endswith("_worst_base")]
    worst = worst.assign(motif=worst["metric"].str.removesuffix("_worst_base"))
    named = families.groupby([*KEYS, "metric"], observed=True)["value"].min().reset_index()
    for gate, rows in (("published", worst), ("named", named.rename(columns={"metric": "motif"}))):
        scores = rows.rename(columns={"value": f"gate_{gate}"})[[*KEYS, "motif", f"gate_{gate}"]]
        table = table.merge(scores, on=[*KEYS, "motif"], how="left")
    order = {motif: place for place, motif in enumerate(MOTIFS)}
    return table.assign(place=table["motif"].map(order)).sort_values(["arm", "init_seed", "place", "epoch"])
