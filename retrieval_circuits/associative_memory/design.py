"""What is computed: memories filled by sums, by one gradient step and by training, and facts learnt by one layer.

Sources: Bietti's lecture of April 2025 and papers behind it (Nichani et al., ICLR 2025; Cabannes et al., ICLR 2024).
Nothing here is a trained decoder, so every arm is an experiment. Sizes, rates and steps come from pilots on seeds that
no experiment has (900 and 901): where each optimiser had stopped improving, and where facts were known at the end.
"""

import dataclasses
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Recipe
from retrieval_circuits.associative_memory.measures import (
    Exact,
    Facts,
    Hidden,
    Lemma,
    Noise,
    Recalls,
    Sizes,
    Trained,
    Zipf,
    capacity,
    exact,
    hidden_layer,
    label_noise,
    lemma,
    recall,
    trained,
    zipf,
)
from retrieval_circuits.associative_memory.measures.places import Places, places
from retrieval_circuits.associative_memory.measures.transfers import Transfers, transfers
from retrieval_circuits.associative_memory.published import SHARED_OUTPUTS
from retrieval_circuits.design import Seeds, SomeSeeds

LOADS = tuple(round(2 ** (step / 4), 4) for step in range(-16, 5))
"""N ln N / d^2 of Hebbian sums: from half the load at which theory has a first error to four times the typical one."""
TRAINED_LOADS = tuple(round(2 ** (step / 8), 4) for step in range(-8, 3))
"""Those of matrices that are trained: from theory's limit for wide ones to beyond what any matrix held in the pilot."""
SOURCES = ("adam", 1000.0)
"""How the source trained its matrices, for 4,096 steps."""
BEST = ("adam", 1.0)
"""What stored most in the pilot."""
WAYS = (SOURCES, BEST, ("adam", 0.01), ("gd", 3.0))
SHORT = (23, 1024)
"""From this width on, matrices are trained for this many steps at most: a step takes five times as long as at 16."""
EXACT_TO = 13
"""The widest for which linear inequalities are solved: seconds a draw; at 16 it would be most of an hour in all."""
CLASSES = (2, 4, 8)
EXPONENT = 2.0
"""Of Zipf's law: the most frequent inputs are a few, and 2,048 inputs are nearly all there is."""
FEW = 4
"""Outputs where inputs share them."""
NOISE = Noise(width=128, n_pairs=256, shares=(0.0, 0.5, 0.8), samples=(0, 1, 4, 16, 64), n_draws=2)
FULL_RECALL = 6144
"""Steps of the source's way of learning facts; those of the others are in proportion where it is shortened."""

NARROW = 8
"""d of all maps with a hidden layer but one."""
HIDDEN_SIZES = ((NARROW, 16), (NARROW, 32), (NARROW, 64), (16, 16))
"""(width, hidden units): a factor of four in parameters, and a second width with as many as one of the first."""
HIDDEN_RATES = (0.03, 0.1)
"""The source's, and three times that, which learns sooner."""
OWN_LOADS = (2.0, 2.38, 2.59, 2.83, 3.08, 3.36)
"""N ln N / (m d) of whole maps: steps of a twelfth about the source's line, 2.86."""
ALONE_LOADS = (0.35, 0.5, 0.71, 1.0, 1.41)
SHARED_LOADS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""N / (m d) about the source's line, 0.83, where outputs are shared."""
FEW_SHARED = SHARED_OUTPUTS

MANY_S, MORE_S, FEW_S = "64 subjects", "32 subjects", "8 subjects"
SOURCE_WAY, FEW_ANSWERS, LARGE_START = "the source's", "4 answers a relation", "larger start"
JUDGED = (SOURCE_WAY, MORE_S, MANY_S, FEW_ANSWERS)
"""The tasks of which the claim on how long is guessed is asked."""
SOFTMAX, ADAM, ADAM_SOFTMAX = "softmax, gradient descent", "linear, Adam", "softmax, Adam"
FACTS = (
    Facts(name=SOURCE_WAY, steps=FULL_RECALL),
    Facts(name=FEW_S, n_subjects=8, rate=0.4, steps=1536),
    Facts(name=MORE_S, n_subjects=32, rate=0.4, steps=3072),
    Facts(name=MANY_S, n_subjects=64, rate=0.4, steps=5120),
    Facts(name=FEW_ANSWERS, n_answers=4, rate=0.4, steps=2048),
    Facts(name=LARGE_START, start=1e-3, rate=0.4, steps=1536),
    Facts(name=SOFTMAX, attention="softmax", rate=5.0, steps=3072),
    Facts(name=ADAM, optimizer="adam", rate=0.001, steps=2048),
    Facts(name=ADAM_SOFTMAX, attention="softmax", optimizer="adam", rate=0.01, steps=1024),
)
"""Ways of learning facts, all with the source's batches."""

