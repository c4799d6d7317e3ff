"""What a word of a command line must be, as far as that is known without importing torch or a study."""

import argparse
from pathlib import Path

from circuitcore.ground.engine_names import ENGINE_NAMES
from circuitcore.ground.spelling import unknown


def folder(text: str) -> Path:
    """A folder, or where one can be made as far as that is known without making it."""
    path = Path(text)
    there = next((above for above in (path, *path.absolute().parents) if above.exists()), path)
    if not there.is_dir():
        raise argparse.ArgumentTypeError(f"{there} is no folder; allowed: a folder, or a place where one can be made")
    return path


def address(text: str) -> str:
    """The address of a Dask scheduler, checked as far as that goes without one."""
    from circuitcore.training.sweeps.executor import SCHEMES

    if not text.startswith(SCHEMES):
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: tcp://HOST:PORT or tls://HOST:PORT of a Dask scheduler")
    return text


def engine(text: str) -> str:
    """The name of an engine; which of them a study allows, it says itself."""
    if text not in ENGINE_NAMES:
        raise argparse.ArgumentTypeError(unknown("engine", text, ENGINE_NAMES))
    return text


def seed(text: str) -> int:
    """A seed; how large it may be, a study says itself."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: a whole number of at least 0")
    return int(text)


def count(text: str) -> int:
    """A number of processes, of seeds."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: a whole number of at least 1")
    return int(text)
