"""Whether a folder of published runs has what its list names, by name alone: nothing is read but the lists."""

from pathlib import Path

from circuitcore.ground.contents import CONTENTS_NAME, RECORDS, RESEAL, RUN, Contents, ContentsError, records_in
from circuitcore.ground.packed import run_ids
from circuitcore.ground.spelling import first_of


def check_present(folder: Path) -> None:
    """Look whether a folder of published runs has what its list names, by name alone.

    A folder without runs and records needs no list.

    Raises:
        ContentsError: the list is absent or damaged, or runs or records are missing or were never published.
    """
    here, contents = {f"{RUN}/{run_id}" for run_id in run_ids(folder)} | {*records_in(folder)}, Contents.of(folder)
    if contents is None:
        if here:
            raise ContentsError(
                f"{folder / CONTENTS_NAME}: missing, so nothing says what {folder.name} should hold. Restore it (git "
                f"restore {folder / CONTENTS_NAME}), or list what is there: {RESEAL}"
            )
        return
    records = {name for name in contents.hashes if name.startswith(RECORDS)}
    listed = records | {f"{RUN}/{run_id}" for run_id in contents.runs}
    lines = [f"missing: {_named(listed - here)}"] if listed - here else []
    lines += [f"never published: {_named(here - listed)}"] if here - listed else []
    if lines:
        raise ContentsError(
            f"{folder} does not hold what its {CONTENTS_NAME} lists. {'; '.join(lines)}. Restore the folder (git "
            f"restore {folder}) and delete what is not of it; circuitcore verify {folder} names all. What is there on "
            f"purpose is listed by {RESEAL}"
        )


def _named(names: set[str]) -> str:
    return first_of([name.removeprefix(f"{RUN}/") for name in sorted(names)])
