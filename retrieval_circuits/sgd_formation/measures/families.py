"""Families of sparse features: features that go the same way through training, and which of them gains most.

Source: nelson960, "From Retrieval Motifs To SGD Circuit Selection". It joins features whose courses are alike, goes on
with families of several alone, and says which of two is the more useful. Here every feature counts: one whose course is
like no other's is a family of one.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from scipy.cluster.hierarchy import fcluster, linkage
from torch import Tensor

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.scores.behavior import correct
from circuitcore.metrics.table import Rows
from circuitcore.tasks.balanced_stream import LONGER, BalancedStream
from retrieval_circuits.sgd_formation.measures.asked import Asked, asked
from retrieval_circuits.sgd_formation.measures.bases import ALL, L1, LATE, SEED, UPDATES, Basis, learnt
from retrieval_circuits.sgd_formation.measures.features import ACTIVE, Courses, courses, gap
from retrieval_circuits.sgd_formation.measures.probe_set import HELD_OUT
from retrieval_circuits.sgd_formation.measures.steps import AtSteps, rise

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

ALIKE = 0.85
"""Least cosine between the courses of any two features of a family; the source's."""
AS_MANY = 43 / 64
"""Families for each feature in the source; below this bound of ours, too, where features are joined as far as there.

Added when it was seen that by the bound on cosines hardly any two features of ours are of one family.
"""
N_DEALS, DEAL_SEED = 1_000, 0


class Fit(NamedTuple):
    """How an autoencoder is made.

    Attributes:
        of: which checkpoints it learns from, as in ``bases``.
        per_channel: features it has for each channel of the states.
        l1: weight of the mean feature in its loss.
        seed: of its first parameters and of its batches.
    """

    of: str = ALL
    per_channel: float = 0.5
    l1: float = L1
    seed: int = SEED


FITS = {
    ALL: Fit(),
    "another draw": Fit(seed=SEED + 1),
    "four times the features": Fit(per_channel=2),
    "ten times the penalty": Fit(l1=10 * L1),
    LATE: Fit(LATE),
}
"""The source's width and penalty, learnt from all checkpoints; what else could be chosen; and its late checkpoints."""


@dataclass(frozen=True, kw_only=True)
class Followed(AtSteps):
    """On what features are followed, and how they are made.

    Attributes:
        n_rows: rows of each split.
        most_updates: of an autoencoder.
        begins, reads: shares of reads answered right before which a network has not begun to read, and with which it
            reads.
    """

    n_rows: int
    most_updates: int
    begins: float
    reads: float = 0.75


def feature_families(run: "Run", followed: Followed, progress: Callable[[int], None]) -> pd.DataFrame:
    """Families of the features of an autoencoder, and whether one of several features gains most as reading is learnt.

    All rows stand at the last checkpoint; the variable names how the autoencoder was made (``FITS``). What a feature
    gains is the sum of two gaps, as the source adds them: its mean over reads answered right less that over others, and
    its mean over reads of held-out pairs less that over others, each at the end of a window less at its beginning. The
    window goes from the last checkpoint before a share of the reads of trained pairs is right (``begins``; the first of
    all where that has it) to the first with another share (``reads``; the last where none has). A family gains what its
    features gain in the mean. A network whose window is empty has no leader, and none of the last four metrics.

    * ``explained``: share of variance that the autoencoder explains where it learnt.
    * ``alive``: features that are active in some read at some checkpoint; the others are left out. Where none is, no
      further metric.
    * ``families``, ``families_of_several``: how many there are, and of these how many have two features or more.
    * ``members``: features of the family that gains most; ``several_lead``: whether these are two or more.
    * ``several_lead_by_lot``: how often they are, where features are dealt by lot to families of the same sizes.

    The last four also where features are joined until there are as many families for each feature as in the source,
    however little they are alike: ``joined_families_of_several`` and so on. ``least_alike``: the least cosine between
    two features of a family then; missing where none has two.
    """
    reads = _reads(run.recipe.make_task(), followed.n_rows)
    states, right = _read(run, reads, progress)
    window = rise(right[:, reads.trained].double().mean(1), followed.begins, followed.reads)
    late = [run.steps.index(step) for step in followed.of(run) if step in run.steps]
    rows = Rows(run.run_id, (run.final_step,), (run.tokens_seen(run.final_step),))
    for name, fit in FITS.items():
        learns_from = (states[late] if fit.of == LATE else states).flatten(0, 1)
        n_features = round(fit.per_channel * states.shape[-1])
        n_updates = min(UPDATES[fit.of], followed.most_updates)
        basis = learnt(learns_from, n_updates, n_features=n_features, l1=fit.l1, seed=fit.seed)
        rows.add("explained", torch.tensor([basis.explained(learns_from)]), len(learns_from), variable=name)
        for metric, value in _led(basis, states, right, reads, window).items():
            rows.add(metric, torch.tensor([value]), len(reads.trained), variable=name)
    return rows.frame()


