"""What is trained: ten networks, some of them with parts changed from the start or by SGD, and forks: of one at many
steps and with parts changed, of the others, of those drawn wide and of the source's network with other data.

A fork begins where its parent stood, weights, moments and rate, and goes on with rows of its own. Source of the
question: nelson960, "From Retrieval Motifs To SGD Circuit Selection" (draft of April 2026), which has no forks. The
parent is the network of SGD formation that learns the look-up first: its forks are the shortest. Its transition, and
which of its heads came to join values to keys, were known when the steps to fork at were chosen; no fork was. When the
other networks were forked, their winners, their times and all forks of the parent were known.

Forty orders of the data at each fork point were planned. Five were trained first, five and then eight (17 to 24) more
when it was undecided how long the winner stays open; orders 11 to 16 are those under which heads are exchanged.
"""

import dataclasses
from functools import partial

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.training.during import Clamp, During, Freeze, Graft, Hold, Scale
from circuitcore.training.optimizer import Optimizer
from circuitcore.training.recipe import Recipe
from retrieval_circuits.design import N_BESIDE
from retrieval_circuits.sgd_formation.design import EVERY, N_LOOKED, SHOWN_AT, links
from retrieval_circuits.sgd_formation.measures import Counts, Removed, part_removed
from retrieval_circuits.sgd_selection.design.arms import (
    ACT,
    BOOSTED,
    BOOSTED_EARLY,
    DAMPED,
    DESCENT,
    DRAWN_FORK,
    DRAWN_WIDE,
    DRAWN_WIDE_FORKS,
    EARLY,
    ELSEWHERE,
    FROZEN,
    FROZEN_EARLY,
    GIVEN,
    GIVEN_TWO,
    HEADS,
    HELD,
    HELD_EARLY,
    LARGE,
    LARGE_FORKS,
    LARGE_PARENT,
    LAYER,
    MOMENTA,
    N_LAGS,
    N_TRACED,
    NETWORKS,
    NEVER_LOOSE,
    NEVER_LOOSE_WIDE,
    ORDERS,
    OTHERS_HEADS,
    OWN_HEADS,
    PARENT,
    PARTS,
    RATED,
    RATES,
    REPLAY,
    SLOWER,
    TOLD,
    TRACED,
    TUNED,
    TWICE,
    TWICE_SMALL,
)
from retrieval_circuits.sgd_selection.design.networks import (
    drawn_wide,
    latest,
    network_of,
    part_of,
    steps_between,
    up_to,
)
from retrieval_circuits.sgd_selection.design.other_starts import at_its_size, fork_of, trained_twice, wide_networks
from retrieval_circuits.sgd_selection.design.params import Params
from retrieval_circuits.sgd_selection.measures import Traced, fingerprints, pushes, reached, routes, updates

ORDER_OFFSET = 30_000
"""Orders of data have seeds of their own: no fork has its parent's rows, and forks of one seed share theirs."""
N_PUSHED = 256
"""Rows on which the gradient of the loss is taken: four batches of training."""
N_REMOVED = 32
"""Rows on which heads are removed: some 320 reads."""
TUNED_ON = 99
"""Init seed of the network that the rate of SGD was chosen on; it is in no other arm."""
BOOST = 3.0
"""Factor on the updates of a head that is boosted; of one that is damped, they are divided by it."""


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes; of forks one per order of the data, whose seed stands for the fork's."""
    parent = network_of(params, params.parent)
    others = [seed for seed in params.seeds if seed != params.parent]
    first = _fork(params, parent, params.fork_at[0], params.order_seeds[0])
    return {
        NETWORKS: tuple(network_of(params, seed) for seed in params.seeds),
        PARENT: (parent,),
        REPLAY: (_fork(params, parent, params.fork_at[ACT], None),),
        **{
            arm: tuple(_fork(params, parent, at, order) for order in params.order_seeds)
            for arm, at in zip(ORDERS, params.fork_at, strict=True)
        },
        **_changed(params, parent),
        **_never_loose(params),
        **_given(params),
        **{
            arm: tuple(fork_of(params, seed, at, order) for seed in others for order in params.elsewhere_orders)
            for arm, at in zip(ELSEWHERE, params.elsewhere_at, strict=True)
        },
        **_exchanged(params, parent, first),
        DRAWN_FORK: (first,),
        **at_its_size(params),
        **wide_networks(params, others),
        **trained_twice(params),
        RATED: _rated(params),
        DESCENT: tuple(_descended(params, seed) for seed in params.seeds),
    }


