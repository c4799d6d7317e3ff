"""How long the parts of a build take: as they did here the last time, or else as elsewhere, scaled to this machine.

Without the environment's packages: ``paper.py`` reads and writes it too.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

# Seconds on the machine that ``REFERENCE_SECONDS`` is from. A part that is not here is known once it has run.
TYPICAL: Mapping[str, float] = MappingProxyType(
    {
        "published symbolic_kv": 20.0,
        "published what_it_costs": 6.0,
        "published claims": 4.0,
        "smoke symbolic_kv": 15.0,
        "smoke what_it_costs": 6.0,
        "smoke claims": 4.0,
        "all pages": 4.0,
        "changed pages": 3.0,
        "same pages": 1.5,
        "rerun symbolic_kv": 22.0,
        "page": 4.0,
    }
)
REFERENCE_SECONDS = 0.0033  # of one loop of ``slowness``
LOOPS = 15
UNKNOWN_SECONDS = 10.0  # the length in a bar of a part that has never run; no estimate is said for it


def duration(seconds: float) -> str:
    """``about 40 s``, ``about 3 min``, ``about 2.5 h``."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def slowness() -> float:
    """How much longer plain Python takes here, now, than where ``TYPICAL`` is from; a third at least, at most ten."""
    start = time.perf_counter()
    for _ in range(LOOPS):
        sum(number * number for number in range(100_000))
    return min(10.0, max(1 / 3, (time.perf_counter() - start) / LOOPS / REFERENCE_SECONDS))


@dataclass(frozen=True)
class Durations:
    """Seconds by name, kept in a file below ``build/``.

    Args:
        path: a JSON file; made when something is remembered.
    """

    path: Path

    @classmethod
    def of(cls, root: Path) -> "Durations":
        """Those of the project in ``root``."""
        return cls(root / "build" / "durations.json")

    def here(self) -> dict[str, float]:
        """What was remembered on this machine; nothing where the file is absent or damaged."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            return {str(name): float(seconds) for name, seconds in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}  # it only feeds an estimate

    def expected(self, names: list[str]) -> dict[str, float]:
        """Seconds each of ``names`` should take; those of which nothing is known are left out."""
        here, scale = self.here(), None
        found = {}
        for name in names:
            if name in here:
                found[name] = here[name]
            elif name in TYPICAL:
                scale = scale or slowness()
                found[name] = TYPICAL[name] * scale
        return found

    def remember(self, name: str, seconds: float) -> None:
        """Keep how long ``name`` took."""
        with suppress(OSError):  # a folder that cannot be written costs the next estimate, nothing else
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.here() | {name: round(seconds, 2)}, indent=1), encoding="utf-8")

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Remember how long the body took, if it came to its end."""
        start = time.perf_counter()
        yield
        self.remember(name, time.perf_counter() - start)
