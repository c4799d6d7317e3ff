"""What came of making a chapter again from nothing: its records, and the table of them in the book.

``livingpaper.commands.reproduce --record`` writes ``published/reproduced/NAME.json``, and ``NAME.others.json`` where
rounding made every network another one; nobody types a number of them.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from circuitcore.training.store.sealed import read_record
from livingpaper.book.book_order import verdicts_in

FOLDER = "reproduced"
OTHERS = ".others"
"""Ends the name of a record of which no run is a published one: what becomes of verdicts where rounding differs."""
NONE_YET = "No chapter has been reproduced and recorded yet."
NOT_JUDGED = "not judged"
SAME_NUMBERS = "of the same numbers"
LAST_DIGITS = 1e-6  # some tables keep no more digits than six
HEADINGS = (
    "chapter", "processor", "runs that are equal", "verdicts equal", "largest difference of an effect",
    "hours by the clock",
)  # fmt: skip


@dataclass(frozen=True)
class MadeAgain:
    """One run made again in a part of a reproduction.

    Attributes:
        apart: the largest difference of a measured number from the published one, relative above one; None where
            weights, losses or rows are others, which are compared to the bit.
        hours: its share of what its part took by the clock.
        processor: what it was made on.
    """

    apart: float | None
    hours: float
    processor: str

    @classmethod
    def of(cls, apart: float, hours: float, processor: str) -> "MadeAgain":
        """From a difference that is infinite where it is another run; JSON has no number for that."""
        return cls(None if math.isinf(apart) else apart, hours, processor)

    @property
    def equal(self) -> bool:
        """Whether it is the published run, but for last digits of what was measured on it."""
        return self.apart is not None and self.apart <= LAST_DIGITS


@dataclass(frozen=True)
class Reproduction:
    """One chapter made from nothing and held against what is published.

    Attributes:
        chapter: its study.
        finished: the day, as 2026-11-24.
        processor: what it was made on; several where parts were.
        made_with: library, torch and vector instructions of the new runs; ``published_with``: of the published ones.
        runs: how many were trained or computed; ``equal``: how many of these are the published ones, by their last
            weights (by their tables where nothing is trained), of parts as ``MadeAgain.equal`` has it.
        claims: how many were judged on both sides, none where a part was made again; ``differing``: those whose status
            is another.
        largest: claim whose effect moved furthest in half-widths of its published interval; None if none has both.
        moved: by how many half-widths; infinite where the published interval has no width and the effect moved.
        hours: by the clock, interrupted attempts included; other work on the machine makes them more.
        cores: of the machine, of several the most.
        published: how many runs were published then; None in records that do not say, which are of whole chapters.
        parts: what was made again in parts, by name of the run; nothing where it was at once.
    """

    chapter: str
    finished: str
    processor: str
    made_with: tuple[str, ...]
    published_with: tuple[str, ...]
    runs: int
    equal: int
    claims: int
    differing: tuple[str, ...]
    largest: str | None
    moved: float
    hours: float
    cores: int
    published: int | None = None
    parts: Mapping[str, MadeAgain] = field(default_factory=dict)

    @property
    def judged(self) -> bool:
        """Whether the whole chapter was made again at once, and so its claims judged."""
        return self.claims > 0

    @property
    def of_others(self) -> bool:
        """Whether the whole chapter was made again and none of its runs is the published one."""
        return self.judged and not self.equal

    @property
    def made_on(self) -> str:
        """The processor, and the vector instructions that its rounding depends on."""
        told = (maker.rpartition(", ")[2].rpartition(" ")[2] for maker in self.made_with if ", " in maker)
        return ", ".join([self.processor, *dict.fromkeys(told)])

    @property
    def all_in_parts(self) -> bool:
        """Whether every run that was published then was made again in parts, and is equal."""
        return bool(self.parts) and self.equal == self.published

    @property
    def apart(self) -> float:
        """By how much numbers measured on the equal runs made in parts are off the published ones, at most."""
        return max((one.apart for one in self.parts.values() if one.equal), default=0.0)

    def to_json(self) -> str:
        """The record as it is kept; an infinite number as a word, which JSON has no number for."""
        moved = str(self.moved) if math.isinf(self.moved) else self.moved
        return json.dumps({**asdict(self), "moved": moved}, indent=1) + "\n"

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "Reproduction":
        """A record from what ``to_json`` wrote."""
        lists = {name: tuple(fields[name]) for name in ("made_with", "published_with", "differing")}
        parts = {name: MadeAgain(**one) for name, one in fields.get("parts", {}).items()}
        return cls(**{**fields, **lists, "moved": float(fields["moved"]), "parts": parts})


def furthest(records: Iterable[Mapping[str, Any]]) -> tuple[str | None, float]:
    """Of records of ``commands.rerun.compared``: the claim whose effect moved most, and by how many half-widths."""
    moved = {
        record["claim"]: _moved(record["paper"], record["rerun"]["effect"])
        for record in records
        if record["paper"] and record["rerun"] and None not in (record["paper"]["effect"], record["rerun"]["effect"])
    }
    largest = max(moved, key=moved.get, default=None)
    return largest, moved.get(largest, 0.0)


def _moved(paper: Mapping[str, Any], effect: float) -> float:
    difference, half = abs(effect - paper["effect"]), (float(paper["high"]) - float(paper["low"])) / 2
    if not difference:
        return 0.0
    return difference / half if half else math.inf


def as_table(published: Path, titles: Mapping[str, str], n_runs: Mapping[str, int]) -> str:
    """The records in a folder of published runs as a Markdown table; one of other networks stands below its chapter's.

    Args:
        published: the folder.
        titles: study -> its words, in the order of the rows.
        n_runs: study -> how many runs its chapter stands on now; those that came since a record are newer. Of
            one that is not named, those of the record.

    Raises:
        StoreError, ContentsError: a record is not what was published.
    """
    kept = {name: read_record(published, f"{FOLDER}/{name}") for name in titles}
    found = {name: Reproduction.of(fields) for name, fields in kept.items() if fields}
    n_claims = {name: len(verdicts_in(published, name)) for name in found}
    n_runs = {name: n_runs.get(name, record.published or record.runs) for name, record in found.items()}
    rows = []
    for name, record in found.items():
        others = read_record(published, f"{FOLDER}/{name}{OTHERS}")
        for one in (record, *([Reproduction.of(others)] if others else [])):
            rows.append(_row(one, titles[name], n_claims[name], n_runs[name]))
    if not rows:
        return NONE_YET
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *rows]
    part = {name for name, record in found.items() if _is_part(record, n_claims[name], n_runs[name])}
    left = [title for name, title in titles.items() if name not in found or name in part]
    missing = f"\n\nNot reproduced whole yet: {'; '.join(left)}." if left else ""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + missing


def _is_part(record: Reproduction, n_claims: int, n_runs: int) -> bool:
    if record.all_in_parts:
        return record.published < n_runs
    return record.claims < n_claims or record.runs < n_runs


def _row(record: Reproduction, title: str, n_claims: int, n_runs: int) -> tuple[str, ...]:
    equal, hours = f"{record.equal} of {record.runs}", f"{record.hours:.2g} on {record.cores} cores"
    if record.parts:
        digits = f"numbers within {record.apart:.1g}" if record.apart else "none in any number"
        judged = SAME_NUMBERS if record.all_in_parts else NOT_JUDGED
        return title, record.made_on, f"{equal}, of {n_runs} in all", judged, digits, hours
    if not record.judged:
        return title, record.made_on, f"{equal}, of {n_runs} in all", NOT_JUDGED, NOT_JUDGED, hours
    equal += f"; {n_runs - record.runs} are newer" if record.runs < n_runs else ""
    same = record.claims - len(record.differing)
    others = f" (not {', '.join(record.differing)})" if record.differing else ""
    others += f"; {n_claims - record.claims} are newer" if record.claims < n_claims else ""
    return title, record.made_on, equal, f"{same} of {record.claims}{others}", _difference(record), hours


def _difference(record: Reproduction) -> str:
    if not record.moved:
        return "none"
    by = "beyond an interval of no width" if math.isinf(record.moved) else f"{record.moved:.2g} half-widths"
    return f"{by}, {record.largest}"
