"""Chance lines: how often a reader is right who leaves some of a prompt unread.

One out of the acceptable answers is what somebody gets who reads nothing. Who reads all but one block may get more: a
model above 1/4 or 1/16 need not compose links.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.chain_prompts import draw_world, formulation
from circuitcore.tasks.chain_prompts.worlds import Entry, Formulation, World
from circuitcore.tasks.errors import TaskError

QUESTION = "question"
MAX_CASES = 100_000

Lines = Mapping[str, Mapping[Entry, Sequence[str]]]
"""Block -> what is looked up -> all that its line may say, as much for every line of the block."""


def ignorant_answers(
    found: Formulation, world: World, unread: Collection[str], lines: Lines | None = None
) -> dict[str, float]:
    """What the answer may be, with its probability, for a perfect reader of everything but ``unread``.

    Where a block is unread, each of the things that its lines may give is as likely as any other (a reader of prompts
    of this kind knows which there are); where the question is, any that might have been asked.

    Args:
        found: the kind of prompt.
        world: the links of one prompt.
        unread: names of blocks, and "question".
        lines: what each line may say (of a mother: a woman's name), for a reader who knows that as well; else any line
            of a block may say what any other says.

    Raises:
        TaskError: a name that is neither; ``lines`` that lack an unread block, one of its lines, or as much for one as
            for another; more cases than ``MAX_CASES``.
    """
    for name in unread:
        if name not in (*world.blocks, QUESTION):
            raise TaskError(unknown("part of the prompt", name, (*world.blocks, QUESTION)))
    asked = found.asks(world) if QUESTION in unread else (world.asked,)
    blocks = [name for name in world.blocks if name in unread]
    anything = {name: world.found_in(name) for name in blocks}

    def may_say(block: str, key: Entry) -> Sequence[str]:
        return anything[block] if lines is None else lines[block][key]

    if lines is not None:
        _check_lines(lines, world, blocks)
    guesses = [range(len(may_say(name, world.blocks[name][0][:-1]))) for name in blocks]
    if len(asked) * prod(map(len, guesses)) > MAX_CASES:
        raise TaskError(f"{len(blocks)} unread blocks make more than {MAX_CASES:,} cases; leave fewer of them unread")
    seen: Counter[str] = Counter()
    for words, guess in product(asked, product(*guesses)):
        instead = dict(zip(blocks, guess, strict=True))  # every block is looked up once, so one guess of it is enough

        def look(block: str, *key: str, instead: dict[str, int] = instead) -> str:
            return may_say(block, key)[instead[block]] if block in instead else world.look(block, *key)

        seen[found.walk(look, replace(world, asked=words))[-1]] += 1
    return {answer: count / seen.total() for answer, count in seen.items()}


def _check_lines(lines: Lines, world: World, blocks: Sequence[str]) -> None:
    """Refuse lines of which one guess cannot stand for every look-up of a block."""
    for name in blocks:
        keys = [entry[:-1] for entry in world.blocks[name]]
        if name not in lines:
            raise TaskError(f"lines lack the unread block {name!r}; they have: {', '.join(lines) or 'none'}")
        if missing := [key for key in keys if key not in lines[name]]:
            raise TaskError(f"lines of {name!r} lack {' '.join(missing[0])!r}; allowed: all of the block's")
        sizes = sorted({len(lines[name][key]) for key in keys})
        if len(sizes) > 1:
            raise TaskError(f"lines of {name!r} may say {sizes} things; allowed: as many for every line of a block")


def ignorant_accuracy(
    name: str, unread: Collection[str], n: int = 500, depth: int | None = None, seed: int = 0
) -> float:
    """How often such a reader is right, who says what is likeliest; over ``n`` prompts, in [0, 1].

    Its expected accuracy on each prompt is the probability of its likeliest answer; that is averaged, which is exact
    but for the draw of the prompts.
    """
    found, depth = formulation(name, depth)
    likeliest = [
        max(ignorant_answers(found, draw_world(name, depth, seed, number), unread).values()) for number in range(n)
    ]
    return sum(likeliest) / n


def part_lines(name: str, n: int = 100, depth: int | None = None, seed: int = 0) -> dict[str, float]:
    """``ignorant_accuracy`` with each part of the prompt unread in turn, by its name."""
    parts = (*draw_world(name, depth, seed).blocks, QUESTION)
    return {part: ignorant_accuracy(name, (part,), n, depth, seed) for part in parts}
