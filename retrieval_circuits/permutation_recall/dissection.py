"""Readings of the networks that were taken apart: the source's larger model at the end of training, one number each."""

import numpy as np
import pandas as pd

from livingpaper.claims.claim import Results
from retrieval_circuits.permutation_recall.readings import TWO

HEADS = ("L0H0", "L0H1")
ALL_HEADS = "all heads"
APART = 0.5
"""How far two heads must differ to have roles of their own: half of all answers."""


def under(results: Results, metric: str, site: str, edit: str) -> pd.Series:
    """One number a seed, with a part changed."""
    return results.final_values(metric, TWO, site=site, edit=edit)


def uncut(results: Results) -> pd.Series:
    """Recall of the same networks, whole."""
    return results.final_values("recall", TWO, variable="")


def recall_without_y(results: Results) -> pd.Series:
    """Recall with the edges to the y to be recalled cut in all heads."""
    return under(results, "recall_under", ALL_HEADS, "cut y_source")


def lost_without_edge(results: Results, edit: str) -> pd.Series:
    """Recall lost by a cut in all heads."""
    return uncut(results) - under(results, "recall_under", ALL_HEADS, edit)


def lost_without_either(results: Results) -> pd.Series:
    """Recall lost by cutting the edges to y, or to x, whichever is less."""
    return np.minimum(lost_without_edge(results, "cut y_source"), lost_without_edge(results, "cut x_source"))


def recall_with_linear_map(results: Results) -> pd.Series:
    """Recall with the FFN replaced by the best linear map."""
    return under(results, "recall_under", "L0MLP", "linear")


def answers_traded(results: Results, path: str) -> pd.Series:
    """Share of probes answered with the other y when two y trade positions in the "values" or "keys" of all heads."""
    return under(results, "answers_swapped_under", ALL_HEADS, f"swap {path}' positions")


def change_without_earlier_rows(results: Results) -> pd.Series:
    """Largest change of a last logit when attention writes nothing to earlier rows."""
    return under(results, "largest_change", ALL_HEADS, "zero rows before")


def decoded(results: Results, site: str, edit: str = "") -> pd.Series:
    """Accuracy of a probe for the y to be recalled."""
    return results.final_values("decodes_y_source", TWO, site=f"L0.{site}", edit=edit, variable="y_source")


def moved(results: Results, family: str, edit: str = "") -> pd.DataFrame:
    """Share of answers that follow the source row: seeds by patched site."""
    rows = results.at_final("interchange", TWO, family=family, variable="source_answer", edit=edit)
    return rows.astype({"site": str}).pivot(index="init_seed", columns="site", values="value")


def moved_together(results: Results) -> pd.Series:
    """Share of answers that both heads' outputs move, of the kind that moves less."""
    return pd.concat([moved(results, family)[ALL_HEADS] for family in ("trade", "match")], axis=1).min(axis=1)


def carried(results: Results) -> pd.DataFrame:
    """What each head carries of the y, less of the match: seeds by heads."""
    return moved(results, "trade")[list(HEADS)] - moved(results, "match")[list(HEADS)]


def separation_of_moves(results: Results) -> pd.Series:
    """Half the difference between two heads in what they carry."""
    by_head = carried(results)
    return (by_head[HEADS[0]] - by_head[HEADS[1]]).abs() / 2


def role_scores(results: Results, how: str = "mean") -> pd.DataFrame:
    """What each head's loss costs, elimination less recall: seeds by heads."""
    whole = {metric: under(results, metric, "none", "none") for metric in ("recall_under", "elimination_under")}
    cost = {(metric, head): whole[metric] - under(results, metric, head, how) for metric in whole for head in HEADS}
    return pd.DataFrame({head: cost["elimination_under", head] - cost["recall_under", head] for head in HEADS})


def role_separation(results: Results, how: str = "mean") -> pd.Series:
    """How far the two heads differ in role."""
    scores = role_scores(results, how)
    return (scores[HEADS[0]] - scores[HEADS[1]]).abs()


def first_head_eliminates(results: Results, how: str = "mean") -> pd.Series:
    """Whether head 0 is the one whose loss costs elimination more than recall, compared with the other."""
    scores = role_scores(results, how)
    return scores[HEADS[0]] > scores[HEADS[1]]
