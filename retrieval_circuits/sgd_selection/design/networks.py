"""A network of the chapter, and the steps of a fork: what all arms are made of."""

import dataclasses

from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.training.recipe import Recipe, Stage
from retrieval_circuits.sgd_formation.design import EVERY, small_network
from retrieval_circuits.sgd_formation.measures import SIZES
from retrieval_circuits.sgd_selection.design.params import Params

EVERY_OF_FORKS = 100
LONGER = 4
"""Forks from the first two points have a quarter more steps: what comes so early moves when the look-up comes."""
N_TRAIN = 8_000
"""Rows of the fixed set, which no network here reads: of the data set that SGD formation has."""
N_TEST = 2_048
"""Rows of each other split."""


def network_of(params: Params, seed: int, longer: float | int = 1) -> Recipe:
    """A network of SGD formation on fresh rows of our stream, for so many times its steps."""
    steps = round(longer * params.parent_steps)
    return fitted(params, small_network(task(), seed, steps, params.d_model, fresh=True))


def part_of(params: Params, part: float) -> float:
    """A part of a network's steps, as what ``network_of`` takes: rounded to checkpoints, one of them at least."""
    return EVERY * max(1, round(part * params.parent_steps / EVERY)) / params.parent_steps


def drawn_wide(network: Recipe) -> Recipe:
    """The same with weights drawn as the source draws its own."""
    return dataclasses.replace(network, model=dataclasses.replace(network.model, init="torch"))


def task() -> BalancedStream:
    """Our stream."""
    return BalancedStream(**SIZES, n_train=N_TRAIN, n_eval=N_TEST)


def fitted(params: Params, network: Recipe) -> Recipe:
    """A network with the engine and the batches that were asked for."""
    stages = up_to(params, network.checkpoint_at[-1])
    return dataclasses.replace(network, engine=params.engine, batch_size=params.batch_size, stages=stages)


def latest(params: Params) -> int:
    """Where forks end that end last."""
    return params.steps + params.steps // LONGER


def steps_between(params: Params, at: int, end: int) -> dict[str, tuple]:
    """Stages and checkpoints of a fork from one step of the whole training to another."""
    return {"stages": up_to(params, end), "checkpoint_at": (*range(0, end - at, EVERY_OF_FORKS), end - at)}


def up_to(params: Params, step: int) -> tuple[Stage, ...]:
    """The whole training, up to the end of the epoch that has the step."""
    return (Stage(("train",), -(-step // EVERY), EVERY * params.batch_size),)
