"""Published networks whose weights are shipped: a few of each arm, for tests that ask each of them."""

from itertools import groupby
from pathlib import Path

EACH = 5


def few_with_weights(published: Path) -> list[str]:
    """Ids of the first runs of each arm of all packs, in order of their names."""
    folders = sorted({path.parent for path in published.glob("*/*/*/*.safetensors.squeezed")})
    arms = (list(runs)[:EACH] for _, runs in groupby(folders, lambda folder: folder.parent))
    return sorted(folder.name for runs in arms for folder in runs)
