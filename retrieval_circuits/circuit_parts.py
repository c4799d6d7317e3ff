"""What the drawn circuits of several studies share: which head a test speaks of, and attention that none speaks of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.models import Head
from circuitcore.tasks.base import Task
from livingpaper.claims.units import Bound
from livingpaper.explorer.probe import Reading
from livingpaper.figures.circuit import MOVED, Answer, Arrow, Link, Token
from retrieval_circuits.bounds import LEADS_BY

N_DRAWN = 10
"""Networks drawn beside each other, at most."""
KEY, VALUE, PLACE, JOINED = 1, 2, 3, 4
"""Tones: of keys and what moves them, of values and what moves them, of places, and of what is made of several."""
FAINTEST = 0.1
"""Least attention, on its way to the answer, that is drawn though no test speaks of it."""


@dataclass(frozen=True, kw_only=True)
class Tested:
    """One move of one network, and what its causal test found.

    Attributes:
        heads: whom the test speaks of, by address; of several heads of a layer, which it does not tell apart, the mean
            attention is drawn.
        effect: share of prompts on which it moves the answer, 0 to 1.
        supported: whether that reaches the bound of the study.
        found: as in ``figures.circuit.Link``.
    """

    heads: tuple[str, ...]
    effect: float
    supported: bool
    found: str = MOVED

    @property
    def who(self) -> str:
        """The head; "L0H*" for all heads of layer 0."""
        return self.heads[0] if len(self.heads) == 1 else f"{self.heads[0].partition('H')[0]}H*"


def by_leader(alone: Mapping[str, float], together: float, bound: Bound, found: str = MOVED) -> Tested:
    """Who it is that makes a move: the head whose own test reaches the bound and leads, else all heads of its layer.

    It leads where no other head comes within ``bounds.LEADS_BY`` of it.

    Args:
        alone: head -> share of prompts whose answer moves when it is tested alone.
        together: the same with all of these heads at once.
        bound: what supports a move.
        found: as in ``Tested``.
    """
    leader = max(alone, key=alone.__getitem__)
    rest = max((effect for head, effect in alone.items() if head != leader), default=0.0)
    leads = bound.reached(alone[leader]) and alone[leader] - rest >= LEADS_BY
    heads, effect = ((leader,), alone[leader]) if leads else (tuple(alone), together)
    return Tested(heads=heads, effect=effect, supported=bound.reached(effect), found=found)


def links_of(
    moves: Mapping[str, tuple[str, int]], tests: Mapping[str, Tested], arrows: Mapping[str, tuple[Arrow, ...]]
) -> tuple[Link, ...]:
    """The links of a circuit, in the order of ``moves``.

    Args:
        moves: move -> what it does in a few words, and its tone.
        tests: move -> what its test found.
        arrows: move -> where it is made.
    """
    return tuple(
        Link(
            move=move, does=does, head=tests[move].who, tone=tone, effect=tests[move].effect,
            supported=tests[move].supported, arrows=arrows[move], found=tests[move].found,
        )
        for move, (does, tone) in moves.items()
    )  # fmt: skip


def addresses(reading: Reading, layer: int) -> tuple[str, ...]:
    """The heads of a layer."""
    return tuple(str(Head(layer, index)) for index in range(len(reading.patterns[layer])))


def first_test_prompt(task: Task) -> str:
    """Whatever prompt the test split begins with: no network and no picture had a say in it."""
    return task.decode(task.split("test").tokens[0])


def tokens_of(reading: Reading, tones: Mapping[int, int]) -> tuple[Token, ...]:
    """The prompt's words; ``tones`` are those of the positions that have one."""
    return tuple(Token(word, tones.get(at, 0)) for at, word in enumerate(reading.words))


def answer_of(reading: Reading, wanted: str) -> Answer:
    """What the network says, and what it should say: a value."""
    said = reading.likeliest
    return Answer(word=said, probability=min(1.0, reading.probability_of(said)), wanted=wanted, tone=VALUE)


def attention(reading: Reading, heads: Sequence[str], target: int, source: int) -> float:
    """Mean over some heads of their attention from one position to another, 0 to 1."""
    of_heads = {
        str(Head(layer, index)): pattern
        for layer, patterns in enumerate(reading.patterns)
        for index, pattern in enumerate(patterns)
    }
    return min(1.0, sum(of_heads[head][target, source].item() for head in heads) / len(heads))


def attention_alone(reading: Reading, drawn: Iterable[Arrow]) -> tuple[Arrow, ...]:
    """What the strongest head of each layer looks at, as far as the answer can depend on it, without what is drawn.

    A position counts as much as the positions that read it, layer by layer back from the answer: 1 for the last one,
    for any other the largest product of attention on a way to it.
    """
    done = {(arrow.layer, arrow.source, arrow.target) for arrow in drawn}
    reach, found = torch.zeros(len(reading.words)), []
    reach[-1] = 1.0
    for layer in reversed(range(len(reading.patterns))):
        strongest: Float[Tensor, "query key"] = reading.patterns[layer].amax(0).float().clamp(max=1.0)
        way = strongest * reach[:, None]
        for target, source in (way >= FAINTEST).nonzero().tolist():
            if (layer, source, target) not in done:
                weight = strongest[target, source].item()
                found.append(Arrow(layer=layer, source=source, target=target, weight=weight))
        reach = torch.maximum(reach, way.amax(0))
    return tuple(found)
