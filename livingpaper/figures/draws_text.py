"""What a claim's draws cannot show, in the words of its card: draws that are all equal, and a single data set."""

import numpy as np

from circuitcore.emergence.shares import Counted
from livingpaper.claims.rules import MEANS
from livingpaper.claims.verdict import Held, Verdict


def limits_of_draws(verdict: Verdict) -> list[str]:
    """A sentence for each limit that the interval does not tell; none where it tells all."""
    found, kind = verdict.estimate, verdict.claim.asked.draws
    if found is None or len(found.values) < 2:
        return []
    lines = []
    if found.sets and not found.of_sets:
        lines.append(f"All {found.n} {kind} share one data set: of another draw of the data this says nothing.")
    if verdict.claim.asked.rule in MEANS and np.isfinite(found.low) and np.ptp(found.values) == 0:
        lines.append(_without_scatter(verdict.finding.held, "data sets" if found.of_sets else kind))
    return lines


def _without_scatter(held: Held, kind: str) -> str:
    """Of equal draws: at an end of what is possible, how far the mean of others might lie all the same."""
    found, unit, bound = held.estimate, held.asked.unit, held.asked.bound
    told = f"All {found.n_draws} {kind} gave {unit.words(found.effect)}, so that the interval has no width."
    span = unit.high - unit.low
    if found.effect not in (unit.low, unit.high) or not np.isfinite(span):
        return told
    share = Counted((found.effect - unit.low) / span * found.n_draws, found.n_draws).interval()
    furthest = unit.low + span * (share.high if found.effect == unit.low else share.low)
    if bound.reached(furthest) == bound.reached(found.effect):
        return told
    return f"{told} If each were all or nothing, {unit.words(furthest)} could not be excluded: beyond the bound."
