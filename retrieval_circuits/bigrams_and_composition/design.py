"""What is computed: bigrams learnt by one layer and two, three single gradient steps, and a noisy bigram.

Sources: Bietti's lecture of April 2025 and papers behind it (Bietti et al., NeurIPS 2023; Chen et al., ICLR 2025). All
matrices but a few are frozen, so every arm is an experiment. Sizes, rates and steps come from pilots on seeds that no
experiment has (900 to 902): where two layers had learnt the task, and one layer had stopped improving.
"""

import dataclasses
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Recipe
from retrieval_circuits.bigrams_and_composition.measures import (
    K1,
    K2,
    O2,
    Generic,
    Grid,
    Learning,
    Letters,
    Noisy,
    Samples,
    Snapshots,
    Steps,
    Task,
    Way,
    Widths,
    counts,
    everything,
    learning,
    letters,
    noisy,
    samples,
    shortened,
    snapshots,
    three_steps,
    three_steps_by_both,
    three_steps_by_width,
)
from retrieval_circuits.bigrams_and_composition.published import NOISE
from retrieval_circuits.design import SomeSeeds

TASK = Task(n_tokens=32, n_triggers=5, length=48, width=128, n_test=128, every=10)
"""Half of the source's width and vocabulary, a fifth of its length, as many triggers."""
FULL_LEARNING = 300
"""Steps of the ways that are trained longest but one; those of the others are in proportion where it is shortened."""
ONE, JOINT, WITH_ADAM = "one layer", "two layers, all at once", "two layers, all at once, Adam"
STAGES, REVERSED = "two layers, in stages", "two layers, in reversed stages"
WAYS = (
    Way(
        name=ONE,
        trained=((O2, K2),),
        n_layers=1,
        optimizer="adam",
        rate=0.005,
        batch=128,
        queries=16,
        steps=500,
        decay="linear",
    ),
    Way(name=JOINT, trained=((O2, K2, K1),), steps=FULL_LEARNING),
    Way(name=WITH_ADAM, trained=((O2, K2, K1),), optimizer="adam", rate=0.001, steps=200),
    Way(name=STAGES, trained=((O2,), (K2,), (K1,)), steps=FULL_LEARNING),
    Way(name=REVERSED, trained=((K1,), (K2,), (O2,)), steps=FULL_LEARNING),
)
"""Ways of learning. The source's rule is gradient descent with momentum; one layer needs a finer one to settle."""
SAMPLE_LAW = Samples(
    sizes=(16, 32, 64, 128, 256),
    length=48,
    share=NOISE,
    rows=tuple(2**power for power in range(10)),
    n_draws=32,
    n_test=64,
)
"""Sizes of single steps on the noisy task: a factor of sixteen in the vocabulary."""
CUTS = (0.0, 0.1)
"""Shares of the MLP's singular values that are kept: two of the source's."""

LETTERS_TASK = dataclasses.replace(TASK, n_tokens=27)
"""The same on letters and the space."""
GENERIC = Generic(
    n_tokens=TASK.n_tokens,
    n_triggers=TASK.n_triggers,
    length=TASK.length,
    width=64,
    rate=0.003,
    batch=64,
    steps=FULL_LEARNING,
    n_test=TASK.n_test,
    every=TASK.every,
)
"""A decoder of which everything is trained, on the same task; half as wide, as its MLPs are four times that."""
STEP_TRIGGERS = 2
"""Triggers where single gradient steps are taken: the pairs that W_K2 has to store then."""
WIDE_SAMPLES = 4096
"""Rows of each of three steps with random embeddings."""
OTHERS_TO = 4096
"""Rows up to which orders other than the theorem's are followed, where rows and channels vary together."""

LEARNING, STEPS, NOISY, SAMPLES = "learning", "three_steps", "noisy", "samples"
LETTERS, EVERYTHING, WIDE, SNAPSHOTS = "letters", "everything", "wide_steps", "snapshots"
BOTH = "steps_by_both"
"""Names of the experiments."""


