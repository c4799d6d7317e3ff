"""Tables of the large model taken apart at the end of training: which part remembers, and which head does what."""

from dataclasses import replace

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order, on_data_sets
from retrieval_circuits.bounds import LEADS_BY
from retrieval_circuits.design import BAND
from retrieval_circuits.permutation_recall.design import TASK_2, split_of
from retrieval_circuits.permutation_recall.measures.ffn import NEEDED
from retrieval_circuits.permutation_recall.readings import parts
from retrieval_circuits.permutation_recall.readings.models import AMONG_SHOWN, TWO
from retrieval_circuits.permutation_recall.readings.parts import ALL_HEADS, separation_null

PROBES = "probes of held-out permutations"
BOTH_ROWS = "held-out permutations: recall on probes, elimination on rows without repeat"
GUESS = "Chance: a guess among the four y shown"
CUTS = {
    "cut y_source": "without the y to be recalled", "cut x_source": "without the x it belongs to",
    "cut other y": "without the other y", "cut other x": "without the other x", "cut self": "without itself",
}  # fmt: skip
ANSWERS = {
    "recall_under": "the y shown (recall)",
    "eliminates_under": "the y not shown",
    "other_shown_under": "another y shown",
}
PARTS = {
    ("none", "none"): "whole", ("L0MLP", "zero"): "FFN zeroed", ("L0MLP", "mean"): "FFN its mean",
    ("L0MLP", "resample"): "FFN of another row", ("L0MLP", "linear"): "FFN linear",
}  # fmt: skip
MASS = {
    "mass_x_source": "x that matches", "mass_y_source": "y to be recalled", "mass_all_y": "all y",
    "mass_last_y": "last y", "mass_self": "itself",
}  # fmt: skip

HEADS_BY_ROLE = ("head that recalls more", "head that eliminates more")
"""A network's two heads, by what their loss costs: elimination less recall."""


def edges(results: Results) -> View:
    """What is answered when the last position cannot look at some positions, in any head."""
    found = [_under(results, metric, ALL_HEADS, list(CUTS)).assign(series=name) for metric, name in ANSWERS.items()]
    table = pd.concat(found, ignore_index=True)
    table = in_order(table.assign(group=table["edit"].astype(str).map(CUTS)), "group", CUTS.values())
    return _seeds(table, "share of answers", note="Without any cut nearly all answers are the y shown.")


def ffn(results: Results) -> View:
    """Recall and elimination without the FFN, and with the linear map nearest to it in its place."""
    found = []
    for metric, series in {"recall_under": "recall", "elimination_under": "elimination"}.items():
        for (site, edit), group in PARTS.items():
            rows = _under(results, metric, site, [edit])
            found.append(rows.assign(group=group, series=series))
    note = "FFN linear: the linear map, with a constant, nearest to it in squares over rows of trained permutations"
    table = in_order(pd.concat(found, ignore_index=True), "group", PARTS.values())
    return replace(_seeds(table, "share of rows answered rightly", note=note), split=BOTH_ROWS)


def neurons(results: Results) -> View:
    """Recall without the FFN neurons that matter most, more and more of them."""
    whole = parts.recall_whole(results).rename("value").reset_index().assign(removed=0)
    rows = results.at_final("recall_without_top", TWO, site="L0MLP")
    rows = rows.assign(removed=rows["variable"].astype(str).astype(int)).sort_values(["removed", "init_seed"])
    table = pd.concat([whole, rows], ignore_index=True).assign(parts="FFN neurons of largest effect")
    note = (
        f"Of {TASK_2.d_mlp} neurons, set to zero at the last position, ranked in each network by what the loss of each "
        f"alone costs on the same rows. {GUESS}"
    )
    drawn = table[["removed", "parts", "init_seed", "value"]]
    return View(drawn, "share of rows recalled", PROBES, "", AMONG_SHOWN, note)


def needed(results: Results) -> View:
    """How many FFN neurons each network needs: the loss of each of them alone costs more than ``NEEDED``."""
    rows = results.at_final("neurons_needed", TWO, site="L0MLP")
    costs = results.final_values("largest_neuron_drop", TWO, site="L0MLP")
    note = (
        f"Median: {rows['value'].median():g} of {TASK_2.d_mlp}, from {rows['value'].min():g} to "
        f"{rows['value'].max():g}. The one that matters most costs {costs.median():.2f} in the median network, from "
        f"{costs.min():.2f} to {costs.max():.2f}"
    )
    table = rows.assign(group=f"each alone costs > {NEEDED:g} of recall")
    return _seeds(table, f"FFN neurons of {TASK_2.d_mlp}", note=note)


def decoding(results: Results) -> View:
    """What a linear probe reads of the y to be recalled, before and after the FFN."""
    sites = {"L0.z": "heads' outputs", "L0.resid_mid": "before the FFN", "L0.resid_post": "after the FFN"}
    rows = results.at_final("decodes_y_source", TWO, site=list(sites), variable="y_source")
    table = rows.assign(
        group=rows["site"].astype(str).map(sites),
        series=rows["edit"].astype(str).map({"": "true labels", "random_labels": "random labels"}),
    )
    note = f"{GUESS}; with random labels, any of the five."
    return _seeds(in_order(table, "group", sites.values()), "accuracy of a linear probe", AMONG_SHOWN, note)


