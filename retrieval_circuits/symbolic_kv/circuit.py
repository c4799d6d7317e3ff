"""What causal tests of each network say of its circuit.

Effects are this seed's readings of the claims KV5, KV2, KV3 and KV4: of the heads of layer 0 that
``readings.chosen_heads`` names; of both heads of layer 1, or of one whose own exchange leads.
"""

from functools import partial

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.explorer.moves import Tested
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.lookup_circuit import by_head, of_each_seed
from retrieval_circuits.symbolic_kv.readings import chosen_heads, key_effects, query_effects, separated


def link_tests(results: Results, arm: str) -> dict[int, dict[str, Tested]]:
    """Seed -> move -> whose it is in that network, and the share of answers that move when its link is exchanged."""

    def shares(site: str, variable: str) -> pd.Series:
        return separated(results, site, variable, arm=arm)

    def edges(role: str, effects: pd.Series) -> dict[int, Tested]:
        heads = chosen_heads(results, role, arm)
        return {
            int(seed): Tested(
                heads=(heads[seed],), effect=float(effect), supported=MORE_OFTEN_THAN_NOT.reached(float(effect))
            )
            for seed, effect in effects.items()
        }

    return of_each_seed(
        {
            "tags": edges("tagger", key_effects(results, arm=arm)),
            "carries": edges("carrier", query_effects(results, arm=arm)),
            "matches": by_head(1, "q", partial(shares, variable="query_key")),
            "copies": by_head(1, "z", partial(shares, variable="selected_value")),
        }
    )
