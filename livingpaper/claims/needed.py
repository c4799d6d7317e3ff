"""How many seeds would decide what is undecided, if the effect stays what it is."""

import math
from collections import defaultdict
from dataclasses import dataclass

import scipy  # its parts are imported when they are asked for: a second that most commands never need

from circuitcore.emergence.shares import Counted, design_effect, worth_in_groups
from livingpaper.claims.rules import MEANS, Estimate, EvenOdds, OnAverage, Outcome
from livingpaper.claims.units import Bound
from livingpaper.claims.verdict import Declared, Finding, Held

NEAR = 0.1
"""An effect within this many standard deviations of its bound takes more seeds than are worth naming."""
MOST = 2000


class NotKeptError(ValueError):
    """Of a share over data sets the values of seeds were not kept, as in published records: how alike are they?"""


@dataclass(frozen=True)
class Needed:
    """What would decide: so many ``more`` seeds (or data sets, where those are what was drawn); None: nothing would.

    ``spoiled``: a failed control spoils the answer that the numbers lean to, so that more of the same decides nothing.
    ``by_control``: the claim's own effect is settled, and a control's is what the others would decide.
    """

    more: int | None
    of_sets: bool = False
    spoiled: bool = False
    by_control: bool = False


def needed(claim: Declared, finding: Finding) -> Needed:
    """Draws with which the open questions of a claim would be decided, its own or its controls' of the same answer.

    Raises:
        NotKeptError: a share over data sets whose seeds' values were not kept.
    """
    estimate, leans = finding.held.estimate, finding.held.outcome
    if leans is Outcome.OPEN:
        leans = Outcome.YES if finding.held.asked.bound.reached(estimate.effect) else Outcome.NO
    if any(guard.spoiled(leans) for guard in finding.failed):
        return Needed(None, estimate.of_sets, spoiled=True)
    controls = [guard.held for guard in finding.guards if guard.spoiled(leans) and guard.leans is Outcome.OPEN]
    by_control = finding.held.outcome is not Outcome.OPEN and bool(controls)
    found = [(_too_few(claim, estimate), estimate.of_sets)]
    for held in (finding.held, *controls):
        if held.outcome is Outcome.OPEN:
            n, of_sets = _draws(held), held.estimate.of_sets
            if n is None:
                return Needed(None, of_sets, by_control=by_control)
            found.append((max(n - held.estimate.n_draws, 0), of_sets))
    more, of_sets = max(found)
    return Needed(more, of_sets, by_control=by_control)


def _too_few(claim: Declared, found: Estimate) -> int:
    """Draws without which there are fewer seeds than a verdict takes; a data set is taken to bring as many as now."""
    return max(math.ceil((claim.min_seeds - found.n) * found.n_draws / found.n), 0) if found.n else claim.min_seeds


def _draws(held: Held) -> int | None:
    """In all, those that there are included."""
    found, bound = held.estimate, held.asked.bound
    return _for_mean(found, bound) if held.asked.rule in MEANS else _for_share(held)


def _for_mean(found: Estimate, bound: Bound) -> int | None:
    n = found.n_draws
    if math.isinf(found.low) and math.isinf(found.high):
        return OnAverage.least_sets if found.of_sets else OnAverage.least
    half = max(found.high - found.effect, found.effect - found.low)  # an end may be cut to what is possible
    deviation, gap = half * math.sqrt(n) / _t(n), abs(found.effect - bound.value)
    if gap < NEAR * deviation:
        return None
    return next((more for more in range(n + 1, MOST) if _t(more) * deviation / math.sqrt(more) <= gap), None)


def _for_share(held: Held) -> int | None:
    found, share, limit = held.estimate, held.estimate.effect, held.asked.bound.value
    if held.asked.rule == EvenOdds.name:
        share, limit = 0.5 + share, 0.5 + limit
    if abs(share - limit) < max(NEAR * math.sqrt(share * (1 - share)), 1e-9):
        return None
    alike = design_effect(_by_set(held)) if found.of_sets else 1.0
    for more in range(max(found.n_draws + 1, 2), MOST):
        n = found.n / found.n_draws * more
        worth = worth_in_groups(n, more, alike) if found.of_sets else n
        interval = Counted(share * worth, worth).interval()
        if not interval.low < limit < interval.high:
            return more
    return None


def _by_set(held: Held) -> list[list[float]]:
    """Which seeds of each data set reached what they are counted by, as 1 and 0 (or in part)."""
    found, each = held.estimate, held.asked.each
    if len(found.values) < found.n:
        raise NotKeptError(f"how alike the seeds of {found.n_sets} data sets are needs their values; none were kept")
    groups = defaultdict(list)
    for data_set, value in zip(found.sets, found.values, strict=True):
        groups[data_set].append(value if each is None else float(each.reached(value)))
    return list(groups.values())


def _t(n: int) -> float:
    return float(scipy.stats.t.ppf(0.975, n - 1))
