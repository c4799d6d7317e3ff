"""Published networks whose weights are shipped, for tests that ask each of them, or a few of each arm."""

from itertools import groupby
from pathlib import Path

EACH = 5


def all_with_weights(published: Path) -> list[str]:
    """Ids of all of them, in order of their names."""
    return sorted(folder.name for folder in _folders(published))


def few_with_weights(published: Path) -> list[str]:
    """Ids of the first runs of each arm of all packs, in order of their names."""
    arms = (list(runs)[:EACH] for _, runs in groupby(_folders(published), lambda folder: folder.parent))
    return sorted(folder.name for runs in arms for folder in runs)


def _folders(published: Path) -> list[Path]:
    return sorted({path.parent for path in published.glob("*/*/*/*.safetensors.squeezed")})
