"""Giving a file its name so that a kill or a power cut leaves the old one or the new one, never a half."""

import os
import threading
from pathlib import Path

# A new file of our own: whoever put a link there under the name that we would use has nothing written through it.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_BINARY"))


def write(path: Path, data: bytes) -> None:
    """Write ``data`` under a temporary name in the same folder, force it to disk, then rename it to ``path``.

    Raises:
        OSError: the disk is full or the folder cannot be written; no temporary file is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_native_id()}.tmp")
    temporary.unlink(missing_ok=True)  # left by a process that had our numbers
    try:
        _write_and_sync(temporary, data)
        _rename(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def rename(finished: Path, path: Path) -> None:
    """The same for a file that another program wrote: force ``finished`` to disk, then rename it to ``path``."""
    _sync(finished, os.O_RDWR)
    _rename(finished, path)


def _write_and_sync(path: Path, data: bytes) -> None:
    descriptor = os.open(path, _NEW, 0o644)
    try:
        view = memoryview(data)
        while view:  # a nearly full disk takes part of it, and refuses the rest at the next call
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rename(temporary: Path, path: Path) -> None:
    os.replace(temporary, path)
    if hasattr(os, "O_DIRECTORY"):  # the rename itself is durable once the folder is; only POSIX can open one for that
        _sync(path.parent, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
