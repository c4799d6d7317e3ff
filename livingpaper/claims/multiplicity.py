"""Many claims at once: how many would be supported by luck, and which survive a correction for being many."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from circuitcore.emergence.seeds import holm
from livingpaper.claims.rules import one_decides
from livingpaper.claims.verdict import Status, Verdict

LEVEL = 0.05
DECIDED = (Status.SUPPORTED, Status.REFUTED)


@dataclass(frozen=True)
class Many:
    """Claims that were tested together.

    Attributes:
        n_tested: those with a p value against their bound.
        n_decided: those of them that are decided.
        n_untested: decided ones without: one seed decides, all draws are equal, or it is a count.
        by_luck: how many would be expected to be Supported if the truth lay exactly at every bound.
        lost: ids of decided claims whose p value, corrected over their chapter, is above 0.05.
    """

    n_tested: int
    n_decided: int
    n_untested: int
    by_luck: float
    lost: tuple[str, ...]


def many(chapters: Sequence[Sequence[Verdict]]) -> Many:
    """Count over chapters; the correction is Holm's over the claims of one chapter."""
    tested, decided, untested, lost = 0, 0, 0, []
    for verdicts in chapters:
        rows = pd.DataFrame(
            {
                "id": [verdict.claim.id for verdict in verdicts],
                "decided": [verdict.status in DECIDED for verdict in verdicts],
                "p_value": [_p_value(verdict) for verdict in verdicts],
            }
        )
        rows = holm(rows)
        has_p = rows["p_value"].notna()
        tested += int(has_p.sum())
        decided += int((has_p & rows["decided"]).sum())
        untested += int((~has_p & rows["decided"]).sum())
        lost += rows.loc[rows["decided"] & (rows["p_holm"] > LEVEL), "id"].tolist()
    return Many(tested, decided, untested, tested * LEVEL / 2, tuple(lost))


def _p_value(verdict: Verdict) -> float:
    """The p value of what was tested; missing for what is void, was not checked, or has too few seeds.

    Missing, too, where one example or counterexample decides, as no share of seeds is asked for then, and for equal
    draws.
    """
    found = verdict.estimate
    if found is not None and one_decides(verdict.claim.asked.rule, found):
        return math.nan
    if verdict.claim.void or found is None or found.p_value is None or found.n < verdict.claim.min_seeds:
        return math.nan
    return found.p_value
