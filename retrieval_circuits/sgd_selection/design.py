"""What is trained: ten networks, and forks: of one at many steps and with parts changed, of the others with other data.

A fork begins where its parent stood, weights, moments and rate, and goes on with rows of its own. Source of the
question: nelson960, "From Retrieval Motifs To SGD Circuit Selection" (draft of April 2026), which has no forks. The
parent is the network of SGD formation that learns the look-up first: its forks are the shortest. Its transition, and
which of its heads came to join values to keys, were known when the steps to fork at were chosen; no fork was. When the
other networks were forked, their winners, their times and all forks of the parent were known.
"""

import dataclasses
from itertools import pairwise
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.training.during import During, Freeze, Hold, Scale
from circuitcore.training.recipe import Recipe, Stage
from retrieval_circuits.design import N_BESIDE, EngineName, Seed, Seeds, SomeSeeds, distinct
from retrieval_circuits.sgd_formation.design import BATCH_SIZE, EVERY, N_LOOKED, SHOWN_AT, links, small_network
from retrieval_circuits.sgd_formation.measures import SIZES, Counts, Removed, part_removed
from retrieval_circuits.sgd_selection.measures import Traced, fingerprints, pushes, routes, updates

N_FORKS = 8
ORDER_OFFSET = 30_000
"""Orders of data have seeds of their own: no fork has its parent's rows, and forks of one seed share theirs."""
ELSEWHERE_OFFSET, N_ELSEWHERE = 40_000, 25_000
"""The same of forks of the other networks; as these seeds end at 65,535, networks 250 seeds apart share rows."""
EVERY_OF_FORKS = 100
LONGER = 4
"""Forks from the first two points have a quarter more steps: what comes so early moves when the look-up comes."""
N_TRAIN = 8_000
"""Rows of the fixed set, which no network here reads: of the data set that SGD formation has."""
N_TEST = 2_048
"""Rows of each other split."""
N_PUSHED = 256
"""Rows on which the gradient of the loss is taken: four batches of training."""
N_REMOVED = 32
"""Rows on which heads are removed: some 320 reads."""
BOOST = 3.0
"""Factor on the updates of a head that is boosted."""
LAYER, HEADS = 0, (0, 1, 2, 3)
"""Where the heads compete: in each of the ten networks one of the first layer joins most values to their keys."""
NETWORKS, PARENT, REPLAY = "ten networks", "the parent", "nothing changed"
ORDERS = tuple(f"another order, point {number}" for number in range(1, N_FORKS + 1))
"""The arms of forks that differ from the parent in their data alone, by how late they leave it."""
ACT = 3
"""Which of the points (from 0) the other arms leave from: four hundred steps before the parent's transition."""
TRACED = ORDERS[5]
"""Forks whose updates are taken apart: they begin two hundred steps before the parent's transition."""
N_TRACED, N_LAGS = 300, 20
"""Updates that are taken apart, through the transition, and how far back gradients are followed."""
BOOSTED = tuple(f"head {head} boosted" for head in HEADS)
HELD = tuple(f"head {head} held at zero" for head in HEADS)
FROZEN = "queries and keys frozen"
ELSEWHERE = tuple(f"other networks, point {number}" for number in (1, 2))
"""The arms of forks of all networks but the parent, by how late they leave them."""
LABEL = 100
"""Such a fork is called LABEL times its network's seed plus its order: a number of its own in its arm."""
DRAWN_FORK = "the fork that is drawn"
"""The first order from the first point, whose last weights are shipped. Who wins it was known when it was chosen."""


def forked(label: int) -> int:
    """The seed of the network that such a fork leaves."""
    return label // LABEL


def _increasing(steps: tuple[int, ...]) -> tuple[int, ...]:
    if any(later <= step for step, later in pairwise(steps)):
        raise ValueError("each later than the one before")
    return steps


