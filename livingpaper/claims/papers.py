"""Which papers are installed: packages that hold studies."""

import functools
from importlib.metadata import entry_points

GROUP = "livingpaper.studies"
"""The group of entry points by which a distribution names its papers."""


@functools.cache  # every installed distribution is read for it
def packages() -> tuple[str, ...]:
    """The import paths of the papers that are installed."""
    return tuple(sorted({point.value for point in entry_points(group=GROUP)}))