class _Reads(NamedTuple):
    """The reads of three splits, and of which of them each is; ``[read]``.

    Attributes:
        asked: split by split, as ``asked`` has them.
        held_out: whether it asks for a pair that was held out.
        longer: whether it is of more keys than were trained.
    """

    asked: list[Asked]
    held_out: Bool[Tensor, " read"]
    longer: Bool[Tensor, " read"]

    @property
    def trained(self) -> Bool[Tensor, " read"]:
        """Reads like those of training."""
        return ~(self.held_out | self.longer)


def _reads(task: BalancedStream, n_rows: int) -> _Reads:
    splits = (task.reported, HELD_OUT, LONGER)
    found = [asked(task, split, n_rows) for split in splits]
    of = torch.repeat_interleave(torch.arange(len(splits)), torch.tensor([len(part.reads) for part in found]))
    return _Reads(found, of == splits.index(HELD_OUT), of == splits.index(LONGER))


def _read(
    run: "Run", reads: _Reads, progress: Callable[[int], None]
) -> tuple[Float[Tensor, "ckpt read d"], Bool[Tensor, "ckpt read"]]:
    """The last residual stream where answers are predicted, and whether they are right."""
    site = f"resid_post.{run.recipe.model.n_layers - 1}"
    states, right = [], []
    for steps, net in stacks(run):
        outputs = [(part, net.run(part.batch, (site,))) for part in reads.asked]
        states.append(torch.cat([part.at_reads(output.cache[site]) for part, output in outputs], 1))
        hits = [correct(part.at_reads(output.logits), part.reads.answer) for part, output in outputs]
        right.append(torch.cat(hits, 1) > 0)
        progress(len(steps))
    return torch.cat(states).clone(), torch.cat(right)


def _led(basis: Basis, states: Tensor, right: Tensor, reads: _Reads, window: tuple[int, int]) -> Mapping[str, float]:
    """What is asked of one autoencoder's features; see ``feature_families``."""
    values = basis.features(states).double()
    values = values[..., (values > ACTIVE).any(0).any(0)]
    if not values.shape[-1]:
        return {"alive": 0.0}
    course = courses(values, right, reads.held_out)
    rows = alike_rows(course, gap(values, reads.longer.expand_as(right)))
    alike, joined = families(rows), families(rows, round(AS_MANY * values.shape[-1]))
    found = {
        "alive": float(values.shape[-1]), "families": float(alike.max() + 1), "least_alike": least_alike(rows, joined)
    }  # fmt: skip
    start, end = window
    if start < end:
        gains = (course.useful[end] - course.useful[start]).numpy()
        found |= _leads(gains, alike) | {f"joined_{name}": value for name, value in _leads(gains, joined).items()}
    return found


def _leads(gains: Float[np.ndarray, " feature"], family: Int[np.ndarray, " feature"]) -> dict[str, float]:
    """Whether a family of several gains most, and how often one does by lot."""
    sizes, draw = np.bincount(family), np.random.default_rng(DEAL_SEED)
    by_lot = [leader(gains, draw.permutation(family)) for _ in range(N_DEALS)]
    members = sizes[leader(gains, family)]
    return {
        "families_of_several": float((sizes > 1).sum()),
        "members": float(members),
        "several_lead": float(members > 1),
        "several_lead_by_lot": float((sizes[by_lot] > 1).mean()),
    }


def alike_rows(course: Courses, longer_gap: Float[Tensor, "ckpt feature"]) -> Float[np.ndarray, "feature number"]:
    """What features are compared by: five courses of each, scaled over all features and checkpoints, and their scaled
    differences from checkpoint to checkpoint.
    """
    parts = [part for values in (*course, longer_gap) for part in (_scaled(values), _scaled(values.diff(dim=0)))]
    return torch.cat(parts).T.numpy()


def families(rows: Float[np.ndarray, "feature number"], n_families: int | None = None) -> Int[np.ndarray, " feature"]:
    """The number of each feature's family, from 0.

    Complete linkage joins features while all cosines in a family are ``ALIKE`` or more; or until there are so many
    families.
    """
    if len(rows) == 1:
        return np.zeros(1, dtype=int)
    tree = linkage(rows, "complete", "cosine")
    found = fcluster(tree, n_families, "maxclust") if n_families else fcluster(tree, 1 - ALIKE, "distance")
    return found - 1


def least_alike(rows: Float[np.ndarray, "feature number"], family: Int[np.ndarray, " feature"]) -> float:
    """The least cosine between two features of one family; missing where no family has two."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    same = np.triu(family[:, None] == family, 1)
    return float((unit @ unit.T)[same].min()) if same.any() else math.nan


def _scaled(values: Float[Tensor, "ckpt feature"]) -> Float[Tensor, "ckpt feature"]:
    return (values - values.mean()) / values.std(correction=0).clamp(min=1e-12)


def leader(gains: Float[np.ndarray, " feature"], family: Int[np.ndarray, " feature"]) -> int:
    """The number of the family that gains most in the mean over its features."""
    return int((np.bincount(family, gains) / np.bincount(family)).argmax())
