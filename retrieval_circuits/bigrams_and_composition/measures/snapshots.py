"""All scores of the three memories while they are trained, for one seed: what a reader can scrub through."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from retrieval_circuits.bigrams_and_composition.measures import network
from retrieval_circuits.bigrams_and_composition.measures.network import Frozen
from retrieval_circuits.bigrams_and_composition.measures.source import Source, draw_source
from retrieval_circuits.bigrams_and_composition.measures.training import Learning, Way, learn

N_SNAPSHOTS = 15
"""At most, besides the one before training."""


@dataclass(frozen=True, kw_only=True)
class Snapshots(Learning):
    """One way of learning, whose scores are kept."""


def snapshots(asked: Snapshots, seed: int) -> pd.DataFrame:
    """Scores u^T W e of every pair that a probe compares: a row a snapshot, memory, query and key.

    The pair to be recalled has ``target``. Training is that of ``learning`` to the bit, with the same seed.
    """
    (given,) = asked.ways
    way, source = Way(**dict(given)), draw_source(asked.n_tokens, asked.n_triggers, np.random.default_rng(seed))
    generator = torch.Generator().manual_seed(seed)
    apart = max(1, -(-way.steps // asked.every // N_SNAPSHOTS)) * asked.every
    looks = learn(asked, way, source, generator, _scores)
    return pd.concat([table.assign(step=look["step"]) for look in looks if look["step"] % apart == 0
                      for table in look["tables"]], ignore_index=True)  # fmt: skip


@torch.no_grad()
def _scores(source: Source, frozen: Frozen, weights: dict[str, Tensor], _: Any) -> dict[str, Any]:
    asked = network.compared(frozen, weights, source.triggers, source.others)
    return {"tables": [_table(memory, *of) for memory, of in asked.items()]}


def _table(
    memory: str, scores: Float[Tensor, "item candidate"], right: Int[Tensor, " item"], queries: Int[Tensor, " item"]
) -> pd.DataFrame:
    query, key = torch.meshgrid(queries, torch.arange(scores.shape[1]), indexing="ij")
    columns = {
        "query": query.flatten().numpy().astype(np.int16),
        "key": key.flatten().numpy().astype(np.int16),
        "score": scores.flatten().numpy(),
        "target": (key == right[:, None]).flatten().numpy(),
    }
    return pd.DataFrame({"memory": pd.Categorical([memory] * scores.numel()), **columns})
