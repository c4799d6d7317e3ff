"""Writing a file so that a kill, a full disk or a power cut leaves the old one or the new one, never a half."""

import errno
import os
from pathlib import Path

from circuitcore.training.errors import StoreError

_REMEDIES = {
    errno.ENOSPC: "Free disk space",
    errno.EDQUOT: "Free disk space (your quota is used up)",
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f)",
    errno.EACCES: "Make the folder writable, or name another store folder",
    errno.EROFS: "Name a store folder on a disk that can be written",
}


def write_durably(path: Path, data: bytes) -> None:
    """Write ``data`` under a temporary name, force it to disk, then rename it to ``path``.

    Raises:
        StoreError: the disk is full or the folder cannot be written; no temporary file is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_and_sync(temporary, data)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> StoreError:
    """The error to raise when ``path`` could not be written: why, and what to do about it."""
    remedy = _REMEDIES.get(error.errno, "Mend this")
    return StoreError(
        f"{path}: could not be written ({error.strerror}). {remedy}, then run the same command again: it goes on from "
        "the last checkpoint, and whatever was finished before is intact."
    )


def remove_leftovers(folder: Path) -> None:
    """Delete the temporary files that a killed process left in ``folder``."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def _write_and_sync(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        view = memoryview(data)
        while view:  # a nearly full disk takes part of it, and refuses the rest at the next call
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make a rename itself durable; only POSIX can open a folder for that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
