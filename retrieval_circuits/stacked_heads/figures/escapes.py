"""The tables behind how long networks keep to the shortcut that are rewarded for the last symbol alone."""

import numpy as np
import pandas as pd

from circuitcore.emergence import shortest_wait
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.stacked_heads.design import ALONE, LAST_ALONE, ONE, THREE_LAST
from retrieval_circuits.stacked_heads.readings import end_of, falls

REWARDED_LAST = {"one look-up": (ONE[1],), "two look-ups": (*ALONE[:3], *LAST_ALONE, *ALONE[3:])}
REWARDED_LAST |= {"three look-ups": (THREE_LAST,)}
"""Rewarded for the last symbol alone, by depth; of one look-up there is nothing on the way."""


def escapes(results: Results) -> View:
    """Networks that left the shortcut, by look-ups and layers, and how long a wait the others leave possible."""
    found = []
    for arm in (arm for arms in REWARDED_LAST.values() for arm in arms if str(arm) in results.arms):
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


def survival(results: Results) -> View:
    """Whether networks that are rewarded for the last symbol alone are still at the shortcut: 1, and 0 from then on."""
    found = []
    for panel, arms in REWARDED_LAST.items():
        for arm in (one for one in arms if str(one) in results.arms):
            steps = np.sort(results.curve("partial_loss", str(arm))["step"].unique())
            times = falls(results, arm, arm.n_steps)
            stays = pd.DataFrame(np.less.outer(steps, times.to_numpy()), steps, times.index).astype(float)
            rows = stays.rename_axis("step").melt(ignore_index=False, var_name="init_seed").reset_index()
            found.append(rows.assign(panel=panel, series=arm.depth, arm=str(arm)))
    table = pd.concat(found, ignore_index=True)[["panel", "series", "step", "arm", "init_seed", "value"]]
    return View(table, "networks that have not learnt it", "test")


ESCAPE_VIEWS = {view.__name__: view for view in (escapes, survival)}
