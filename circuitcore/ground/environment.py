"""What the environment says of where things lie, and the environment of processes started from here."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

WORKERS = "CIRCUITCORE_WORKERS"


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def n_workers() -> int:
    """Worker processes of a pool whose size nobody gave: ``CIRCUITCORE_WORKERS``, by default one per core.

    Raises:
        ValueError: the variable is no whole number of at least 1.
    """
    given = os.environ.get(WORKERS)
    if given is None:
        return n_cores()
    if not given.isdecimal() or int(given) < 1:
        raise ValueError(f"{WORKERS} = {given!r}; allowed: a whole number of at least 1")
    return int(given)


@contextmanager
def exported(wanted: Mapping[str, str]) -> Iterator[None]:
    """Give the processes started inside these environment variables; puts back what was there before."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@dataclass(frozen=True)
class Folders:
    """Where things lie.

    Attributes:
        root: the project: the folder above this package when it holds the book, else the working folder.
        runs: runs trained here.
        published: runs shipped with the book.
    """

    root: Path
    runs: Path
    published: Path

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Folders":
        """``CIRCUITCORE_RUNS`` and ``CIRCUITCORE_PUBLISHED``, by default ``runs`` and ``published`` of the project."""
        above = Path(__file__).resolve().parents[2]
        root = above if _is_book(above) else Path.cwd()
        runs, published = (
            root / environment.get(f"CIRCUITCORE_{name.upper()}", name) for name in ("runs", "published")
        )
        return cls(root, runs, published)

    @property
    def has_book(self) -> bool:
        """Whether the project is a checkout of the book."""
        return _is_book(self.root)

    @contextmanager
    def exported(self) -> Iterator[None]:
        """Tell the processes started inside to use these folders."""
        wanted = {
            "CIRCUITCORE_RUNS": str(self.runs.absolute()),
            "CIRCUITCORE_PUBLISHED": str(self.published.absolute()),
        }
        with exported(wanted):
            yield


def _is_book(folder: Path) -> bool:
    return (folder / "_toc.yml").is_file()
