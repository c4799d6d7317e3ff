"""The game of the chapter, and the source's displayed sequence, from weights that are shipped."""

from collections.abc import Callable, Sequence

import pandas as pd
import torch

from circuitcore.metrics.instruments.snapshots import spread
from circuitcore.models import forward
from circuitcore.training.store.run import Run
from livingpaper.claims.view import View
from livingpaper.explorer.game import GameModel, RecallGame, recall_game
from livingpaper.explorer.material import Material
from retrieval_circuits.permutation_recall.design import PUBLISHED_EPOCHS
from retrieval_circuits.permutation_recall.readings import ONE, SOURCE_EPOCHS, TWO

RunOf = Callable[[str], Run]
LABELS = {ONE: "small, trained without repeats", TWO: "large, trained with repeats"}
DISPLAYED = ((5, 3, 2, 4, 1), (2, 1, 4, 3, 5))
"""The sequence that the source displays: the y of x = 1..5, held out, and the order of the x."""
OPENING = (2, 1, 4, 3, 2)
"""The same with the first x once more."""
MOST_CHECKPOINTS = 10


def game(materials: Sequence[Material]) -> RecallGame:
    """The game, with one network of each of the source's models at up to ten checkpoints: the published where they are.

    Args:
        materials: of the published runs and the reader's, or of either.
    """
    run_of = materials[0].run
    models = [
        GameModel(label=LABELS[arm], config=run.recipe.model, checkpoints=_checkpoints(run))
        for arm, run in ((arm, run_of(arm)) for arm in (TWO, ONE))
    ]
    return recall_game(models, permutation=DISPLAYED[0], order=OPENING, name="game-recall")


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
        said = {f"y {y}": f"{p:.3f}" for y, p in enumerate(probabilities, 1)}
        rows.append({"shown": shown or "-", "x": x, **said, "right": permutation[x - 1]})
    return View(pd.DataFrame(rows), "probability", "one held-out sequence")


def _checkpoints(run: Run) -> dict[int, dict]:
    """Epoch -> weights, evenly spread over those that are here."""
    ends = run.recipe.schedule.epoch_ends
    return {ends.index(step): run.weights(step) for step in spread(run.steps, MOST_CHECKPOINTS)}


def _at_source_epoch(run: Run) -> int:
    """The step at which the source stopped, or the same share of a shorter training; of the checkpoints here."""
    ends = run.recipe.schedule.epoch_ends
    wanted = SOURCE_EPOCHS[ONE] / PUBLISHED_EPOCHS * (len(ends) - 1)
    return min(run.steps, key=lambda step: abs(ends.index(step) - wanted))
