"""How large a task may be: all its rows are kept in memory, and nobody should learn of a mistyped number from that."""

from collections.abc import Mapping

from circuitcore.tasks.errors import TaskError

MAX_ROWS = 2**20  # of a split: as many as the largest of a source, that of stacked heads
MAX_WORDS = 10_000  # to draw from
MAX_LENGTH = 1_000  # of a row, in tokens
MAX_TOKENS = 100_000_000  # of a split


def refuse_sizes(rows: Mapping[str, int], words: Mapping[str, int], length: Mapping[str, int]) -> None:
    """Refuse sizes that no memory holds, before anything is made from them.

    Args:
        rows: name of a parameter -> rows it asks for.
        words: the same of different words.
        length: what makes the rows long -> tokens of the longest.

    Raises:
        TaskError: the first of them that is too large.
    """
    for given, most, unit in ((rows, MAX_ROWS, "rows"), (words, MAX_WORDS, "words"), (length, MAX_LENGTH, "tokens")):
        for name, value in given.items():
            if value > most:
                raise TaskError(f"{name} = {_written(value)} {unit}; allowed: at most {most:,}")
    longest = max(length.values())
    for name, value in rows.items():
        if value * longest > MAX_TOKENS:
            raise TaskError(f"{name} = {value:,} rows of {longest:,} tokens; allowed: at most {MAX_TOKENS:,} tokens")


def _written(value: int) -> str:
    """A number in full; one that Python would not write out by its size."""
    return f"{value:,}" if value.bit_length() < 256 else f"more than 10^{value.bit_length() * 3 // 10 - 1}"