HEADS, HIDDEN = (2, 4, 8, 16, 32), (8, 16, 32, 64, 128)
"""Sizes of attention alone and of an MLP alone, pairwise nearly equal in parameters: from few facts to nearly all."""
BOTH, LAYER_WIDTH = (16, 128), 16
CLEAR, MANY, FEWER, MORE = (64, 4, 16), (128, 4, 16), (32, 8, 16), (64, 8, 16)
"""(subjects, relations, channels) of layers whose embeddings are replaced. A memory holds nearly all facts of the first
and all of the third; an untrained layer can be made to answer new ones of the first, not of the third."""
BIJECTIVE, BIJECTIVE_MANY = (128, 2, 32), (256, 2, 32)
"""The same where facts are bijections, with as many answers as subjects, which take wider embeddings."""

CAPACITY, TRAINED, SHARED, ZIPF = "capacity", "trained", "shared_outputs", "zipf"
LEMMA, LABELS, RECALL = "lemma", "label_noise", "recall"
PLACES, TRANSFERS, BIJECTIONS = "places", "transfers", "bijections"
HIDDEN_LAYER = "hidden_layer"
"""Names of the experiments."""


Widths = Annotated[tuple[Annotated[int, Field(ge=4, le=256)], ...], Field(min_length=1)]


class Params(BaseModel):
    """Parameters of the chapter; ``params/associative_memory.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="seeds of every experiment")]
    widths: Annotated[Widths, Field(description="d of Hebbian sums and single gradient steps")]
    trained_widths: Annotated[Widths, Field(description="d of matrices that are trained")]
    trained_steps: Annotated[int, Field(ge=64, le=8192, multiple_of=64, description="of a matrix, in full batches")]
    shared_widths: Annotated[Widths, Field(description="d where inputs share a few outputs; at least two")]
    zipf_widths: Annotated[Widths, Field(description="d where inputs are not equally frequent; at least two")]
    n_zipf: Annotated[int, Field(ge=64, le=8192, description="inputs that are not equally frequent")]
    more_zipf_seeds: Annotated[Seeds, Field(description="more seeds of these inputs; may be empty")]
    recall_steps: Annotated[
        int, Field(ge=192, le=FULL_RECALL, multiple_of=192, description="of learning facts in the source's way")
    ]
    hidden_steps: Annotated[int, Field(ge=64, le=32768, multiple_of=4, description="of a map with a hidden layer")]
    layer_steps: Annotated[int, Field(ge=8, le=4096, description="of each training of a layer that keeps facts")]


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """None: no decoder is trained."""
    return {}


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """None, as there are no arms."""
    return ()


def experiments(params: Params) -> tuple[Experiment, ...]:
    """Everything that is computed, each with every seed; inputs that are not equally frequent with more."""
    found = {
        CAPACITY: (capacity, Sizes(widths=params.widths, loads=LOADS)),
        TRAINED: (trained, _trained(params)),
        SHARED: (exact, Exact(widths=params.shared_widths, classes=CLASSES)),
        ZIPF: (
            zipf,
            Zipf(widths=params.zipf_widths, exponent=EXPONENT, n_items=params.n_zipf, classes=(FEW, 0), n_draws=4),
        ),
        LEMMA: (lemma, Lemma(width=8, n_inputs=12, n_outputs=10)),
        LABELS: (label_noise, NOISE),
        RECALL: (recall, Recalls.of(_shortened(way, params.recall_steps) for way in FACTS)),
        HIDDEN_LAYER: (hidden_layer, _hidden(params)),
        PLACES: (
            places,
            Places(heads=HEADS, hidden=HIDDEN, both=BOTH, width=LAYER_WIDTH, steps=params.layer_steps),
        ),
        TRANSFERS: (
            transfers,
            Transfers(sizes=(CLEAR, MANY, FEWER, MORE), hidden=BOTH[1], steps=params.layer_steps),
        ),
        BIJECTIONS: (
            transfers,
            Transfers(sizes=(BIJECTIVE, BIJECTIVE_MANY), hidden=BOTH[1], steps=params.layer_steps, bijective=True),
        ),
    }
    more = {ZIPF: params.more_zipf_seeds}
    return tuple(
        Experiment(
            name=name, version=1, function=function, params=given,
            seeds=tuple(dict.fromkeys((*params.seeds, *more.get(name, ())))),
        )
        for name, (function, given) in found.items()
    )  # fmt: skip


def _trained(params: Params) -> Trained:
    return Trained(
        widths=params.trained_widths,
        loads=TRAINED_LOADS,
        optimizers=tuple(name for name, _ in WAYS),
        rates=tuple(rate for _, rate in WAYS),
        looks=tuple(params.trained_steps // part for part in (64, 16, 4, 1)),
        short=SHORT,
        exact_to=EXACT_TO,
    )


def _hidden(params: Params) -> Hidden:
    return Hidden(
        sizes=HIDDEN_SIZES,
        loads=OWN_LOADS,
        output_loads=ALONE_LOADS,
        shared_loads=SHARED_LOADS,
        shared=FEW_SHARED,
        rates=HIDDEN_RATES,
        looks=(params.hidden_steps // 4, params.hidden_steps),
    )


def _shortened(way: Facts, steps: int) -> Facts:
    return dataclasses.replace(way, steps=max(1, round(way.steps * steps / FULL_RECALL / way.every)) * way.every)
