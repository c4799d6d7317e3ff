"""How long the parts of some work take: as they did here the last time, or else as shipped, scaled to this machine.

Without the environment's packages: ``paper.py`` reads and writes it too.
"""

import heapq
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

PROBE_SECONDS = 1.0
PROBE = "loops of plain Python in a second"
UNKNOWN_SECONDS = 10.0  # the length in a bar of a part that has never run; no estimate is said for it


def duration(seconds: float) -> str:
    """``about 40 s``, ``about 3 min``, ``about 2.5 h``."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def speed() -> float:
    """How fast this machine is now, in loops of plain Python a second, of one core."""
    start, loops = time.perf_counter(), 0
    while (passed := time.perf_counter() - start) < PROBE_SECONDS:
        sum(number * number for number in range(100_000))
        loops += 1
    return loops / passed


def time_in_parallel(loads: list[float], workers: int) -> float:
    """When the last of ``loads`` (seconds each) ends, if they are handed out in their order to whoever is free."""
    return max(ends_in_parallel(loads, workers), default=0.0)


def ends_in_parallel(loads: list[float], workers: int) -> list[float]:
    """When each of ``loads`` (seconds each) ends, if they are handed out in their order to whoever is free."""
    free_at, ends = [0.0] * workers, []
    for load in loads:
        ends.append(heapq.heappop(free_at) + load)
        heapq.heappush(free_at, ends[-1])
    return ends


@dataclass(frozen=True)
class Durations:
    """Seconds by name.

    Args:
        path: a JSON file of what was remembered on this machine; made when something is.
        shipped: a JSON file of what it took elsewhere, and how fast that machine is (``speed``).
    """

    path: Path
    shipped: Path

    @classmethod
    def of(cls, root: Path) -> "Durations":
        """Those of the project in ``root``."""
        return cls(root / "build" / "durations.json", root / "params" / "durations.json")

    def here(self) -> dict[str, float]:
        """What was remembered on this machine; nothing where the file is absent or damaged."""
        return _read(self.path)

    def expected(self, names: Iterable[str], *, probe: bool = True) -> dict[str, float]:
        """Seconds each of ``names`` should take; those of which nothing is known are left out.

        Args:
            names: of work.
            probe: False where the machine may be at work: if it never was probed, shipped seconds count as they are.
        """
        here, wanted = self.here(), list(names)
        known = self._scaled([name for name in wanted if name not in here], probe=probe) | here
        return {name: known[name] for name in wanted if name in known}

    def remember(self, name: str, seconds: float) -> None:
        """Keep how long ``name`` took."""
        with suppress(OSError):  # a folder that cannot be written costs the next estimate, nothing else
            self.path.parent.mkdir(parents=True, exist_ok=True)
            known = self.here() | {name: float(f"{seconds:.3g}")}
            whole = self.path.with_suffix(f".{os.getpid()}")
            whole.write_text(json.dumps(known, indent=1), encoding="utf-8")
            whole.replace(self.path)  # a process that reads meanwhile finds all or all

    @contextmanager
    def timed(self, name: str, units: float = 1.0) -> Iterator[None]:
        """Remember how long the body took for each of its units of work, if it came to its end and had any to do."""
        start = time.perf_counter()
        yield
        if units:
            self.remember(name, (time.perf_counter() - start) / units)

    def timed_work(self, parts: Sequence["Work"]) -> AbstractContextManager[None]:
        """Remember what a unit of some work takes; where there is work of several kinds, nobody knows of any one."""
        return self.timed(parts[0].name, parts[0].units) if len(parts) == 1 else nullcontext()

    def _scaled(self, names: Sequence[str], *, probe: bool) -> dict[str, float]:
        """What is shipped of ``names``, as it should be on this machine; it is probed once, where anything is."""
        shipped = _read(self.shipped) if names else {}
        found = {name: shipped[name] for name in names if name in shipped}
        if not found or PROBE not in shipped:
            return {}
        here = self.here().get(PROBE)
        if here is None:
            if not probe:
                return found
            here = speed()
            self.remember(PROBE, here)
        return {name: seconds * shipped[PROBE] / here for name, seconds in found.items()}


@dataclass(frozen=True)
class Work:
    """Some work of one kind.

    Attributes:
        what: it, in words.
        name: under which the seconds of a unit are remembered.
        units: how much there is to do, for each worker.
    """

    what: str
    name: str
    units: float = 1.0


def expected(parts: Sequence[Work], durations: Durations) -> str:
    """``Expected: about 5 min (training, about 4 min; the page, about 60 s; the rest, not known yet).``."""
    units = durations.expected(part.name for part in parts)
    each = "; ".join(f"{part.what}, {length([part], units)}" for part in parts)
    total = length(parts, units) if any(part.name in units for part in parts) else "no time is known yet"
    return f"Expected: {total} ({each})."


def length(parts: Sequence[Work], units: Mapping[str, float]) -> str:
    """How long some work takes in all, in words; "more than" so much where that of a part is not known.

    Args:
        parts: of the work, one after another.
        units: seconds of a unit, by name (``Durations.expected``).
    """
    known = [units[part.name] * part.units for part in parts if part.name in units]
    if not known:
        return "not known yet"
    return f"{'more than ' if len(known) < len(parts) else ''}{duration(sum(known))}"


def _read(path: Path) -> dict[str, float]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): float(seconds) for name, seconds in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # it only feeds an estimate
