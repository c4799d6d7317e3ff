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
            number=number, move=move, does=does, head=f"L{(number - 1) // 2}H1", effect=0.8 if holds else 0.3,
            supported=holds, arrows=of,
        )
        for number, ((move, does), of, holds) in enumerate(zip(moves.items(), arrows, supported, strict=True), 1)
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


def looking_circuit(words="<bos> " + "afternoon while water crept , " * 4 + "a", *, said="stranger"):
    """A long prompt in two layers: one link into the answer that no test supports, all else attention alone."""
    tokens = words.split()
    last = len(tokens) - 1
    looks = [(1, last, 3, 0.9), (1, last, 8, 0.4), (0, 3, 0, 1.0), (0, 8, 2, 0.2), (0, last, last - 1, 0.6)]
    link = Link(
        number=1, move="answers", does="brings the next word", head="L1H*", effect=0.02, supported=False,
        arrows=(Arrow(layer=2, source=last, target=None, weight=0.5),), found="brings another word on {effect} of them",
    )  # fmt: skip
    return Circuit(
        name="seed 7",
        n_layers=2,
        tokens=tuple(Token(word, 1 if at == last else 0) for at, word in enumerate(tokens)),
        links=(link,),
        answer=Answer(word=said, probability=0.92, wanted="roof", tone=2),
        looks=tuple(Arrow(layer=layer, source=s, target=t, weight=weight) for layer, t, s, weight in looks),
        note="One of 25 networks.",
    )


def one_layer_circuit(place=2, words="4 5 5 3 2 2 3 4 2"):
    """All arrows of a single layer into the last position, and one that is no attention: names have little room."""
    tokens = words.split()
    last, x = len(tokens) - 1, 2 * place
    into = {"finds": [x], "reads": [x + 1], "weighs": [at for at in range(1, last, 2) if at != x + 1]}
    arrows = {
        move: tuple(Arrow(layer=0, source=at, target=last, weight=0.3) for at in of) for move, of in into.items()
    } | {"joins": (Arrow(layer=1, source=last, target=None, weight=None),)}
    links = tuple(
        Link(
            number=number, move=move, does=f"{move} it", head="L0H0" if number > 1 else "L0MLP", effect=0.9,
            supported=True, arrows=of,
        )
        for number, (move, of) in enumerate(arrows.items(), 1)
    )  # fmt: skip
    return Circuit(
        name="seed 1",
        n_layers=1,
        tokens=tuple(Token(word, 1 + at % 2) for at, word in enumerate(tokens)),
        links=links,
        answer=Answer(word=tokens[x + 1], probability=0.99, wanted=tokens[x + 1], tone=2),
    )
