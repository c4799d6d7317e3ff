"""Reading files that may come from a stranger: plain files of bounded size, and JSON that can mean only one thing."""

import errno
import json
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

# Far above what any run needs, far below what a machine has: the largest ledger published takes 23 kB.
MAX_FILE_BYTES = 4 * 2**30
MAX_JSON_BYTES = 32 * 2**20
MAX_NESTING = 16


def read_file(path: Path, most: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a plain file.

    A pipe or a device would be read for ever, so only plain files are opened (also at the end of a link).

    Args:
        path: which.
        most: bytes; a larger file is not read at all.

    Raises:
        OSError: absent, unreadable, no plain file, or too large; ``strerror`` says which.
    """
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EISDIR, "it is a folder, and should be a file")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a pipe, a device or a socket, and should be a plain file")
    if found.st_size > most:
        raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes; allowed: at most {most:,}")
    return path.read_bytes()


def parse_json(data: bytes) -> Any:
    """The value that JSON text holds: UTF-8 without a mark in front, every key once, no NaN, at most 16 levels deep.

    Raises:
        ValueError: says what is wrong with it.
    """
    try:
        value = json.loads(data.decode(), object_pairs_hook=_each_key_once, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise ValueError(f"no UTF-8 text at byte {error.start}") from error
    except RecursionError as error:
        raise ValueError("lists or objects nested without end") from error
    level, depth = [value], 0
    while level := [item for container in level for item in _items(container)]:
        depth += 1
        if depth > MAX_NESTING:
            raise ValueError(f"lists or objects nested more than {MAX_NESTING} deep")
    return value


def canonical_json(value: Any) -> str:
    """The one text of a value: sorted keys, no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # readers differ in which of the values they take
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)[:80]!r} stands there twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
