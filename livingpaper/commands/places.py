"""Where commands look for runs, said as from where they are started."""

from pathlib import Path

from circuitcore.ground.environment import Folders


def places() -> Folders:
    """Where things lie, each named as from here where it lies below."""
    found, here = Folders.from_environment(), Path.cwd()
    near = (path.relative_to(here) if path.is_relative_to(here) else path for path in (found.runs, found.published))
    return Folders(found.root, *near)


def default_folders() -> list[Path]:
    """The folders of runs that there are."""
    return [path for path in (places().runs, places().published) if path.is_dir()]
