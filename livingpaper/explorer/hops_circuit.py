"""What is drawn of a network on one row of vectors: its tested links along one chain, and what else it looks at.

``static/hops_circuit.js`` does the same in the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from livingpaper.explorer.moves import attention_alone
from livingpaper.explorer.vector_form import Said, VectorForm
from livingpaper.figures.circuit import Answer, Arrow, Circuit, Link, Token

FOLLOWED, ANSWER = 1, 2
"""Tones: of the symbols of the chain that is followed, and of its last one, which answers."""


@dataclass(frozen=True, kw_only=True)
class Hop:
    """A kind of link: what is fetched, and between which roles of a chain.

    Attributes:
        name: one word that stands at the arrow.
        does: the same in a few words.
        links: (role that looks, role that is looked at), each within one chain.
    """

    name: str
    does: str
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class HopTest:
    """What a causal test of one network at one step found of a link.

    Attributes:
        link: (role that looks, role that is looked at).
        heads: of one layer, that look along it; tested together.
        rise: by how much the squared error rises when they cannot look there.
        other: by how much where the same number of looks, at another chain, is taken away instead.
        supported: whether the study's bound is reached.
    """

    link: tuple[str, str]
    heads: tuple[str, ...]
    rise: float
    other: float
    supported: bool

    @property
    def who(self) -> str:
        """The heads as they stand in a drawing: "L0H1+H3"."""
        first, *others = self.heads
        return "+".join((first, *(f"H{head.partition('H')[2]}" for head in others)))

    @property
    def found(self) -> str:
        """What the test did and found."""
        return (
            f"without it the squared error rises by {self.rise:z.2f}, without as many other looks by {self.other:z.2f}"
        )


@dataclass(frozen=True, kw_only=True)
class Followed:
    """One chain of one row.

    Attributes:
        words: of the row.
        at: role -> where it stands in this chain.
        symbols: the chain's, from what is asked to what answers it.
        read_at: where its answer is read.
    """

    words: Sequence[str]
    at: Mapping[str, int]
    symbols: Sequence[str]
    read_at: int

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The row, its chain in colour."""
        return tuple(Token(word, self._tone(word)) for word in self.words)

    def _tone(self, word: str) -> int:
        if word == self.symbols[-1] and len(self.symbols) > 1:
            return ANSWER
        return FOLLOWED if word in self.symbols else 0


def followed(form: VectorForm, words: Sequence[str], roles: Mapping[str, Sequence[int]], chain: int) -> Followed:
    """A chain of a row; ``roles``: role -> its position in each chain."""
    places = sorted({place for block in form.blocks for place in block.places})
    symbols = [f"{form.chains[chain]}{place}" for place in places]
    at = {role: positions[chain] for role, positions in roles.items()}
    return Followed(words=words, at=at, symbols=symbols, read_at=at[form.query])


def circuit_on(
    chain: Followed,
    tests: Sequence[HopTest],
    hops: Sequence[Hop],
    patterns: Sequence[Float[Tensor, "head query key"]],
    said: Said,
) -> Circuit:
    """What is drawn; the network has no name yet.

    Args:
        chain: that is followed.
        tests: of this network at this step.
        hops: kinds of links, in the order in which they are numbered.
        patterns: attention on this row, layer by layer.
        said: of the last symbol of the chain.
    """
    numbers = {link: number for number, hop in enumerate(hops, 1) for link in hop.links}
    links = tuple(
        _link(numbers[one.link], hops[numbers[one.link] - 1], one, chain, patterns)
        for one in sorted(tests, key=lambda one: numbers[one.link])
    )
    return Circuit(
        name="this network",
        n_layers=len(patterns),
        tokens=chain.tokens,
        links=links,
        answer=Answer(word=said.nearest, probability=None, error=said.error, wanted=said.wanted, tone=ANSWER),
        looks=attention_alone(patterns, [arrow for link in links for arrow in link.arrows], chain.read_at),
        read_at=chain.read_at,
    )


def _link(number: int, hop: Hop, test: HopTest, chain: Followed, patterns: Sequence[Tensor]) -> Link:
    target, source = (chain.at[role] for role in test.link)
    layer = int(test.heads[0].removeprefix("L").partition("H")[0])
    heads = [int(head.partition("H")[2]) for head in test.heads]
    weight = min(1.0, patterns[layer][heads, target, source].mean().item())
    arrow = Arrow(layer=layer, source=source, target=target, weight=weight, brings=chain.words[source])
    return Link(
        number=number, move=hop.name, does=hop.does, head=test.who, effect=None, supported=test.supported,
        arrows=(arrow,), found=test.found,
    )  # fmt: skip
