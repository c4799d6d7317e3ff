"""Which heads a circuit needs, and which head of one run plays the part of which head of another.

Circuits are judged on scores of whole subsets of heads: every subset kept while the rest is ablated. All three scores
below are normalised between the empty subset (everything ablated) and the full one (nothing ablated), so they depend
on the ablation used: always name it beside them.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Real
from typing import Literal

import numpy as np
import pandas as pd

from circuitcore.ground.spelling import unknown

HEAD = re.compile(r"L(\d+)H(\d+)")
LISTED = ("kept", "ablated")
NO_HEADS = ("", "none")
CIRCUIT = ("circuit", "n_heads", "full", "empty", "faithfulness", "completeness", "minimality", "alternatives")
CIRCUIT += ("decided_by", "refused")  # columns of ``circuits``
SMALLEST_GAP = 0.05  # in the unit of the score; below it, shares of the gap are noise
EQUAL = 1e-9  # scores closer than this are the same


class RolesError(ValueError):
    """Scores from which no role can be read; the message carries the numbers."""


@dataclass(frozen=True, eq=False)
class SubsetScores:
    """Scores of one run with only some heads left on.

    Attributes:
        kept: set of heads left on -> score. Holds the empty and the full set.
        smallest_gap: least full - empty, in the score's unit, for which shares of it are given.

    Raises:
        RolesError: the empty or full set is missing, or full - empty is below ``smallest_gap``.
    """

    kept: Mapping[frozenset[str], Real]
    smallest_gap: Real = SMALLEST_GAP

    def __post_init__(self):
        for name, heads in (("empty", frozenset()), ("full", frozenset(self.heads))):
            if heads not in self.kept:
                raise RolesError(f"no score for the {name} set; sets scored: {_names(self.kept)}")
        if not self.gap >= self.smallest_gap:
            raise RolesError(
                f"full - empty = {self.full:.4g} - {self.empty:.4g} = {self.gap:.4g}, below {self.smallest_gap:g}: "
                "these heads carry nothing to share out"
            )

    @property
    def heads(self) -> tuple[str, ...]:
        """Every head that occurs in a scored set, by layer and index."""
        return tuple(sorted(frozenset().union(*self.kept), key=_layer_and_index))

    @property
    def full(self) -> float:
        """Score with every head on."""
        return float(self.kept[frozenset(self.heads)])

    @property
    def empty(self) -> float:
        """Score with every head ablated."""
        return float(self.kept[frozenset()])

    @property
    def gap(self) -> float:
        """What all heads together bring, in the unit of the score."""
        return self.full - self.empty

    def share(self, heads: Collection[str]) -> float:
        """(score of ``heads`` - empty) / (full - empty): 0 for no heads, 1 for all; may leave [0, 1]."""
        wanted = frozenset(heads)
        if wanted not in self.kept:
            raise RolesError(f"no score for {_name(wanted)}; sets scored: {_names(self.kept)}")
        return (float(self.kept[wanted]) - self.empty) / self.gap


def subset_scores(
    rows: pd.DataFrame,
    listed: Literal["kept", "ablated"] = "ablated",
    column: str = "site",
    smallest_gap: Real = SMALLEST_GAP,
) -> SubsetScores:
    """Subset scores of one run from its rows.

    Args:
        rows: one row per subset, of one metric under one way of ablating: the subset's name, such as ``L0H1+L1H0``
            or ``none``, and ``value``. Rows that name other parts (MLPs) are left out.
        listed: whether the names list the heads kept or the heads ablated.
        column: the column that holds the names.
        smallest_gap: as in ``SubsetScores``.

    Raises:
        RolesError: an unknown ``listed``, a subset that occurs twice, a value that is NaN, or scores that
            ``SubsetScores`` refuses.
    """
    if listed not in LISTED:
        raise RolesError(unknown("way of listing", listed, LISTED))
    named = [(_heads_in(name), float(value)) for name, value in zip(rows[column], rows["value"], strict=True)]
    named = [(subset, value) for subset, value in named if subset is not None]
    everything = frozenset().union(*(subset for subset, _ in named))
    kept: dict[frozenset[str], float] = {}
    for subset, value in named:
        heads = subset if listed == "kept" else everything - subset
        if heads in kept or np.isnan(value):
            reason = "has several scores" if heads in kept else "has no score (NaN)"
            raise RolesError(f"the set of kept heads {_name(heads)} {reason}; select one ablation, split and metric")
        kept[heads] = float(value)
    return SubsetScores(kept, smallest_gap)


def faithfulness(scores: SubsetScores, circuit: Collection[str]) -> float:
    """Share of the full effect that the circuit reaches alone; 1 is all of it, 0 is nothing."""
    return scores.share(circuit)


def completeness(scores: SubsetScores, circuit: Collection[str]) -> float:
    """Share of the full effect that is left when the circuit is removed; 0 is complete, 1 is beside the point."""
    return scores.share(frozenset(scores.heads) - frozenset(circuit))


def minimality(scores: SubsetScores, circuit: Collection[str]) -> dict[str, float]:
    """For each member, the share of the full effect that the circuit loses without it; 0 is a needless member."""
    members = sorted(circuit, key=_layer_and_index)
    whole = scores.share(circuit)
    return {head: whole - scores.share(frozenset(circuit) - {head}) for head in members}


@dataclass(frozen=True)
class SufficientSet:
    """The smallest set of heads that reaches a wanted share of the full effect.

    Attributes:
        heads: the chosen set, by layer and index.
        faithfulness: the share it reaches.
        alternatives: every other set of the same size that also reaches the wanted share, best first.
        decided_by: "size" when there is no alternative; "score" when the chosen one scores higher than all
            alternatives; "order" when another one scores the same, so that only the order of names decided.
    """

    heads: tuple[str, ...]
    faithfulness: float
    alternatives: tuple[tuple[str, ...], ...]
    decided_by: Literal["size", "score", "order"]


def smallest_sufficient_set(scores: SubsetScores, share: Real = 0.9) -> SufficientSet:
    """The fewest heads that alone reach ``share`` of the full effect.

    Ties: fewest heads first, then the higher score, then the order of layer and index. A tie is never hidden:
    ``alternatives`` lists every set that would have done as well.

    Args:
        scores: scores of all subsets of the run's heads.
        share: wanted share of full - empty, in (0, 1].

    Raises:
        RolesError: a share outside (0, 1], or a subset without a score.
    """
    if not 0 < share <= 1:
        raise RolesError(f"share must lie in (0, 1]; got {share}")
    for size in range(len(scores.heads) + 1):
        reached = {heads: scores.share(heads) for heads in combinations(scores.heads, size)}
        reached = {heads: value for heads, value in reached.items() if value >= share - EQUAL}
        if reached:
            break
    # Sorting is stable and combinations come in the order of names, so that order is what is left to decide.
    ranked = sorted(reached, key=lambda heads: -round(reached[heads] / EQUAL))
    chosen, *others = ranked
    same = any(abs(reached[heads] - reached[chosen]) <= EQUAL for heads in others)
    decided_by = "size" if not others else "order" if same else "score"
    return SufficientSet(chosen, reached[chosen], tuple(others), decided_by)


def circuits(
    table: pd.DataFrame,
    listed: Literal["kept", "ablated"] = "ablated",
    share: Real = 0.9,
    by: Sequence[str] = ("arm", "init_seed"),
    column: str = "site",
) -> pd.DataFrame:
    """The smallest sufficient set of every run, with its three scores.

    Args:
        table: rows of all subsets for every run, as in ``subset_scores``.
        listed: whether the names list the heads kept or ablated.
        share: wanted share of the full effect.
        by: the columns that tell cases apart; add ``edit`` to see every way of ablating.
        column: the column that holds the subsets' names.

    Returns:
        One row per run: the ``by`` columns, ``circuit`` ("L0H0+L1H1"), ``n_heads``, ``full``, ``empty``,
        ``faithfulness``, ``completeness``, ``minimality`` (the smallest drop of any member), ``alternatives``,
        ``decided_by`` and ``refused``: why a run has no circuit (then the other columns are missing), else "".
    """
    found = []
    for run, rows in table.groupby(list(by), sort=False, dropna=False):
        found.append({**dict(zip(by, run, strict=True)), **_circuit(rows, listed, column, share)})
    return pd.DataFrame(found, columns=[*by, *CIRCUIT])


def _circuit(rows: pd.DataFrame, listed: Literal["kept", "ablated"], column: str, share: Real) -> dict[str, object]:
    try:
        scores = subset_scores(rows, listed, column)
        best = smallest_sufficient_set(scores, share)
    except RolesError as refusal:
        return {"refused": str(refusal)}
    return {
        "circuit": _name(best.heads),
        "n_heads": len(best.heads),
        "full": scores.full,
        "empty": scores.empty,
        "faithfulness": best.faithfulness,
        "completeness": completeness(scores, best.heads),
        "minimality": min(minimality(scores, best.heads).values(), default=float("nan")),
        "alternatives": ", ".join(_name(heads) for heads in best.alternatives),
        "decided_by": best.decided_by,
        "refused": "",
    }


def _heads_in(name: str) -> frozenset[str] | None:
    """The heads that a subset's name lists, or None when it names anything else."""
    parts = [] if name in NO_HEADS else name.split("+")
    return frozenset(parts) if all(HEAD.fullmatch(part) for part in parts) else None


def _layer_and_index(head: str) -> tuple[int, int]:
    match = HEAD.fullmatch(head)
    if not match:
        raise RolesError(f"{head!r} is no head; heads are written like 'L1H0'")
    return int(match.group(1)), int(match.group(2))


def _name(heads: Collection[str]) -> str:
    return "+".join(sorted(heads, key=_layer_and_index)) or "none"


def _names(subsets: Collection[frozenset[str]]) -> str:
    return ", ".join(_name(subset) for subset in sorted(subsets, key=lambda subset: (len(subset), _name(subset))))
