"""The circuit of a network that looks a value up by its key, as it is drawn: on one prompt, with what tests support.

Arrows go where the prompt's form says that keys and values stand; widths are attention on this prompt.
"""

from collections.abc import Callable, Mapping

from circuitcore.tasks.base import Task
from circuitcore.tasks.forms import matching
from livingpaper.explorer.probe import Reading
from livingpaper.figures.circuit import Arrow, Circuit
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.circuit_parts import KEY, VALUE, Tested, answer_of, attention, by_leader, links_of, tokens_of

N_LAYERS = 2
HEADS = ("H0", "H1")
"""Of each layer of the networks that look up."""
MOVES = {
    "tags": ("marks every value with its key", KEY),
    "carries": ("carries the asked-for key to the end", KEY),
    "matches": ("finds the value whose mark fits", VALUE),
    "copies": ("copies that value into the answer", VALUE),
}
"""Move -> what it does, and its tone."""


def by_head(layer: int, part: str, share_at: Callable[[str], float]) -> Tested:
    """Who of a layer makes a move, by exchanging one part of each head alone and of both together.

    Args:
        layer: of the heads.
        part: what is exchanged of a head, such as "q".
        share_at: site, such as "L1H0.q" or "L1H*.q", -> share of answers that follow the exchange there.
    """
    alone = {f"L{layer}{head}": share_at(f"L{layer}{head}.{part}") for head in HEADS}
    return by_leader(alone, share_at(f"L{layer}H*.{part}"), MORE_OFTEN_THAN_NOT)


def lookup_circuit(name: str, task: Task, reading: Reading, tests: Mapping[str, Tested], note: str = "") -> Circuit:
    """The drawing's data.

    Args:
        name: of the network.
        task: whose prompt was read; its forms have a ``lookup``.
        reading: of the prompt, plain.
        tests: of each of ``MOVES``.
        note: as in ``Circuit``.
    """
    words, last = reading.words, len(reading.words) - 1
    query, pairs = matching(task.forms, words).lookup
    asked = next(value for key, value in pairs if words[key] == words[query])

    def arrow(move: str, target: int, source: int, brings: str = "") -> Arrow:
        weight = attention(reading, tests[move].heads, target, source)
        return Arrow(layer=int(move == "matches"), source=source, target=target, weight=weight, brings=brings)

    copied = Arrow(
        layer=N_LAYERS, source=last, target=None, weight=attention(reading, tests["copies"].heads, last, asked)
    )
    arrows = {
        "tags": tuple(arrow("tags", value, key, words[key]) for key, value in pairs),
        "carries": (arrow("carries", last, query, words[query]),),
        "matches": (arrow("matches", last, asked),),
        "copies": (copied,),
    }
    tones = {query: KEY} | {key: KEY for key, _ in pairs} | {value: VALUE for _, value in pairs}
    return Circuit(
        name=name,
        n_layers=N_LAYERS,
        tokens=tokens_of(reading, tones),
        links=links_of(MOVES, tests, arrows),
        answer=answer_of(reading, words[asked]),
        note=" ".join(filter(None, (note, _together(tests)))),
    )


def _together(tests: Mapping[str, Tested]) -> str:
    """What the address of several heads means, where one stands in the drawing."""
    several = {tested.who for tested in tests.values() if len(tested.heads) > 1}
    return " ".join(f"{who}: both heads of layer {who[1]}, tested together." for who in sorted(several))
