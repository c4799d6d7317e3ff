"""The table behind each figure of the chapter, with what its caption must say."""

from collections.abc import Callable

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.symbolic_kv.figures.behaviour import arms, births, gates, training
from retrieval_circuits.symbolic_kv.figures.beside import engines, leakage, numbers
from retrieval_circuits.symbolic_kv.figures.look_up import (
    attribution,
    chain,
    circuit,
    edges,
    interchange,
    maps,
    one_head,
    pattern,
    slot,
    subsets,
)

VIEWS: dict[str, Callable[[Results], View]] = {
    "training": training,
    "arms": arms,
    "births": births,
    "gates": gates,
    "edges": edges,
    "one_head": one_head,
    "chain": chain,
    "engines": engines,
    "interchange": interchange,
    "subsets": subsets,
    "circuit": circuit,
    "attribution": attribution,
    "slot": slot,
    "pattern": pattern,
    "maps": maps,
    "leakage": leakage,
    "numbers": numbers,
}
