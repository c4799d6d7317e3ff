"""Units of what claims measure, and bounds in them: how a number is told to people, and where it can lie at all."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import GetPydanticSchema, WithJsonSchema

from circuitcore.ground.spelling import unknown

Number = float | int
MOST_DIGITS = 3
"""Further decimals that ``Unit.words`` may take to keep a value and its bound apart."""
MOST_ZEROS = 4
"""Decimals up to which a zero is told with all of them: "0.00", but not "0.000000000000"."""
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
End = Annotated[
    Number,
    GetPydanticSchema(lambda _, handler: handler(float)),  # a union would write infinities as null
    WithJsonSchema({"anyOf": [{"type": "number"}, {"enum": ["-Infinity", "Infinity"]}]}),
]
"""A number that may be infinite, for which JSON has words alone."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """What a number counts.

    Attributes:
        name: what follows the number: "%", "epochs"; "" for a plain number.
        of: what a share is a share of, "prompts"; "" for anything else.
        times: the number shown is the value times this.
        digits: decimals shown.
        low: least possible value.
        high: largest possible value.
    """

    name: str = ""
    of: str = ""
    times: Number = 1
    digits: int = 0
    low: End = -math.inf
    high: End = math.inf

    def number(self, value: Number, beside: Number | None = None) -> str:
        """The number alone, with as many more decimals as it takes not to round onto, or past, another one.

        Nor onto the least or largest possible value, unless they are equal: 99.6 % is not all.
        """
        return self._text(value, self._decimals_of(value, beside))

    def _decimals_of(self, value: Number, beside: Number | None) -> int:
        most = self.digits + MOST_DIGITS
        ends = (self._decimals(value, end) for end in (self.low, self.high) if not math.isinf(end))
        return max([self._decimals(value, beside), *(digits for digits in ends if digits < most)])

    def _decimals(self, value: Number, other: Number | None) -> int:
        """Decimals with which the two are told apart; as many as can be where none do, the unit's if they are equal."""
        most = self.digits + MOST_DIGITS
        if other is None or math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12):
            return self.digits
        shown, beside = value * self.times, other * self.times
        for digits in range(self.digits, most):
            rounded = float(f"{shown:.{digits}f}")
            if (rounded > beside) == (shown > beside) and rounded != beside:
                return digits
        return most

    def _text(self, value: Number, digits: int) -> str:
        text = f"{value * self.times:,.{digits}f}"
        if not float(text.replace(",", "")):
            return text.lstrip("-") if self.digits <= MOST_ZEROS else "0"
        if self.digits > MOST_ZEROS and abs(value * self.times) <= 10**-MOST_ZEROS:
            return _power_of_ten(value * self.times, digits)
        return text.replace("-", "−")

    def words(self, value: Number, beside: Number | None = None) -> str:
        """The number with its unit: "80 %", "1 point", "3,518 steps"."""
        return self._named(self.number(value, beside))

    def _named(self, number: str) -> str:
        return f"{number} {self.name.removesuffix('s') if number.lstrip('−') == '1' else self.name}".rstrip()

    def interval(self, low: Number, high: Number, beside: Number | None = None, effect: Number | None = None) -> str:
        """Both ends in brackets, "[9, 15]"; an end that bounds nothing is left open.

        They have as many decimals as whichever of them, and of the effect between them, ``number`` gives the most, and
        as it takes to tell them apart. An end at the least or largest possible value is exact, and takes none for that.
        """
        digits = self._shared_decimals(low, high, beside, effect)
        ends = ("..." if math.isinf(end) else self._text(end, self._own(end, digits)) for end in (low, high))
        return f"[{', '.join(ends)}]"

    def estimate(self, effect: Number, low: Number, high: Number, beside: Number | None = None) -> str:
        """An effect in its interval, all in as many decimals: "3.4 epochs [2.7, 4.1]"."""
        digits = self._own(effect, self._shared_decimals(low, high, beside, effect))
        return f"{self._named(self._text(effect, digits))} {self.interval(low, high, beside, effect)}"

    def _shared_decimals(self, low: Number, high: Number, beside: Number | None, effect: Number | None) -> int:
        told = [self._decimals(end, beside) for end in (low, high) if not math.isinf(end)]
        digits = max(told + ([] if effect is None else [self._decimals_of(effect, beside)]), default=self.digits)
        while low < high and self._text(low, digits) == self._text(high, digits) and digits < self.digits + MOST_DIGITS:
            digits += 1
        return digits

    def _own(self, value: Number, digits: int) -> int:
        """Decimals of a value beside others that have so many: what it can be at most, or least, is exact."""
        return digits if self.low < value < self.high else self.digits

    def cut(self, low: Number, high: Number) -> tuple[float, float]:
        """The part of an interval that is possible."""
        return float(max(low, self.low)), float(min(high, self.high))


def _power_of_ten(value: Number, decimals: int) -> str:
    """A tiny number by its power of ten, as exact as with so many decimals: "10⁻¹⁰", "3.42 × 10⁻¹¹"."""
    exponent = math.floor(math.log10(abs(value)))
    digits, power = f"{value:.{max(2, decimals + exponent)}e}".split("e")
    digits, power = digits.rstrip("0").rstrip("."), f"10{str(int(power)).translate(RAISED)}"
    return power if digits == "1" else f"{digits.replace('-', '−')} × {power}"


def share_of(what: str) -> Unit:
    """A share of prompts, networks, ...: 0 to 1, told in percent."""
    return Unit(name="%", of=what, times=100, low=0, high=1)


PROMPTS, SEEDS, RUNS = share_of("prompts"), share_of("seeds"), share_of("runs")
SCORE = Unit(digits=2, low=0, high=1)
"""A score from 0 to 1 that is no share, such as a similarity."""
POINTS = Unit(name="points", times=100, low=-1, high=1)
"""The difference of two shares, in percentage points."""
EPOCHS, STEPS = Unit(name="epochs"), Unit(name="steps")
COUNT = Unit()
"""How many of something: motifs, orders, rows."""
NUMBER = Unit(digits=2)
DOUBLINGS = Unit(name="doublings", digits=2)
"""The logarithm of a ratio to base 2."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The smallest effect of interest: which side of which number, and why that number.

    The bound itself counts as reached, from either side.
    """

    direction: Literal["at_least", "at_most"]
    value: Number
    why: str

    def __post_init__(self):
        if self.direction not in ("at_least", "at_most"):
            raise ValueError(f"a bound: {unknown('direction', self.direction, ('at_least', 'at_most'))}")
        if not math.isfinite(self.value):
            raise ValueError(f"a bound must be finite, got {self.value}")
        if not self.why.strip():
            raise ValueError(f"a bound of {self.value} needs the reason for it in words; got an empty string")

    def reached(self, value: Number) -> bool:
        """Whether a value lies on the right side."""
        return value >= self.value if self.direction == "at_least" else value <= self.value

    def words(self, unit: Unit) -> str:
        """The bound in words, such as "at least 90 %"."""
        return f"{self.direction.replace('_', ' ')} {unit.words(self.value)}"


def at_least(value: Number, why: str) -> Bound:
    """A bound that is reached from above."""
    return Bound(direction="at_least", value=value, why=why)


def at_most(value: Number, why: str) -> Bound:
    """A bound that is reached from below."""
    return Bound(direction="at_most", value=value, why=why)


MORE_OFTEN_THAN_NOT = at_least(0.5, "more often than not")
