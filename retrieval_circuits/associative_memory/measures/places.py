"""Where one layer keeps facts: attention alone, an MLP alone, or both, some of it frozen."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from retrieval_circuits.associative_memory.measures.layer import (
    ATTENTION,
    MLP,
    RELATIONS,
    SUBJECTS,
    Layer,
    Weights,
    copies,
    learn,
    parts_of_answer,
    right,
)

EMBEDDINGS = ("frozen", "learnt")
"""Whether embeddings of subjects are learnt; those of relations always are."""
TRAINED = {"both": (*ATTENTION, *MLP), "attention": ATTENTION, "mlp": MLP}
"""What is learnt in a layer with both parts -> its weights; the other part stays as it was drawn."""


@dataclass(frozen=True, kw_only=True)
class Places:
    """Layers that learn facts.

    Attributes:
        heads: of layers with attention alone.
        hidden: units of those with an MLP alone.
        both: heads and units of the layer that has both.
        width: d.
        steps: of training.
    """

    heads: tuple[int, ...]
    hidden: tuple[int, ...]
    both: tuple[int, int]
    width: int
    steps: int


def places(asked: Places, seed: int) -> list[dict[str, Any]]:
    """A row a layer: ``part`` that it has, what is ``trained``, ``embeddings`` of subjects, ``n_parameters``.

    ``accuracy`` is the share of all facts recalled; ``without_attention`` and ``without_mlp`` that where what the part
    puts into the last position is averaged over subjects, relation by relation, so that it still says which relation
    was asked. What the MLP reads stays as it was. Chance is a quarter.
    """
    generator = torch.Generator().manual_seed(seed)
    width = asked.width
    alone = [("attention", Layer(width=width, heads=heads)) for heads in asked.heads]
    alone += [("mlp", Layer(width=width, hidden=hidden)) for hidden in asked.hidden]
    facts = Layer(width=width).facts(generator)
    rows = [row for part, layer in alone for row in _learnt(layer, part, facts, asked.steps, generator)]
    whole = Layer(width=width, heads=asked.both[0], hidden=asked.both[1])
    return rows + _learnt(whole, "both", facts, asked.steps, generator)


def _learnt(
    layer: Layer, part: str, facts: Int[Tensor, "1 subject relation"], steps: int, generator: torch.Generator
) -> list[dict[str, Any]]:
    """Every way of freezing, from the same start, at once."""
    ways = [(trained, kind) for trained in (TRAINED if part == "both" else (part,)) for kind in EMBEDDINGS]
    weights = {name: copies(weight, len(ways)) for name, weight in layer.initial(generator).items()}
    facts = copies(facts, len(ways))
    masks = {name: torch.tensor([name in TRAINED[trained] for trained, _ in ways]) for name in layer.parts}
    masks[RELATIONS] = torch.ones(len(ways), dtype=torch.bool)
    masks[SUBJECTS] = torch.tensor([kind == "learnt" for _, kind in ways])
    measured = removals(learn(weights, facts, masks, steps), facts)
    return [
        {
            "part": part, "trained": trained, "embeddings": kind, "n_parameters": layer.n_parameters,
            **{name: values[way].item() for name, values in measured.items()},
        }
        for way, (trained, kind) in enumerate(ways)
    ]  # fmt: skip


def removals(weights: Weights, facts: Int[Tensor, "network subject relation"]) -> dict[str, Float[Tensor, " network"]]:
    """Recall as it is, and where one part's output is its mean over subjects."""
    attended, added = parts_of_answer(weights)
    return {
        "accuracy": right(weights, attended + added, facts),
        "without_attention": right(weights, attended.mean(1, keepdim=True) + added, facts),
        "without_mlp": right(weights, attended + added.mean(1, keepdim=True), facts),
    }
