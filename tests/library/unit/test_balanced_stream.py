"""Our benchmark of streams: lags balanced, shortcuts refused, positions trained, twins that differ in values alone."""

import hashlib

import numpy as np
import pytest
import torch

from circuitcore.tasks import TaskError, make_task
from circuitcore.tasks.kv_sampling import random_bits
from circuitcore.tasks.stream_balance import Law, draw, read_odds, read_weights, write_odds
from circuitcore.tasks.stream_rules import ALLOWED, scores
from circuitcore.tasks.streams import READ

TASK = make_task("balanced_stream", {})
SMALL = Law(n_keys=3, n_lags=5, n_writes=6, n_reads=2)


def digest(batch):
    return hashlib.sha256(batch.tokens.numpy().tobytes() + batch.targets.numpy().tobytes()).hexdigest()[:16]


def by_enumeration(law):
    """Slot -> {(lag, rank): share}, over every sequence of keys, by a loop."""
    rows = [((*range(law.n_keys),), 1.0)]
    found = {}
    for number in range(law.n_keys - 1, law.n_writes):
        if number >= law.n_keys:
            more = []
            for keys, share in rows:
                last = np.array([max(at for at, key in enumerate(keys) if key == one) for one in range(law.n_keys)])
                odds = write_odds(law, number - 1 - last)
                more += [((*keys, one), share * odds[one] / odds.sum()) for one in range(law.n_keys) if odds[one]]
            rows = more
        if number in law.slots:
            found[number] = {}
            for keys, share in rows:
                last = np.array([max(at for at, key in enumerate(keys) if key == one) for one in range(law.n_keys)])
                odds = read_odds(law, np.array(number), number - last)
                for one, odd in enumerate(odds / odds.sum()):
                    place = (number - last[one], int((last > last[one]).sum()))
                    found[number][place] = found[number].get(place, 0) + share * odd
    return found


def test_the_rows_do_not_move():
    assert digest(TASK.split("test")) == "d8ab0a259fcf185c"
    assert digest(TASK.draw("train", 64, 2**32 - 1)) == "b82d9144b7edc27c"


@pytest.mark.parametrize("law", [SMALL, Law(n_keys=4, n_lags=6, n_writes=7, n_reads=1)])
def test_every_lag_and_every_rank_is_asked_equally_often_after_every_write(law):
    for shares in by_enumeration(law).values():
        lags, ranks = np.zeros(law.n_lags), np.zeros(law.n_keys)
        for (lag, rank), share in shares.items():
            lags[lag] += share
            ranks[rank] += share
        assert lags == pytest.approx(np.full(law.n_lags, 1 / law.n_lags), abs=1e-4)
        assert ranks[1:] == pytest.approx(np.full(law.n_keys - 1, (1 - 1 / law.n_lags) / (law.n_keys - 1)), abs=1e-4)


@pytest.mark.parametrize("split", TASK.splits)
def test_lags_of_every_split_are_balanced(split):
    reads, law = TASK.reads(split), TASK.ood_law if split == "structural_ood" else TASK.law
    assert set(reads.lag.tolist()) == set(range(law.n_lags)) and set(reads.slot.tolist()) == set(law.slots)
    for slot in (None, *law.slots):
        lags = reads.lag if slot is None else reads.lag[reads.slot == slot]
        off = (lags.bincount().double() / len(lags) - 1 / law.n_lags).abs().max().item()
        assert off < 4.5 * (law.n_lags * len(lags)) ** -0.5


def test_what_is_drawn_has_the_shares_that_were_counted():
    drawn = draw(SMALL, 20_000, random_bits(1, "test"))
    for slot, shares in by_enumeration(SMALL).items():
        lag = (drawn.slot - drawn.support)[drawn.slot == slot]
        assert (lag >= 0).all() and len(lag) > 15_000
        for number in range(SMALL.n_lags):
            wanted = sum(share for (place, _), share in shares.items() if place == number)
            assert (lag == number).mean() == pytest.approx(wanted, abs=0.015)


@pytest.mark.parametrize("split", TASK.splits)
def test_no_rule_of_the_family_is_more_than_five_points_above_chance(split):
    family = [score for score in scores(TASK, split) if score.rule.kind not in ("the source's", "matches keys")]
    over_all = [score for score in family if score.n_keys == 0]
    assert len(over_all) > 200
    assert max(score.share - score.chance for score in over_all) <= ALLOWED
    assert all(score.chance == pytest.approx(1 / (8 if split == "structural_ood" else 7)) for score in family)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        # Few rows, so that some rule is right by accident.
        ({"n_eval": 4}, r"split '\w+': the rule '.*' \(.*\) is right on \d+\.\d% of \d+ reads; allowed: \d+\.\d%"),
        (
            {"n_keys": 4, "n_lags": 6, "n_writes": 12, "ood_keys": 6, "ood_lags": 10, "ood_writes": 12, "ood_reads": 5},
            r"split 'train': the rule '.* writes back if the key is among the last .*' \(one bit\) is right on",
        ),
    ],
)
def test_a_shortcut_is_refused_with_rule_split_score_and_what_is_allowed(params, message):
    with pytest.raises(TaskError, match=message):
        make_task("balanced_stream", params).split("test")


