"""What is drawn of weights that are shipped: where heads look, and what is answered to the source's sequence."""

from collections.abc import Callable

import pandas as pd
import torch

from circuitcore.models import forward
from circuitcore.training.store.run import Run
from livingpaper.claims.view import View
from retrieval_circuits.permutation_recall.design import PUBLISHED_EPOCHS
from retrieval_circuits.permutation_recall.explorer import DISPLAYED
from retrieval_circuits.permutation_recall.readings.models import ONE, SOURCE_EPOCHS, TWO

RunOf = Callable[[str], Run]
AGAIN, NEW = "x5 is x1 again", "x5 is new"


def patterns(run_of: RunOf) -> View:
    """Attention of both heads at the end of training, a mean over rows with x1 again at the end, and without.

    Both kinds are all rows of held-out permutations in all orders, so that a position means the same in each of them.

    Args:
        run_of: gives the run of an arm whose weights are shipped.
    """
    run = run_of(TWO)
    task = run.recipe.make_task()
    probes = task.probes("test")
    rows = {AGAIN: probes.tokens[probes.variables["source"] == 0], NEW: task.every_row("test").tokens}
    names = [f"{'xy'[place % 2]}{place // 2 + 1}" for place in range(task.max_length)]
    config, weights, found = run.recipe.model, run.weights(run.steps[-1]), []
    for kind, tokens in rows.items():
        with torch.no_grad():
            mean = forward(config, weights, tokens, record=["pattern.0"]).cache["pattern.0"].mean(0)
        found += [
            {"head": f"L0H{head}", "kind": kind, "query": query, "key": key, "value": float(mean[head, q, k])}
            for head in range(config.n_heads)
            for q, query in enumerate(names)
            for k, key in enumerate(names[: q + 1])
        ]
    table = pd.DataFrame(found).assign(arm=TWO, init_seed=run.recipe.init_seed)
    note = (
        f"Means over {len(rows[AGAIN]):,} rows of either kind, of one large network after epoch "
        f"{run.recipe.schedule.epoch_ends.index(run.steps[-1])}. Before x5 the two kinds are the same rows: only the "
        "last line differs. A mean hides how rows differ, and a map says where a head looks, not what for"
    )
    return View(table, "attention", "rows of held-out permutations", note=note)


def displayed(run_of: RunOf) -> View:
    """Step by step, what one network of the small model says of the displayed sequence when the source stopped."""
    run = run_of(ONE)
    permutation, order = DISPLAYED
    tokens = torch.tensor([word for x in order for word in (x, permutation[x - 1])][:-1])
    weights = run.weights(_at_source_epoch(run))
    with torch.no_grad():
        logits = forward(run.recipe.model, weights, tokens[None]).logits[0, ::2, 1:]
    rows = []
    for step, (x, probabilities) in enumerate(zip(order, logits.softmax(-1).tolist(), strict=True)):
        shown = " ".join(f"{seen} {permutation[seen - 1]}" for seen in order[:step])
        shares = {f"y {y}": f"{p:.3f}" for y, p in enumerate(probabilities, 1)}
        rows.append({"shown": shown or "-", "x": x, **shares, "right": permutation[x - 1]})
    return View(pd.DataFrame(rows), "probability", "one held-out sequence", note="Of each y its probability")


def _at_source_epoch(run: Run) -> int:
    """The step at which the source stopped, or the same share of a shorter training; of the checkpoints here."""
    ends = run.recipe.schedule.epoch_ends
    wanted = SOURCE_EPOCHS[ONE] / PUBLISHED_EPOCHS * (len(ends) - 1)
    return min(run.steps, key=lambda step: abs(ends.index(step) - wanted))


VIEWS = {
    "displayed": displayed,
    "patterns": patterns,
}
