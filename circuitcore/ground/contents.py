"""The list of what a folder of published runs holds: one SHA-256 a part, and one root hash over all of them.

``contents.json`` holds ``root`` and ``contents``, name -> hash, where names that begin alike stand together: ``run/ID``
-> ``recipe`` -> hash, ``verdicts`` -> ``STUDY`` -> hash. Hashes of parts stand there in URL-safe base64 without
padding, two thirds as long as the hex digits that they are everywhere else; lists with hex digits, as versions before
0.52 wrote, are read too. A part is a value, not a file: ``run/RUN_ID/recipe``, ``training``, ``history``, ``table/KEY``
and ``weights/STEP`` below it, ``verdicts/STUDY``, ``bench/MACHINE`` and ``reproduced/STUDY``. What a value's hash is,
``training.digests`` says. So another layout of the files leaves every hash as it is. Only
``livingpaper.commands.publish`` and ``reproduce --record`` write the list; whoever reads a folder that has one checks
what is read against it.
"""

import base64
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from circuitcore.ground.reading import MAX_JSON_BYTES, canonical_json, inside, is_there, parse_json, read_file

CONTENTS_NAME = "contents.json"
RUN, RECORDS = "run", ("verdicts", "bench", "reproduced")
"""First words of the names: of what a run consists of, and of records in JSON, in folders of that name."""
# Paths are made of these names, so each word is one that a file can have on any disk: no "..", no line end, short.
_WORD = r"[A-Za-z0-9_-][A-Za-z0-9_ .+-]{0,199}"
_NAME = re.compile(
    rf"run/{_WORD}/(recipe|training|history|table/{_WORD}|weights/[0-9]{{1,13}})|({'|'.join(RECORDS)})/{_WORD}"
)
_HASH, _SHORT_HASH = re.compile("[0-9a-f]{64}"), re.compile("[A-Za-z0-9_-]{43}")
RESEAL = "python -m livingpaper.commands.publish --seal"
MOST_SHOWN = 80


class ContentsError(Exception):
    """The list is absent or damaged, or what is here is not what it names; the message says which file, and why."""


