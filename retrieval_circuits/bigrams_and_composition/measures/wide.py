"""Three gradient steps with random embeddings: how many channels does each memory need?"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import normalize

from retrieval_circuits.bigrams_and_composition.measures import network
from retrieval_circuits.bigrams_and_composition.measures.network import ORDER, Frozen
from retrieval_circuits.bigrams_and_composition.measures.steps import Steps, Walk, accuracy, setting


@dataclass(frozen=True, kw_only=True)
class Widths(Steps):
    """The setting of three steps, with embeddings that are random.

    Attributes:
        widths: d, channels.
    """

    widths: tuple[int, ...]


def three_steps_by_width(asked: Widths, seed: int) -> list[dict[str, Any]]:
    """After three steps in the source's order: R of every matrix, and in-context accuracy on rows drawn anew.

    A row a width and number of samples. Chance of accuracy: one over the possible outputs.
    """
    generator, source, test = setting(asked, seed)
    sizes, found = Steps(**{field.name: getattr(asked, field.name) for field in dataclasses.fields(Steps)}), []
    for width in asked.widths:
        frozen = random(asked.n_tokens, asked.length, width, generator)
        for samples in asked.samples:
            weights = Walk(sizes, source, frozen, samples, generator).after(ORDER)
            recalled = network.probes(frozen, weights, source.triggers, source.others)
            found.append({"d": width, "samples": samples, "accuracy": accuracy(frozen, weights, test), **recalled})
    return found


def random(n_tokens: int, length: int, width: int, generator: torch.Generator) -> Frozen:
    """Embeddings and outputs in random directions, of length 1, and matrices that keep lengths on average."""
    tokens, positions, outputs = (
        normalize(torch.randn(n, width, generator=generator), dim=-1) for n in (n_tokens, length, n_tokens)
    )
    remap, values = (torch.randn(width, width, generator=generator) / width**0.5 for _ in range(2))
    return Frozen(tokens=tokens, positions=positions, remap=remap, values=values, outputs=outputs)
