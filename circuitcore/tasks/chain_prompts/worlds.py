"""What a prompt says, before it is put into words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

Entry = tuple[str, ...]
Look = Callable[..., str]


@dataclass(frozen=True)
class World:
    """The links of one prompt.

    Attributes:
        blocks: name -> its lines, in the order in which they stand. A line is what is looked up, then what is found:
            ``("e", "b")`` for ``e = b``, ``("a", "0", "3")`` for ``a(0) = 3``.
        asked: the words of the question.
    """

    blocks: Mapping[str, tuple[Entry, ...]]
    asked: tuple[str, ...]

    def look(self, block: str, *key: str) -> str:
        """What a line of ``block`` says of ``key``."""
        return next(value for *of, value in self.blocks[block] if tuple(of) == key)

    def found_in(self, block: str) -> tuple[str, ...]:
        """Everything that the lines of a block say of anything, each once."""
        return tuple(dict.fromkeys(entry[-1] for entry in self.blocks[block]))


@dataclass(frozen=True, kw_only=True)
class Formulation:
    """One kind of prompt.

    Attributes:
        title: in words.
        depth: look-ups D of the source's example, one after the other at the longest.
        depths: that there are words for.
        acceptable: every answer of the right kind.
        draw: makes a world of a depth.
        walk: looks up block by block, each once; returns everything on the way, from what is asked to the answer.
        line: words a line of a block.
        question: the last line, filled with ``World.asked``.
        asks: every question with which the prompt might have ended.
    """

    title: str
    depth: int
    depths: range
    acceptable: tuple[str, ...]
    draw: Callable[[Random, int], World]
    walk: Callable[[Look, World], tuple[str, ...]]
    line: Callable[..., str]
    question: str
    asks: Callable[[World], tuple[tuple[str, ...], ...]]
