"""Claims as data: a question, what is read to answer it, the bound, the quantifier, the controls.

A claim is written down before the runs that it is about. Checks, cards, captions and the ledger are made from it, so
that no threshold stands anywhere twice; ``verdict.judge`` alone gives it a status.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import ConfigDict

from livingpaper.claims.reading import OnDataSets, Reading
from livingpaper.claims.results import Results
from livingpaper.claims.rules import RECORD, Counted, Every, OnAverage, Rule, Some
from livingpaper.claims.units import Bound
from livingpaper.claims.verdict import Asked, Declared, Finding, Guard, Held, Says, Spoils, Stance, Verdict, When, judge

__all__ = ["Claim", "Control", "Says"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A reading held against a bound by a quantifier.

    Attributes:
        reading: one number of each draw.
        bound: the smallest effect of interest, in the unit of the rule (``rule.unit(reading.unit)``).
        rule: what the quantifier of the sentence means.
    """

    reading: Reading
    bound: Bound
    rule: Rule = OnAverage()

    @property
    def asked(self) -> Asked:
        """The same in words."""
        each = getattr(self.rule, "each", None)
        return Asked(
            words=self.reading.words, unit=self.rule.unit(self.reading.unit), of=self.reading.unit,
            rule=self.rule.name, each=each, bound=self.bound, draws=self.reading.draws,
        )  # fmt: skip

    def on_data_sets(self, set_of: Callable[[int], int]) -> "Question":
        """The same asked of networks that were trained on several data sets, which then are what was drawn.

        Args:
            set_of: init seed -> its data set.
        """
        read = self.reading
        return replace(self, reading=replace(read, values=OnDataSets(read.values, set_of), arms=read.arms))

    def held(self, results: Results) -> Held | None:
        """The estimate; None where the runs that it takes are not there."""
        values = self.reading.of(results)
        if values is None:
            return None
        return Held(asked=self.asked, estimate=self.rule.estimate(values, self.bound, self.reading.unit))


@dataclass(frozen=True, kw_only=True)
class Control(Question):
    """A claim of its own that another one needs: judged by its interval, as every claim is.

    Attributes:
        spoils: the answer that means nothing where the control fails: "yes", "no" or "either". Networks that do not
            recall at all say nothing with a low score, but would with a high one.
    """

    spoils: Spoils = "yes"


@dataclass(frozen=True, kw_only=True)
class Claim(Question):
    """A question with the numbers that decide it, declared before any result is seen.

    Attributes:
        id: short unique name, no spaces.
        says: the sentences that its verdicts have.
        controls: what must hold besides.
        min_seeds: seeds needed to decide. 0 only for what no training enters.
        source: "source" when a published study makes the claim, "ours" otherwise.
        source_verdict: what the published study concluded; "" for our own claims.
        source_stance: how its conclusion bears on these networks (see ``verdict.Stance``).
        void: why the definition cannot answer, in a sentence, where that follows from the definition; "" otherwise.
        declared: whether it was written down, and its bound and controls chosen, before results that bear on it had
            been seen; what had been seen is for the remark.
        remark: what tempers the verdict, in sentences on the face of its card; "" for nothing.
    """

    __pydantic_config__: ClassVar[ConfigDict] = RECORD

    id: str
    says: Says
    controls: tuple[Control, ...] = ()
    min_seeds: int = 5
    source: Literal["source", "ours"] = "ours"
    source_verdict: str = ""
    source_stance: Stance = "claimed"
    void: str = ""
    declared: When = "before"
    remark: str = ""

    def __post_init__(self):
        if not self.id or any(letter.isspace() for letter in self.id):
            raise ValueError(f"a claim's id is one word; got {self.id!r}")
        if self.min_seeds < 0:
            raise ValueError(f"claim {self.id}: min_seeds must be >= 0, got {self.min_seeds}")
        if self.min_seeds == 0 and not isinstance(self.rule, Counted):
            raise ValueError(f"claim {self.id}: min_seeds 0 is for the rule Counted; got {self.rule.name!r}")
        if isinstance(self.rule, Every | Some) and self.bound.direction != "at_least":
            raise ValueError(f"claim {self.id}: the rule {self.rule.name!r} takes a bound from below; got at_most")
        if self.source_stance != "claimed" and not self.source_verdict:
            raise ValueError(f"claim {self.id}: source_stance {self.source_stance!r} is for one with a source_verdict")
        if self.remark and not self.remark.endswith("."):
            raise ValueError(f"claim {self.id}: a remark is sentences and ends with a full stop; got {self.remark!r}")
        if self.declared == "after" and not self.remark:
            raise ValueError(f"claim {self.id}: declared after results, it needs a remark that says what had been seen")
        unit = self.rule.unit(self.reading.unit)
        if not unit.low <= self.bound.value <= unit.high:
            raise ValueError(f"claim {self.id}: a bound of {self.bound.value} lies outside {unit.low} to {unit.high}")

    def on_data_sets(self, set_of: Callable[[int], int]) -> "Claim":
        """The same, and its controls, asked of networks that were trained on several data sets."""
        controls = tuple(control.on_data_sets(set_of) for control in self.controls)
        return replace(super().on_data_sets(set_of), controls=controls)

    @property
    def in_words(self) -> Declared:
        """The claim in words and numbers alone."""
        return Declared(
            id=self.id, says=self.says, asked=self.asked,
            controls=tuple((control.asked, control.spoils) for control in self.controls),
            min_seeds=self.min_seeds, source=self.source, source_verdict=self.source_verdict,
            source_stance=self.source_stance, void=self.void, declared=self.declared, remark=self.remark,
        )  # fmt: skip

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms it takes, controls included."""
        questions = (self, *self.controls)
        return tuple(dict.fromkeys(arm for question in questions for arm in question.reading.arms))

    def finding(self, results: Results) -> Finding | None:
        """What these results say; None where some of the runs it takes are not there."""
        main = self.held(results)
        if main is None:
            return None
        guards = []
        for control in self.controls:
            held = control.held(results)
            if held is None:
                return None
            guards.append(Guard(held=held, spoils=control.spoils))
        return Finding(held=main, guards=tuple(guards))

    def verdict(self, results: Results) -> Verdict:
        """The claim judged on results."""
        words, finding = self.in_words, self.finding(results)
        return Verdict(words, finding, judge(words, finding), results.origin)
