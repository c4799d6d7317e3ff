"""Reading what may come from a stranger: plain files of bounded size, folders, JSON that can mean only one thing."""

import errno
import json
import math
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

# Far above what any run needs, far below what a machine has.
MAX_FILE_BYTES = 4 * 2**30
MAX_JSON_BYTES = 8 * 2**20
# Of one run: its recipe, its ledger, the header of a checkpoint. Of those published the largest takes 23 kB. Read as
# Python's objects, JSON takes up to thirty times its size.
MAX_RUN_JSON_BYTES = 2 * 2**20
MAX_NESTING = 16
MAX_SHOWN = 80  # characters of a key or number in an error
_NOT_PLAIN = "it is a pipe, a device or a socket, and should be a plain file"
# A pipe would keep its reader waiting; a terminal would become the process's own; Windows would change line ends.
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))


@contextmanager
def plain_file(path: Path) -> Iterator[BinaryIO]:
    """A plain file, open for reading.

    A pipe or a device would be read for ever, so only plain files are opened (also at the end of a link). What is
    looked at is what is opened: nobody can put another file in its place meanwhile.

    Raises:
        OSError: absent, unreadable, or no plain file; ``strerror`` says which.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno == errno.ENXIO:  # what opening a socket gives
            raise OSError(errno.EINVAL, _NOT_PLAIN) from error
        raise
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "it is a folder, and should be a file")
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, _NOT_PLAIN)
    except OSError:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb") as file:
        yield file


def read_file(path: Path, most: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a plain file.

    Args:
        path: which.
        most: bytes; a larger file is not read at all.

    Raises:
        OSError: absent, unreadable, no plain file, too large, or longer than it said; ``strerror`` says which.
    """
    with plain_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes; allowed: at most {most:,}")
        data = file.read(size + 1) or b""  # None: what would be waited for
    if len(data) > size:  # the kernel's own files say 0 and may go on for ever
        raise OSError(errno.EFBIG, f"it has more bytes than the {size:,} it is said to have")
    return data


def is_there(path: Path) -> bool:
    """Whether there is anything of that name, be it a link to nothing.

    Raises:
        OSError: that cannot be told, as in a folder that nobody may look into.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def inside(folder: Path) -> list[Path]:
    """What lies in a folder, by name; nothing where there is no folder or nobody may look into it."""
    return [folder / name for name in names_in(folder)]


def folders_with(folder: Path, name: str) -> list[Path]:
    """The folders in ``folder`` that hold something called ``name``, whatever it is; hidden ones are left out."""
    shown = (inner for inner in names_in(folder) if not inner.startswith("."))
    # A store asks this of hundreds of folders for each run: joining text takes a tenth of what joining paths does.
    return [folder / inner for inner in shown if os.path.lexists(os.path.join(folder, inner, name))]


def names_in(folder: Path) -> list[str]:
    """Names of what lies in a folder, sorted; none where there is no folder or nobody may look into it."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def parse_json(data: bytes) -> Any:
    """The value that JSON text holds: UTF-8 without a mark in front, every key once, finite, at most 16 levels deep.

    Raises:
        ValueError: says what is wrong with it.
    """
    try:
        value = json.loads(
            data.decode(), object_pairs_hook=_each_key_once, parse_constant=_refuse_constant, parse_float=_finite
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"no UTF-8 text at byte {error.start}") from error
    except RecursionError as error:
        raise ValueError("lists or objects nested without end") from error
    level, depth = [[value]], 0
    # A store's indices hold hundreds of thousands of numbers and words; none of them is asked what it contains.
    while level := [item for held in level for item in _held(held) if isinstance(item, (dict, list))]:
        depth += 1
        if depth > MAX_NESTING:
            raise ValueError(f"lists or objects nested more than {MAX_NESTING} deep")
    return value


def canonical_json(value: Any) -> str:
    """The one text of a value, from which hashes are made: sorted keys, no blanks.

    Raises:
        ValueError: a number that is not finite, which JSON does not have.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _held(container: dict | list) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # readers differ in which of the values they take
        seen = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"the key {twice[:MAX_SHOWN]!r} stands there twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    """A fraction; what is too large for one would be read as infinity."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:MAX_SHOWN]} is too large for a number")
    return number
