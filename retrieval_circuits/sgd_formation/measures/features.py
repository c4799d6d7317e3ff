"""Sparse features of the source's network: what they are, when each becomes useful, and what might foretell it.

Source: nelson960, "From Retrieval Motifs To SGD Circuit Selection". In it a feature is born where a number of
it rises over a threshold, and a model of births adds up what is known before the first of two candidates is born. Here
every feature is a candidate.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuitcore.metrics.table import Rows
from circuitcore.models import forward
from retrieval_circuits.sgd_formation.measures.bases import ALL, LATE, N_FEATURES, UPDATES, learnt
from retrieval_circuits.sgd_formation.measures.probe_set import Probed, ProbeReads, probe_reads
from retrieval_circuits.sgd_formation.measures.pulls import Pulls, followed, pulls
from retrieval_circuits.sgd_formation.measures.steps import AtSteps

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

ACTIVE = 1e-4
RISES_BY, GAP = 0.02, 0.05
"""By how much two checkpoints must be above the two before, and what gaps a birth takes; both are the source's."""
STARTS_TO_READ = 0.1
"""Accuracy on the probe set before which nothing is known to whoever foretells."""
WINDOW = 4
"""Intervals, from there on, over which pulls on neurons are added up: the source's 1,000 steps."""
LATER = 2
"""Checkpoints after it at which who foretells could see more."""
CHECKPOINTS_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class Featured(AtSteps):
    """Of which checkpoints the source's autoencoder learns, and how many rows of a split gradients are taken on."""

    n_pulled: int = 12


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
        _gap(features, right),
        _gap(features, held_out.expand_as(right)),
    )


def _gap(values: Float[Tensor, "ckpt read feature"], those: Bool[Tensor, "ckpt read"]) -> Float[Tensor, "ckpt feature"]:
    chosen = those.double()
    inside = torch.einsum("crf,cr->cf", values, chosen) / chosen.sum(1, keepdim=True)
    outside = torch.einsum("crf,cr->cf", values, 1 - chosen) / (1 - chosen).sum(1, keepdim=True)
    return (inside - outside).nan_to_num(0)


def births(values: Float[Tensor, "ckpt feature"], threshold: float) -> Int[Tensor, " feature"]:
    """First checkpoint that is over the threshold with the next, in the mean, and above the two before; -1: none."""
    if len(values) < 4:
        return torch.full(values.shape[1:], -1)
    pairs = (values[1:] + values[:-1]) / 2
    now, before = pairs[2:], pairs[:-2]
    born = (now >= threshold) & (now - before >= RISES_BY)
    return torch.where(born.any(0), born.int().argmax(0) + 2, -1)


def useful_births(found: Courses) -> Int[Tensor, " feature"]:
    """The later of the births of both gaps, where both end above 0; -1: none."""
    right, held_out = births(found.right_gap, GAP), births(found.held_out_gap, GAP)
    both = (right >= 0) & (held_out >= 0) & (found.right_gap[-1] > 0) & (found.held_out_gap[-1] > 0)
    return torch.where(both, torch.maximum(right, held_out), -1)


