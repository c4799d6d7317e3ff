"""What tests of each of the larger networks say of how it recalls one y.

Every arrow is a test of the claims PR13, PR18 and PR15 on this very network, read off the same rows and held to the
same bounds: edges into the last position cut, two y trading places in the keys, the FFN replaced by a linear map. Of
two heads one is named where it moves the answer alone (``circuit_parts.by_leader``).
"""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.explorer.moves import Move, Plan, Tested
from livingpaper.figures.circuit import percent
from retrieval_circuits.circuit_parts import KEY, VALUE, by_leader
from retrieval_circuits.permutation_recall.claims.parts import PARTS
from retrieval_circuits.permutation_recall.readings import parts
from retrieval_circuits.permutation_recall.readings.models import LEARNT

BOUNDS = {claim.id: claim.bound for claim in PARTS}
CUT = "without that look recall is lost on {effect} of prompts"
TRADED = "where two y trade places in the keys, the other y is answered on {effect} of prompts"
LINEAR = "with the nearest linear map in its place recall is lost on {effect} of prompts"
MOVES = (
    Move(name="finds", does="finds the x that stood before", layer=0, source="asked key", target="last"),
    Move(
        name="reads", does="looks at every y and needs the one shown with it", layer=0, source="asked value",
        target="last",
    ),
    Move(
        name="weighs", does="tells the places of y apart by how much it looks at each", layer=0,
        source="other values", target="last",
    ),
    Move(name="joins", does="needs the FFN not to be linear", layer=0),
)  # fmt: skip
PLAN = Plan(moves=MOVES, tones={"x": KEY, "y": VALUE})
CUTS = {"finds": "cut x_source", "reads": "cut y_source"}
"""Move -> which edge into the last position is cut."""
FFN = "L0MLP"


def link_tests(results: Results) -> dict[int, dict[str, Tested]]:
    """Seed -> move -> whose it is in that network, and the share of prompts on which its test moves the answer.

    Nothing is supported in a network that does not recall: what is not there cannot be taken apart.
    """
    sites = (*parts.HEADS, parts.ALL_HEADS)
    lost = {
        move: {site: parts.lost_without_edge(results, cut, site).clip(lower=0.0) for site in sites}
        for move, cut in CUTS.items()
    }
    traded = {site: parts.answers_traded(results, "keys", site) for site in sites}
    whole, kept = parts.recall_whole(results), parts.recall_with_linear_map(results)

    def tested(seed: int, shares: Mapping[str, pd.Series], claim: str, words: str) -> Tested:
        alone = {head: float(shares[head][seed]) for head in parts.HEADS}
        return by_leader(alone, float(shares[parts.ALL_HEADS][seed]), BOUNDS[claim], words)

    def of(seed: int) -> dict[str, Tested]:
        found = {move: tested(seed, lost[move], "PR13", CUT) for move in CUTS}
        found["weighs"] = tested(seed, traded, "PR18", TRADED)
        effect = max(0.0, float(whole[seed] - kept[seed]))
        found["joins"] = Tested(
            heads=(FFN,), effect=effect, supported=BOUNDS["PR15"].reached(float(kept[seed])), found=LINEAR
        )
        learnt = whole[seed] >= LEARNT
        return found if learnt else {move: replace(one, supported=False) for move, one in found.items()}

    return {int(seed): of(seed) for seed in whole.index}


def values_note(results: Results, seed: int) -> str:
    """What trading places does in the values, where it is not what ties y and slot (claim PR17)."""
    moved = percent(float(parts.answers_traded(results, "values")[seed]))
    return f"③ is tested by two y that trade places in the keys; traded in the values, {moved} of answers follow."
