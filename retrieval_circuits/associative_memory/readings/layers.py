"""What is read of layers that keep facts: parameters that it takes, facts lost by removal, transfer."""

import numpy as np
import pandas as pd

from livingpaper.claims.reading import Less, OfArms, OfExperiment, Values, best_of, of_arms, of_experiment, worst_of
from livingpaper.claims.results import Results
from retrieval_circuits.associative_memory.design import PLACES, TRANSFERS
from retrieval_circuits.associative_memory.measures.transfers import LEARNT, LOUDER, MEMORY, UNTRAINED

PARTS = ("attention", "mlp")
THREE_QUARTERS = 0.75
"""Share of facts at which sizes are compared: where recall grows fastest with them, half of the facts above chance."""


def size_for(rows: pd.DataFrame, share: float = THREE_QUARTERS) -> float:
    """Parameters with which recall first reaches ``share``, between two sizes by their logarithm.

    Args:
        rows: ``n_parameters`` and ``accuracy`` of one seed.
        share: of facts.

    Returns:
        The least or the largest size that was tried, where recall reaches it from the start or never.
    """
    rows = rows.sort_values("n_parameters")
    sizes, recall = rows["n_parameters"].to_numpy(), rows["accuracy"].to_numpy()
    reached = recall >= share
    if not reached.any():
        return float(sizes[-1])
    at = int(reached.argmax())
    if at == 0:
        return float(sizes[0])
    part = (share - recall[at - 1]) / (recall[at] - recall[at - 1])
    return float(np.exp(np.interp(part, (0, 1), np.log(sizes[at - 1 : at + 1]))))


@of_arms(PLACES)
def factor_between(results: Results) -> pd.Series:
    """How many times as many parameters one part takes as the other, whichever takes more; at least 1."""
    rows = results.rows(PLACES, part=list(PARTS), embeddings="frozen")
    by = [rows["part"].astype(str), rows["init_seed"]]
    sizes = rows.groupby(by)[["n_parameters", "accuracy"]].apply(size_for).unstack(0)
    return sizes.max(axis=1) / sizes.min(axis=1)


def by_size(part: str, embeddings: str, *, largest: bool) -> OfArms:
    """Values of a reading: recall of a part alone, of the largest or the smallest size."""

    @of_arms(PLACES)
    def values(results: Results) -> pd.Series:
        rows = results.rows(PLACES, part=part, embeddings=embeddings)
        size = rows["n_parameters"].max() if largest else rows["n_parameters"].min()
        return rows[rows["n_parameters"] == size].set_index("init_seed")["accuracy"]

    return values


def whole(trained: str, column: str = "accuracy") -> OfExperiment:
    """A column of the layer that has both parts, in front of frozen embeddings, by what of it was trained."""
    return of_experiment(PLACES, column, part="both", trained=trained, embeddings="frozen")


def lost(trained: str, part: str) -> Less:
    """Share of facts that such a layer loses where what a part says of subjects is averaged out."""
    return Less(whole(trained), whole(trained, f"without_{part}"))


def transfer(column: str, rest: str, size: tuple[int, int, int], experiment: str = TRANSFERS) -> OfExperiment:
    """A column of the killing experiment, by how the layer came about and (subjects, relations, channels)."""
    n_subjects, n_relations, d = size
    return of_experiment(experiment, column, rest=rest, n_subjects=n_subjects, n_relations=n_relations, d=d)


def composed_beyond(column: str, size: tuple[int, int, int], experiment: str = TRANSFERS) -> Values:
    """New facts by embeddings that are sums where embeddings were learnt, less those of the best other layer.

    Args:
        column: "composed" or "recomposed".
        size: subjects, relations, channels.
        experiment: with facts drawn independently, or with bijections.
    """
    others = (transfer(column, rest, size, experiment) for rest in (MEMORY, UNTRAINED, LOUDER))
    return Less(transfer(column, LEARNT, size, experiment), best_of(*others))


def smallest(embeddings: str, take: str) -> Values:
    """Recall of the smallest attention alone and the smallest MLP alone: the "least" or the "largest" of the two."""
    parts = (by_size(part, embeddings, largest=False) for part in PARTS)
    return worst_of(*parts) if take == "least" else best_of(*parts)
