"""How well streams can be foreseen at best, against every stream that small laws can make, listed by loops."""

import itertools
import math

import numpy as np
import pytest
import torch

from circuitcore.tasks import TaskError, make_task
from circuitcore.tasks.stream_balance import read_odds, write_odds
from circuitcore.tasks.stream_floor import enough, foreseen_source, our_parts, source_parts
from circuitcore.tasks.stream_kv import SHAPES, Shape
from circuitcore.tasks.streams import NOTHING, READ, WRITE, Events

SOURCE = make_task("stream_kv", {"n_train": 300, "n_eval": 40})
SHAPE = Shape(keys=(2, 3), overwrites=(2, 3), reads=(1, 3), lags=(1, 2))
N_WORDS = 4
TINY = make_task(
    "balanced_stream",
    {
        "n_keys": 3, "n_lags": 4, "n_writes": 5, "n_reads": 3, "ood_keys": 3, "ood_lags": 4, "ood_writes": 5,
        "ood_reads": 3, "n_key_words": 4, "n_value_words": 12, "n_held_out": 3,
    },
)  # fmt: skip


# ---- the source's law, by the steps of its generator ----


def plans(keys, n_overwrites):
    """Every plan of writes for keys in the order in which they were drawn, with its probability."""
    found = [(list(order), 1 / math.factorial(len(keys))) for order in itertools.permutations(keys)]
    for _ in range(n_overwrites):
        more = []
        for plan, share in found:
            others = [key for key in keys if key != plan[-1]]
            fewest = min(plan.count(key) for key in others)
            may = [key for key in others if plan.count(key) == fewest]
            more += [([*plan, key], share / len(may)) for key in may]
        found = more
    return found


def places(plan, n_keys):
    """Where a plan can be read: (slot, key)."""
    found = []
    for slot in range(len(plan)):
        for key in set(plan[: slot + 1]):
            support = max(at for at in range(slot + 1) if plan[at] == key)
            if SHAPE.lags[0] <= slot - support <= SHAPE.lags[1] and support >= n_keys:
                found.append((slot, key))
    return found


def streams_of_the_source():
    """Every structure (kind, key) of a stream -> its probability."""
    found, kinds = {}, list(itertools.product(*(range(low, high + 1) for low, high in SHAPE[:3])))
    by_kind = {}
    for n_keys, n_overwrites, n_reads in kinds:
        made = {}
        for keys in itertools.permutations(range(N_WORDS), n_keys):
            for plan, share in plans(keys, n_overwrites):
                candidates = places(plan, n_keys)
                chosen = list(itertools.permutations(candidates, n_reads))
                for reads in chosen:  # in the order of the sample, which a slot's shuffle leaves uniform
                    ordered = sorted(reads, key=lambda read: read[0])
                    events = []
                    for slot, key in enumerate(plan):
                        events += [("W", key), *(("R", asked) for at, asked in ordered if at == slot)]
                    weight = share / len(chosen) / math.perm(N_WORDS, n_keys)
                    made[tuple(events)] = made.get(tuple(events), 0) + weight
        # A plan with too few places is drawn anew; each kind that has any plan is as likely as another.
        total = sum(made.values())
        by_kind[n_keys, n_overwrites, n_reads] = (
            {events: share / total for events, share in made.items()} if made else {}
        )
    possible = [streams for streams in by_kind.values() if streams]
    for streams in possible:
        for events, share in streams.items():
            found[events] = found.get(events, 0) + share / len(possible)
    return found


def columns(streams):
    """Structures as arrays; a value is the number of the event, so that none repeats."""
    longest = max(map(len, streams))
    kind = np.array(
        [[{"W": WRITE, "R": READ}[of] for of, _ in row] + [NOTHING] * (longest - len(row)) for row in streams]
    )
    key = np.array([[key for _, key in row] + [0] * (longest - len(row)) for row in streams])
    return kind, key, np.tile(np.arange(longest), (len(streams), 1))


def test_structures_of_the_source_have_the_probability_that_its_generator_gives_them():
    """Up to the share of plans without room, which the generator tries 256 times."""
    streams = streams_of_the_source()
    allowed = np.ones((N_WORDS, 20), dtype=bool)
    found = source_parts(columns(streams), SHAPE, allowed, np.ones(len(streams)))
    shares = np.array([*streams.values()])
    assert len(streams) == 1008 and shares.sum() == pytest.approx(1)
    assert np.exp(-found.nats["structure"]) == pytest.approx(shares, rel=1e-9)
    entropy = -(shares * np.log(shares)).sum()
    assert (shares * found.nats["structure"]).sum() == pytest.approx(entropy, rel=1e-12)


def test_room_for_reads_is_counted_as_a_loop_counts_it():
    for n_keys, n_overwrites in ((2, 8), (3, 5), (4, 4)):
        listed = [(len(places(plan, n_keys)), share) for plan, share in plans(range(n_keys), n_overwrites)]
        for n_reads in range(1, 10):
            wanted = sum(share for room, share in listed if room >= n_reads)
            assert enough(n_keys, n_overwrites, n_reads, SHAPE.lags) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("split", ["test_iid", "heldout_pairs", "structural_ood"])
