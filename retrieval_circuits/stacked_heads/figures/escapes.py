"""The table behind how long networks keep to the shortcut that are rewarded for the last symbol alone."""

import numpy as np
import pandas as pd

from circuitcore.emergence import shortest_wait
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.stacked_heads.design import LAST, LAST_ALONE, ONE, THREE_LAST
from retrieval_circuits.stacked_heads.readings import end_of, falls

REWARDED_LAST = (ONE[1], LAST, LAST_ALONE[0], THREE_LAST)
"""Rewarded for nothing on the way; of one look-up there is nothing on the way."""


def escapes(results: Results) -> View:
    """Networks that left the shortcut, by look-ups and layers, and how long a wait the others leave possible."""
    found = []
    for arm in (arm for arm in REWARDED_LAST if str(arm) in results.arms):
        end, times = end_of(results, arm), falls(results, arm, arm.n_steps)
        n_left, n_all = int(np.isfinite(times).sum()), len(times)
        wait = shortest_wait(n_left, n_all, end) if n_left < n_all else None
        found.append(
            {
                "arm": str(arm),
                "look-ups": arm.n_steps,
                "layers": arm.n_layers,
                "networks that left": f"{n_left} of {n_all}",
                "steps each had": f"{end:,}",
                "steps, the middle one": f"{times.median():,.0f}" if n_left > n_all / 2 else "",
                "mean wait at least, if chance is constant": f"{float(f'{wait:.2g}'):,.0f}" if wait else "",
            }
        )
    return View(pd.DataFrame(found), "training steps", "test")


ESCAPE_VIEWS = {view.__name__: view for view in (escapes,)}