def feature_births(run: "Run", featured: Featured, progress: Callable[[int], None]) -> pd.DataFrame:
    """When the features of two autoencoders (variable ``LATE`` or ``ALL``) become useful, and what is known before.

    All rows stand at the last checkpoint. ``explained``: share of variance an autoencoder explains where it learnt.
    Known before is what is known at the last checkpoint before a tenth of the probe set is read, step ``cutoff``; a
    network that never gets there has ``explained`` alone. By feature (site ``f0``, ...):

    * ``useful_birth``: step from which both of its gaps are there, by the source's rule; no row where they never are.
    * ``drive``: sum, over the intervals between checkpoints till then, of the gradient of its mean activation times
      the change of weights, tied ones once; ``alignment``: mean cosine between both; ``support``: its mean activation
      and the share of reads in which it is active, then; ``amplification``: what they gained till then, losses left
      out; ``interference``: lengths of the negative parts of its drives and of the changes of its gaps.
    * ``later``: its gap between right and wrong reads two checkpoints after, which who foretells does not know.

    Of all pairs of features, over ``WINDOW`` intervals from there on, means (see ``pulls``): ``same_sign``,
    ``by_angle``, ``off_angle``,
    ``off_half``.
    """
    task, steps = run.recipe.make_task(), run.steps
    reads = probe_reads(task, Probed())
    states, right = _states(run, reads, progress)
    at = {LATE: [steps.index(step) for step in featured.of(run) if step in steps], ALL: list(range(len(steps)))}
    bases = {name: learnt(states[places].flatten(0, 1), UPDATES[name]) for name, places in at.items()}
    rows = Rows(run.run_id, (run.final_step,), (run.tokens_seen(run.final_step),))
    for name, basis in bases.items():
        explained = basis.explained(states[at[name]].flatten(0, 1))
        rows.add("explained", torch.tensor([explained]), len(at[name]) * len(reads), variable=name)
    reached = right.double().mean(1) >= STARTS_TO_READ
    cutoff = int(reached.int().argmax()) - 1
    if reached.any() and cutoff >= 0:
        rows.add("cutoff", torch.tensor([float(steps[cutoff])]), len(reads))
        pulled = probe_reads(task, Probed(n_rows=featured.n_pulled))
        found = {name: courses(basis.features(states).double(), right, reads.held_out) for name, basis in bases.items()}
        taken = pulls(run, pulled, bases, steps[: min(len(steps), cutoff + WINDOW + 1)])
        for name in bases:
            _add_births(rows, name, found[name], steps)
            _add_known(rows, name, found[name], taken[name], cutoff)
    return rows.frame()


def _states(
    run: "Run", reads: ProbeReads, progress: Callable[[int], None]
) -> tuple[Float[Tensor, "ckpt read d"], Bool[Tensor, "ckpt read"]]:
    """The last residual stream where answers are predicted, and whether they are right."""
    config, states, right = run.recipe.model, [], []
    site = f"resid_post.{config.n_layers - 1}"
    with torch.inference_mode():
        for first in range(0, len(run.steps), CHECKPOINTS_AT_ONCE):
            chosen = run.steps[first : first + CHECKPOINTS_AT_ONCE]
            output = forward(config, run.stack(chosen), reads.tokens, record=(site,))
            states.append(output.cache[site][:, reads.row, reads.at])
            right.append(output.logits[:, reads.row, reads.at].argmax(-1) == reads.answer)
            progress(len(chosen))
    return torch.cat(states).clone(), torch.cat(right).clone()


def _add_births(rows: Rows, basis: str, found: Courses, steps: tuple[int, ...]) -> None:
    born = useful_births(found)
    those = (born >= 0).nonzero()[:, 0].tolist()
    if those:
        when = torch.tensor([float(steps[born[number]]) for number in those])
        rows.add("useful_birth", when, 1, [{"site": f"f{number}"} for number in those], variable=basis)


def _add_known(rows: Rows, basis: str, found: Courses, taken: Pulls, cutoff: int) -> None:
    labels = [{"site": f"f{number}"} for number in range(N_FEATURES)]
    later = found.right_gap[min(cutoff + LATER, len(found.right_gap) - 1)]
    for metric, values in {**factors(found, taken, cutoff), "later": later}.items():
        rows.add(metric, values, 1, labels, variable=basis)
    for metric, value in followed(taken, cutoff).items():
        rows.add(metric, torch.tensor([value]), 1, variable=basis)


def factors(found: Courses, taken: Pulls, cutoff: int) -> Mapping[str, Float[Tensor, " feature"]]:
    """What the source's model of births adds up, over the intervals that end at the cutoff or before it."""
    drives, changes = taken.drive[:cutoff], found.useful[: cutoff + 1].diff(dim=0)
    return {
        "drive": drives.sum(0),
        "alignment": taken.cosine[:cutoff].sum(0) / max(cutoff, 1),
        "support": found.support[cutoff],
        "amplification": found.support[: cutoff + 1].diff(dim=0).clamp(min=0).sum(0),
        "interference": -drives.clamp(max=0).sum(0) - changes.clamp(max=0).sum(0),
    }
