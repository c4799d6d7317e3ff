"""Sparse features of the source's network: what they are, when each becomes useful, and what might foretell it.

Source: nelson960, "From Retrieval Motifs To SGD Circuit Selection". In it a feature is born where a number of it rises
over a threshold, and a model of births adds up what is known before the first of two candidates is born. Here every
feature that is born later is a candidate.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuitcore.ground.hashed import later
from circuitcore.metrics.table import Rows
from circuitcore.models import forward
from retrieval_circuits.sgd_formation.measures.bases import ALL, LATE, N_FEATURES, UPDATES, learnt
from retrieval_circuits.sgd_formation.measures.probe_set import Probed, ProbeReads, probe_reads
from retrieval_circuits.sgd_formation.measures.pulls import Pulls, neuron_shares, pulls
from retrieval_circuits.sgd_formation.measures.steps import AtSteps

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

ACTIVE = 1e-4
RISES_BY, GAP = 0.02, 0.05
"""By how much two checkpoints must be above the two before, and what gaps a birth takes; both are the source's."""
READS = 0.1
"""Accuracy on the probe set from which a network has begun to read."""
WINDOW = 4
"""Intervals, from the last checkpoint before that on, over which pulls on neurons are added up. On the source's curve
they are those of its map, steps 1,500 to 2,500."""
KNOWN = 1
"""Checkpoints after the first that reads, up to which a forecast may look: to step 2,000 on the source's curve."""
LATER = 2
"""Checkpoints after that one at which more is seen than a forecast may."""
CHECKPOINTS_AT_ONCE = 8
LABELS = [{"site": f"f{number}"} for number in range(N_FEATURES)]


@dataclass(frozen=True, kw_only=True)
class Featured(AtSteps):
    """Of which checkpoints the source's autoencoder learns, and how many rows of a split gradients are taken on.

    ``most_updates``: of an autoencoder, where training is short.
    """

    n_pulled: int = 12
    most_updates: int = later(UPDATES[ALL])


class Courses(NamedTuple):
    """What is followed of each feature through training, as the source defines it; ``[ckpt feature]`` each.

    Attributes:
        activation: its mean over reads.
        active: share of reads in which it is active.
        right_gap: its mean over reads answered right, less that over others; 0 where all or none are.
        held_out_gap: its mean over reads of held-out pairs, less that over others: of what is read, not of how well.
    """

    activation: Float[Tensor, "ckpt feature"]
    active: Float[Tensor, "ckpt feature"]
    right_gap: Float[Tensor, "ckpt feature"]
    held_out_gap: Float[Tensor, "ckpt feature"]

    @property
    def support(self) -> Float[Tensor, "ckpt feature"]:
        """What the source adds up as such."""
        return self.activation + self.active

    @property
    def useful(self) -> Float[Tensor, "ckpt feature"]:
        """Both gaps."""
        return self.right_gap + self.held_out_gap


def courses(
    features: Float[Tensor, "ckpt read feature"], right: Bool[Tensor, "ckpt read"], held_out: Bool[Tensor, " read"]
) -> Courses:
    """What is followed of each feature."""
    return Courses(
        features.mean(1),
        (features > ACTIVE).double().mean(1),
        gap(features, right),
        gap(features, held_out.expand_as(right)),
    )


def gap(values: Float[Tensor, "ckpt read feature"], those: Bool[Tensor, "ckpt read"]) -> Float[Tensor, "ckpt feature"]:
    """The mean over some reads, less that over the others; 0 where there are none of either."""
    chosen = those.double()
    inside = torch.einsum("crf,cr->cf", values, chosen) / chosen.sum(1, keepdim=True)
    outside = torch.einsum("crf,cr->cf", values, 1 - chosen) / (1 - chosen).sum(1, keepdim=True)
    return (inside - outside).nan_to_num(0)


def births(values: Float[Tensor, "ckpt feature"], first: int) -> Int[Tensor, " feature"]:
    """First checkpoint, from ``first`` on, at which it and the next are over ``GAP`` in the mean, and above the two
    before; -1: none.
    """
    if len(values) < max(first, 2) + 2:
        return torch.full(values.shape[1:], -1)
    pairs = (values[1:] + values[:-1]) / 2
    born = (pairs[2:] >= GAP) & (pairs[2:] - pairs[:-2] >= RISES_BY)
    born[: max(first - 2, 0)] = False
    return torch.where(born.any(0), born.int().argmax(0) + 2, -1)


def useful_births(course: Courses, first: int) -> Int[Tensor, " feature"]:
    """The later of the births of both gaps, where both end above 0; -1: none."""
    right, held_out = births(course.right_gap, first), births(course.held_out_gap, first)
    both = (right >= 0) & (held_out >= 0) & (course.right_gap[-1] > 0) & (course.held_out_gap[-1] > 0)
    return torch.where(both, torch.maximum(right, held_out), -1)


