"""The source's larger model taken apart at the end of training, one number a seed; recall by the place asked for."""

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results
from retrieval_circuits.permutation_recall.readings.models import TWO

HEADS = ("L0H0", "L0H1")
ALL_HEADS = "all heads"


def value_under(results: Results, metric: str, site: str, edit: str) -> pd.Series:
    """One number a seed, with a part changed."""
    return results.final_values(metric, TWO, site=site, edit=edit)


def recall_whole(results: Results) -> pd.Series:
    """Recall of the same networks, whole."""
    return results.final_values("recall", TWO, variable="")


def recall_without_y(results: Results) -> pd.Series:
    """Recall with the edges to the y to be recalled cut in all heads."""
    return value_under(results, "recall_under", ALL_HEADS, "cut y_source")


def lost_without_edge(results: Results, edit: str, site: str = ALL_HEADS) -> pd.Series:
    """Recall lost by a cut in all heads, or in one."""
    return recall_whole(results) - value_under(results, "recall_under", site, edit)


def lost_without_either(results: Results) -> pd.Series:
    """Recall lost by cutting the edges to y, or to x, whichever is less."""
    return np.minimum(lost_without_edge(results, "cut y_source"), lost_without_edge(results, "cut x_source"))


def recall_with_linear_map(results: Results) -> pd.Series:
    """Recall with the FFN replaced by the linear map nearest to it."""
    return value_under(results, "recall_under", "L0MLP", "linear")


def answers_traded(results: Results, path: str, site: str = ALL_HEADS) -> pd.Series:
    """Share of probes answered with the other y when two y trade positions in the "values" or "keys" of heads."""
    return value_under(results, "answers_swapped_under", site, f"swap {path}' positions")


def change_without_earlier_rows(results: Results) -> pd.Series:
    """Largest change of a last logit when attention writes nothing to earlier rows."""
    return value_under(results, "largest_change", ALL_HEADS, "zero rows before")


def decoding_accuracy(results: Results, site: str, edit: str = "") -> pd.Series:
    """Accuracy of a probe for the y to be recalled."""
    return results.final_values("decodes_y_source", TWO, site=f"L0.{site}", edit=edit, variable="y_source")


def share_moved(results: Results, family: str, edit: str = "") -> pd.DataFrame:
    """Share of answers that follow the source row: seeds by patched site."""
    rows = results.at_final("interchange", TWO, family=family, variable="source_answer", edit=edit)
    return rows.astype({"site": str}).pivot(index="init_seed", columns="site", values="value")


def share_moved_together(results: Results) -> pd.Series:
    """Share of answers that both heads' outputs move, of the kind that moves less."""
    return pd.concat([share_moved(results, family)[ALL_HEADS] for family in ("trade", "match")], axis=1).min(axis=1)


def y_less_match(results: Results) -> pd.DataFrame:
    """What each head carries of the y, less of the match: seeds by heads."""
    return share_moved(results, "trade")[list(HEADS)] - share_moved(results, "match")[list(HEADS)]


def separation_of_moves(results: Results) -> pd.Series:
    """Half the difference between two heads in what they carry."""
    by_head = y_less_match(results)
    return (by_head[HEADS[0]] - by_head[HEADS[1]]).abs() / 2


def cost_of_heads(results: Results, metric: str, how: str = "mean") -> pd.DataFrame:
    """What each head's loss costs of "recall_under" or "elimination_under", in shares of rows: seeds by heads."""
    whole = value_under(results, metric, "none", "none")
    return pd.DataFrame({head: whole - value_under(results, metric, head, how) for head in HEADS})


def role_scores(results: Results, how: str = "mean") -> pd.DataFrame:
    """What each head's loss costs, elimination less recall: seeds by heads."""
    return cost_of_heads(results, "elimination_under", how) - cost_of_heads(results, "recall_under", how)


def role_separation(results: Results, how: str = "mean") -> pd.Series:
    """How far the two heads differ in role."""
    scores = role_scores(results, how)
    return (scores[HEADS[0]] - scores[HEADS[1]]).abs()


def first_head_eliminates(results: Results, how: str = "mean") -> pd.Series:
    """Whether head 0 is the one whose loss costs elimination more than recall, compared with the other."""
    scores = role_scores(results, how)
    return scores[HEADS[0]] > scores[HEADS[1]]


def separation_null(results: Results, how: str = "mean", rounds: int = 10_000) -> tuple[float, float, float]:
    """Mean difference in role, its mean where heads are dealt out anew over networks, and the share of deals as large.

    Heads are drawn without regard to the network they come from, ``rounds`` times; the seed of the draws is fixed.
    """
    scores = role_scores(results, how).to_numpy()
    draw, pool = np.random.default_rng(0), scores.ravel()
    dealt = np.abs(np.diff(draw.permuted(np.tile(pool, (rounds, 1)), axis=1).reshape(rounds, -1, 2))[..., 0]).mean(1)
    own = float(np.abs(scores[:, 0] - scores[:, 1]).mean())
    return own, float(dealt.mean()), float((1 + (dealt >= own).sum()) / (1 + rounds))


def later_sources(results: Results, arm: str) -> pd.Series:
    """Per seed: recall of the second to fourth pair at the end, a mean of the three."""
    rows = results.at_final("recall", arm, variable=["source 2", "source 3", "source 4"])
    return rows.groupby("init_seed")["value"].mean()
