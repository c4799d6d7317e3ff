"""The circuit of a network that looks a value up by its key: its moves, and who makes them."""

from collections.abc import Callable, Mapping

import pandas as pd

from livingpaper.explorer.moves import Move, Plan, Tested
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.circuit_parts import KEY, VALUE, by_leader

HEADS = ("H0", "H1")
"""Of each layer of the networks that look up."""
MOVES = (
    Move(name="tags", does="marks every value with its key", layer=0, source="keys", target="values", brings=True),
    Move(
        name="carries", does="carries the asked-for key to the end", layer=0, source="query", target="last", brings=True
    ),
    Move(name="matches", does="finds the value whose mark fits", layer=1, source="asked value", target="last"),
    Move(name="copies", does="copies that value into the answer", layer=1, looks="asked value"),
)
PLAN = Plan(moves=MOVES, tones={"key": KEY, "query": KEY, "value": VALUE})


def by_head(layer: int, part: str, shares_at: Callable[[str], pd.Series]) -> dict[int, Tested]:
    """Seed -> who of a layer makes a move, by exchanging one part of each head alone and of both together.

    Args:
        layer: of the heads.
        part: what is exchanged of a head, such as "q".
        shares_at: site, such as "L1H0.q" or "L1H*.q", -> per seed the share of answers that follow the exchange there.
    """
    alone = {f"L{layer}{head}": shares_at(f"L{layer}{head}.{part}") for head in HEADS}
    return {
        int(seed): by_leader(
            {head: float(shares[seed]) for head, shares in alone.items()}, together, MORE_OFTEN_THAN_NOT
        )
        for seed, together in shares_at(f"L{layer}H*.{part}").items()
    }


def of_each_seed(tests: Mapping[str, Mapping[int, Tested]]) -> dict[int, dict[str, Tested]]:
    """Move -> seed -> its test, turned into seed -> move -> its test."""
    first = next(iter(tests.values()))
    return {seed: {move: of_seeds[seed] for move, of_seeds in tests.items()} for seed in first}
