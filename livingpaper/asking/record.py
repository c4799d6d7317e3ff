"""A file of answers, one JSON line a question, that grows while questions are asked and survives any interruption."""

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from circuitcore.ground.errors import UserError
from livingpaper.asking.questions import Asked

_HEAD = b'{"settings"'
Settings = Mapping[str, str | int | float]


class Record:
    """The answers in a file; ``opened`` makes one.

    Attributes:
        asked: name of a question -> what came of it.
    """

    def __init__(self, path: Path, descriptor: int, asked: Mapping[str, Asked]):
        self.path, self.asked = path, dict(asked)
        self._descriptor, self._lock = descriptor, threading.Lock()

    def add(self, asked: Asked) -> None:
        """Write a line and force it to disk; from several threads, one after the other.

        Raises:
            OSError: the disk is full, with the file's name; every line before is intact.
        """
        with self._lock:
            _append(self._descriptor, self.path, asdict(asked))
            self.asked[asked.question] = asked


@contextmanager
def opened(path: Path, settings: Settings) -> Iterator[Record]:
    """Go on with a file of answers, or begin it.

    Its first line holds the settings. A last line that was being written when the machine stopped is dropped.

    Args:
        path: of the file; its folder is made.
        settings: what decides an answer, such as the model and the series of questions.

    Raises:
        UserError: the file was made with other settings, is no such file, or is being written by another process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise UserError(
            f"{path}: another process is asking into this file; wait for it, or name another --out"
        ) from error
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            asked = _read(descriptor, path, settings)
            yield Record(path, descriptor, asked)
        finally:
            os.close(descriptor)
    finally:
        lock.release()


def _read(descriptor: int, path: Path, settings: Settings) -> dict[str, Asked]:
    """What the file holds; then a torn last line is cut off, and a new file gets its first line."""
    whole, end, torn = path.read_bytes().rpartition(b"\n")
    try:
        if not end and torn and not (torn.startswith(_HEAD) or _HEAD.startswith(torn)):
            raise ValueError("it has no line of settings")
        lines = [json.loads(line) for line in whole.split(b"\n")] if end else []
        made_with = lines[0]["settings"] if lines else settings
        found = [_asked(line) for line in lines[1:]]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: is no file of answers ({error}); name another --out, or move it away") from error
    for name, value in settings.items():
        if made_with.get(name) != value:
            raise UserError(
                f"{path}: was made with {name} = {made_with.get(name)!r}, not {value!r}; name another --out, or move "
                "it away"
            )
    os.ftruncate(descriptor, len(whole) + len(end))
    if not lines:
        _append(descriptor, path, {"settings": dict(settings)})
    return {asked.question: asked for asked in found}


def _asked(line: dict) -> Asked:
    return Asked(line["question"], tuple(line["replies"]), line["answer"], line["right"])


def _append(descriptor: int, path: Path, value: object) -> None:
    start = os.lseek(descriptor, 0, os.SEEK_END)
    view = memoryview(f"{json.dumps(value)}\n".encode())
    try:
        while view:  # a nearly full disk takes part of it, and refuses the rest at the next call
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except OSError as error:
        os.ftruncate(descriptor, start)
        raise OSError(error.errno, error.strerror, str(path)) from error