class Params(BaseModel):
    """Parameters of the chapter; ``params/bigrams_and_composition.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="seeds of every experiment; each draws a source of its own")]
    learn_steps: Annotated[int, Field(ge=30, le=FULL_LEARNING, multiple_of=30, description="of two layers, batches")]
    samples: Annotated[
        tuple[Annotated[int, Field(ge=64, le=65536)], ...],
        Field(min_length=1, description="rows of each of three single gradient steps"),
    ]
    widths: Annotated[
        tuple[Annotated[int, Field(ge=8, le=1024)], ...],
        Field(min_length=2, description="d of random embeddings in three single gradient steps, rising"),
    ]
    map_samples: Annotated[
        tuple[Annotated[int, Field(ge=64, le=65536)], ...],
        Field(min_length=1, description="rows of each of three single steps, where channels vary with them, rising"),
    ]
    map_widths: Annotated[
        tuple[Annotated[int, Field(ge=8, le=65536)], ...],
        Field(min_length=1, description="d of random embeddings there, rising; right angles come beside them"),
    ]
    noisy_steps: Annotated[int, Field(ge=20, le=2000, multiple_of=20, description="of the noisy task, batches")]


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """None: no decoder is trained."""
    return {}


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """None, as there are no arms."""
    return ()


def experiments(params: Params) -> tuple[Experiment, ...]:
    """Everything that is computed, each with every seed."""
    ways = tuple(shortened(way, params.learn_steps, FULL_LEARNING) for way in WAYS)
    one_trigger = {**dataclasses.asdict(TASK), "n_triggers": 1, "every": 20}
    found = {
        LEARNING: (learning, Learning.of(TASK, ways)),
        STEPS: (
            three_steps,
            Steps(n_tokens=20, n_triggers=STEP_TRIGGERS, length=20, samples=params.samples, queries=4, n_test=512),
        ),
        SAMPLES: (samples, SAMPLE_LAW),
        NOISY: (
            noisy,
            Noisy(
                **one_trigger,
                share=NOISE,
                optimizer="sgd",
                rate=0.03,
                batch=64,
                queries=8,
                steps=params.noisy_steps,
                kept=CUTS,
            ),
        ),
    }
    found |= _later(params)
    return tuple(
        Experiment(name=name, version=1, function=function, params=given, seeds=_seeds(params, name))
        for name, (function, given) in found.items()
    )


def _later(params: Params) -> dict[str, tuple]:
    """What was added after the first results: letters, a decoder that learns all, widths, snapshots, rows by widths."""
    setting = {"n_tokens": 20, "n_triggers": STEP_TRIGGERS, "length": 20, "queries": 4, "n_test": 512}
    one, joint = (shortened(way, params.learn_steps, FULL_LEARNING) for way in WAYS[:2])
    on_letters = Learning.of(LETTERS_TASK, (one, joint))
    return {
        SNAPSHOTS: (snapshots, Snapshots(**dataclasses.asdict(TASK), ways=Learning.of(TASK, (joint,)).ways)),
        LETTERS: (letters, Letters(**dataclasses.asdict(LETTERS_TASK), ways=on_letters.ways, counts=counts())),
        EVERYTHING: (everything, dataclasses.replace(GENERIC, steps=params.learn_steps)),
        WIDE: (
            three_steps_by_width,
            Widths(**setting, samples=(min(WIDE_SAMPLES, max(params.samples)),), widths=params.widths),
        ),
        BOTH: (
            three_steps_by_both,
            Grid(**setting, samples=params.map_samples, widths=params.map_widths, others_to=OTHERS_TO),
        ),
    }


def _seeds(params: Params, name: str) -> tuple[int, ...]:
    """All; of snapshots the first alone, as a reader scrubs through one network."""
    return params.seeds[:1] if name == SNAPSHOTS else params.seeds
