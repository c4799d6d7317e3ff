"""Definitions of a birth by name: whose scores are dated, and what counts as born."""

from collections.abc import Mapping
from dataclasses import dataclass

from circuitcore.emergence.births import BirthRule


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One way to date births, by name.

    Attributes:
        name: as a reader chooses it ("The source's definition").
        scores: which scores are dated, as the column ``scores`` of a table names them.
        whose: the same in words ("the source's").
        rules: motif -> what counts as born, as ``emergence.births.births`` takes them.
    """

    name: str
    scores: str
    whose: str
    rules: Mapping[str, BirthRule]


@dataclass(frozen=True, kw_only=True)
class Definitions:
    """The definitions that a reader may choose among.

    Attributes:
        among: each with scores of its own; the first is the one to open on.
        apart: the motifs between whose births a spread is measured (``emergence.spread``).

    Raises:
        ValueError: none, or two of one name or with the same scores.
    """

    among: tuple[Definition, ...]
    apart: tuple[str, ...]

    def __post_init__(self):
        for what in ("name", "scores"):
            seen = [getattr(definition, what) for definition in self.among]
            if not seen or len(set(seen)) < len(seen):
                raise ValueError(f"definitions need a {what} each that no other has; got {seen}")
