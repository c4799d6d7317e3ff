"""A circuit as it is drawn: what a network does with one prompt, link by link, with what supports each of them."""

from collections.abc import Sequence
from dataclasses import dataclass

NUMBERS = "①②③④⑤⑥⑦⑧⑨"
"""How links are numbered in a sentence."""
MOVED = "moves the answer on {effect} of prompts"
"""What the test of a link found, unless the link says otherwise."""
MOST_LOOKS_SAID = 3
TONES = range(5)
"""0 is ink; the others are the style sheet's colours of what words are. Moves have colours of their own."""


@dataclass(frozen=True)
class Token:
    """One token of the prompt; tokens of a kind share a tone (see ``TONES``)."""

    word: str
    tone: int = 0

    def __post_init__(self):
        _require(self.tone in TONES, f"token {self.word!r}: tone {self.tone}; tones are {TONES[0]} to {TONES[-1]}")


@dataclass(frozen=True, kw_only=True)
class Arrow:
    """What one head moves from one position to another.

    Attributes:
        layer: of the head, from 0; of a move of the last position into the answer the one after that of its heads.
        source: position that is read.
        target: position that is written; None for the answer.
        weight: attention, 0 to 1; None of what is no attention, such as an MLP's write.
        brings: the word that stands at the target from then on; "" where none is shown.
    """

    layer: int
    source: int
    target: int | None
    weight: float | None
    brings: str = ""

    def __post_init__(self):
        if self.weight is not None:
            _require_share("attention", self.weight)


