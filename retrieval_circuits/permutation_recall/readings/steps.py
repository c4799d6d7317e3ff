"""How often each step is right, and how often it could be, on held-out permutations."""

import functools

import pandas as pd

from circuitcore.tasks import make_task
from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.tasks.permutation_posterior import marginal_posterior, train_posterior
from livingpaper.claims.results import Results
from retrieval_circuits.permutation_recall.design import split_of
from retrieval_circuits.permutation_recall.readings.models import ONE, SOURCE_EPOCHS, at_source_epoch, on_source_split

STEPS = tuple(f"step {slot}" for slot in range(1, 6))
UNSURE = STEPS[:-1]
"""Steps at which nobody can be sure."""
CEILINGS = dict(zip(STEPS, (1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0), strict=True))


def over_steps(rows: pd.DataFrame) -> pd.DataFrame:
    """Seeds by steps 1 to 4."""
    return rows.astype({"variable": str}).pivot(index="init_seed", columns="variable", values="value")[list(UNSURE)]


def accuracies(results: Results, arm: str, split: str = "test") -> pd.DataFrame:
    """Accuracy of seeds by steps 1 to 4, when the source stopped training (a control's: at its end)."""
    where = {"split": split, "variable": list(UNSURE), "family": ""}
    if arm in SOURCE_EPOCHS:
        return over_steps(at_source_epoch(results.curve("step_accuracy", arm, **where), results, arm))
    return over_steps(results.at_final("step_accuracy", arm, **where))


@functools.lru_cache(maxsize=64)
def predicted_accuracy(split_seed: int, division: str, by: str) -> pd.Series:
    """How often each of steps 1 to 4 is right on held-out permutations, for a guesser who knows those trained on.

    Args:
        split_seed: the split.
        division: as in the task.
        by: "marginal": it says the y that is left and most often goes with x; "train": the y that is likeliest under
            the permutations trained on. Ties are broken at random.
    """
    task = make_task("permutation_recall", {"split_seed": split_seed, "division": division})
    assert isinstance(task, PermutationRecall)
    rows = task.every_row("test")
    probabilities = marginal_posterior(task, rows) if by == "marginal" else train_posterior(task, rows)[0]
    wanted = rows.targets.gather(1, rows.roles["x"]) - 1
    best = probabilities >= probabilities.amax(-1, keepdim=True) - 1e-9
    right = best.gather(2, wanted[..., None])[..., 0] / best.sum(-1)
    return pd.Series(right.double().mean(0)[:-1].tolist(), index=list(UNSURE))


def first_step(results: Results, arm: str) -> pd.Series:
    """Per seed: accuracy at step 1 on held-out permutations."""
    return accuracies(results, arm)[STEPS[0]]


def first_step_on_source_split(results: Results) -> pd.Series:
    """Per seed: the same of the small model, of the seeds that have the source's split."""
    return on_source_split(first_step(results, ONE))


def shortfall(results: Results) -> pd.Series:
    """Per seed: what the small model's accuracy lacks of the ceilings, mean of steps 1 to 4."""
    return (pd.Series(CEILINGS)[list(UNSURE)] - accuracies(results, ONE)).mean(axis=1)


def missed_by_ceilings(results: Results) -> pd.Series:
    """Per seed: how far the small model's accuracy is from the ceilings, mean absolute difference of steps 1 to 4."""
    return (pd.Series(CEILINGS)[list(UNSURE)] - accuracies(results, ONE)).abs().mean(axis=1)


def missed_by_counts(results: Results) -> pd.Series:
    """Per seed: the same distance from what the counts of its split predict."""
    found = accuracies(results, ONE)
    counted = [predicted_accuracy(split_of(seed), "shuffled", "marginal") for seed in found.index]
    return (found - pd.DataFrame(counted, found.index)).abs().mean(axis=1)
