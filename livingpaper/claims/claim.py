"""Claims, the checks that test them, and the one function that turns a check into a badge.

A claim is written down before its figure. A check is computed from results. Prose never writes a badge:
``judge`` does, and ``Verdict`` refuses any status that ``judge`` would not give.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from numbers import Integral, Real
from typing import Literal

import numpy as np
import pandas as pd

from circuitcore.emergence.seeds import SeedsError, mean_interval, share_interval
from circuitcore.ground.spelling import unknown
from livingpaper.claims.results import Origin, Results, SelectionError

__all__ = [
    "Check",
    "Claim",
    "Origin",
    "Results",
    "Sample",
    "SelectionError",
    "Status",
    "Verdict",
    "from_json",
    "judge",
    "mean_check",
    "share_check",
    "to_json",
    "verdict_table",
]


class Status(StrEnum):
    """The four badges of the book."""

    SUPPORTED = "Supported"
    NEGATIVE = "Negative"
    UNSUPPORTED = "Unsupported"
    HYPOTHESIS = "Hypothesis"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence with the numbers that decide it, declared before any result is seen.

    Attributes:
        id: short unique name, no spaces.
        sentence: the claim as a reader meets it.
        metric: what is measured, in words or as the battery's metric name.
        direction: "at_least": the effect must reach ``smallest_effect``; "at_most": it must not pass it.
        smallest_effect: the smallest effect of interest, in the metric's unit.
        min_seeds: seeds needed for any badge but Hypothesis. 0 only for facts that no seed enters (a
            count in a data set).
        control: the control that must pass, in words.
        source: "source" when a published study makes the claim, "ours" otherwise.
        source_verdict: what the published study concluded; "" for our own claims.
    """

    id: str
    sentence: str
    metric: str
    direction: Literal["at_least", "at_most"]
    smallest_effect: Real
    min_seeds: int = 5
    control: str
    source: Literal["source", "ours"] = "ours"
    source_verdict: str = ""

    def __post_init__(self):
        if not self.id or any(letter.isspace() for letter in self.id):
            raise ValueError(f"a claim's id is one word; got {self.id!r}")
        if not math.isfinite(self.smallest_effect):
            raise ValueError(f"claim {self.id}: smallest_effect must be finite, got {self.smallest_effect}")
        if self.min_seeds < 0:
            raise ValueError(f"claim {self.id}: min_seeds must be >= 0, got {self.min_seeds}")
        if self.direction not in ("at_least", "at_most"):
            raise ValueError(f"claim {self.id}: {unknown('direction', self.direction, ('at_least', 'at_most'))}")
        if not self.control.strip():
            raise ValueError(f"claim {self.id}: name the control that must pass; got an empty string")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The values whose mean is a check's effect.

    Attributes:
        values: one per seed.
        within: (low, high) of the values that are possible at all.
    """

    values: tuple[float, ...]
    within: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Check:
    """What was found when a claim was tested.

    Attributes:
        effect: point estimate, in the metric's unit.
        interval: (low, high) over seeds, same unit. Infinite bounds mean that this n bounds nothing.
        n_seeds: training runs with distinct seeds behind the interval.
        control_passed: whether the claim's control came out as it must.
        control_value: what the control showed, for the reader.
        note: anything that limits the check.
        sample: what the effect is the mean of; None if it is no mean over seeds. Checks that differ in it alone are
            equal, and it is recorded only where that is asked for.

    Raises:
        ValueError: NaN, an inverted interval, or an effect outside its own interval. A check that could not
            be computed is ``None``, not NaN.
    """

    effect: Real
    interval: tuple[Real, Real]
    n_seeds: Integral
    control_passed: bool | np.bool_
    control_value: str = ""
    note: str = ""
    sample: Sample | None = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        # numpy's numbers come in from every table; plain ones go out to JSON.
        low, high = (float(bound) for bound in self.interval)
        plain = {"effect": float(self.effect), "interval": (low, high), "n_seeds": int(self.n_seeds)}
        for name, value in {**plain, "control_passed": bool(self.control_passed)}.items():
            object.__setattr__(self, name, value)
        if not math.isfinite(self.effect) or math.isnan(low) or math.isnan(high):
            raise ValueError(
                f"a check needs numbers (use None for 'not checked'); got {self.effect} in {self.interval}"
            )
        slack = 1e-9 * max(1.0, abs(self.effect))
        if not low - slack <= self.effect <= high + slack:
            raise ValueError(f"effect {self.effect} lies outside its own interval {self.interval}")
        if self.n_seeds < 0:
            raise ValueError(f"n_seeds must be >= 0, got {self.n_seeds}")


def judge(claim: Claim, check: Check | None) -> Status:
    """Turn a check into a badge; nothing else in the book makes one.

    - Hypothesis: not checked, or fewer seeds than the claim asks for.
    - Unsupported: the control failed, or the interval holds the smallest effect of interest (undecided).
    - Supported: the whole interval reaches the smallest effect, and the control passed.
    - Negative: the whole interval misses it, and the control passed: evidence against.

    The bound itself counts as reached for both directions.
    """
    if check is None or check.n_seeds < claim.min_seeds:
        return Status.HYPOTHESIS
    if not check.control_passed:
        return Status.UNSUPPORTED
    low, high = check.interval
    bound = claim.smallest_effect
    at_least = claim.direction == "at_least"
    if low >= bound if at_least else high <= bound:
        return Status.SUPPORTED
    if high < bound if at_least else low > bound:
        return Status.NEGATIVE
    return Status.UNSUPPORTED


def mean_check(
    values: Iterable[Real],
    *,
    control_passed: bool | np.bool_,
    control_value: str = "",
    note: str = "",
    within: tuple[Real, Real] = (-math.inf, math.inf),
) -> Check | None:
    """Check of a mean over seeds: one value per seed, Student t interval (95 %), cut to the range ``within``.

    Shares lie in (0, 1); a t interval does not know that. One seed gives the value with an unbounded interval, so that
    a smoke run still shows its point; no seed gives None.
    """
    values = [float(value) for value in values]
    if not values:
        return None
    try:
        found = mean_interval(values)
        effect, interval = found.mean, (max(found.low, within[0]), min(found.high, within[1]))
    except SeedsError:
        if len(values) != 1:
            raise
        effect, interval = values[0], (-math.inf, math.inf)
    return Check(
        effect=effect,
        interval=interval,
        n_seeds=len(values),
        control_passed=control_passed,
        control_value=control_value,
        note=note,
        sample=Sample(values=tuple(values), within=(float(within[0]), float(within[1]))),
    )


def share_check(
    successes: Integral,
    n_seeds: Integral,
    *,
    control_passed: bool | np.bool_,
    control_value: str = "",
    note: str = "",
) -> Check | None:
    """Check of "in how many seeds": share of seeds with a Wilson interval (95 %); None without seeds."""
    if n_seeds == 0:
        return None
    found = share_interval(successes, n_seeds)
    return Check(
        effect=found.mean,
        interval=(found.low, found.high),
        n_seeds=n_seeds,
        control_passed=control_passed,
        control_value=control_value,
        note=note,
    )


@dataclass(frozen=True)
class Verdict:
    """A claim, its check, and the badge ``judge`` gives; ``origin`` says whose runs ("paper" or "rerun").

    Raises:
        ValueError: a status that ``judge`` would not give.
    """

    claim: Claim
    check: Check | None
    status: Status
    origin: Origin

    def __post_init__(self):
        earned = judge(self.claim, self.check)
        if self.status != earned:
            raise ValueError(f"claim {self.claim.id}: status {self.status} given, but its check earns {earned}")

    @classmethod
    def of(cls, claim: Claim, check: Check | None, origin: Origin) -> "Verdict":
        """The verdict that ``judge`` gives."""
        return cls(claim, check, judge(claim, check), origin)


def verdict_table(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """One row per verdict, in the order given: the claim, its bound, what was found, the badge."""
    rows = []
    for verdict in verdicts:
        claim, check = verdict.claim, verdict.check
        rows.append(
            {
                "claim": claim.id,
                "sentence": claim.sentence,
                "metric": claim.metric,
                "direction": claim.direction,
                "smallest_effect": float(claim.smallest_effect),
                "min_seeds": claim.min_seeds,
                "control": claim.control,
                "source": claim.source,
                "source_verdict": claim.source_verdict,
                "effect": check.effect if check else math.nan,
                "low": check.interval[0] if check else math.nan,
                "high": check.interval[1] if check else math.nan,
                "n_seeds": check.n_seeds if check else 0,
                "control_passed": check.control_passed if check else None,
                "control_value": check.control_value if check else "",
                "note": check.note if check else "",
                "status": str(verdict.status),
                "origin": verdict.origin,
            }
        )
    return pd.DataFrame(rows)


def to_json(verdicts: Iterable[Verdict], *, samples: bool = False) -> str:
    """Verdicts as JSON text: a list, keys sorted, infinite bounds as the words "inf" and "-inf".

    Args:
        verdicts: in the order they are to have.
        samples: whether to keep the value of each seed.
    """
    records = []
    for verdict in verdicts:
        record = asdict(verdict)
        if verdict.check:
            check = record["check"]
            sample = check.pop("sample")
            check["interval"] = _words(verdict.check.interval)
            if samples and sample:
                check["sample"] = {"values": list(sample["values"]), "within": _words(sample["within"])}
        records.append(record)
    return json.dumps(records, indent=1, sort_keys=True, allow_nan=False) + "\n"


def from_json(text: str) -> tuple[Verdict, ...]:
    """Read what ``to_json`` wrote; refuses unknown or missing keys and unearned badges."""
    return tuple(_verdict(record) for record in json.loads(text))


def _words(bounds: tuple[Real, Real]) -> list[Real | str]:
    """Bounds as JSON has them; it has no infinity."""
    return [bound if math.isfinite(bound) else str(bound) for bound in bounds]


def _verdict(record: dict) -> Verdict:
    _same_keys(Verdict, record)
    _same_keys(Claim, record["claim"])
    check = record["check"]
    return Verdict(Claim(**record["claim"]), check and _check(check), Status(record["status"]), record["origin"])


def _check(record: dict) -> Check:
    _same_keys(Check, {"sample": None, **record})
    low, high = (float(bound) for bound in record["interval"])
    return Check(**{**record, "interval": (low, high), "sample": _sample(record.get("sample"))})


def _sample(record: dict | None) -> Sample | None:
    if record is None:
        return None
    _same_keys(Sample, record)
    low, high = (float(bound) for bound in record["within"])
    return Sample(values=tuple(map(float, record["values"])), within=(low, high))


def _same_keys(kind: type, record: dict) -> None:
    known = [field.name for field in fields(kind)]
    for key in record:
        if key not in known:
            raise ValueError(f"{kind.__name__} record: {unknown('key', key, known)}")
    missing = sorted(set(known) - set(record))
    if missing:
        raise ValueError(f"{kind.__name__} record lacks {', '.join(missing)}")
