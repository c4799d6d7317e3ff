"""What a test of each network of next words says: of the one link that is tested.

The test exchanges all that the last layer's heads write at the last position between two prompts. Nothing in these
tables could support an arrow from one word to another, so that all of these are attention alone.
"""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.explorer.moves import Move, Plan, Tested
from livingpaper.figures.circuit import percent
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT

BOUND = MORE_OFTEN_THAN_NOT
HEADS = ("L1H0", "L1H1")
"""Of the last layer."""
PLAN = Plan(moves=(Move(name="answers", does="brings the next word", layer=1, looks="anywhere"),))
FOUND = "exchanged between two prompts, it brings the other prompt's word on {effect} of them"


def link_tests(results: Results, arm: str) -> dict[int, dict[str, Tested]]:
    """Seed -> move -> whose it is in that network, and the share of answers that follow what was exchanged."""
    return {
        int(seed): {"answers": Tested(heads=HEADS, effect=float(effect), supported=BOUND.reached(effect), found=FOUND)}
        for seed, effect in answers_brought(results, arm).items()
    }


def note_on_test(results: Results, arm: str) -> str:
    """In how many networks the test supports the link, and whether it could have in networks that know so little."""
    effects, known = answers_brought(results, arm), words_known(results, arm)
    found = f"The test of ① supports it in {counted(effects)}."
    share = float(known.mean())
    if BOUND.reached(share):
        return found
    return (
        f"{found} That test asks for the next words of rows that were held out, of which these networks know "
        f"{percent(share)}: it could hardly have supported a link."
    )


def counted(effects: pd.Series) -> str:
    """In how many networks the link is supported, in words."""
    return f"{sum(map(BOUND.reached, effects))} of {len(effects)} network{'' if len(effects) == 1 else 's'}"


def answers_brought(results: Results, arm: str) -> pd.Series:
    """Per seed: share of pairs of prompts that get the other's word with the last layer's writes exchanged."""
    return results.final_values("interchange_chosen", arm, variable="target_token", edit="")


def words_known(results: Results, arm: str) -> pd.Series:
    """Per seed: share of the test rows, from which those pairs are taken, whose next word the network says."""
    return results.final_values("accuracy", arm, split="test")