@dataclass(frozen=True, kw_only=True)
class Link:
    """One link of a circuit, and what a causal test of this very network says of it.

    Attributes:
        number: how it is numbered, from 1; a link keeps its number where an earlier one is lacking.
        move: one word that stands at the arrow: "tags".
        does: the same in a few words: "marks every value with its key".
        head: who does it, such as "L0H1"; "L0H*" where the test does not tell the heads of a layer apart.
        effect: share of prompts on which the test moves the answer; None where ``found`` says it in another measure.
        supported: whether the test reaches the bound that was set for it.
        arrows: the same move at one or several places.
        found: what the test did and found, in words; ``{effect}`` stands for the share.
    """

    number: int
    move: str
    does: str
    head: str
    effect: float | None
    supported: bool
    arrows: tuple[Arrow, ...]
    found: str = MOVED

    def __post_init__(self):
        if self.effect is not None:
            _require_share(f"{self.move}: effect", self.effect)
        _require(len(self.arrows) > 0, f"{self.move}: no arrow")
        most = len(NUMBERS)
        _require(0 < self.number <= most, f"{self.move}: number {self.number}; links are numbered 1 to {most}")

    @property
    def sign(self) -> str:
        """Its number in a sentence."""
        return NUMBERS[self.number - 1]

    @property
    def finding(self) -> str:
        """What the test did and found."""
        return self.found if self.effect is None else self.found.format(effect=percent(self.effect))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the network says, and what it should say; None where none knows.

    A network that says words says each with a probability. Of one that says numbers, the word is that whose numbers are
    nearest to them; ``error``, the mean squared one against what was wanted, stands in place of a probability.
    """

    word: str
    probability: float | None
    wanted: str | None
    tone: int = 0
    error: float | None = None

    def __post_init__(self):
        _require((self.probability is None) != (self.error is None), "an answer has a probability or an error")
        if self.probability is not None:
            _require_share("probability", self.probability)

    @property
    def sureness(self) -> str:
        """Its probability or its error, as it stands in a drawing."""
        return f"error {self.error:.2f}" if self.probability is None else likely(self.probability)

    @property
    def is_wrong(self) -> bool:
        """Whether something else was wanted."""
        return self.wanted not in (None, self.word)


@dataclass(frozen=True, kw_only=True)
class Circuit:
    """One network on one prompt.

    Attributes:
        name: of the network: "seed 0".
        n_layers: of the network.
        tokens: the prompt.
        links: in the order of their numbers; none where nothing was tested. Links of one number are the same move, by
            other heads or elsewhere, each with a test of its own.
        answer: what the network says.
        looks: attention that belongs to no link, behind everything; never part of a mechanism.
        note: what else has to be said of the tests, as sentences; "" for nothing.
        read_at: position at which the answer is read; None for the last.

    Raises:
        ValueError: links out of order; an arrow or an answer that leaves the prompt, an arrow that looks ahead or lies
            in a layer that is not there.
    """

    name: str
    n_layers: int
    tokens: tuple[Token, ...]
    links: tuple[Link, ...]
    answer: Answer
    looks: tuple[Arrow, ...] = ()
    note: str = ""
    read_at: int | None = None

    def __post_init__(self):
        numbers, last = [link.number for link in self.links], len(self.tokens) - 1
        _require(numbers == sorted(numbers), f"links must stand in the order of their numbers; got {numbers}")
        inside = self.read_at is None or 0 <= self.read_at <= last
        _require(inside, f"no answer is read at token {self.read_at} of 0..{last}")
        for link in self.links:
            for arrow in link.arrows:
                self._require_room(link.move, arrow)
        for arrow in self.looks:
            self._require_room("attention", arrow)
            _require(None not in (arrow.target, arrow.weight), "attention: from a token to a token, with its weight")

    def _require_room(self, what: str, arrow: Arrow) -> None:
        last, to_answer = len(self.tokens) - 1, arrow.target is None
        target = last if to_answer else arrow.target
        in_prompt = 0 <= arrow.source <= target <= last
        _require(in_prompt, f"{what}: no arrow from token {arrow.source} to {arrow.target} of 0..{last}")
        layers = range(1, self.n_layers + 1) if to_answer else range(self.n_layers)
        _require(arrow.layer in layers, f"{what}: layer {arrow.layer} of {self.n_layers}")

    @property
    def prompt(self) -> str:
        """The tokens' words."""
        return " ".join(token.word for token in self.tokens)

    @property
    def n_supported(self) -> int:
        """Links that a causal test supports."""
        return sum(link.supported for link in self.links)

    @property
    def score(self) -> str:
        """How many of the links are supported: "3 of 4"; "not tested" where there is none."""
        return f"{self.n_supported} of {len(self.links)}" if self.links else "not tested"

    @property
    def scored(self) -> str:
        """The same with its noun: "3 of 4 links", "0 of 1 link"."""
        return f"{self.score} link{'' if len(self.links) == 1 else 's'}"


def in_words(circuit: Circuit) -> str:
    """All that the drawing shows, for those who cannot see it."""
    said = circuit.answer
    right = "" if said.wanted is None else f"wanted {said.wanted}, " if said.is_wrong else "as wanted, "
    return (
        f"The circuit of {circuit.name} on the prompt {circuit.prompt}. It answers {said.word}, {right}with "
        f"{'' if said.probability is None else 'probability '}{said.sureness}. {_tests_words(circuit)}"
        f"{_look_words(circuit)}{_also(circuit.note)}"
    )


def in_short(circuit: Circuit) -> str:
    """Who it is, how many links are supported, and which are not."""
    if not circuit.links:
        return f"{_capital(circuit.name)}: attention alone, not tested"
    lacking = dict.fromkeys(link.move for link in circuit.links if not link.supported)
    without = f"; not supported: {', '.join(lacking)}" if lacking else ""
    return f"{_capital(circuit.name)}: {circuit.scored} supported{without}"


def takeaway(circuit: Circuit) -> str:
    """One line that says what the network does: of its links only those that are supported, each with its number."""
    done = list(dict.fromkeys(f"{link.sign} {link.does}" for link in circuit.links if link.supported))
    lacking = list(dict.fromkeys(f"{link.sign} {link.move}" for link in circuit.links if not link.supported))
    name = _capital(circuit.name)
    if not circuit.links:
        return f"{name}: attention alone, of which no causal test was made.{_also(circuit.note)}"
    first = f"{name} {listed(done)}." if done else f"{name}: no link is supported by a causal test of this network."
    solid = f" Solid: supported by a causal test of this network ({circuit.scored})." if done else ""
    dashed = f" Dashed, not supported: {listed(lacking)}." if lacking else ""
    return f"{first}{solid}{dashed}{_grey([circuit])} Width: attention.{_together(circuit)}{_also(circuit.note)}"


