"""The chapters as the book has them: their order, what they are called, the verdicts they left."""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from circuitcore.training.errors import StoreError
from circuitcore.training.store.sealed import read_record
from livingpaper.book.parameters import read_yaml
from livingpaper.claims.verdict import Status, Verdict, from_json


def in_book_order(root: Path, names: Iterable[str]) -> list[str]:
    """Notebooks' names below ``book/`` in the order of ``_toc.yml``; those it does not name come last, sorted."""
    listed = read_yaml(root / "_toc.yml") if (root / "_toc.yml").is_file() else {}
    pages = [page["file"].removeprefix("book/") for part in listed.get("parts", ()) for page in part["chapters"]]
    places = {page: place for place, page in enumerate(pages)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


def title_of(root: Path, name: str) -> str:
    """The heading of a notebook of the book; its name where there is no notebook or no heading."""
    path = root / "book" / f"{name}.ipynb"
    if path.is_file():
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for line in "".join(cell["source"]).splitlines() if cell["cell_type"] == "markdown" else ():
                if line.startswith("# "):
                    return line.removeprefix("# ").strip()
    return name


def counted_as(status: Status) -> str:
    """The number of claims with a status, as pages name it: ``n_control_failed``."""
    return f"n_{str(status).lower().replace(' ', '_')}"


def recorded_verdicts(root: Path, results: Path) -> dict[str, list[Verdict]]:
    """By chapter, in the book's order: the verdicts that executed chapters left in ``results``, on one set of runs.

    The published runs' where a chapter has them beside the reader's.

    Raises:
        StoreError: a chapter was executed by another version, whose verdicts cannot be read.
    """
    paths = {path.stem: path for path in results.glob("*.json")}
    chapters = {}
    for name in in_book_order(root, paths):
        record = json.loads(paths[name].read_text(encoding="utf-8"))
        if "verdicts" not in record:  # a page without claims
            continue
        verdicts = _read(record["verdicts"], paths[name], "Delete it and execute the chapter again")
        chapters[name] = [verdict for verdict in verdicts if verdict.origin == verdicts[0].origin]
    return chapters


def verdicts_in(published: Path, study: str) -> dict[str, Verdict]:
    """The verdicts on a study's claims that a folder of published runs records, by claim id; none where it has none.

    Raises:
        StoreError: they are not what was published, are of another version, or have a status that was not earned.
    """
    records, remedy = read_record(published, f"verdicts/{study}"), f"python -m livingpaper.commands.publish {study}"
    found = _read(records or [], published / "verdicts" / f"{study}.json", f"Publish the study again: {remedy}")
    return {verdict.claim.id: verdict for verdict in found}


def _read(records: object, path: Path, remedy: str) -> tuple[Verdict, ...]:
    """The verdicts in what the JSON file ``path`` holds of them; ``remedy`` says what to do where they are none."""
    try:
        return from_json(json.dumps(records))
    except ValueError as error:  # says everything that is wrong with each entry, dozens of lines of it
        raise StoreError(
            f"{path}: these are no verdicts that this version of the book reads ({_first_line(error)}). {remedy}."
        ) from error


def _first_line(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error).partition("\n")[0]
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