def moves(results: Results) -> View:
    """Answers moved by outputs from another row: which head carries the y, and which the match."""
    found = []
    carrier = parts.y_less_match(results).idxmax(axis=1)
    names = {"trade": "two y in each other's place", "match": "two x in each other's place"}
    for family, series in names.items():
        for edit in ("", "random_source"):
            wide = parts.share_moved(results, family, edit)
            other = carrier.map({parts.HEADS[0]: parts.HEADS[1], parts.HEADS[1]: parts.HEADS[0]})
            picked = {
                "the head that carries more of the y": [wide.loc[seed, head] for seed, head in carrier.items()],
                "the other head": [wide.loc[seed, head] for seed, head in other.items()],
                "both": wide[ALL_HEADS].tolist(),
            }
            if edit:
                picked = {"both, from an unrelated row": picked["both"]}
            for group, values in picked.items():
                rows = pd.DataFrame({"init_seed": wide.index, "value": values})
                found.append(rows.assign(group=group, series=series))
    return _seeds(
        pd.concat(found, ignore_index=True), "share of answers that follow the other row",
        note="Heads are told apart by the result itself, so that the first row is above the second by choice.",
    )  # fmt: skip


def positions(results: Results) -> View:
    """What is answered when the y to be recalled and another trade positional codes, in the values or in the keys."""
    answers = {
        "answers_swapped_under": "the other y", "recall_under": "the y shown (recall)",
        "eliminates_under": "the y not shown",
    }  # fmt: skip
    found = [
        _under(results, metric, ALL_HEADS, [f"swap {path}' positions"]).assign(group=name, series=f"in the {path}")
        for metric, name in answers.items() for path in ("values", "keys")
    ]  # fmt: skip
    return _seeds(pd.concat(found, ignore_index=True), "share of answers", AMONG_SHOWN, f"{GUESS}.")


def roles(results: Results) -> View:
    """What the loss of each head costs recall, and elimination; and how far a network's two heads are apart in it."""
    first = parts.first_head_eliminates(results)
    found = []
    for series, metric in {"recall": "recall_under", "elimination": "elimination_under"}.items():
        by_head = parts.cost_of_heads(results, metric)
        picked = {
            head: by_head[parts.HEADS[1]].where(first == is_first, by_head[parts.HEADS[0]])
            for head, is_first in zip(HEADS_BY_ROLE, (True, False), strict=True)
        }
        found += [_by_seed(values).assign(group=head, series=series) for head, values in picked.items()]
    apart = _by_seed(parts.role_separation(results))
    found.append(apart.assign(group="the two apart", series="elimination less recall"))
    table = in_order(pd.concat(found, ignore_index=True), "group", [*HEADS_BY_ROLE, "the two apart"])
    note = (
        "Each head replaced by its mean at the last position; heads are named by their cost to elimination less that "
        "to recall. Apart: how far the two are from each other in this, which the card counts from a half on"
    )
    return replace(_seeds(table, "share of rows lost", note=note), split=BOTH_ROWS)


def apart(results: Results) -> View:
    """How far the heads of a network differ in role, three ways to remove them, beside heads dealt out anew."""
    rows = []
    for how in ("zero", "mean", "resample"):
        own, dealt, p = separation_null(results, how)
        scores = parts.role_separation(results, how)
        rows.append({
            "head replaced by": {"zero": "zero", "mean": "its mean", "resample": "another row's"}[how],
            "difference in role": own, "heads dealt out anew": dealt, "share of deals as large": p,
            "networks above 0.5": f"{int((scores > LEADS_BY).sum())} of {len(scores)}",
        })  # fmt: skip
    note = "Differences in shares of answers; the last column counts those of more than a half"
    return View(pd.DataFrame(rows).assign(init_seed=pd.NA), "as named", PROBES, note=note)


def attention(results: Results) -> View:
    """Where each head looks from the last position of a probe; the eliminating head, and the other."""
    first = parts.first_head_eliminates(results)
    found = []
    for metric, group in MASS.items():
        rows = results.at_final(metric, TWO, family="repeat").astype({"site": str})
        rows = rows[(rows["variable"].astype(str) == "")]
        eliminates = (rows["site"] == parts.HEADS[0]) == rows["init_seed"].map(first)
        series = np.where(eliminates, HEADS_BY_ROLE[1], HEADS_BY_ROLE[0])
        found.append(rows.assign(group=group, series=series))
    table = in_order(pd.concat(found, ignore_index=True), "group", MASS.values())
    return _seeds(in_order(in_order(table, "series", HEADS_BY_ROLE), "group", MASS.values()), "attention mass")


def _by_seed(values: pd.Series) -> pd.DataFrame:
    return values.rename("value").rename_axis("init_seed").reset_index()


def _under(results: Results, metric: str, site: str, edits: list[str]) -> pd.DataFrame:
    return results.at_final(metric, TWO, site=site, edit=edits)


def _seeds(table: pd.DataFrame, unit: str, chance: float | None = None, note: str = "") -> View:
    kept = [name for name in ("group", "series", "init_seed", "value") if name in table]
    return on_data_sets(View(table[kept], unit, PROBES, BAND, chance, note), split_of)


VIEWS = {
    "edges": edges,
    "ffn": ffn,
    "neurons": neurons,
    "needed": needed,
    "decoding": decoding,
    "moves": moves,
    "positions": positions,
    "roles": roles,
    "apart": apart,
    "attention": attention,
}
