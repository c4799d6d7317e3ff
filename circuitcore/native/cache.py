"""Where compiled libraries are kept, and whether one of them is still what was compiled.

Loading a library runs it. So the folder is one that only its user can enter, the hash of each library and who compiled
it stand in a record beside it, and both are compared each time: a library that was cut short, changed or put there by
somebody else is compiled again.
"""

import errno
import hashlib
import json
import os
import stat
import sys
from pathlib import Path

from circuitcore.ground import durable

PRIVATE = 0o700


def cache_folder() -> Path:
    """Where compiled libraries are kept: the user's cache, ``$XDG_CACHE_HOME`` first.

    Raises:
        OSError: neither is known.
    """
    try:
        home = Path.home() if sys.platform == "darwin" or not os.environ.get("XDG_CACHE_HOME") else Path()
    except RuntimeError as error:  # no $HOME, and a user without an entry in the system's list
        raise FileNotFoundError(errno.ENOENT, "no home folder is known; set XDG_CACHE_HOME to a folder") from error
    if sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "circuitcore"


def private_folder(wanted: Path) -> Path:
    """``wanted``, made if need be, or where it is another user's a folder beside it; closed to everybody else.

    Raises:
        OSError: it cannot be made, or both belong to others.
    """
    beside = wanted.with_name(f"{wanted.name}-{_user()}")
    for folder in (wanted, beside):
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        found = folder.stat()
        if _is_ours(folder.lstat()) and _is_ours(found):  # of a link, where it leads and who made it lead there
            if stat.S_IMODE(found.st_mode) & ~PRIVATE:
                folder.chmod(PRIVATE)
            return folder
    raise PermissionError(errno.EPERM, f"it and {beside} belong to other users")


def record(library: Path, sha256: str) -> None:
    """Keep what ``library`` will be: its hash, and that this user compiled it."""
    durable.write(_record_of(library), f"{json.dumps({'sha256': sha256, 'owner': _user()})}\n".encode())


def distrust(library: Path) -> str:
    """Why a library that is there must not be loaded, in a few words; empty if it is what was compiled."""
    path = _record_of(library)
    try:
        if not all(stat.S_ISREG(one.lstat().st_mode) and _is_ours(one.lstat()) for one in (library, path)):
            return "it or the record of its hash is no file of yours"
        recorded = json.loads(path.read_bytes())
        known = recorded["sha256"], recorded["owner"]
        now = hashlib.sha256(library.read_bytes()).hexdigest(), _user()
    except FileNotFoundError:
        return "no hash of it was recorded"
    except (ValueError, KeyError, TypeError):
        return "the record of its hash is damaged"
    except OSError as error:
        return f"it or its record cannot be read ({error.strerror})"
    return "" if known == now else "it is not the file that was compiled here"


def _record_of(library: Path) -> Path:
    return library.with_suffix(".json")


def _is_ours(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or found.st_uid == _user()


def _user() -> int:
    """The number of the user whose rights this process has; 0 where users have none."""
    return os.geteuid() if hasattr(os, "geteuid") else 0
