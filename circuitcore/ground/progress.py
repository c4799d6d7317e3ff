"""What a long command says about itself: how long it should take, before it starts, and how far it is."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

POLL_SECONDS = 0.5
LOG_SECONDS = 30  # between two lines of a bar where nobody watches it move: in a file, in the log of a CI run


def text_bar(**options) -> tqdm:
    """A progress bar on the error stream; where that is no terminal, one line at most every ``LOG_SECONDS``."""
    if sys.stderr.isatty():
        return tqdm(**options)
    return tqdm(mininterval=LOG_SECONDS, maxinterval=2 * LOG_SECONDS, ascii=True, ncols=100, **options)


def say_nothing(line: str) -> None:  # noqa: ARG001 - the signature of what says something
    """For a job whose lines have been said already, or are for nobody."""


@dataclass(frozen=True)
class Watch:
    """Where a long job reports to.

    Attributes:
        say: takes one line of text, such as the expected time.
        bar: makes a progress bar; ``tqdm.auto.tqdm`` suits a notebook.
    """

    say: Callable[[str], None] = say_nothing
    bar: Callable[..., tqdm] = text_bar

    def over(self, seconds: Mapping[str, float], what: str) -> AbstractContextManager["Stages"]:
        """Inside, a bar of stages of these estimated lengths; give it each as ``with stages.stage(name)``."""
        return _stages_shown(self.bar, seconds, what)

    def each(self, items: Mapping[Item, float], what: str) -> Iterator[Item]:
        """The items one after the other, beside a bar of how much there is to do for each, in any unit."""
        with self.bar(total=sum(items.values()), desc=what, leave=False) as bar:
            for item, load in items.items():
                yield item
                bar.update(load)

    def as_part(self) -> "Watch":
        """The same, for a part of a job that has said how long the whole takes."""
        return Watch(bar=self.bar)


SILENT = Watch(bar=lambda **options: tqdm(**options, disable=True))


@contextmanager
def polled(bar: tqdm, done: Callable[[], float]) -> Iterator[None]:
    """Keep ``bar`` at ``done()`` while the body runs, wherever the work itself happens."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(POLL_SECONDS):
            bar.update(done() - bar.n)

    follower = threading.Thread(target=follow, daemon=True)
    with bar:
        try:
            follower.start()
            yield
        finally:  # waited for, as a thread that is under way when Python ends can abort the process
            ended.set()
            if follower.ident is not None:
                follower.join()
        bar.update(done() - bar.n)


def write_line(text: str) -> None:
    """Put a line on the output, above a bar where one is on the same screen."""
    if sys.stderr.isatty():
        tqdm.write(text, file=sys.stdout)
    else:
        sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


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
        return self.total if self._ended >= self._seconds.keys() else min(self.total, int(seconds))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Whatever runs inside is the stage ``name``."""
        self._seconds.setdefault(name, 0.0)  # one that nobody expected moves no bar
        self._begun[name] = self._clock()
        yield
        self._ended.add(name)


@contextmanager
def _stages_shown(bar: Callable[..., tqdm], seconds: Mapping[str, float], what: str) -> Iterator[Stages]:
    stages = Stages(seconds)
    form = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
    with polled(bar(total=stages.total, desc=what, bar_format=form), stages.done):
        yield stages
