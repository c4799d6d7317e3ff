"""How long networks wait for their first look-up, against the same networks trained otherwise."""

import pandas as pd

from circuitcore.emergence import crossing_times
from livingpaper.claims.reading import OfArms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import FOLLOWED, Cell
from retrieval_circuits.stacked_heads.design.wait import Change
from retrieval_circuits.stacked_heads.readings.grid import LEARNT


def wait_of(arm: Cell | Change) -> OfArms:
    """Values of a reading: when the error of x_1 falls below one half; the end of training where it does not."""

    def values(results: Results) -> pd.Series:
        curve = results.curve("partial_loss", str(arm), variable="x_1")[["init_seed", "step", "value"]]
        return crossing_times(curve, LEARNT, below=True, strictly=True).clip(upper=int(curve["step"].max()))

    return OfArms((str(arm),), values)


def wait_left(change: Change) -> OfArms:
    """Values of a reading: the wait with a change as a share of the followed network's of the same start."""
    changed, followed = wait_of(change), wait_of(FOLLOWED)
    return OfArms((*changed.arms, *followed.arms), lambda results: (changed(results) / followed(results)).dropna())


def wait_without(change: Change) -> OfArms:
    """Values of a reading: the followed network's wait as a share of that with a change, which it is without."""
    left = wait_left(change)
    return OfArms(left.arms, lambda results: 1 / left(results))
