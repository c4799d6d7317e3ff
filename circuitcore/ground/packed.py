"""Which runs of a folder are packed, and where: read from the packs' indices, by name alone and without torch.

A folder of published runs holds packs, one a study. In ``PACK/runs.jsonl.zst`` a line is a run; what the runs of an
arm share lies in ``PACK/ARM/`` (``circuitcore.training.store.packed`` says what). A run's address is
``PACK/ARM/RUN_ID``, whether or not anything lies there.
"""

import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from circuitcore.ground.contents import ContentsError, unreadable
from circuitcore.ground.reading import MAX_JSON_BYTES, folders_with, names_in, parse_json, read_file

INDEX_NAME = "runs.jsonl.zst"
LEDGER_NAME = "ledger.json"  # in the folder of a run that has one of its own
RUN_NAME = re.compile(r"[A-Za-z0-9_-]+-[0-9a-f]{12}")
_RUN = re.compile(r"[A-Za-z0-9_-]{1,200}")
_LEVEL = 22  # of Zstandard; the longest index takes three seconds
_ARM = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # a folder's name on any disk
_NAMED = re.compile(rb'"run_id"\s*:\s*"([A-Za-z0-9_-]+)"')
_Read = TypeVar("_Read")


@dataclass(frozen=True, eq=False)
class Line:
    """One run of an index.

    Attributes:
        address: ``PACK/ARM/RUN_ID``.
        fields: what the line says of it, still to be checked.
    """

    address: Path
    fields: Mapping[str, Any]

    @property
    def run_id(self) -> str:
        """Its name."""
        return self.address.name

    @property
    def index(self) -> Path:
        """The file that the line is in."""
        return self.address.parents[1] / INDEX_NAME


def packs(folder: Path) -> list[Path]:
    """The packs in a folder of published runs."""
    return [folder / name for name in _packs(folder)]


def may_be_pack(name: str) -> bool:
    """Whether a folder of that name may be a pack: one that is hidden, or named as runs are, is none."""
    # Most of the many names are runs': one letter tells nearly all others.
    return not name.startswith(".") and (name[-13:-12] != "-" or not RUN_NAME.fullmatch(name))


def _packs(folder: Path) -> list[str]:
    # Of thousands of runs each is looked for here, beside thousands of others: those are told by their names alone, and
    # text is joined and compared much faster than paths.
    names = filter(may_be_pack, names_in(folder))
    return [name for name in names if os.path.lexists(os.path.join(folder, name, INDEX_NAME))]


def packed(folder: Path, run_id: str) -> Line | None:
    """The line of a run in any pack of ``folder``; None where there is none. ContentsError: a damaged index."""
    # To understand an index takes ten times as long as to see that it names a run: those that do not come last.
    names = sorted(_packs(folder), key=lambda pack: run_id not in _of_index(_named, folder, pack))
    return next((lines[run_id] for pack in names if run_id in (lines := _index(folder, pack))), None)


def all_packed(folder: Path) -> Iterator[Line]:
    """The line of every run in every pack of ``folder``. ContentsError where an index is damaged."""
    for pack in packs(folder):
        yield from read_index(pack).values()


def run_ids(folder: Path) -> set[str]:
    """Names of all runs in ``folder``, in folders of their own and packed. ContentsError where an index is damaged."""
    alone = {path.name for path in folders_with(folder, LEDGER_NAME)}
    return alone | {line.run_id for line in all_packed(folder)}


def packed_at(address: Path) -> Line | None:
    """The line of the run at an address; None for what is no packed run's. ContentsError where the index is damaged."""
    if len(address.parts) < 3 or not (address.parents[1] / INDEX_NAME).is_file():
        return None
    line = read_index(address.parents[1]).get(address.name)
    return line if line and line.address.parent.name == address.parent.name else None


def read_index(pack: Path) -> Mapping[str, Line]:
    """The lines of a pack's index by run; ContentsError where it is absent or damaged."""
    return _index(pack.parent, pack.name)


def _index(folder: Path, pack: str) -> Mapping[str, Line]:
    return _of_index(_read, folder, pack)


def _of_index(read: Callable[..., _Read], folder: Path, pack: str) -> _Read:
    """What ``read`` makes of a pack's index: its name, and marks that are others once it has changed."""
    name = os.path.join(folder, pack, INDEX_NAME)
    try:
        state = os.stat(name)
    except OSError as error:
        raise unreadable(Path(name), error) from error
    return read(name, state.st_ino, state.st_mtime_ns, state.st_size)


def index_of(lines: Iterable[str]) -> bytes:
    """The bytes of an index: its lines as Zstandard packs them. Half of them are hashes.

    Raises:
        ValueError: more than ``index_lines`` would give back.
    """
    import pyarrow  # as slow to import as a short command takes

    text = "".join(f"{line}\n" for line in lines).encode()
    if len(text) > MAX_JSON_BYTES:
        raise ValueError(f"{len(text):,} bytes in an index; allowed: at most {MAX_JSON_BYTES:,}")
    return pyarrow.Codec("zstd", _LEVEL).compress(text, asbytes=True)


def index_lines(data: bytes) -> list[bytes]:
    """The lines that ``index_of`` packed; of several packed behind each other, all.

    Raises:
        ValueError: these bytes are not what Zstandard writes, are cut, or hold more than any index.
    """
    import pyarrow

    if not data:
        raise ValueError("empty")
    try:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd") as unpacking:
            text = unpacking.read(MAX_JSON_BYTES + 1)
    except (OSError, pyarrow.ArrowException) as error:
        raise ValueError(str(error)) from error
    if len(text) > MAX_JSON_BYTES:
        raise ValueError(f"more than {MAX_JSON_BYTES:,} bytes are packed in it")
    return text.splitlines()


@functools.lru_cache(maxsize=32)  # a changed file has other marks
def _read(name: str, *marks: int) -> Mapping[str, Line]:
    path = Path(name)
    found: dict[str, Line] = {}
    for number, text in enumerate(_unpacked(path), 1):
        try:
            line = _line(path.parent, parse_json(text))
            if line.run_id in found:
                raise ValueError(f"run {line.run_id} stands there twice")
        except ValueError as error:
            raise ContentsError(f"{path}: line {number} is damaged ({error}). {_remedy(path)}") from error
        found[line.run_id] = line
    return found


@functools.lru_cache(maxsize=32)
def _named(name: str, *marks: int) -> frozenset[str]:
    """What an index may have lines of: all that it calls a run anywhere, seen without understanding it."""
    return frozenset(run_id.decode() for line in _unpacked(Path(name)) for run_id in _NAMED.findall(line))


def _unpacked(path: Path) -> list[bytes]:
    try:
        return index_lines(read_file(path, MAX_JSON_BYTES))
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise ContentsError(f"{path}: damaged ({error}). {_remedy(path)}") from error


def _remedy(path: Path) -> str:
    return f"Restore it (git restore {path})."


def _line(pack: Path, fields: Any) -> Line:
    names = {"run_id": _RUN, "arm": _ARM}
    for name, form in names.items():
        value = fields.get(name) if isinstance(fields, dict) else None
        if not (isinstance(value, str) and len(value) <= 200 and form.fullmatch(value)):
            raise ValueError(f"{name} = {str(value)[:80]!r}")
    rest = {name: value for name, value in fields.items() if name not in names}
    return Line(pack / fields["arm"] / fields["run_id"], rest)
