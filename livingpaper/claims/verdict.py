"""What a claim earned, as plain data: what was asked, what was found, and the one function that gives the status.

Prose never writes a badge: ``judge`` does, and ``Verdict`` refuses any status that ``judge`` would not give.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from string import Formatter
from typing import ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter

from livingpaper.claims.reading import SEED_DRAWS
from livingpaper.claims.results import Origin
from livingpaper.claims.rules import RECORD, RULES, Estimate, EvenOdds, Every, Outcome, Some
from livingpaper.claims.units import Bound, Unit

Spoils = Literal["yes", "no", "either"]
When = Literal["before", "after"]
"""Whether a claim was declared before results that bear on it had been seen."""


class Status(StrEnum):
    """The six badges of the book."""

    SUPPORTED = "Supported"
    REFUTED = "Refuted"
    UNDECIDED = "Undecided"
    CONTROL_FAILED = "Control failed"
    VOID = "Void"
    NOT_CHECKED = "Not checked"


FILLED = {
    "effect": lambda found: found.effect,
    "n": lambda found: found.n,
    "against": lambda found: found.against,
    "reached": lambda found: found.n - found.against,
}
"""What a sentence may name in braces."""


@dataclass(frozen=True, kw_only=True)
class Says:
    """The sentences of a claim. In ``fails``, ``{effect}``, ``{n}``, ``{against}``, ``{reached}`` are what was found.

    Attributes:
        holds: the claim; what is said where it is supported.
        fails: what is said where it is refuted.
        whether: the question as a clause, "whether ...", for all that is not decided.
    """

    __pydantic_config__: ClassVar[ConfigDict] = RECORD

    holds: str
    fails: str
    whether: str

    def __post_init__(self):
        for name in ("holds", "fails"):
            if not (text := getattr(self, name)) or not text.endswith("."):
                raise ValueError(f"a claim's {name!r} is a sentence and ends with a full stop; got {text!r}")
            allowed = FILLED if name == "fails" else {}
            if strange := sorted({word for _, word, _, _ in Formatter().parse(text) if word} - allowed.keys()):
                raise ValueError(f"a claim's {name!r} has {{{strange[0]}}}; allowed: {', '.join(allowed) or 'none'}")
        if not self.whether.startswith("whether ") or self.whether.endswith("."):
            raise ValueError(f"a claim's 'whether' is a clause, 'whether ...', no full stop; got {self.whether!r}")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question in words: the reading, the quantifier, the bound.

    Attributes:
        words: what is read.
        unit: of effect and bound.
        of: unit of the reading; another one where seeds are counted.
        rule: the quantifier's name in ``rules.RULES``.
        each: what a seed must reach to be counted; None where nothing is counted.
        bound: the smallest effect of interest.
        draws: what one number of the reading is of, in the plural: "seeds", or "orders of one network".
    """

    __pydantic_config__: ClassVar[ConfigDict] = RECORD

    words: str
    unit: Unit
    of: Unit
    rule: str
    each: Bound | None
    bound: Bound
    draws: str = SEED_DRAWS

    def __str__(self) -> str:
        bound = self.bound.words(self.unit)
        if self.rule == EvenOdds.name:
            return f"share of seeds with {self.words} within {self.unit.words(self.bound.value)} of one half"
        reached = f"{self.words} {self.each.words(self.of)}" if self.each else self.words
        every = "every seed has" if self.draws == SEED_DRAWS else f"each of the {self.draws} has"
        if self.rule == Every.name:
            return f"{every} {reached} (one that has not refutes it; else the interval must say {bound})"
        if self.rule == Some.name:
            return f"some seed has {reached} (one settles it; else it is refuted where the interval excludes {bound})"
        if self.each is not None:
            return f"{bound} of {self.draws} have {self.words} {self.each.words(self.of)}"
        return f"{self.words} {bound}"


@dataclass(frozen=True, kw_only=True)
class Held:
    """A question with its answer in numbers."""

    __pydantic_config__: ClassVar[ConfigDict] = RECORD

    asked: Asked
    estimate: Estimate

    @property
    def outcome(self) -> Outcome:
        """What the numbers alone say."""
        return RULES[self.asked.rule].outcome(self.estimate, self.asked.bound)


@dataclass(frozen=True, kw_only=True)
class Guard:
    """A control with its answer, and the answer of the claim that it spoils where it fails."""

    __pydantic_config__: ClassVar[ConfigDict] = RECORD

    held: Held
    spoils: Spoils

    def spoiled(self, outcome: Outcome) -> bool:
        """Whether that outcome of the claim hangs on this control."""
        return self.spoils in ("either", outcome.value)

    @property
    def leans(self) -> Outcome:
        """What the control comes to: what its interval says, else on which side of its bound the point lies."""
        if self.held.outcome is not Outcome.OPEN:
            return self.held.outcome
        return Outcome.OPEN if not self.held.asked.bound.reached(self.held.estimate.effect) else Outcome.YES


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found when a claim was tested: the claim's own numbers, and its controls'."""

    __pydantic_config__: ClassVar[ConfigDict] = RECORD

    held: Held
    guards: tuple[Guard, ...]

    @property
    def failed(self) -> tuple[Guard, ...]:
        """The controls whose interval says that they fail."""
        return tuple(guard for guard in self.guards if guard.held.outcome is Outcome.NO)


Stance = Literal["claimed", "elsewhere", "by another definition", "left open"]
"""What a source's conclusion is to these networks: of such as these; of others, by a proof or from larger ones; of such
as these, by a definition or score that is not the claim's; none, as it asked the question and left it. It tells whose
claim it is that a refutation is of."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A claim without the functions that read it: what is kept, shown and compared. Fields as in ``Claim``."""

    __pydantic_config__: ClassVar[ConfigDict] = RECORD

    id: str
    says: Says
    asked: Asked
    controls: tuple[tuple[Asked, Spoils], ...]
    min_seeds: int
    source: Literal["source", "ours"]
    source_verdict: str
    void: str
    source_stance: Stance = "claimed"
    declared: When = "before"
    remark: str = ""


