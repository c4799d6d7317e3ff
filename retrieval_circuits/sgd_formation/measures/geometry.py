"""How alike the gradients of single reads are, by what the reads have in common.

Source: nelson960, which lists the tool, ``example-gradient-geometry``, and never built it: G_ij, the scalar product of
the gradients of two examples, grouped by key, by value, by how they were written, held out or not, and right or wrong.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from circuitcore.metrics.table import Rows
from circuitcore.models import ModelConfig, forward
from circuitcore.tasks.streams import Stream
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.steps import AtSteps

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

N_SHUFFLES = 200
HIGH = 0.975
HELD_OUT = "heldout_pairs"


@dataclass(frozen=True, kw_only=True)
class Examples(AtSteps):
    """How many rows of each of two splits give a read, and at which steps."""

    n_rows: int


class OneRead(NamedTuple):
    """The last read of some rows.

    Attributes:
        tokens: the rows.
        at: where the answer is predicted.
        answers: the words asked for.
        labels: what reads may have in common -> the same number where they do.
    """

    tokens: Int[Tensor, "row pos"]
    at: Int[Tensor, " row"]
    answers: Int[Tensor, " row"]
    labels: dict[str, Int[Tensor, " row"]]


def example_geometry(run: "Run", examples: Examples, progress: Callable[[int], None]) -> pd.DataFrame:
    """Mean cosines between the gradients of the loss of two reads, by what both have in common (variable).

    Variables: "key", "value", "lag" (writes in between), "split" (a pair that was trained on, or held out), and
    "right" (answered right, or wrong). What all reads or no two have in common is left out. Metrics:

    * ``alike``: of pairs that have it in common; ``unlike``: of the others. Gradients that have nothing to do with each
      other: 0.
    * ``by_lot``: of the difference between both, the value that 2.5 % of shuffled labels are above.
    """
    task, steps = run.recipe.make_task(), examples.of(run)
    reads, tables = last_reads(task, examples.n_rows), []
    for step in steps:  # a checkpoint takes as many copies of its weights as there are reads
        gradients, given = read_gradients(run.recipe.model, run.weights(step), reads)
        unit = functional.normalize(gradients, dim=1)
        rows = Rows(run.run_id, (step,), (run.tokens_seen(step),))
        for name, label in {**reads.labels, "right": (given == reads.answers).long()}.items():
            if 1 < len(label.unique()) and len(label.unique()) < len(label):
                for metric, value in common(unit @ unit.T, label).items():
                    rows.add(metric, torch.tensor([value]), len(label), variable=name)
        tables.append(rows.frame())
        progress(1)
    return pd.concat(tables, ignore_index=True)


def last_reads(task: Stream, n_rows: int) -> OneRead:
    """The last reads of the first rows of the reported split, and of the split of pairs that were held out."""
    found = [asked(task, split, n_rows) for split in (task.reported, HELD_OUT)]
    end = torch.ones(1, dtype=torch.bool)
    reads = [of.reads.pick(torch.cat((of.reads.row[1:] != of.reads.row[:-1], end))) for of in found]

    def every(name: str) -> Tensor:
        return torch.cat([getattr(of, name) for of in reads])

    tokens = torch.cat([of.batch.tokens[picked.row] for of, picked in zip(found, reads, strict=True)])
    split = torch.cat([torch.full_like(picked.row, number) for number, picked in enumerate(reads)])
    labels = {"key": every("key"), "value": every("answer"), "lag": every("lag"), "split": split}
    return OneRead(tokens, every("at"), every("answer"), labels)


def read_gradients(
    config: ModelConfig, weights: Mapping[str, Tensor], reads: OneRead
) -> tuple[Float[Tensor, "row weight"], Int[Tensor, " row"]]:
    """The gradient of the cross-entropy of each read, by all weights, tied ones once; and the word that is given.

    Every read has a copy of the weights to itself, so that one pass back makes all gradients.
    """
    n_rows = len(reads.tokens)
    copies = {name: value.expand(n_rows, *value.shape).clone().requires_grad_() for name, value in weights.items()}
    with torch.enable_grad():
        logits = forward(config, copies, reads.tokens[:, None]).logits[torch.arange(n_rows), 0, reads.at]
        loss = functional.cross_entropy(logits, reads.answers, reduction="sum")
        found = torch.autograd.grad(loss, list(copies.values()))
    return torch.cat([value.flatten(1) for value in found], 1), logits.detach().argmax(-1)


def common(cosines: Float[Tensor, "row row"], label: Int[Tensor, " row"]) -> dict[str, float]:
    """``alike``, ``unlike`` and ``by_lot`` (see ``example_geometry``) of one label; a row is never paired with itself.

    Raises:
        ValueError: a label that all rows have in common, or no two.
    """
    orders = torch.rand(N_SHUFFLES, len(label), generator=torch.Generator().manual_seed(0)).argsort(-1)
    labels = torch.cat((label[None], label[orders]))
    same = labels[:, :, None] == labels[:, None]
    pairs = ~torch.eye(len(label), dtype=torch.bool)
    n_alike = (same[0] & pairs).sum().item()
    if n_alike in (0, pairs.sum().item()):
        raise ValueError(
            f"a label with {len(label.unique())} values among {len(label)} rows; allowed: pairs of both kinds"
        )
    values = cosines.double()
    alike = torch.einsum("sij,ij->s", (same & pairs).double(), values) / n_alike
    unlike = torch.einsum("sij,ij->s", (~same & pairs).double(), values) / (pairs.sum() - n_alike)
    by_lot = (alike - unlike)[1:].quantile(HIGH).item()
    return {"alike": alike[0].item(), "unlike": unlike[0].item(), "by_lot": by_lot}