def takeaway_of_many(circuits: Sequence[Circuit]) -> str:
    """One line under several networks: in how many of them every link is supported, and how to read the pictures."""
    tested = [circuit for circuit in circuits if circuit.links]
    if not tested:
        return "Attention alone, of which no causal test was made. Width: attention."
    whole = sum(circuit.n_supported == len(circuit.links) for circuit in tested)
    networks = "1 network" if len(circuits) == 1 else f"{len(circuits)} networks"
    return (
        f"All links are supported in {whole} of {networks}. Under each: how many of its links its own causal tests "
        f"support. Solid: supported. Dashed: not.{_grey(circuits)} Width: attention."
    )


def percent(share: float) -> str:
    """A share of prompts for people: "77 %"; what is not quite all or nothing does not read as it."""
    return likely(share) if 0 < share < 1 else f"{100 * share:.0f} %"


def likely(probability: float) -> str:
    """A probability or attention for people: of a softmax, so that none is 0 or 1 but by rounding."""
    if probability > 0.99:
        return "> 99 %"
    return "< 1 %" if probability < 0.01 else f"{100 * probability:.0f} %"


def _tests_words(circuit: Circuit) -> str:
    if not circuit.links:
        return "No causal test of this network was made."
    each = " ".join(_link_words(circuit, link) for link in circuit.links)
    verb = "is" if len(circuit.links) == 1 else "are"
    return f"{circuit.scored} {verb} supported by causal tests of this network. {each}"


def _link_words(circuit: Circuit, link: Link) -> str:
    status = "supported" if link.supported else "not supported"
    reads = ", ".join(words for arrow in link.arrows if (words := _arrow_words(circuit, arrow)))
    return (
        f"{link.number}, {link.move}: {link.head} {link.does}{f' ({reads})' if reads else ''}; "
        f"{link.finding}, {status}."
    )


def _look_words(circuit: Circuit) -> str:
    """The strongest of what is attention alone."""
    if not circuit.looks:
        return ""
    strongest = sorted(circuit.looks, key=lambda arrow: -arrow.weight)[:MOST_LOOKS_SAID]
    said = "; ".join(f"in layer {arrow.layer} {_arrow_words(circuit, arrow)}" for arrow in strongest)
    return f" Attention alone, at its strongest: {said}."


def _grey(circuits: Sequence[Circuit]) -> str:
    return " Grey: attention alone." if any(circuit.looks for circuit in circuits) else ""


def _together(circuit: Circuit) -> str:
    """What the address of several heads means, where one stands in the drawing."""
    layers = sorted({link.head[1:-2] for link in circuit.links if link.head.endswith("H*")})
    return "".join(f" L{layer}H*: the heads of layer {layer}, tested together." for layer in layers)


def _also(note: str) -> str:
    return f" {note}" if note else ""


def _arrow_words(circuit: Circuit, arrow: Arrow) -> str:
    if arrow.target is None or arrow.weight is None:
        return ""
    reader, read = circuit.tokens[arrow.target].word, circuit.tokens[arrow.source].word
    return f"{reader} reads {read} with attention {likely(arrow.weight)}"


def listed(words: Sequence[str]) -> str:
    """Words as a sentence has them: "a, b and c"."""
    return " and ".join([*([", ".join(words[:-1])] if words[:-1] else []), *words[-1:]])


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _require_share(what: str, value: float) -> None:
    _require(0 <= value <= 1, f"{what} must be from 0 to 1, got {value}")


def _require(holds: bool, why: str) -> None:  # noqa: FBT001 - reads as what it says
    if not holds:
        raise ValueError(why)
