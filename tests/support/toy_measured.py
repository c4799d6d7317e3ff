"""The study of ``toy_task`` with a measurement of its own, from outside the package: how large the weights are."""

import pandas as pd

from circuitcore.metrics.instruments.instrument import Instrument
from livingpaper.claims.claim import Claim, mean_check
from livingpaper.claims.view import View
from tests.support import toy_task
from tests.support.toy_task import Params, recipes

__all__ = ["CHECKS", "CLAIMS", "VIEWS", "Params", "instruments", "published_epochs", "recipes"]


def sizes(run, settings, progress):
    """Root mean square of each tensor at the last checkpoint."""
    weights = dict(sorted(run.weights(run.final_step).items()))
    progress(1)
    rows = {"run_id": run.run_id, "step": run.final_step, "tensor": list(weights)}
    return pd.DataFrame({**rows, "value": [float(tensor.square().mean().sqrt()) for tensor in weights.values()]})


SIZES = Instrument(name="sizes", version=1, measures=sizes, when="last", needs=("read_out",))


def instruments(params, arm):
    return (*toy_task.instruments(params, arm), SIZES)


def published_epochs(params, arm, seed):
    return (12,)


def embedded(results):
    rows = results.tables["sizes"]
    return mean_check(rows[rows["tensor"] == "embed.W_E"].set_index("init_seed")["value"], control_passed=True)


def by_tensor(results):
    rows = results.tables["sizes"].rename(columns={"tensor": "series"})
    return View(rows[["arm", "init_seed", "step", "series", "value"]], "root mean square", "no prompts")


BOUND = {"metric": "size", "direction": "at_least", "smallest_effect": 0.01, "control": "none needed"}
CLAIMS = (Claim(id="M1", sentence="Embeddings are not zero.", **BOUND),)
CHECKS, VIEWS = {"M1": embedded}, {"by tensor": by_tensor}
