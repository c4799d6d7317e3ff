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
OF_KIND = "the best by {}"
"""What the best rule of a kind is called."""
THE_SOURCES = "the source's"
ANY = 0
"""Number of keys that stands for any."""


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
    """How often rules are right (``value``), for each split and each number of keys (``keys``; 0: any).

    Beside it ``chance``, one over the number of current values, and ``n``, reads. Rules (``rule``): the best of the
    closed family, whose name is ``which``; the best of each kind (``OF_KIND``), in and outside the
    family, but for the true program; the best of
    the three that the source tried; the value written two writes back; and of the values two and three writes back the
    one with the key. Further ``untrained``: the share of reads at positions at which nothing is read in training.
    """
    trained = task.reads(task.splits[0]).at.unique()
    found = []
    for split in task.splits[1:]:
        batch = task.split(split)
        reads = task.reads_of(batch)
        family = family_of(task, batch)
        right = right_by(task, batch, (*family, *OTHERS)).double()
        new = ~torch.isin(reads.at, trained)
        groups = {ANY: torch.ones(len(reads), dtype=torch.bool)}
        groups |= {n: reads.n_keys == n for n in reads.n_keys.unique().tolist()}
        for keys, group in groups.items():
            common = {
                "split": split,
                "keys": keys,
                "n": int(group.sum()),
                "chance": reads.pick(group).chance,
                "untrained": new[group].double().mean().item(),
            }
            for rule, which, value in _named(family, right[:, group].mean(1).tolist()):
                found.append({**common, "rule": rule, "which": which, "value": value})
    return found


def _named(family: tuple[Rule, ...], shares: list[float]) -> list[tuple[str, str, float]]:
    rules = (*family, *OTHERS)
    every = {rule.name: share for rule, share in zip(rules, shares, strict=True)}  # one name, one rule
    of_family = {rule.name: every[rule.name] for rule in family}
    bests: dict[str, tuple[float, str]] = {}
    for rule in rules[:-1]:  # the last one is the true program
        bests[rule.kind] = max(bests.get(rule.kind, (0.0, "")), (every[rule.name], rule.name))
    best = max(of_family, key=of_family.get)
    tried = bests.pop(THE_SOURCES)
    found = [(BEST, best, of_family[best]), (TRIED, tried[1], tried[0])]
    found += [(OF_KIND.format(kind), name, share) for kind, (share, name) in bests.items()]
    wanted = ("the value written 2 writes back", "of the values 2 and 3 writes back the one with the key")
    return [*found, *((name, name, every[name]) for name in wanted)]