def test_every_position_that_is_read_is_trained_on():
    trained = set(TASK.reads("train").at.tolist())
    for split in TASK.splits:
        assert set(TASK.reads(split).at.tolist()) <= trained
    with pytest.raises(TaskError, match=r"reads among its events 12\.\.18; allowed: .* 13\.\.18"):
        make_task("balanced_stream", {"n_lags": 13, "ood_lags": 12})


def test_twins_differ_from_held_out_rows_in_the_values_asked_for_alone():
    held, twin = TASK.split("heldout_pairs"), TASK.split("heldout_twins")
    ours, theirs = TASK.reads("heldout_pairs"), TASK.reads("heldout_twins")
    for name in ("row", "at", "key", "support", "lag", "slot", "n_keys", "stale", "seen"):
        assert torch.equal(getattr(ours, name), getattr(theirs, name))
    assert ours.held_out.all() and not theirs.held_out.any() and (ours.answer != theirs.answer).all()
    differs = torch.zeros_like(held.tokens, dtype=torch.bool)
    differs[ours.row, ours.support] = True
    answered = ours.pick(ours.at + 1 < held.tokens.shape[1])
    differs[answered.row, answered.at + 1] = True
    assert torch.equal(held.tokens != twin.tokens, differs)


def test_held_out_pairs_are_spread_over_keys_and_written_nowhere_else():
    assert TASK.held_out.sum(1).tolist() == [6] * 10 and TASK.held_out.sum(0).max() == 1
    for split in TASK.splits:
        writes, reads = TASK.writes(split), TASK.reads(split)
        held = TASK.held_out[writes.key - TASK.words.first_key, writes.value - TASK.words.first_value]
        asked = {*zip(reads.row.tolist(), reads.support.tolist(), strict=True)} if split == "heldout_pairs" else set()
        assert {*zip(writes.row[held].tolist(), writes.position[held].tolist(), strict=True)} == asked


@pytest.mark.parametrize("split", TASK.splits)
def test_no_value_repeats_in_a_row_and_none_grows_too_old(split):
    batch = TASK.split(split)
    law = TASK.ood_law if split == "structural_ood" else TASK.law
    writes = TASK.writes(split)
    values = writes.value.view(len(batch), law.n_writes)
    assert (values.sort(1).values.diff(dim=1) > 0).all()
    keys = writes.key.view(len(batch), law.n_writes)
    assert all(len(set(row)) == law.n_keys for row in keys[:, : law.n_keys].tolist())
    for end in range(law.n_lags, law.n_writes + 1):
        window = keys[:, end - law.n_lags : end].sort(1).values
        assert ((window.diff(dim=1) > 0).sum(1) + 1 == law.n_keys).all()
    assert ((TASK.words.events(batch).kind == READ).sum(1) == law.n_reads).all()


def test_fresh_rows_are_a_function_of_the_seed_and_of_the_split():
    one, again, other = (TASK.draw("train", 50, seed) for seed in (3, 3, 4))
    assert torch.equal(one.tokens, again.tokens) and not torch.equal(one.tokens, other.tokens)
    assert not torch.equal(one.tokens, TASK.draw("test", 50, 3).tokens)
    with pytest.raises(TaskError, match="unknown split 'tests'; did you mean 'test'"):
        TASK.draw("tests", 1, 0)


def test_weights_are_whole_numbers_that_no_key_is_without():
    weights = read_weights(TASK.law)
    assert weights.dtype == np.int64 and weights.min() >= 1 and weights.max() == 2**30


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_keys": 11}, r"n_keys = 11; allowed: 2\.\.10, as n_key_words says"),
        ({"n_lags": 15}, r"n_lags = 15; allowed: 7\.\.14, from n_keys to n_writes"),
        ({"n_reads": 0}, "n_reads = 0; allowed: an integer >= 1"),
        ({"n_held_out": 7}, r"n_held_out = 7; allowed: 5\.\.6"),
        ({"n_value_words": 25, "n_key_words": 8}, "n_value_words = 25; allowed: at least 26"),
    ],
)
def test_parameters_that_no_rows_can_meet_are_refused(params, message):
    with pytest.raises(TaskError, match=message):
        make_task("balanced_stream", params)
