"""The game of the chapter, from weights that are shipped."""

from collections.abc import Callable, Sequence

from circuitcore.metrics.instruments.snapshots import spread
from circuitcore.training.store.run import Run
from livingpaper.explorer.game import GameModel, RecallGame, recall_game
from livingpaper.explorer.material import Material
from retrieval_circuits.permutation_recall.readings.models import ONE, TWO

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


def _checkpoints(run: Run) -> dict[int, dict]:
    """Epoch -> weights, evenly spread over those that are here."""
    ends = run.recipe.schedule.epoch_ends
    return {ends.index(step): run.weights(step) for step in spread(run.steps, MOST_CHECKPOINTS)}
