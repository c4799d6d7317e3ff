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

from circuitcore.ground.hashed import later
from retrieval_circuits.associative_memory.measures.layer import (
    ANSWERS,
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
        bijective: whether facts are; then there are as many answers as subjects.
    """

    sizes: tuple[tuple[int, int, int], ...]
    hidden: int
    steps: int
    bijective: bool = later(False)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """One a size."""
        return tuple(
            Layer(
                n_subjects=subjects, n_relations=relations, width=width, hidden=self.hidden, bijective=self.bijective,
                n_answers=subjects if self.bijective else Layer.n_answers,
            )
            for subjects, relations, width in self.sizes
        )  # fmt: skip


def transfers(asked: Transfers, seed: int) -> list[dict[str, Any]]:
    """A row a size and way of learning the first facts, ``rest``; shares of facts recalled, chance 1/D.

    ``first``: the first facts, after training. Then embeddings of subjects are drawn anew and they alone are trained:
    ``new``, on new facts; ``again``, on the first ones. ``composed``: new facts without any training, by embeddings
    that are sums of what each answer to each relation had added to the first embeddings, of bijections by a linear map
    of its direction; ``refitted``: the first facts by such sums. ``recomposed``: as ``composed``, of embeddings that
    were trained anew on the first facts, which know them in front of every layer, a memory included.
    """
    generator = torch.Generator().manual_seed(seed)
    return [row for layer in asked.layers for row in _of_layer(layer, asked.steps, generator)]


def _of_layer(layer: Layer, steps: int, generator: torch.Generator) -> list[dict[str, Any]]:
    start = layer.initial(generator)
    old, new = (copies(layer.facts(generator), len(RESTS)) for _ in range(2))
    fresh = layer.embeddings(layer.n_subjects, generator)
    taught = _taught(layer, start, old, steps)
    again, renewed = replaced(taught, fresh, (old, new), steps)
    before, after = (codes(layer, taught[ANSWERS], facts) for facts in (old, new))
    first, second = (summands(subjects, before) for subjects in (taught[SUBJECTS], again))
    asked = {
        "first": (taught[SUBJECTS], old), "again": (again, old), "new": (renewed, new),
        "refitted": (compose(first, before), old), "composed": (compose(first, after), new),
        "recomposed": (compose(second, after), new),
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


def codes(
    layer: Layer, answers: Float[Tensor, "network answer width"], facts: Int[Tensor, "network subject relation"]
) -> Float[Tensor, "network subject relation code"]:
    """What stands for each fact's answer in sums: a number of its own, or of bijections the answer's direction.

    There every answer is met once, so that what one adds by itself could not be told from all else.
    """
    if not layer.bijective:
        return one_hot(facts, layer.n_answers).to(answers.dtype)
    return answers[torch.arange(len(answers))[:, None, None], facts]


def summands(
    subjects: Float[Tensor, "network subject width"], coded: Float[Tensor, "network subject relation code"]
) -> Float[Tensor, "network relation code width"]:
    """What each part of the code of each relation adds to a subject's embedding, by least squares; the smallest such.

    Of codes with a number an answer, sums of these are determined with more subjects than R (D - 1) + 1; of directions
    with at least R d. With fewer they fit any embeddings.
    """
    found = torch.linalg.pinv(coded.flatten(2).double()) @ subjects.double()
    return found.view(len(found), *coded.shape[2:], found.shape[-1]).to(subjects.dtype)


def compose(
    sums: Float[Tensor, "network relation code width"], coded: Float[Tensor, "network subject relation code"]
) -> Float[Tensor, "network subject width"]:
    """The embedding of each subject as the sum over relations of what its answer adds."""
    return torch.einsum("nsra,nrad->nsd", coded, sums)