@dataclass(frozen=True)
class Contents:
    """What a folder holds.

    Attributes:
        hashes: name of a part -> SHA-256 of its value, 64 hex digits.

    Raises:
        ValueError: what is no name of a part, or no hash.
    """

    hashes: Mapping[str, str]

    def __post_init__(self):
        for name, value in self.hashes.items():
            if not (_NAME.fullmatch(name) and isinstance(value, str) and _HASH.fullmatch(value)):
                given = f"{name[:MOST_SHOWN]!r}: {str(value)[:MOST_SHOWN]!r}"
                raise ValueError(f"{given} is no name of a part and its hash")

    @cached_property
    def root(self) -> str:
        """SHA-256 over the lines ``NAME HASH``, sorted by name."""
        lines = (f"{name} {value}\n" for name, value in sorted(self.hashes.items()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @cached_property
    def runs(self) -> dict[str, dict[str, str]]:
        """The parts of each run, by run id: ``table/KEY`` -> hash, and so on."""
        found: dict[str, dict[str, str]] = {}
        for name, value in self.hashes.items():
            whose, part = _split(name)
            kind, _, run_id = whose.partition("/")
            if kind == RUN:
                found.setdefault(run_id, {})[part] = value
        return found

    def replaced(self, runs: Iterable[str], parts: Mapping[str, str]) -> "Contents":
        """The same with other hashes of ``parts``, and of these runs only what stands in ``parts``."""
        begins = tuple(f"{RUN}/{run_id}/" for run_id in runs)
        others = {name: value for name, value in self.hashes.items() if not name.startswith(begins)}
        return Contents(others | dict(parts))

    def to_json(self) -> str:
        """The file's text, one part a line."""
        groups: dict[str, dict[str, str]] = {}
        for name, value in sorted(self.hashes.items()):
            whose, part = _split(name)
            groups.setdefault(whose, {})[part] = _shortened(value)
        return json.dumps({"root": self.root, "contents": groups}, indent=0) + "\n"

    @classmethod
    def of(cls, folder: Path) -> "Contents | None":
        """The list in ``folder``; None where there is none.

        Raises:
            ContentsError: it is damaged, or cannot be read.
        """
        path = folder / CONTENTS_NAME
        try:
            if not is_there(path):
                return None
            state = path.stat()
        except OSError as error:
            raise unreadable(path, error) from error
        return _read(path, state.st_ino, state.st_mtime_ns, state.st_size)


def _flat(groups: Mapping[str, Any]) -> dict[str, str]:
    """Name -> hash of a list's groups, or of the flat list that versions before 0.41 wrote; ValueError for neither."""
    if groups and all(isinstance(value, str) for value in groups.values()):
        return dict(groups)
    found = {f"{whose}/{part}": _in_hex(value) for whose in groups for part, value in groups[whose].items()}
    if strange := [whose for whose in groups if _split(f"{whose}/part")[0] != whose]:
        raise ValueError(f"{strange[0][:MOST_SHOWN]!r} is neither a run nor a kind of record")
    return found


def _shortened(sha256: str) -> str:
    """A hash of 64 hex digits as 43 characters of base64, none of which a path or JSON minds."""
    return base64.urlsafe_b64encode(bytes.fromhex(sha256)).decode().rstrip("=")


def _in_hex(value: Any) -> Any:
    """The hash that ``_shortened`` has made ``value`` of; anything else as it is."""
    if not (isinstance(value, str) and _SHORT_HASH.fullmatch(value)):
        return value
    found = base64.urlsafe_b64decode(f"{value}=").hex()
    return found if _shortened(found) == value else value  # two bits of the last character are no part of a hash


def _split(name: str) -> tuple[str, str]:
    """What a part belongs to, a run or a kind of record, and the rest of its name."""
    words = name.split("/")
    n_first = 2 if words[0] == RUN else 1
    return "/".join(words[:n_first]), "/".join(words[n_first:])


@functools.lru_cache(maxsize=8)  # a chapter opens hundreds of runs; a changed file has other marks
def _read(path: Path, *marks: int) -> Contents:
    remedy = f"Restore it (git restore {path})."
    try:
        fields = parse_json(read_file(path, MAX_JSON_BYTES))
        root, contents = fields["root"], Contents(_flat(fields["contents"]))
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ContentsError(f"{path}: damaged, it is no list of contents ({error!r}). {remedy}") from error
    if contents.root != root:
        raise ContentsError(f"{path}: damaged, its lines do not give its root hash {str(root)[:12]}. {remedy}")
    return contents


def records_in(folder: Path) -> dict[str, Path]:
    """The files of the records in a folder of published runs, by the names that the list has for them."""
    paths = (path for kind in RECORDS for path in inside(folder / kind) if path.suffix == ".json")
    return {f"{path.parent.name}/{path.stem}": path for path in paths}


def unreadable(path: Path, error: OSError) -> ContentsError:
    """What to raise where the system refuses to read a list."""
    return ContentsError(f"{path}: cannot be read ({error.strerror}). Restore it (git restore {path}).")


def json_sha256(value: Any) -> str:
    """SHA-256 of a value's canonical JSON; ValueError for a number that is not finite."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def not_as_listed(path: Path, listed: str | None, of: str = "") -> str:
    """What is wrong with a value that is another one than its folder's list names, or that it does not name.

    Args:
        path: its file.
        listed: the hash in the list; None where it names no such part.
        of: whose it is, in a file that runs share (", run RUN_ID").
    """
    found = "its contents are not the published ones" if listed else "it was not published"
    return (
        f"{path}{of}: {found} ({CONTENTS_NAME} lists {'another hash' if listed else 'no such part'}). Restore the file "
        f"(git restore {path}){'' if listed else ', or delete it'}; what is meant to differ is published by python -m "
        f"livingpaper.commands.publish NAME, or taken as it stands by {RESEAL}."
    )
