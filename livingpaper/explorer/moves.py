"""The moves of a circuit as data: between which places of a prompt each goes, and what tests of a network say of it.

A place is told by what the prompt's form says of its positions, so that the same move is found on any prompt that a
reader types. ``static/moves.js`` does the same in the page.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.tasks.forms import PromptForm
from livingpaper.explorer.probe import Reading
from livingpaper.figures.circuit import MOVED, Answer, Arrow, Circuit, Link, Token

Place = Literal["keys", "values", "query", "asked key", "asked value", "other values", "last", "answer"]
"""``last`` is the last position, ``answer`` what is read off there. The others are those of the form's ``lookup``: the
asked pair is the one whose key is the word at the query. None of them is anywhere in a prompt that lacks it."""
FAINTEST = 0.1
"""Least attention, on its way to the answer, that is drawn though no test speaks of it."""
EARLIER, AFTER = 1, 2
"""Tones, in prompts of free words: of the last word where it stood before, and of what followed the latest of them."""


@dataclass(frozen=True, kw_only=True)
class Move:
    """One move of a circuit.

    Attributes:
        name: one word that stands at the arrow: "tags".
        does: the same in a few words: "marks every value with its key".
        layer: of the heads that make it; of what is written into the answer, that of the heads it is written by.
        source, target: where it goes; two places of several positions pair up, in their order.
        brings: whether the word at the source stands at the target from then on.
        looks: of what goes into the answer, where its heads look: as wide as their attention from the last position to
            there, or ("anywhere") to wherever they look most; None of what is no attention, such as an MLP's write.
    """

    name: str
    does: str
    layer: int
    source: Place = "last"
    target: Place = "answer"
    brings: bool = False
    looks: Place | Literal["anywhere"] | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The circuit that is looked for in a task's networks.

    Attributes:
        moves: in the order in which they are numbered; none of a task of which no circuit is known: all is attention.
        tones: kind of a form's slot -> tone of the words there.
    """

    moves: tuple[Move, ...] = ()
    tones: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Tested:
    """One move of one network at one checkpoint, and what its causal test found.

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


def places(form: PromptForm, words: Sequence[str]) -> dict[Place, list[int | None]]:
    """Positions of every place of a prompt; None stands for the answer."""
    query, pairs = form.lookup or (None, ())
    asked = form.asked(words)
    shown = [value for _, value in asked]
    return {
        "keys": [key for key, _ in pairs],
        "values": [value for _, value in pairs],
        "query": [] if query is None else [query],
        "asked key": [key for key, _ in asked],
        "asked value": shown,
        "other values": [value for _, value in pairs if value not in shown] if asked else [],
        "last": [len(words) - 1],
        "answer": [None],
    }  # fmt: skip


def circuit_on(
    form: PromptForm, reading: Reading, plan: Plan, tests: Mapping[str, Tested], wanted: str | None
) -> Circuit:
    """What is drawn of one network on one prompt; the network has no name yet.

    Args:
        form: of the prompt.
        reading: of the prompt.
        plan: whose moves are drawn, but for those that go nowhere on this prompt; the others keep their numbers.
        tests: move -> what its test found; a move without is not drawn.
        wanted: what the network should say; None where the prompt does not tell.
    """
    where = places(form, reading.words)
    links = tuple(
        Link(
            number=number, move=move.name, does=move.does, head=tests[move.name].who, effect=tests[move.name].effect,
            supported=tests[move.name].supported, arrows=arrows, found=tests[move.name].found,
        )
        for number, move in enumerate(plan.moves, 1)
        if move.name in tests and (arrows := _arrows(move, reading, where, tests[move.name].heads))
    )  # fmt: skip
    said, tones = reading.likeliest, tones_of(form, reading.words, plan.tones)
    return Circuit(
        name="this network",
        n_layers=len(reading.patterns),
        tokens=tuple(Token(word, tone) for word, tone in zip(reading.words, tones, strict=True)),
        links=links,
        answer=Answer(word=said, probability=min(1.0, reading.probability_of(said)), wanted=wanted, tone=AFTER),
        looks=attention_alone(reading.patterns, [arrow for link in links for arrow in link.arrows]),
    )


def tones_of(form: PromptForm, words: Sequence[str], tones: Mapping[str, int]) -> list[int]:
    """A tone for every word: by its slot's kind; free words by whether they stood before what is asked."""
    if not form.open_words:
        return [tones.get(slot.kind, 0) for slot in form.slots]
    earlier = [at for at, word in enumerate(words[:-1]) if word == words[-1]]
    if not earlier:
        return [0] * len(words)
    alike = {*earlier, len(words) - 1}
    return [AFTER if at == earlier[-1] + 1 else EARLIER if at in alike else 0 for at in range(len(words))]


def _arrows(
    move: Move, reading: Reading, where: Mapping[Place, Sequence[int | None]], heads: Sequence[str]
) -> tuple[Arrow, ...]:
    """Where a move goes on a prompt, as wide as its heads look."""
    sources, targets, last = where[move.source], where[move.target], len(reading.words) - 1
    if 1 in (len(sources), len(targets)):
        pairs = [(source, target) for source in sources for target in targets]
    else:
        pairs = list(zip(sources, targets, strict=True))
    if move.target == "answer":
        if move.looks is None:
            weight = None
        else:
            seen = range(last + 1) if move.looks == "anywhere" else where[move.looks]
            if not seen:  # nothing is asked for
                return ()
            weight = max((attention(reading, heads, last, at) for at in seen), default=0.0)
        return tuple(Arrow(layer=move.layer + 1, source=source, target=None, weight=weight) for source, _ in pairs)
    return tuple(
        Arrow(
            layer=move.layer, source=source, target=target, weight=attention(reading, heads, target, source),
            brings=reading.words[source] if move.brings else "",
        )
        for source, target in pairs
    )  # fmt: skip


def attention(reading: Reading, heads: Sequence[str], target: int, source: int) -> float:
    """Mean over some heads of their attention from one position to another, 0 to 1."""
    of_heads = {
        f"L{layer}H{index}": pattern
        for layer, patterns in enumerate(reading.patterns)
        for index, pattern in enumerate(patterns)
    }
    return min(1.0, sum(of_heads[head][target, source].item() for head in heads) / len(heads))


def attention_alone(
    patterns: Sequence[Float[Tensor, "head query key"]], drawn: Iterable[Arrow], read_at: int = -1
) -> tuple[Arrow, ...]:
    """What the strongest head of each layer looks at, as far as the answer can depend on it, without what is drawn.

    A position counts as much as the positions that read it, layer by layer back from the answer: 1 for the one at which
    it is read, for any other the largest product of attention on a way to it.
    """
    done = {(arrow.layer, arrow.source, arrow.target) for arrow in drawn}
    reach, found = torch.zeros(patterns[0].shape[-1]), []
    reach[read_at] = 1.0
    for layer in reversed(range(len(patterns))):
        strongest: Float[Tensor, "query key"] = patterns[layer].amax(0).float().clamp(max=1.0)
        way = strongest * reach[:, None]
        for target, source in (way >= FAINTEST).nonzero().tolist():
            if (layer, source, target) not in done:
                weight = strongest[target, source].item()
                found.append(Arrow(layer=layer, source=source, target=target, weight=weight))
        reach = torch.maximum(reach, way.amax(0))
    return tuple(found)
