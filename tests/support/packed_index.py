"""A pack's index as text, for tests that look into it or damage it."""

from pathlib import Path

from circuitcore.ground.packed import INDEX_NAME, index_lines, index_of


def index_text(path: Path) -> str:
    """What is packed in the index at ``path``."""
    return "".join(f"{line.decode()}\n" for line in index_lines(path.read_bytes()))


def write_index(path: Path, text: str) -> None:
    """Pack other text in its place."""
    path.write_bytes(index_of(text.splitlines()))


def published_lines(published: Path) -> list[str]:
    """A line for each run of all packs in a folder."""
    return [line for path in sorted(published.glob(f"*/{INDEX_NAME}")) for line in index_text(path).splitlines()]