def test_values_of_the_source_cost_the_logarithm_of_what_is_left_to_choose(split):
    wanted = []
    for record in SOURCE.records_of(split):
        used, nats = set(), 0
        for key, value in record.writes:
            held = SOURCE.held_out[key].tolist()
            nats += math.log(sum(held[one] == SHAPES[split].held_out for one in range(128) if one not in used))
            used.add(value)
        wanted.append(nats)
    found = foreseen_source(SOURCE, split)
    assert found.nats["values"] == pytest.approx(np.array(wanted), rel=1e-12)
    total = found.nats["values"].sum() + found.nats["structure"].sum()
    assert found.floor == pytest.approx(total / int(SOURCE.split(split).loss_mask.sum()))


# ---- our law ----


def streams_of_ours():
    """Every structure of a stream of the tiny task, ((kind, key), ...), -> its probability."""
    law, found = TINY.law, {}

    def spread(events, share, last, left):
        """Go on from a stream: ``last`` holds the keys written, ``left`` after which writes other reads are to come."""
        number = len(last)
        keys = [*dict.fromkeys(last)]
        lags = np.array([number - 1 - max(at for at in range(number) if last[at] == key) for key in keys])
        if left and left[0] == number - 1:
            odds = read_odds(law, np.array(number - 1), lags)
            for key, odd in zip(keys, odds / odds.sum(), strict=True):
                spread([*events, (READ, key)], share * odd, last, left[1:])
        elif number == law.n_writes:
            found[tuple(events)] = found.get(tuple(events), 0) + share
        else:
            if number < law.n_keys:
                options = {key: 1 / (TINY.n_key_words - number) for key in range(TINY.n_key_words) if key not in keys}
            else:
                odds = write_odds(law, lags)
                options = {key: odd for key, odd in zip(keys, odds / odds.sum(), strict=True) if odd}
            for key, odd in options.items():
                spread([*events, (WRITE, key)], share * odd, [*last, key], left)

    for slots in itertools.product(law.slots, repeat=law.n_reads):
        spread([], len(law.slots) ** -law.n_reads, [], sorted(slots))
    return found


def with_values(structure):
    """One way to give a structure values, as events, with how many each write could have been given."""
    latest, used, events, free = {}, [], [], []
    for kind, key in structure:
        if kind == WRITE:
            held = TINY.held_out[key].tolist()
            may = [value for value in range(TINY.n_value_words) if not held[value] and value not in used]
            latest[key] = may[(3 * key + len(used)) % len(may)]
            used.append(latest[key])
            free.append(len(may))
        events.append((kind, key, latest[key]))
    return events, free


@pytest.fixture(scope="module")
def ours():
    streams = streams_of_ours()
    given = [with_values(structure) for structure in streams]
    events = Events(*torch.tensor([events for events, _ in given]).unbind(-1))
    free = np.array([free for _, free in given])
    return streams, our_parts(TINY, TINY.words.batch(events), TINY.law), free


def test_streams_of_ours_have_the_probability_that_their_law_gives_them(ours):
    streams, found, free = ours
    shares, nats = np.array([*streams.values()]), found.nats["events"] + found.nats["keys"]
    assert len(streams) > 5000 and shares.sum() == pytest.approx(1)
    assert np.exp(-nats) == pytest.approx(shares, rel=1e-9)
    assert (shares * nats).sum() == pytest.approx(-(shares * np.log(shares)).sum(), rel=1e-12)
    assert found.nats["values"] == pytest.approx(np.log(free).sum(1), rel=1e-12)


def test_right_guesses_are_those_of_the_likeliest_next_token(ours):
    """Of each prefix the likeliest next token, by adding up the probabilities of all streams that begin so."""
    streams, found, free = ours
    prefixes = {}
    for events, share in streams.items():
        tokens = [token for event in events for token in event]
        for end in range(len(tokens)):
            after = prefixes.setdefault(tuple(tokens[:end]), {})
            after[tokens[end]] = after.get(tokens[end], 0) + share
    shares = np.array([*streams.values()])
    right = 1 + TINY.n_reads + (shares * (1 / free).sum(1)).sum()  # the end, the answers, and values by luck
    right += sum(max(after.values()) for after in prefixes.values())
    assert (shares * found.guessed).sum() == pytest.approx(right, rel=1e-12)


def test_rows_that_are_drawn_cost_what_was_counted(ours):
    streams, found, _ = ours
    shares, drawn = np.array([*streams.values()]), our_parts(TINY, TINY.draw("test", 20_000, 5), TINY.law)
    for part in ("events", "keys"):
        assert drawn.nats[part].mean() == pytest.approx((shares * found.nats[part]).sum(), rel=0.01)
    assert drawn.floor == pytest.approx(sum(drawn.nats[part].mean() for part in drawn.nats) / (3 * 8 + 1))
    assert 0 < drawn.token_accuracy < 1


def test_rows_whose_reads_were_chosen_first_are_refused():
    with pytest.raises(TaskError, match="unknown split that is drawn by a law 'counterfactual'"):
        foreseen_source(SOURCE, "counterfactual")
    with pytest.raises(TaskError, match="likeliest next token is not counted"):
        _ = foreseen_source(SOURCE, "test_iid").token_accuracy


def test_longer_streams_are_foreseen_by_their_own_law():
    task = make_task("balanced_stream", {})
    one, other = (our_parts(task, task.draw(split, 2000, 1), task.law).floor for split in ("validation", "test"))
    assert one == pytest.approx(other, rel=0.01)
    longer = task.draw("structural_ood", 2000, 1)
    assert our_parts(task, longer, task.ood_law).floor > 1.02 * one
