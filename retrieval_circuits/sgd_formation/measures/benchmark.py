"""What a benchmark of streams rewards: how often rules are right that do not look the key up."""

from dataclasses import dataclass
from typing import Any

import torch

from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.tasks.stream_kv import StreamKV
from circuitcore.tasks.stream_rules import OTHERS, Rule, family_of, right_by
from circuitcore.tasks.streams import Stream
from retrieval_circuits.sgd_formation.measures.sizes import SIZES

BEST = "the best of the family"
TRIED = "the best of the source's three"


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Rows of a data set whose seed is drawn: of "train" where it is fixed, and of each other split."""

    n_train: int
    n_eval: int


def source_rules(params: Benchmark, seed: int) -> list[dict[str, Any]]:
    """Scores of rules on the source's generator with another seed; as ``rule_scores``."""
    return rule_scores(StreamKV(seed=seed, n_train=params.n_train, n_eval=params.n_eval))


def our_rules(params: Benchmark, seed: int) -> list[dict[str, Any]]:
    """The same on our stream, which makes no rows on which a rule of the family is more than 5 points above chance."""
    return rule_scores(BalancedStream(**SIZES, n_train=params.n_train, n_eval=params.n_eval, seed=seed))


def rule_scores(task: Stream) -> list[dict[str, Any]]:
    """For each split: how often rules are right (``value``), beside ``chance``, one over the number of current values.

    Rules (``rule``): the best of the closed family, whose name is ``which``; the best of the three that the source
    tried; the value written two writes back; and of the values two and three writes back the one with the key. Further
    ``untrained``: the share of reads at positions at which nothing is read in training.
    """
    trained = task.reads(task.splits[0]).at.unique()
    found = []
    for split in task.splits[1:]:
        batch = task.split(split)
        reads = task.reads_of(batch)
        common = {
            "split": split,
            "chance": reads.chance,
            "untrained": (~torch.isin(reads.at, trained)).double().mean().item(),
        }
        family = family_of(task, batch)
        for rule, which, value in _named(family, right_by(task, batch, (*family, *OTHERS)).double().mean(1).tolist()):
            found.append({**common, "rule": rule, "which": which, "value": value})
    return found


def _named(family: tuple[Rule, ...], shares: list[float]) -> list[tuple[str, str, float]]:
    of_family = dict(zip((rule.name for rule in family), shares, strict=False))
    others = list(zip(OTHERS, shares[len(family) :], strict=True))
    best = max(of_family, key=of_family.get)
    tried = max(((share, rule.name) for rule, share in others if rule.kind == "the source's"))
    found = [(BEST, best, of_family[best]), (TRIED, tried[1], tried[0])]
    wanted = ("the value written 2 writes back", "of the values 2 and 3 writes back the one with the key")
    every = of_family | {rule.name: share for rule, share in others}
    return [*found, *((name, name, every[name]) for name in wanted)]
