"""The head that leads in a score: one choice per checkpoint, made by one metric and read by others."""

from collections.abc import Sequence

import pandas as pd

CASE = ("arm", "init_seed", "step")


def leading_head(rows: pd.DataFrame, case: Sequence[str] = CASE) -> pd.DataFrame:
    """The head with the highest value in each case; ties go to the lower layer, then the lower head.

    Args:
        rows: one row per head and case, with ``layer``, ``head``, ``site`` and ``value``.
        case: the columns that tell cases apart.

    Returns:
        One row per case: ``case``, ``site``, ``value``, and ``lead``: by how much it leads (missing with one head).
    """
    keys = [*case, "value", "layer", "head"]
    ranked = rows.sort_values(keys, ascending=[name != "value" for name in keys], ignore_index=True)
    groups = ranked.groupby(list(case), sort=False, observed=True)
    best = groups.head(1).set_index(list(case))[["site", "value"]]
    second = groups["value"].nth(1)
    second.index = ranked.loc[second.index].set_index(list(case)).index
    return best.assign(lead=best["value"] - second).reset_index()


def of_leader(rows: pd.DataFrame, leaders: pd.DataFrame, case: Sequence[str] = CASE) -> pd.DataFrame:
    """Those rows that belong to the leading head of their case."""
    return rows.merge(leaders[[*case, "site"]], on=[*case, "site"])
