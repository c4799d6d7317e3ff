"""Chains of look-ups in words: the five kinds of prompt that language models are asked (Musat 2025, section 4).

A prompt is drawn (``draw_world``: which links, in which order, and what is asked) and then worded (``prompt_of``). The
source printed one example of each kind and no program; what is drawn and what is fixed is read off that example. Given
its links, the wording reproduces every example to the letter.

What the source leaves open, as it is decided here:

- F3 ("kingdoms"): the source's two examples share one chain of five links, so its world may be fixed, with the order of
  lines and the question alone drawn. Here **all links are drawn anew**: in a fixed world a prompt's answer would follow
  from its last line, and whoever has seen the world once need not read on.
- F1 ("equations") has letters of its own for D up to 6; from 7 to 13 capitals follow. F2 ("lives-with") has names for D
  up to 5. The others have one depth.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.chain_prompts.formulations import FORMULATIONS
from circuitcore.tasks.chain_prompts.worlds import Formulation, World
from circuitcore.tasks.errors import TaskError

__all__ = ["FORMULATIONS", "Formulation", "Prompt", "World", "draw_world", "formulation", "prompt_of", "prompts"]


@dataclass(frozen=True)
class Prompt:
    """One question.

    Attributes:
        text: lines of facts, then the question.
        answer: the right one, by composing the links.
        acceptable: every answer of the right kind; chance is one of them.
        chain: what is looked up on the way, from what is asked to the answer.
    """

    text: str
    answer: str
    acceptable: tuple[str, ...]
    chain: tuple[str, ...]

    @property
    def chance(self) -> float:
        """Of guessing among the acceptable answers."""
        return 1 / len(self.acceptable)


def formulation(name: str, depth: int | None = None) -> tuple[Formulation, int]:
    """A formulation by name, and the depth that is meant.

    Raises:
        TaskError: no such formulation, or a depth that it does not have.
    """
    if name not in FORMULATIONS:
        raise TaskError(unknown("formulation", name, FORMULATIONS))
    found = FORMULATIONS[name]
    depth = found.depth if depth is None else depth
    if depth not in found.depths:
        have = f"{found.depths[0]} to {found.depths[-1]}" if len(found.depths) > 1 else f"{found.depths[0]} alone"
        raise TaskError(f"depth = {depth!r} of {name} ({found.title}); allowed: {have}")
    return found, depth


def draw_world(name: str, depth: int | None = None, seed: int = 0, number: int = 0) -> World:
    """Links, order of lines and question of one prompt: a function of these four alone.

    Args:
        name: "F1" to "F5".
        depth: look-ups D; None for that of the source's example.
        seed: of a series of prompts, at least 0.
        number: of the prompt in its series, from 0.

    Raises:
        TaskError: a name, depth, seed or number that is not allowed.
    """
    found, depth = formulation(name, depth)
    for what, value in (("seed", seed), ("number", number)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise TaskError(f"{what} = {value!r}; allowed: a whole number of at least 0")
    return found.draw(Random(f"{name} {depth} {seed} {number}"), depth)


def prompt_of(name: str, world: World) -> Prompt:
    """The prompt that words a world: no chance is left in it."""
    found = FORMULATIONS[name]
    chain = found.walk(world.look, world)
    lines = [found.line(block, *entry) for block, entries in world.blocks.items() for entry in entries]
    text = "\n".join([*lines, found.question.format(*world.asked)])
    return Prompt(text, chain[-1], found.acceptable, chain)


def prompts(name: str, n: int = 500, depth: int | None = None, seed: int = 0) -> Iterator[Prompt]:
    """The first ``n`` prompts of a series; a longer series begins with the same ones. Errors as ``draw_world``."""
    formulation(name, depth)
    if n < 1:
        raise TaskError(f"n = {n}; allowed: at least 1 prompt")
    return (prompt_of(name, draw_world(name, depth, seed, number)) for number in range(n))