def judge(claim: Declared, finding: Finding | None) -> Status:
    """Turn what was found into a status; nothing else in the book gives one.

    - Void: the definition cannot answer, whatever is found.
    - Not checked: the runs that it takes are not there.
    - Control failed: a failed control spoils every answer that the numbers may still give.
    - Undecided: too few seeds, an interval that holds the bound, or a control of this answer that misses its bound,
      though not by its whole interval.
    - Supported, Refuted: the numbers say yes, or no, and every control of that answer reaches its bound.

    A control fails only where its whole interval says so, and holds where its point does: few seeds of a control do not
    take back what a claim's own interval says, and more seeds never make it stricter. Cards say which it is.
    """
    if claim.void:
        return Status.VOID
    if finding is None:
        return Status.NOT_CHECKED
    enough = finding.held.estimate.n >= claim.min_seeds
    outcome = finding.held.outcome if enough else Outcome.OPEN
    possible = (Outcome.YES, Outcome.NO) if outcome is Outcome.OPEN else (outcome,)
    if all(any(guard.spoiled(answer) for guard in finding.failed) for answer in possible):
        return Status.CONTROL_FAILED
    unsure = any(guard.spoiled(outcome) and guard.leans is Outcome.OPEN for guard in finding.guards)
    if outcome is Outcome.OPEN or unsure:
        return Status.UNDECIDED
    return Status.SUPPORTED if outcome is Outcome.YES else Status.REFUTED


@dataclass(frozen=True)
class Verdict:
    """A claim, what was found, and the status that ``judge`` gives; ``origin`` says whose runs.

    Raises:
        ValueError: an answer to another question than the claim's or its controls'; a status that ``judge`` would not
            give.
    """

    __pydantic_config__: ClassVar[ConfigDict] = RECORD

    claim: Declared
    finding: Finding | None
    status: Status
    origin: Origin

    def __post_init__(self):
        if self.finding is not None:
            answered = [("the claim", self.claim.asked, self.finding.held.asked)]
            guards = tuple((guard.held.asked, guard.spoils) for guard in self.finding.guards)
            answered.append(("its controls", self.claim.controls, guards))
            for whose, asked, found in answered:
                if asked != found:
                    raise ValueError(f"claim {self.claim.id}: {whose} asked {asked}, but what was found is of {found}")
        earned = judge(self.claim, self.finding)
        if self.status != earned:
            raise ValueError(f"claim {self.claim.id}: status {self.status} given, but what was found earns {earned}")

    @property
    def estimate(self) -> Estimate | None:
        """The claim's own numbers, if it was checked."""
        return self.finding.held.estimate if self.finding else None

    @property
    def sentence(self) -> str:
        """What may be said: never more than the status."""
        says = self.claim.says
        match self.status:
            case Status.SUPPORTED:
                return says.holds
            case Status.REFUTED:
                return self._filled(says.fails)
            case Status.UNDECIDED:
                return f"It is not decided {says.whether}."
            case Status.CONTROL_FAILED:
                return f"It cannot be said {says.whether}: a control failed."
            case Status.VOID:
                return f"It cannot be said by this definition {says.whether}: {self.claim.void}"
            case _:
                return f"It was not checked on these runs {says.whether}."

    def _filled(self, text: str) -> str:
        found, asked = self.estimate, self.claim.asked
        words = asked.unit.words(found.effect, asked.bound.value)
        return text.format_map({name: words if name == "effect" else of(found) for name, of in FILLED.items()})


VERDICTS = TypeAdapter(tuple[Verdict, ...])
_WITHOUT_VALUES = {"estimate": {"values", "sets"}}
_SLIM = {"__all__": {"finding": {"held": _WITHOUT_VALUES, "guards": {"__all__": {"held": _WITHOUT_VALUES}}}}}


def to_json(verdicts: Iterable[Verdict], *, samples: bool = False) -> str:
    """Verdicts as JSON text: a list, one on a line, keys sorted, infinite ends of intervals as words.

    Args:
        verdicts: in the order they are to have.
        samples: whether to keep the value of each seed.
    """
    plain = json.loads(VERDICTS.dump_json(tuple(verdicts), exclude=None if samples else _SLIM))
    lines = (json.dumps(one, sort_keys=True, allow_nan=False, ensure_ascii=False) for one in plain)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def from_json(text: str) -> tuple[Verdict, ...]:
    """Read what ``to_json`` wrote; ValueError for unknown or missing keys and for a status that was not earned."""
    return VERDICTS.validate_json(text)


def schema() -> dict:
    """The JSON schema of what ``to_json`` writes."""
    return VERDICTS.json_schema(mode="serialization")
