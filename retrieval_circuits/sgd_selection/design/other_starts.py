"""Forks of other networks than the parent: small ones, these drawn wide, the source's; and starts trained twice."""

import dataclasses

from circuitcore.training.recipe import Recipe
from retrieval_circuits.sgd_formation.design import EVERY, large_network
from retrieval_circuits.sgd_selection.design.arms import (
    ACT,
    DRAWN_WIDE,
    DRAWN_WIDE_FORKS,
    LABEL,
    LARGE,
    LARGE_FORKS,
    LARGE_PARENT,
    TWICE,
    TWICE_SMALL,
    WIDER,
)
from retrieval_circuits.sgd_selection.design.networks import (
    LONGER,
    drawn_wide,
    fitted,
    latest,
    network_of,
    part_of,
    steps_between,
    task,
    up_to,
)
from retrieval_circuits.sgd_selection.design.params import Params

ELSEWHERE_OFFSET, N_ELSEWHERE = 40_000, 25_000
"""Seeds of the rows of forks of other networks, and of starts trained twice.

They end at 65,535, so that networks 250 seeds apart share rows.
"""
LARGE_OFFSET = 31_000
"""The same of forks of the source's network."""
EVERY_WIDE, N_WIDE = 5, 2
"""Of how many checkpoints networks that are drawn wide have one, and how many orders their forks have.

Three were planned, as many as others have, and cut to two for want of time, before any fork was trained.
"""

HIGHER = (100, 200)
"""How much higher than seeds of the chapter's networks those of starts are that are trained twice."""
N_SMALL = 18
"""How many of these starts are drawn small, too, and trained twice for all of the steps.

Ten at first, which left the claim on the difference undecided; eight more were declared before any of them was trained.
"""
PART_OF_TWICE = 0.6
"""For which part of the others' steps those drawn wide train: of the nine networks all had their last winner by then.
"""


def fork_of(params: Params, seed: int, at: int, order: int) -> Recipe:
    """A network from step ``at`` on, with other rows, up to where networks end or, from the first point, beyond."""
    last = params.parent_steps + (params.parent_steps // LONGER if at == params.elsewhere_at[0] else 0)
    return _with_other_rows(params, network_of(params, seed), at, order, EVERY * -(-last // EVERY))


def _with_other_rows(params: Params, network: Recipe, at: int, order: int, last: int) -> Recipe:
    """A network from step ``at`` to ``last``; forks of one seed and order share their rows, wherever they leave."""
    label = LABEL * network.init_seed + order
    return dataclasses.replace(
        network,
        parent=(network.sha256, at),
        stages=up_to(params, last),
        checkpoint_at=(0, last - at),
        init_seed=label,
        data_seed=_rows_of(label),
    )


def _rows_of(label: int) -> int:
    """Seed of the rows of what is called by network and order."""
    return ELSEWHERE_OFFSET + label % N_ELSEWHERE


def wide_networks(params: Params, seeds: list[int]) -> dict[str, tuple[Recipe, ...]]:
    """Small networks, their weights drawn as the source draws its own, and forks from where others are left first.

    A pilot (init seed 0) read by step 2,000 and joined with a head of the first layer. Forks end with their networks.
    """
    networks = [_wide(network_of(params, seed)) for seed in seeds]
    forks = tuple(
        _with_other_rows(params, network, params.elsewhere_at[0], order, params.parent_steps)
        for network in networks
        for order in params.elsewhere_orders[:N_WIDE]
    )
    return {DRAWN_WIDE: tuple(networks), DRAWN_WIDE_FORKS: forks}


def _wide(network: Recipe) -> Recipe:
    """The same drawn wide, with fewer checkpoints."""
    *before, last = network.checkpoint_at
    return dataclasses.replace(drawn_wide(network), checkpoint_at=(*before[::EVERY_WIDE], last))


def trained_twice(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Starts drawn wide and small, each trained on rows of its own, and once more on others; kept at the end."""
    seeds = dict.fromkeys(seed + more for more in HIGHER for seed in params.seeds)  # once, of seeds a hundred apart
    wide = [drawn_wide(network_of(params, seed, part_of(params, PART_OF_TWICE))) for seed in seeds]
    small = [network_of(params, seed) for seed in list(seeds)[:N_SMALL]]
    return {
        arm: tuple(_again(network, order) for network in networks)
        for arms, networks in ((TWICE, wide), (TWICE_SMALL, small))
        for order, arm in enumerate(arms, start=1)
    }


def _again(network: Recipe, order: int) -> Recipe:
    """A network on the rows that forks of that seed and order would have, kept before training and at its end."""
    return dataclasses.replace(
        network,
        checkpoint_at=(0, network.checkpoint_at[-1]),
        data_seed=_rows_of(LABEL * network.init_seed + order),
    )


def at_its_size(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Forks of the source's network on our stream, from the first point and from ``ACT`` on; one is as it was."""
    whole = fitted(params, large_network(task(), params.large_seed, params.parent_steps, WIDER * params.d_model))

    def fork(at: int, **changed: int) -> Recipe:
        return dataclasses.replace(
            whole, parent=(whole.sha256, at), **changed, **steps_between(params, at, latest(params))
        )

    first, late = params.fork_at[0], params.fork_at[ACT]
    orders = [{"init_seed": order, "data_seed": LARGE_OFFSET + order} for order in params.large_orders]
    forks = {
        arm: tuple(fork(at, **order) for order in orders) for arm, at in zip(LARGE_FORKS, (first, late), strict=True)
    }
    return {LARGE: (whole,), LARGE_PARENT: (fork(late),), **forks}
