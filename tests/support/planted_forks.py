"""Tables of forks whose winners are given."""

import pandas as pd

from livingpaper.claims.results import Results


def fork(arm, seed, steps, joins, accuracy):
    """Rows of one run: what its four heads join, and its accuracy, at each of some steps."""
    run = {"arm": arm, "init_seed": seed, "run_id": f"{arm}-{seed}"}
    rows = [
        {**run, "step": step, "metric": "joins", "layer": 0, "head": head, "site": f"L0H{head}", "value": value}
        for step, values in zip(steps, joins, strict=True)
        for head, value in enumerate(values)
    ]
    rows += [
        {**run, "step": step, "metric": "accuracy", "layer": None, "head": None, "site": "", "value": value}
        for step, value in zip(steps, accuracy, strict=True)
    ]
    return rows


def won(head, joined=0.9):
    """What four heads join where one has won."""
    return [joined if place == head else 0.05 for place in range(4)]


EVEN = [0.05] * 4


def of_forks(forks, pushes=()):
    """Results of several runs, and pushes beside them."""
    table = pd.DataFrame([row for fork in forks for row in fork])
    return Results(table, pd.DataFrame(), "paper", {"pushes": pd.DataFrame(list(pushes))})