class Params(BaseModel):
    """Parameters of the chapter; ``params/sgd_selection.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of the networks whose winners are predicted")]
    parent: Annotated[Seed, Field(description="init seed of the network that is forked")]
    order_seeds: Annotated[SomeSeeds, Field(description="orders of the data at each point")]
    act_seeds: Annotated[SomeSeeds, Field(description="orders under which heads are held, or queries and keys frozen")]
    boost_seeds: Annotated[Seeds, Field(description="orders under which heads are boosted; may be empty")]
    fork_at: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...],
        Field(min_length=N_FORKS, max_length=N_FORKS, description="steps of the parent, increasing"),
        AfterValidator(_increasing),
    ]
    elsewhere_at: Annotated[
        tuple[Annotated[int, Field(ge=0, multiple_of=EVERY)], ...],
        Field(
            min_length=len(ELSEWHERE),
            max_length=len(ELSEWHERE),
            description="steps at which other networks are left, increasing",
        ),
        AfterValidator(_increasing),
    ]
    elsewhere_orders: Annotated[
        tuple[Annotated[int, Field(ge=0, lt=LABEL)], ...],
        Field(min_length=1, description="orders of the data at each of them, of each network its own"),
        AfterValidator(distinct),
    ]
    d_model: Annotated[int, Field(ge=8, le=512, multiple_of=8, description="width")]
    parent_steps: Annotated[int, Field(ge=EVERY, le=100_000, multiple_of=EVERY, description="of parent and networks")]
    steps: Annotated[
        int,
        Field(ge=EVERY, le=100_000, multiple_of=EVERY, description="at which forks end, counted as the parent's"),
    ]
    n_rows: Annotated[int, Field(ge=16, le=1024, description="rows on which networks are asked")]
    engine: EngineName

    @field_validator("parent_steps", "steps")
    @classmethod
    def _lets_forks_train(cls, given: int, of: Any) -> int:
        """Forks leave the parent while it trains; of those that are traced, gradients of an update can be followed.

        ``of`` is pydantic's ``ValidationInfo``, a protocol that nothing can be checked for when it is called.
        """
        if fork_at := of.data.get("fork_at"):
            last, traced = fork_at[-1], fork_at[ORDERS.index(TRACED)]
            most = max(last, traced + N_LAGS) if of.field_name == "steps" else last
            if given <= most:
                why = f"{N_LAGS} after the sixth of fork_at" if most > last else "the last of fork_at"
                raise ValueError(f"more than {most}, {why}")
        if of.field_name == "steps" and given > (most := of.data.get("parent_steps", given)):
            raise ValueError(f"at most parent_steps, {most}: the replay is compared with its parent")
        return given

    @field_validator("parent")
    @classmethod
    def _is_not_alone(cls, given: int, of: Any) -> int:
        """There are other networks, which are forked, too; ``of`` is pydantic's ``ValidationInfo``."""
        if of.data.get("seeds") == (given,):
            raise ValueError("another than the only one of seeds")
        return given

    @field_validator("parent_steps")
    @classmethod
    def _lets_networks_be_left(cls, given: int, of: Any) -> int:
        """The other networks are left while they train; ``of`` is pydantic's ``ValidationInfo``."""
        if (last := of.data.get("elsewhere_at", (0,))[-1]) >= given:
            raise ValueError(f"more than {last}, the last of elsewhere_at")
        return given


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes; of forks one per order of the data, whose seed stands for the fork's."""
    parent = _network(params, params.parent)
    act = params.fork_at[ACT]
    others = [seed for seed in params.seeds if seed != params.parent]
    first = _fork(params, parent, params.fork_at[0], params.order_seeds[0])
    boosts = {BOOSTED[head]: (Scale(parts=(f"L{LAYER}H{head}",), factor=BOOST),) for head in HEADS}
    changed = {HELD[head]: (Hold(parts=(f"L{LAYER}H{head}",)),) for head in HEADS}
    changed[FROZEN] = (Freeze(parts=_queries_and_keys(parent)),)
    return {
        NETWORKS: tuple(_network(params, seed) for seed in params.seeds),
        PARENT: (parent,),
        REPLAY: (_fork(params, parent, act, None),),
        **{
            arm: tuple(_fork(params, parent, at, order) for order in params.order_seeds)
            for arm, at in zip(ORDERS, params.fork_at, strict=True)
        },
        **{
            arm: tuple(_fork(params, parent, act, order, during) for order in params.act_seeds)
            for arm, during in changed.items()
        },
        **{
            arm: tuple(_fork(params, parent, act, order, during) for order in params.boost_seeds)
            for arm, during in boosts.items()
        },
        **{
            arm: tuple(_fork_of(params, seed, at, order) for seed in others for order in params.elsewhere_orders)
            for arm, at in zip(ELSEWHERE, params.elsewhere_at, strict=True)
        },
        DRAWN_FORK: (first,),
    }


