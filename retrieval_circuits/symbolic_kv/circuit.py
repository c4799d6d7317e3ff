"""What causal tests of each network say of its circuit.

Effects are this seed's readings of the claims KV5, KV2, KV3 and KV4: of the heads of layer 0 that
``readings.chosen_heads`` names; of both heads of layer 1, or of one whose own exchange leads.
"""

import functools
from functools import partial

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.explorer.moves import Tested
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.lookup_circuit import by_head
from retrieval_circuits.symbolic_kv.readings import chosen_heads, key_effects, query_effects, separated


def link_tests(results: Results) -> dict[int, dict[str, Tested]]:
    """Seed -> move -> whose it is in that network, and the share of answers that move when its link is exchanged."""

    @functools.cache
    def shares(site: str, variable: str) -> pd.Series:
        return separated(results, site, variable)

    def follows(seed: int, variable: str, site: str) -> float:
        return float(shares(site, variable)[seed])

    edges = {"tags": ("tagger", key_effects(results)), "carries": ("carrier", query_effects(results))}
    heads = {move: chosen_heads(results, role) for move, (role, _) in edges.items()}

    def edge(seed: int, move: str) -> Tested:
        effect = float(edges[move][1][seed])
        return Tested(heads=(heads[move][seed],), effect=effect, supported=MORE_OFTEN_THAN_NOT.reached(effect))

    return {
        int(seed): {
            "tags": edge(seed, "tags"),
            "carries": edge(seed, "carries"),
            "matches": by_head(1, "q", partial(follows, seed, "query_key")),
            "copies": by_head(1, "z", partial(follows, seed, "selected_value")),
        }
        for seed in heads["tags"].index
    }
