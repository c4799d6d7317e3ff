"""Which papers are installed: packages that hold studies."""

from importlib.metadata import EntryPoint, entry_points

GROUP = "livingpaper.studies"
"""The group of entry points by which a distribution names its papers."""


def installed() -> tuple[EntryPoint, ...]:
    """Where the papers are, each once."""
    return tuple({point.value: point for point in entry_points(group=GROUP)}.values())
