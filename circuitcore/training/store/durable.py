"""Writing a run's file whole or not at all (``circuitcore.ground.durable``); where it cannot be written, a remedy."""

import errno
from pathlib import Path

from circuitcore.ground import durable
from circuitcore.training.errors import StoreError

_REMEDIES = {
    errno.ENOSPC: "Free disk space",
    errno.EDQUOT: "Free disk space (your quota is used up)",
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f)",
    errno.EACCES: "Make the folder writable, or name another store folder",
    errno.EROFS: "Name a store folder on a disk that can be written",
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.EEXIST), "Name a folder, or a place where one can be made"),
}


def write_durably(path: Path, data: bytes) -> None:
    """Write ``data`` under a temporary name, force it to disk, then rename it to ``path``.

    Raises:
        StoreError: the disk is full or the folder cannot be written; no temporary file is left behind.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        durable.write(path, data)
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