def feature_births(run: "Run", featured: Featured, progress: Callable[[int], None]) -> pd.DataFrame:
    """When the features of two autoencoders (variable ``LATE`` or ``ALL``) become useful, and what is known before.

    All rows stand at the last checkpoint; that of step 0, which the source has not, is left out. ``explained``: share
    of variance an autoencoder explains where it learnt. ``cutoff``: the step up to which a forecast may look; a network
    that never reads a tenth of the probe set has no cutoff, and none of the rows that follow. Features that are born by
    then are no candidates: few reads are right by then, and gaps are noise. By feature (site ``f0``, ...):

    * ``useful_birth``: step after the cutoff from which both of its gaps are there, by the source's rule;
      ``right_birth``: the same of the gap between right and wrong reads alone. No row where there is none.
    * ``drive``: sum, over the intervals between checkpoints till the cutoff, of the gradient of its mean activation
      times the change of weights, tied ones once; ``alignment``: mean cosine between both; ``support``: its mean
      activation and the share of reads in which it is active, then; ``amplification``: what they gained till then,
      losses left out; ``interference``: lengths of the negative parts of its drives and of the changes of its gaps.
    * ``later``: its gap between right and wrong reads at a checkpoint that a forecast may not see; ``scale``: its
      standard deviation over all reads and checkpoints.

    Of all pairs of features ``same_sign``, ``by_angle``, ``off_angle`` and ``redrawn``, see ``neuron_shares``.
    """
    task, steps = run.recipe.make_task(), run.steps[1:]
    reads = probe_reads(task, Probed())
    states, right = _states(run, steps, reads, progress)
    at = {LATE: [steps.index(step) for step in featured.of(run) if step in steps], ALL: list(range(len(steps)))}
    bases = {
        name: learnt(states[places].flatten(0, 1), min(UPDATES[name], featured.most_updates))
        for name, places in at.items()
    }
    rows = Rows(run.run_id, (run.final_step,), (run.tokens_seen(run.final_step),))
    for name, basis in bases.items():
        explained = basis.explained(states[at[name]].flatten(0, 1))
        rows.add("explained", torch.tensor([explained]), len(at[name]) * len(reads), variable=name)
    reading = right.double().mean(1) >= READS
    begun = int(reading.int().argmax())
    if reading.any() and 0 < begun < len(steps) - KNOWN:
        cutoff = begun + KNOWN
        rows.add("cutoff", torch.tensor([float(steps[cutoff])]), len(reads))
        pulled = probe_reads(task, Probed(n_rows=featured.n_pulled))
        taken = pulls(run, pulled, bases, steps[: begun + WINDOW], begun - 1)
        for name, basis in bases.items():
            features = basis.features(states).double()
            course = courses(features, right, reads.held_out)
            _add_births(rows, name, course, steps, cutoff)
            _add_known(rows, name, course, taken[name], cutoff)
            rows.add("scale", features.std((0, 1)), 1, LABELS, variable=name)
    return rows.frame()


def _states(
    run: "Run", steps: tuple[int, ...], reads: ProbeReads, progress: Callable[[int], None]
) -> tuple[Float[Tensor, "ckpt read d"], Bool[Tensor, "ckpt read"]]:
    """The last residual stream where answers are predicted, and whether they are right."""
    config, states, right = run.recipe.model, [], []
    site = f"resid_post.{config.n_layers - 1}"
    with torch.inference_mode():
        for first in range(0, len(steps), CHECKPOINTS_AT_ONCE):
            chosen = steps[first : first + CHECKPOINTS_AT_ONCE]
            output = forward(config, run.stack(chosen), reads.tokens, record=(site,))
            states.append(output.cache[site][:, reads.row, reads.at])
            right.append(output.logits[:, reads.row, reads.at].argmax(-1) == reads.answer)
            progress(len(chosen))
    return torch.cat(states).clone(), torch.cat(right).clone()


def _add_births(rows: Rows, basis: str, course: Courses, steps: tuple[int, ...], cutoff: int) -> None:
    of_either = {"useful_birth": useful_births(course, cutoff + 1), "right_birth": births(course.right_gap, cutoff + 1)}
    for metric, born in of_either.items():
        those = (born >= 0).nonzero()[:, 0].tolist()
        if those:
            when = torch.tensor([float(steps[born[number]]) for number in those])
            rows.add(metric, when, 1, [LABELS[number] for number in those], variable=basis)


def _add_known(rows: Rows, basis: str, course: Courses, taken: Pulls, cutoff: int) -> None:
    later = course.right_gap[min(cutoff + LATER, len(course.right_gap) - 1)]
    for metric, values in {**factors(course, taken, cutoff), "later": later}.items():
        rows.add(metric, values, 1, LABELS, variable=basis)
    for metric, value in neuron_shares(taken).items():
        rows.add(metric, torch.tensor([value]), 1, variable=basis)


def factors(course: Courses, taken: Pulls, cutoff: int) -> Mapping[str, Float[Tensor, " feature"]]:
    """What the source's model of births adds up, over the intervals that end at the cutoff or before it."""
    drives, changes = taken.drive[:cutoff], course.useful[: cutoff + 1].diff(dim=0)
    return {
        "drive": drives.sum(0),
        "alignment": taken.cosine[:cutoff].sum(0) / max(cutoff, 1),
        "support": course.support[cutoff],
        "amplification": course.support[: cutoff + 1].diff(dim=0).clamp(min=0).sum(0),
        "interference": -drives.clamp(max=0).sum(0) - changes.clamp(max=0).sum(0),
    }
