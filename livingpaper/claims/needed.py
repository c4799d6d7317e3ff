"""How many seeds would decide what is undecided, if the effect stays what it is."""

import math
from dataclasses import dataclass

import scipy  # its parts are imported when they are asked for: a second that most commands never need

from circuitcore.emergence.shares import Counted
from livingpaper.claims.rules import Estimate, EvenOdds, OnAverage, Outcome, OverPairs
from livingpaper.claims.units import Bound
from livingpaper.claims.verdict import Declared, Finding, Held

NEAR = 0.1
"""An effect within this many standard deviations of its bound takes more seeds than are worth naming."""
MOST = 2000


@dataclass(frozen=True)
class Needed:
    """What would decide: ``seeds`` in all (or data sets, where those are what was drawn); None where nothing would.

    ``spoiled``: a failed control spoils the answer that the numbers lean to, so that more of the same decides nothing.
    ``by_control``: the claim's own effect is settled, and a control's is what the others would decide.
    """

    seeds: int | None
    have: int
    of_sets: bool = False
    spoiled: bool = False
    by_control: bool = False

    @property
    def more(self) -> int | None:
        """Those that are still lacking."""
        return None if self.seeds is None else max(self.seeds - self.have, 0)


def needed(claim: Declared, finding: Finding) -> Needed:
    """Draws with which the open questions of a claim, its own or its controls', would be decided."""
    controls = [guard.held for guard in finding.guards if guard.leans is Outcome.OPEN]
    unsettled = [held for held in (finding.held, *controls) if held.outcome is Outcome.OPEN]
    found = [_draws(held) for held in unsettled]
    estimate = finding.held.estimate
    of_sets, have = estimate.of_sets, estimate.n_draws
    leans = Outcome.YES if finding.held.asked.bound.reached(estimate.effect) else Outcome.NO
    if any(guard.spoiled(leans) for guard in finding.failed):
        return Needed(None, have, of_sets, spoiled=True)
    by_control = finding.held.outcome is not Outcome.OPEN and bool(controls)
    if any(n is None for n in found):
        return Needed(None, have, of_sets, by_control=by_control)
    return Needed(max([*found, 0 if of_sets else claim.min_seeds]), have, of_sets, by_control=by_control)


def _draws(held: Held) -> int | None:
    found, bound = held.estimate, held.asked.bound
    means = held.asked.rule in (OnAverage.name, OverPairs.name)
    return _for_mean(found, bound) if means else _for_share(found, bound, held.asked.rule)


def _for_mean(found: Estimate, bound: Bound) -> int | None:
    n = found.n_draws
    if math.isinf(found.low) and math.isinf(found.high):
        return OnAverage.least_sets if found.of_sets else OnAverage.least
    half = max(found.high - found.effect, found.effect - found.low)  # an end may be cut to what is possible
    deviation, gap = half * math.sqrt(n) / _t(n), abs(found.effect - bound.value)
    if gap < NEAR * deviation:
        return None
    return next((more for more in range(n + 1, MOST) if _t(more) * deviation / math.sqrt(more) <= gap), None)


def _for_share(found: Estimate, bound: Bound, rule: str) -> int | None:
    folded = rule == EvenOdds.name
    share, limit = (0.5 + found.effect, 0.5 + bound.value) if folded else (found.effect, bound.value)
    if abs(share - limit) < max(NEAR * math.sqrt(share * (1 - share)), 1e-9):
        return None
    worth = _worth(found, share, folded=folded) / found.n_draws
    for more in range(max(found.n_draws + 1, 2), MOST):
        interval = Counted(share * more * worth, more * worth).interval()
        if not interval.low < limit < interval.high:
            return more
    return None


def _worth(found: Estimate, share: float, *, folded: bool) -> float:
    """Independent draws that give a share its interval: of data sets with several seeds, neither the one nor the other.

    Their scatter decides (``circuitcore.emergence.shares.counted_in_groups``). Of an interval that is folded at one
    half the upper end alone is that of the share.
    """
    if not found.of_sets:
        return float(found.n_draws)

    def too_wide(n: float) -> float:
        interval = Counted(share * n, n).interval()
        return interval.high - (0.5 + found.high) if folded else interval.high - interval.low - (found.high - found.low)

    least, most = 1e-3, 2.0 * found.n
    return most if too_wide(most) > 0 else float(scipy.optimize.brentq(too_wide, least, most, xtol=1e-6))


def _t(n: int) -> float:
    return float(scipy.stats.t.ppf(0.975, n - 1))
