"""The study of ``toy_task`` with a measurement of its own, from outside the package: how large the weights are."""

import pandas as pd

from circuitcore.metrics.instruments.instrument import Instrument
from livingpaper.claims.claim import Claim, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.units import NUMBER, at_least
from livingpaper.claims.view import View
from tests.support import toy_task
from tests.support.toy_task import Params, recipes

__all__ = ["CLAIMS", "VIEWS", "Params", "instruments", "published_epochs", "recipes"]


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
    return rows[rows["tensor"] == "embed.W_E"].set_index("init_seed")["value"]


def by_tensor(results):
    rows = results.tables["sizes"].rename(columns={"tensor": "series"})
    return View(rows[["arm", "init_seed", "step", "series", "value"]], "root mean square", "no prompts")


SAYS = Says(holds="Embeddings are not zero.", fails="Embeddings are zero.", whether="whether embeddings are zero")
SIZE = Reading("root mean square of the embedding", NUMBER, embedded, arms=("trained",))
CLAIMS = (Claim(id="M1", says=SAYS, reading=SIZE, bound=at_least(0.01, "a hundredth")),)
VIEWS = {"by tensor": by_tensor}