def _rated(params: Params) -> tuple[Recipe, ...]:
    """One network for three fifths of Adam's steps, by SGD at every rate with every momentum."""
    steps = EVERY * max(1, params.parent_steps * 3 // (5 * EVERY))
    network, at = network_of(params, TUNED_ON), (0, steps // 2, steps)
    plain = dataclasses.replace(network, stages=up_to(params, steps), checkpoint_at=at)
    return tuple(_by_sgd(plain, rate, momentum) for momentum in MOMENTA for rate in RATES)


def _descended(params: Params, seed: int) -> Recipe:
    """A network of the same start, on the same rows, by SGD for several times the steps."""
    longer = network_of(params, seed, SLOWER)
    return _by_sgd(dataclasses.replace(longer, checkpoint_at=longer.checkpoint_at[::SLOWER]), *TUNED)


def _by_sgd(recipe: Recipe, rate: float, momentum: float) -> Recipe:
    """The same by SGD: warm-up and the bound on gradients stay, weights do not decay."""
    kept = recipe.optimizer
    rule = Optimizer(name="sgd", lr=rate, momentum=momentum, clip_norm=kept.clip_norm, warmup=kept.warmup)
    return dataclasses.replace(recipe, optimizer=rule)


def _changed(params: Params, parent: Recipe) -> dict[str, tuple[Recipe, ...]]:
    """Forks in which a part is held, frozen, or moves by more or less from the first step on."""
    act, early = params.fork_at[ACT], params.fork_at[EARLY]
    held, boosted, damped = (
        [change(parts=(f"L{LAYER}H{head}",)) for head in HEADS]
        for change in (Hold, partial(Scale, factor=BOOST), partial(Scale, factor=1 / BOOST))
    )
    frozen = {FROZEN: act, FROZEN_EARLY: early}
    done = [
        *((HELD, held, act, params.act_seeds), (HELD_EARLY, held, early, params.act_seeds)),
        *(((arm,), (_queries_and_keys(parent),), at, params.act_seeds) for arm, at in frozen.items()),
        *((BOOSTED, boosted, act, params.boost_seeds), (BOOSTED_EARLY, boosted, early, params.boost_seeds)),
        (DAMPED, damped, act, params.exchange_seeds),
    ]
    return {
        arm: tuple(_fork(params, parent, at, order, (change,)) for order in orders)
        for arms, changes, at, orders in done
        for arm, change in zip(arms, changes, strict=True)
    }


def _never_loose(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Networks of SGD formation with queries and keys frozen from the start; drawn wide, for half as many steps more.

    The pilot of these learnt to read shortly before the end of the others.
    """
    made = {NEVER_LOOSE: [], NEVER_LOOSE_WIDE: []}
    for seed in params.frozen_seeds:
        small, longer = (network_of(params, seed, share) for share in (1.0, 1.5))
        wide = drawn_wide(longer)
        made[NEVER_LOOSE].append(dataclasses.replace(small, during=(_queries_and_keys(small),)))
        made[NEVER_LOOSE_WIDE].append(dataclasses.replace(wide, during=(_queries_and_keys(wide),)))
    return {arm: tuple(of_arm) for arm, of_arm in made.items()}


def _given(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Networks of SGD formation one head of which looks so many words back, at nothing else, from the first step on."""
    made = {}
    for arm, behind in {GIVEN: 1, GIVEN_TWO: 2}.items():
        told = (Clamp(parts=(f"L{LAYER}H{TOLD}",), behind=behind),)
        networks = [network_of(params, seed, part_of(params, PARTS[arm])) for seed in params.frozen_seeds]
        made[arm] = tuple(dataclasses.replace(network, during=told, engine="torch") for network in networks)
    return made


def _exchanged(params: Params, parent: Recipe, first: Recipe) -> dict[str, tuple[Recipe, ...]]:
    """Forks of the parent and of its first fork from one step on, each with its own heads and with the other's.

    Heads take their moments along. All end with the forks that end last.
    """
    act, heads = params.fork_at[ACT], tuple(f"L{LAYER}H{head}" for head in HEADS)
    span = steps_between(params, act, latest(params))
    given = [((), ()), tuple((Graft(parts=heads, source=(other.sha256, act)),) for other in (first, parent))]
    return {
        arm: tuple(
            dataclasses.replace(_fork(params, stays, act, order, during), **span) for order in params.exchange_seeds
        )
        for arms, changes in zip((OWN_HEADS, OTHERS_HEADS), given, strict=True)
        for arm, stays, during in zip(arms, (parent, first), changes, strict=True)
    }


def _fork(params: Params, parent: Recipe, at: int, order: int | None, during: tuple[During, ...] = ()) -> Recipe:
    """The parent from step ``at`` on, with another order of the data or, without one, its own.

    Nothing of a fork is drawn from its ``init_seed``: here it names the order, so that each has one number an arm.
    """
    seeds = {} if order is None else {"init_seed": order, "data_seed": ORDER_OFFSET + order}
    span = steps_between(params, at, latest(params) if at in params.fork_at[:2] else params.steps)
    return dataclasses.replace(parent, parent=(parent.sha256, at), during=during, **seeds, **span)


def _queries_and_keys(recipe: Recipe) -> Freeze:
    """Their matrices in every head do not move."""
    model = recipe.model
    return Freeze(
        parts=tuple(f"L{layer}H{head}.QK" for layer in range(model.n_layers) for head in range(model.n_heads))
    )


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """Answers and attention of every checkpoint; of networks links and what the loss pushes, of forks parts removed.

    Of networks trained by SGD parts removed, too, in place of links; of those that its rate was chosen by, the loss. Of
    forks from one point on also what their updates are made of; of the parent and its replay the weights' hashes.
    """
    n_looked = min(N_LOOKED, params.n_rows)
    asked = Counts(n_rows=params.n_rows, n_looked=n_looked)
    if arm == LARGE:  # SGD formation measures it; here its forks go on from it
        return ()
    if arm == RATED:
        return (Instrument(name="measurements", version=1, measures=reached, settings=asked),)
    found = (Instrument(name="measurements", version=1, measures=routes, settings=asked),)
    if arm in (*ELSEWHERE, LARGE_PARENT, *LARGE_FORKS, DRAWN_WIDE, DRAWN_WIDE_FORKS, *TWICE, *TWICE_SMALL):
        return found
    if arm == DRAWN_FORK:
        return (*found, links(params.n_rows))
    if arm in (PARENT, REPLAY):
        tested = (links(params.n_rows),) if arm == PARENT else ()
        return (*found, Instrument(name="fingerprints", version=1, measures=fingerprints), *tested)
    if arm in (NETWORKS, DESCENT):
        pushed = Counts(n_rows=min(N_PUSHED, params.n_rows), n_looked=n_looked)
        found = (*found, Instrument(name="pushes", version=1, measures=pushes, settings=pushed))
    if arm == NETWORKS:
        return (*found, links(params.n_rows))
    if arm in (*ORDERS, DESCENT):
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
