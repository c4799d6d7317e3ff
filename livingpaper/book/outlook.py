"""What a build of the book has to do, how long that should take, and how it says so."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from circuitcore.ground.durations import UNKNOWN_SECONDS, duration, time_in_parallel


@dataclass(frozen=True)
class Outlook:
    """The parts of a build and the seconds each should take; None where nothing is known of one.

    Attributes:
        chapters: the notebooks to execute, by name.
        summaries: those to execute when the chapters are done.
        pages: name under which the time of building the pages is kept.
        pages_seconds: of building them.
        kernels: notebooks executed at once.
    """

    chapters: Mapping[str, float | None]
    summaries: Mapping[str, float | None]
    pages: str
    pages_seconds: float | None
    kernels: int

    @property
    def seconds(self) -> float:
        """Until everything is done, as far as it is known."""
        rounds = (_by_study(part) for part in (self.chapters, self.summaries))
        return sum(time_in_parallel(loads, self.kernels) for loads in rounds) + (self.pages_seconds or 0.0)

    def __str__(self) -> str:
        notebooks = {**self.chapters, **self.summaries}
        unknown = [name for name, seconds in notebooks.items() if seconds is None]
        what = f"{len(notebooks)} notebook(s) to execute, then the pages" if notebooks else "the pages"
        beside = f", and as long as it takes to execute {', '.join(unknown)} for the first time" if unknown else ""
        return f"Building the book ({what}): expected {duration(self.seconds)}{beside}."

    def lengths(self) -> dict[str, float]:
        """Seconds of each part, for a bar."""
        parts = {**self.chapters, **self.summaries, "pages": self.pages_seconds}
        return {name: UNKNOWN_SECONDS if seconds is None else seconds for name, seconds in parts.items()}


def _by_study(part: Mapping[str, float | None]) -> list[float]:
    """Seconds of each study: its appendix waits for its chapter."""
    found = Counter()
    for name, seconds in part.items():
        found[name.rpartition("/")[2]] += seconds or 0.0
    return list(found.values())
