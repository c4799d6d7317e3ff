"""Circuits made by hand, to be drawn."""

from livingpaper.figures.circuit import Answer, Arrow, Circuit, Link, Token


def drawn_circuit(words="a K2 V1 ; K3 V6 ; Q K3 ->", *, supported=(True, True, True, True), weight=0.7, said=None):
    """A look-up among two pairs, asked for the second: four links, those that are named supported."""
    tokens = words.split()
    keys, values, query, last = (1, 4), (2, 5), len(tokens) - 2, len(tokens) - 1
    slot = next(slot for slot, key in enumerate(keys) if tokens[key] == tokens[query])
    arrows = (
        tuple(
            Arrow(layer=0, source=key, target=value, weight=weight, brings=tokens[key])
            for key, value in zip(keys, values, strict=True)
        ),
        (Arrow(layer=0, source=query, target=last, weight=weight, brings=tokens[query]),),
        (Arrow(layer=1, source=values[slot], target=last, weight=weight),),
        (Arrow(layer=2, source=last, target=None, weight=weight),),
    )
    moves = {"tags": "marks values", "carries": "carries the key", "matches": "finds it", "copies": "says it"}
    links = tuple(
        Link(
            move=move, does=does, head=f"L{number // 2}H1", tone=1 + number // 2, effect=0.8 if holds else 0.3,
            supported=holds, arrows=of,
        )
        for number, ((move, does), of, holds) in enumerate(zip(moves.items(), arrows, supported, strict=True))
    )  # fmt: skip
    tones = dict.fromkeys((*keys, query), 1) | dict.fromkeys(values, 2)
    wanted = tokens[values[slot]]
    return Circuit(
        name="seed 7",
        n_layers=2,
        tokens=tuple(Token(word, tones.get(at, 0)) for at, word in enumerate(tokens)),
        links=links,
        answer=Answer(word=said or wanted, probability=0.983, wanted=wanted, tone=2),
    )
