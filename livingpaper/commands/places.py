"""Where commands look for runs, said as from where they are started."""

from pathlib import Path

from circuitcore.ground.environment import Folders
from circuitcore.ground.errors import UserError
from circuitcore.ground.packed import packed_at


def places() -> Folders:
    """Where things lie, each named as from here where it lies below."""
    found, here = Folders.from_environment(), Path.cwd()
    near = (path.relative_to(here) if path.is_relative_to(here) else path for path in (found.runs, found.published))
    return Folders(found.root, *near)


def default_folders() -> list[Path]:
    """The folders of runs that there are."""
    return [path for path in (places().runs, places().published) if path.is_dir()]


def require_runs(path: Path) -> None:
    """Refuse a path where no folder is, and no packed run.

    Raises:
        UserError: which.
    """
    if not (path.is_dir() or packed_at(path)):
        reason = "is no folder" if path.exists() else "there is no such folder"
        raise UserError(f"{path}: {reason}; allowed: a study's name, or runs and folders that hold runs")