def _network(params: Params, seed: int) -> Recipe:
    """A network of SGD formation on fresh rows of our stream."""
    task = BalancedStream(**SIZES, n_train=N_TRAIN, n_eval=N_TEST)
    trained = small_network(task, seed, params.parent_steps, params.d_model, fresh=True)
    return dataclasses.replace(trained, engine=params.engine)


def _fork(params: Params, parent: Recipe, at: int, order: int | None, during: tuple[During, ...] = ()) -> Recipe:
    """The parent from step ``at`` on, with another order of the data or, without one, its own.

    Nothing of a fork is drawn from its ``init_seed``: here it names the order, so that each has one number an arm.
    """
    end = params.steps + (params.steps // LONGER if at in params.fork_at[:2] else 0)
    taken = end - at
    seeds = {} if order is None else {"init_seed": order, "data_seed": ORDER_OFFSET + order}
    return dataclasses.replace(
        parent,
        parent=(parent.sha256, at),
        during=during,
        stages=_up_to(end),
        checkpoint_at=(*range(0, taken, EVERY_OF_FORKS), taken),
        **seeds,
    )


def _fork_of(params: Params, seed: int, at: int, order: int) -> Recipe:
    """A network from step ``at`` on, with other rows, up to where networks end or, from the first point, beyond.

    Forks of one network and order share their rows, wherever they leave.
    """
    network, label = _network(params, seed), LABEL * seed + order
    last = params.parent_steps + (params.parent_steps // LONGER if at == params.elsewhere_at[0] else 0)
    return dataclasses.replace(
        network,
        parent=(network.sha256, at),
        stages=_up_to(last),
        checkpoint_at=(0, EVERY * -(-last // EVERY) - at),
        init_seed=label,
        data_seed=ELSEWHERE_OFFSET + label % N_ELSEWHERE,
    )


def _up_to(step: int) -> tuple[Stage, ...]:
    """The whole training, up to the end of the epoch that has the step."""
    return (Stage(("train",), -(-step // EVERY), EVERY * BATCH_SIZE),)


def _queries_and_keys(recipe: Recipe) -> tuple[str, ...]:
    model = recipe.model
    return tuple(f"L{layer}H{head}.QK" for layer in range(model.n_layers) for head in range(model.n_heads))


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """Answers and attention of every checkpoint; of networks links and what the loss pushes, of forks parts removed.

    Of those from one point on also what their updates are made of; of the parent and its replay the weights' hashes.
    """
    n_looked = min(N_LOOKED, params.n_rows)
    asked = Counts(n_rows=params.n_rows, n_looked=n_looked)
    found = (Instrument(name="measurements", version=1, measures=routes, settings=asked),)
    if arm in ELSEWHERE:
        return found
    if arm == DRAWN_FORK:
        return (*found, links(params.n_rows))
    if arm in (PARENT, REPLAY):
        tested = (links(params.n_rows),) if arm == PARENT else ()
        return (*found, Instrument(name="fingerprints", version=1, measures=fingerprints), *tested)
    if arm == NETWORKS:
        pushed = Counts(n_rows=min(N_PUSHED, params.n_rows), n_looked=n_looked)
        return (*found, Instrument(name="pushes", version=1, measures=pushes, settings=pushed), links(params.n_rows))
    if arm in ORDERS:
        removed = Removed(n_rows=min(N_REMOVED, params.n_rows), splits=(BalancedStream.reported,))
        found = (*found, Instrument(name="removed", version=1, measures=part_removed, when="last", settings=removed))
    if arm == TRACED:
        traced = Traced(n_steps=N_TRACED, every=EVERY, n_lags=N_LAGS, n_looked=n_looked)
        return (*found, Instrument(name="updates", version=1, measures=updates, when="steps", settings=traced))
    return found


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Steps at which weights are shipped: of the parent, and the last of other networks and of the drawn fork."""
    if arm in (NETWORKS, PARENT) and seed == params.parent:
        return (*SHOWN_AT, params.parent_steps)
    if arm == NETWORKS and seed in params.seeds[:N_BESIDE]:
        return (params.parent_steps,)
    if arm in (ORDERS[0], DRAWN_FORK) and seed == params.order_seeds[0]:
        return (recipes(params)[DRAWN_FORK][0].checkpoint_at[-1],)
    return ()
