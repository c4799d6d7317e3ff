"""As much of a run as instruments measure: checkpoints of the stream network that the chapter draws, shipped."""

import torch

from circuitcore.ground.environment import Folders
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.training import RunStore
from retrieval_circuits.sgd_formation.measures import SIZES

TASK = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
BEFORE, BEHIND = 1500, 5000
"""Steps at which it does not read yet, and at which it does."""
DRAWN_RUN = "balanced_stream-949aa3df1f58"


class FewCheckpoints:
    """Some checkpoints of a network, by step, as a run has them."""

    def __init__(self, weights, config):
        model = type("Recipe", (), {"model": config, "make_task": staticmethod(lambda: TASK)})
        self.recipe, self.run_id, self.steps, self.by_step = model, "a run", tuple(weights), weights
        self.final_step = self.steps[-1]

    def stack(self, steps):
        return {name: torch.stack([self.by_step[step][name] for step in steps]) for name in self.by_step[steps[0]]}

    def tokens_seen(self, step):
        return step


def shipped_network() -> FewCheckpoints:
    """The drawn network before its rise and behind it."""
    shipped = RunStore(Folders.from_environment().published, None).get(DRAWN_RUN)
    return FewCheckpoints({step: shipped.weights(step) for step in (BEFORE, BEHIND)}, shipped.recipe.model)
