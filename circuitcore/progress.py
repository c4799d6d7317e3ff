"""What a long command says about itself: how long it should take, before it starts, and how far it is."""

import heapq
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

POLL_SECONDS = 0.5
LOG_SECONDS = 30  # between two lines of a bar where nobody watches it move: in a file, in the log of a CI run


def text_bar(**options) -> tqdm:
    """A progress bar on the error stream; where that is no terminal, one line at most every ``LOG_SECONDS``."""
    if sys.stderr.isatty():
        return tqdm(**options)
    return tqdm(mininterval=LOG_SECONDS, maxinterval=2 * LOG_SECONDS, ascii=True, ncols=100, **options)


@dataclass(frozen=True)
class Watch:
    """Where a long job reports to.

    Attributes:
        say: takes one line of text, such as the expected time; None when that has been said already.
        bar: makes a progress bar; ``tqdm.auto.tqdm`` suits a notebook.
    """

    say: Callable[[str], None] | None
    bar: Callable[..., tqdm] = text_bar

    def told(self) -> "Watch":
        """The same, for a part of a job that has said how long the whole takes."""
        return Watch(None, self.bar)


def duration(seconds: float) -> str:
    """``about 40 s``, ``about 3 min``, ``about 2.5 h``."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def time_in_parallel(loads: list[float], workers: int) -> float:
    """When the last of ``loads`` (seconds each) ends, if they are handed out in their order to whoever is free."""
    free_at = [0.0] * workers
    for load in loads:
        heapq.heappush(free_at, heapq.heappop(free_at) + load)
    return max(free_at)


@contextmanager
def polled(bar: tqdm, done: Callable[[], float]) -> Iterator[None]:
    """Keep ``bar`` at ``done()`` while the body runs, wherever the work itself happens."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(POLL_SECONDS):
            bar.update(done() - bar.n)

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    try:
        with bar:
            yield
            ended.set()
            follower.join()
            bar.update(done() - bar.n)
    finally:
        ended.set()


class Trail:
    """A number that whoever works leaves in a small file, twice a second, for the bar of whoever waits.

    A file that cannot be written or read only makes a bar stand still.
    """

    def __init__(self, path: Path):
        self.path, self._written = path, 0.0

    def leave(self, count: int) -> None:
        """Note ``count`` if the last note is old enough."""
        if time.monotonic() - self._written >= POLL_SECONDS:
            self.note(count)

    def note(self, count: int) -> None:
        """Note ``count`` now."""
        self._written = time.monotonic()
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(str(count))

    def read(self) -> int:
        """The last note; 0 where there is none, or it is just being written."""
        try:
            return int(self.path.read_text())
        except (OSError, ValueError):
            return 0

    def remove(self) -> None:
        """Forget it."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


class Stages:
    """The seconds done of a few stages whose length was estimated, for a bar that stands for time.

    A stage that is under way counts by the clock, up to its estimate, and a finished one whole.

    Args:
        seconds: estimate of each stage, by name.
        clock: gives the time in seconds.
    """

    def __init__(self, seconds: Mapping[str, float], clock: Callable[[], float] = time.perf_counter):
        self._seconds, self._clock = dict(seconds), clock
        self._begun: dict[str, float] = {}
        self._ended: set[str] = set()

    @property
    def total(self) -> int:
        """Seconds of all stages; at least 1, since a bar needs a length."""
        return max(1, round(sum(self._seconds.values())))

    def done(self) -> int:
        """Seconds done, rounded down while something is left."""
        now = self._clock()
        seconds = sum(self._seconds[name] for name in self._ended)
        for name, begun in list(self._begun.items()):
            if name not in self._ended:
                seconds += min(self._seconds[name], now - begun)
        return self.total if self._ended == self._seconds.keys() else min(self.total, int(seconds))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Whatever runs inside is the stage ``name``."""
        self._begun[name] = self._clock()
        yield
        self._ended.add(name)
