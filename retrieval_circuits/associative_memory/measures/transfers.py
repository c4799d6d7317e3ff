"""The killing experiment: new subject embeddings for new facts, in front of a layer that does not change any more.

Whether the layer selects, and facts are in the embeddings, or is a memory of them, should show in whether new facts
can be had by new embeddings alone. A layer that was trained in front of frozen embeddings is a memory for certain, and
one that was never trained is neither.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

from retrieval_circuits.associative_memory.measures.layer import (
    RELATIONS,
    SUBJECTS,
    Layer,
    Weights,
    copies,
    learn,
    recall_of,
)

LEARNT, MEMORY, UNTRAINED, LOUDER = "embeddings learnt", "embeddings frozen", "never trained", "never trained, louder"
"""How the first facts were learnt: by embeddings and layer, by the layer alone, and by embeddings alone, twice."""
RESTS = (LEARNT, MEMORY, UNTRAINED, LOUDER)
GAIN = 10.0
"""Of the MLP's output where an untrained layer is louder; more moved nothing in the pilot, less had recalled less."""


@dataclass(frozen=True, kw_only=True)
class Transfers:
    """Layers whose embeddings are replaced.

    Attributes:
        sizes: (subjects, relations, channels) of each.
        hidden: units of the MLP; attention adds subject and relation.
        steps: of each training.
    """

    sizes: tuple[tuple[int, int, int], ...]
    hidden: int
    steps: int


def transfers(asked: Transfers, seed: int) -> list[dict[str, Any]]:
    """A row a size and way of learning the first facts, ``rest``; shares of facts recalled, chance a quarter.

    ``first``: the first facts, after training. Then embeddings of subjects are drawn anew and they alone are trained:
    ``new``, on new facts; ``again``, on the first ones. ``composed``: new facts without any training, by embeddings
    that are sums of what each answer to each relation had added to the first embeddings; ``refitted``: the first facts
    by such sums. ``recomposed``: as ``composed``, of the embeddings that were trained anew on the first facts, which
    know them in front of every layer, a memory included.
    """
    generator = torch.Generator().manual_seed(seed)
    layers = (
        Layer(n_subjects=subjects, n_relations=relations, width=width, hidden=asked.hidden)
        for subjects, relations, width in asked.sizes
    )
    return [row for layer in layers for row in _of_layer(layer, asked.steps, generator)]


def _of_layer(layer: Layer, steps: int, generator: torch.Generator) -> list[dict[str, Any]]:
    start = layer.initial(generator)
    old, new = (copies(layer.facts(generator), len(RESTS)) for _ in range(2))
    fresh = layer.embeddings(layer.n_subjects, generator)
    taught = _taught(layer, start, old, steps)
    again, later = replaced(taught, fresh, (old, new), steps)
    first, second = (summands(subjects, old, layer.n_answers) for subjects in (taught[SUBJECTS], again))
    asked = {
        "first": (taught[SUBJECTS], old), "again": (again, old), "new": (later, new),
        "refitted": (compose(first, old), old), "composed": (compose(first, new), new),
        "recomposed": (compose(second, new), new),
    }  # fmt: skip
    columns = {name: recall_of(taught | {SUBJECTS: subjects}, facts) for name, (subjects, facts) in asked.items()}
    sizes = {"n_subjects": layer.n_subjects, "n_relations": layer.n_relations, "d": layer.width}
    return [
        {**sizes, "rest": rest, **{name: values[place].item() for name, values in columns.items()}}
        for place, rest in enumerate(RESTS)
    ]


def _taught(layer: Layer, start: Weights, facts: Tensor, steps: int) -> Weights:
    """The first facts, learnt in each way from the same start."""
    weights = {name: copies(weight, len(RESTS)) for name, weight in start.items()}
    weights["write"][RESTS.index(LOUDER)] *= GAIN
    masks = {name: torch.tensor([rest in (LEARNT, MEMORY) for rest in RESTS]) for name in (RELATIONS, *layer.parts)}
    masks[SUBJECTS] = torch.tensor([rest != MEMORY for rest in RESTS])
    return learn(weights, facts, masks, steps)


def replaced(
    taught: Weights,
    fresh: Float[Tensor, "1 subject width"],
    facts: tuple[Int[Tensor, "network subject relation"], ...],
    steps: int,
) -> list[Float[Tensor, "network subject width"]]:
    """Subject embeddings for each table of facts, trained on it from fresh ones, all else frozen."""
    n_networks = len(taught[SUBJECTS])
    weights = {name: copies(weight, len(facts)) for name, weight in taught.items()}
    weights[SUBJECTS] = copies(fresh, len(facts) * n_networks)
    wanted = torch.cat(facts)
    learnt = learn(weights, wanted, {SUBJECTS: torch.ones(len(wanted), dtype=torch.bool)}, steps)
    return list(learnt[SUBJECTS].split(n_networks))


def summands(
    subjects: Float[Tensor, "network subject width"], facts: Int[Tensor, "network subject relation"], n_answers: int
) -> Float[Tensor, "network relation answer width"]:
    """What each answer to each relation adds to a subject's embedding, by least squares; the smallest such numbers.

    With more subjects than R (D - 1) + 1, sums of these are determined; with fewer, they fit any embeddings.
    """
    marks = one_hot(facts, n_answers).flatten(2).double()
    found = torch.linalg.pinv(marks) @ subjects.double()
    return found.view(len(found), -1, n_answers, found.shape[-1]).to(subjects.dtype)


def compose(
    sums: Float[Tensor, "network relation answer width"], facts: Int[Tensor, "network subject relation"]
) -> Float[Tensor, "network subject width"]:
    """The embedding of each subject as the sum over relations of what its answer adds."""
    marks = one_hot(facts, sums.shape[2]).to(sums.dtype)
    return torch.einsum("nsra,nrad->nsd", marks, sums)
