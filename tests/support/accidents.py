"""Ways in which files get lost, cut, mixed up or replaced: name -> (what happens, words that the problem must contain).

What happens is a function of the run's folder and of another good run beside it; in ``PUBLISHED``, of the folder above.
"""

import base64
import hashlib
import json
import os
import shutil
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

from forging import HISTORY, LEDGER, RECIPE, TABLE

Damage = Callable[[Path, Path], object]
FIRST, SECOND, LAST = (f"step-{step:07d}.safetensors" for step in (0, 4, 8))
EACH = (LEDGER, RECIPE, HISTORY, TABLE, SECOND)
LIST, VERDICT = "contents.json", "verdicts/toy.json"
UNKNOWN = "the ledger does not know this"


def on(name: str, change: Callable[[Path], object]) -> Damage:
    """Do something to one file of the run."""
    return lambda run, other: change(run / name)


def written(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


def longer(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(path.read_bytes() + data)


def shorter(n_bytes: int) -> Callable[[Path], object]:
    """Without its last bytes."""
    return lambda path: os.truncate(path, path.stat().st_size - n_bytes)


def halved(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flipped(place: float, path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 0x04
    path.write_bytes(data)


def linked(path: Path) -> None:
    """A link to the very same, moved out of the store."""
    away = next(folder for folder in path.parents if folder.name == "runs").with_name(f"away-{path.name}")
    path.rename(away)
    path.symlink_to(away)


def replaced(make: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda path: (path.unlink(), make(path))


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(path.parent)  # the whole path is longer than a socket's name may be
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def swapped(first: Path, second: Path) -> None:
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(kept)


def replaced_folder(make: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda path: (shutil.rmtree(path), make(path))


def listed(name: str) -> Damage:
    """One more part in the list of contents, whose root hash is made anew."""

    def damage(folder: Path, other: Path) -> None:
        groups = json.loads((folder / LIST).read_text())["contents"]
        *whose, part = name.split("/", 2 if name.startswith("run/") else 1)
        groups.setdefault("/".join(whose), {})[part] = "A" * 43  # in base64: 64 zeros
        shown = {f"{of}/{part}": value for of, parts in groups.items() for part, value in parts.items()}
        hashes = {key: base64.urlsafe_b64decode(f"{value}=").hex() for key, value in shown.items()}
        lines = "".join(f"{key} {value}\n" for key, value in sorted(hashes.items()))
        root = hashlib.sha256(lines.encode()).hexdigest()
        (folder / LIST).write_text(json.dumps({"root": root, "contents": groups}))

    return damage


def only(*names: str) -> Damage:
    """All other files are gone."""

    def damage(run: Path, other: Path) -> None:
        for path in sorted(run.rglob("*"), reverse=True):
            if path.name not in names:
                path.rmdir() if path.is_dir() else path.unlink()

    return damage


def instead_of_the_folder(make: Callable[[Path, Path], object]) -> Damage:
    return lambda run, other: (shutil.rmtree(run), make(run, other))


def to_each(name: str) -> dict[str, tuple[Damage, str]]:
    """What can happen to any file."""
    gone = {LEDGER: "is missing", LIST: "missing", VERDICT: "missing"}.get(name, "cannot be read")
    changes = {
        "deleted": (Path.unlink, gone),
        "renamed": (lambda path: path.rename(f"{path}.bak"), gone),
        "emptied": (written(""), name),
        "cut in half": (halved, name),
        "without its last byte": (shorter(1), name),
        "a blank after its end": (longer(b" "), name),
        "a line after its end": (longer(b"\n"), name),
        "zeros after its end": (longer(bytes(64)), name),
        "twice": (lambda path: path.write_bytes(2 * path.read_bytes()), name),
        "a link to the same": (linked, "is a link"),
        "a link to nothing": (replaced(lambda path: path.symlink_to("gone")), "cannot be read"),
        "a link to a name that is too long": (replaced(lambda path: path.symlink_to("a" * 300)), "cannot be read"),
        "a link to itself": (replaced(lambda path: path.symlink_to(path)), "cannot be"),
        "a folder": (replaced(Path.mkdir), "it is a folder"),
        "a pipe": (replaced(os.mkfifo), "it is a pipe"),
        "a socket": (replaced(listening), "it is a pipe, a device or a socket"),
        "a device": (replaced(lambda path: path.symlink_to("/dev/zero")), "it is a pipe, a device"),
        "a file that nobody may read": (lambda path: path.chmod(0), "cannot be read (Permission denied)"),
    }
    changes |= {
        f"a bit flipped at {place}": (partial(flipped, place), name) for place in (0, 0.1, 0.3, 0.6, 0.9, 0.999)
    }
    found = {f"{name}: {what}": (on(name, change), words) for what, (change, words) in changes.items()}
    return found | {f"{name}: of the other run": (lambda run, other: swapped(run / name, other / name), name)}


ACCIDENTS = {what: damage for name in EACH for what, damage in to_each(name).items()} | {
    "checkpoints swapped": (lambda run, other: swapped(run / FIRST, run / SECOND), "another checkpoint"),
    "checkpoint in place of another": (lambda run, other: shutil.copy(run / FIRST, run / SECOND), "another checkpoint"),
    "history and table swapped": (lambda run, other: swapped(run / HISTORY, run / TABLE), HISTORY),
    "ledger and recipe swapped": (lambda run, other: swapped(run / LEDGER, run / RECIPE), LEDGER),
    "last checkpoint deleted": (on(LAST, Path.unlink), LAST),
    "tables deleted": (on("tables", shutil.rmtree), TABLE),
    "tables: a link to the same": (on("tables", linked), "is a link"),
    "a file more": (on("notes.txt", written("x")), f"{UNKNOWN} file"),
    "a hidden file more": (on(".notes", written("x")), f"{UNKNOWN} file"),
    "a leftover in a finished run": (on(f".{SECOND}.7.tmp", written("x")), f"{UNKNOWN} file"),
    "a table more": (on("tables/x.parquet", written("x")), f"{UNKNOWN} file"),
    "a checkpoint more": (on("step-0000099.safetensors", written("x")), f"{UNKNOWN} file"),
    "a name that steers the terminal": (on("a\n\x1b[2Jok", written("x")), r"a\n\x1b[2Jok"),
    "a name that is no text": (on(os.fsdecode(b"\xff"), written("x")), r"\udcff"),
    "a link more": (on("more", lambda path: path.symlink_to("/")), "is a link"),
    "a pipe more": (on("more", os.mkfifo), "is a pipe"),
    "an empty folder more": (on("more", Path.mkdir), f"{UNKNOWN} folder"),
    "a full folder more": (lambda run, other: shutil.copytree(other, run / "copy"), f"{UNKNOWN} folder"),
    "a folder more that nobody may open": (on("more", lambda path: path.mkdir(0)), f"{UNKNOWN} folder"),
    "resume state of a stranger": (on("resume.safetensors", written("x")), "resume.safetensors"),
    "resume state: a pipe": (on("resume.safetensors", os.mkfifo), "it is a pipe"),
    "folder: nobody may open it": (lambda run, other: run.chmod(0), "Permission denied"),
    "folder: emptied": (only(), "The folder is empty"),
    "folder: only the recipe left": (only(RECIPE), "has no checkpoint yet, or it lost its files"),
    "folder: only checkpoints left": (only(FIRST, SECOND, LAST), "ledger.json: is missing"),
    "folder: only the history left": (only(HISTORY), "ledger.json: is missing"),
    "folder: only the ledger left": (only(LEDGER), SECOND),
    "folder: a link to the same": (lambda run, other: linked(run), "is a link"),
    "folder: a link to nothing": (instead_of_the_folder(lambda run, other: run.symlink_to("no")), "a run is a folder"),
    "folder: a link to the other run": (instead_of_the_folder(lambda run, other: run.symlink_to(other)), "is a link"),
    "folder: a file": (instead_of_the_folder(lambda run, other: run.write_text("x")), "a run is a folder"),
    "folder: a pipe": (instead_of_the_folder(lambda run, other: os.mkfifo(run)), "a run is a folder"),
    "folder: holds the other run": (
        instead_of_the_folder(lambda run, other: shutil.copytree(other, run)),
        "in a folder of another name",
    ),
    "folder: renamed": (lambda run, other: run.rename(f"{run}x"), "in a folder of another name"),
    "folder: another one, empty": (lambda run, other: (run.parent / "new").mkdir(), "The folder is empty"),
}  # fmt: skip

# A list of contents is about values: what leaves a value as it was is no accident to it. Its own last byte ends a line.
SAME = ("a link to the same", "of the other run", "a blank after its end", "a line after its end")
SAME += (f"{LIST}: without its last byte",)
PUBLISHED = {
    what: (damage, words)
    for name in (LIST, VERDICT)
    for what, (damage, words) in to_each(name).items()
    if not what.endswith(SAME)
} | {
    "a stray that steers the terminal": (on("a\n\x1b[2Jok", written("x")), r"a\n\x1b[2Jok"),
    "a stray that is no text": (on(os.fsdecode(b"\xff"), written("x")), r"\udcff"),
    "a stray that nobody may open": (on("more", lambda path: path.mkdir(0)), "more: it was not published"),
    "a stray pipe": (on("more", os.mkfifo), "more: it was not published"),
    "a stray among the verdicts": (on("verdicts/a\x1b", written("x")), r"verdicts/a\x1b: it was not published"),
    "a verdict that steers the terminal": (on("verdicts/a\x1b.json", written("{}")), r"verdicts/a\x1b.json: it was"),
    "a verdict of brackets": (on(VERDICT, written("[" * 200_000)), "nested"),
    "a verdict with NaN": (on(VERDICT, written("[NaN]")), "NaN is no number"),
    "verdicts: a file": (on("verdicts", replaced_folder(written("x"))), "toy.json: missing"),
    "verdicts: a link to itself": (on("verdicts", replaced_folder(lambda path: path.symlink_to(path))), "toy.json"),
    "verdicts: nobody may look": (on("verdicts", lambda path: path.chmod(0)), "toy.json: missing"),
    "list: a run of 300 letters": (listed(f"run/{'a' * 300}/recipe"), f"{LIST}: damaged"),
    "list: a run elsewhere": (listed("run/../recipe"), f"{LIST}: damaged"),
    "list: a step of 5,000 digits": (listed(f"run/a/weights/{'9' * 5_000}"), f"{LIST}: damaged"),
    "list: a run that steers the terminal": (listed("run/a\x1b[2J/recipe"), f"{LIST}: damaged"),
    "list: a run that is not there": (listed("run/a/recipe"), "a: missing"),
}  # fmt: skip
