"""The published benchmark, byte for byte: against facts about it that were read off the source's own files."""

import hashlib
import json
from pathlib import Path

import pytest
import torch

from circuitcore.tasks import TaskError, make_task
from circuitcore.tasks.streams import READ, WRITE

REFERENCE = json.loads((Path(__file__).parents[2] / "support/stream_kv_reference.json").read_text())
TASK = make_task("stream_kv", {})
SMALL = make_task("stream_kv", {"n_train": 60, "n_eval": 20})
of_every_split = pytest.mark.parametrize("split", REFERENCE["splits"])


def counts(values):
    found = values.bincount()
    return {str(value): int(found[value]) for value in found.nonzero()[:, 0].tolist()}


def replayed(words):
    """Reads of a stream by a loop over its words: (position of the key, key, answer, support, lag, keys, slot)."""
    latest, found, number = {}, [], 0
    for at in range(1, len(words) - 2, 3):
        kind, key, value = words[at : at + 3]
        if kind == "W":
            latest[key], number = (value, at + 2, number), number + 1
        elif kind == "R":
            answer, support, written = latest[key]
            found.append((at + 1, key, answer, support, number - 1 - written, len(latest), number - 1))
            assert answer == value
    return found


def whole(task, split):
    """Rows with their last token."""
    batch = task.split(split)
    return torch.cat((batch.tokens, batch.targets[:, -1:]), 1)


@of_every_split
def test_the_first_record_is_the_published_one(split):
    words = [TASK.vocab[token] for token in whole(TASK, split)[0].tolist()]
    assert " ".join(word for word in words if word != "<pad>") == REFERENCE["splits"][split]["first"]


@of_every_split
def test_counts_are_the_published_ones(split):
    fact, reads, batch = REFERENCE["splits"][split], TASK.reads(split), TASK.split(split)
    kinds = TASK.words.events(batch).kind
    assert (len(batch), len(reads), int(batch.loss_mask.sum())) == (fact["rows"], fact["reads"], fact["targets"])
    assert counts(reads.lag) == fact["lags"]
    assert counts((kinds == WRITE).sum(1)) == fact["writes"]
    assert counts((whole(TASK, split) != 0).sum(1)) == fact["tokens"]
    last = (kinds == READ).sum(1).cumsum(0) - 1
    assert counts(reads.n_keys[last]) == fact["keys"]
    distance = reads.at + 1 - reads.support
    assert [int(distance.min()), int(distance.max())] == fact["distance"]
    assert distance.double().mean().item() == pytest.approx(fact["mean_distance"], abs=1e-12)
    assert int(reads.at.max()) == fact["last_position"]
    assert reads.seen.double().mean().item() == pytest.approx(fact["read_before"], abs=1e-12)


def test_held_out_pairs_are_the_published_ones():
    pairs = [f"K{key:02d}:V{value:03d}" for key, value in TASK.held_out.nonzero().tolist()]
    assert len(pairs) == 102
    assert hashlib.sha256("\n".join(sorted(pairs)).encode()).hexdigest() == REFERENCE["held_out_sha256"]


@of_every_split
def test_held_out_pairs_are_written_in_their_split_alone(split):
    writes = TASK.writes(split)
    held = TASK.held_out[writes.key - TASK.words.first_key, writes.value - TASK.words.first_value]
    assert held.all() if split == "heldout_pairs" else not held.any()
    assert torch.equal(TASK.reads(split).held_out, torch.full((len(TASK.reads(split)),), split == "heldout_pairs"))


@of_every_split
def test_reads_and_writes_agree_with_a_replay_of_the_words(split):
    reads, writes = SMALL.reads(split), SMALL.writes(split)
    columns = (reads.at, reads.key, reads.answer, reads.support, reads.lag, reads.n_keys, reads.slot)
    for row, tokens in enumerate(whole(SMALL, split)):
        words = [SMALL.vocab[token] for token in tokens.tolist()]
        found = [column[reads.row == row].tolist() for column in columns]
        named = [
            [SMALL.vocab[token] for token in column] if place in (1, 2) else column
            for place, column in enumerate(found)
        ]
        assert list(zip(*named, strict=True)) == replayed(words)
        written = [words[at : at + 3] for at in range(1, len(words) - 2, 3) if words[at] == "W"]
        of_row = writes.pick(writes.row == row)
        assert [
            [SMALL.vocab[key], SMALL.vocab[value]] for key, value in zip(of_row.key, of_row.value, strict=True)
        ] == [pair[1:] for pair in written]
        assert of_row.index.tolist() == list(range(len(written)))
        assert torch.equal(tokens[of_row.position], of_row.value)


def test_only_overwritten_values_are_asked_for_and_none_that_was_written_last():
    for split in TASK.splits:
        reads = TASK.reads(split)
        assert reads.stale.min() >= 1 and reads.lag.min() >= 1


def test_counterfactual_rows_differ_from_test_rows_in_one_written_value_and_its_reads():
    bases = {}
    for record in TASK.records_of("test_iid"):
        bases.setdefault((record.reads, tuple(key for key, _ in record.writes)), []).append(record)
    for record in TASK.records_of("counterfactual"):
        alike = bases[record.reads, tuple(key for key, _ in record.writes)]
        changes = [{at for at in range(len(base.writes)) if base.writes[at] != record.writes[at]} for base in alike]
        (at,) = min(changes, key=len)
        assert at in {read.support for read in record.reads}


def test_chance_is_one_over_the_current_values():
    assert TASK.chance["train"] == pytest.approx((1 / TASK.reads("train").n_keys.double()).mean().item())
    assert 1 / 3 < TASK.chance["test_iid"] < 1 / 2 and 1 / 5 < TASK.chance["structural_ood"] < 1 / 4


@pytest.mark.parametrize("params", [{"n_train": 0}, {"n_eval": -1}, {"seed": -1}])
def test_numbers_that_make_no_rows_are_refused(params):
    ((key, value),) = params.items()
    with pytest.raises(TaskError, match=f"{key} = {value}; allowed: an integer >= "):
        make_task("stream_kv", params)
    with pytest.raises(TaskError, match="unknown split 'test'"):
        TASK.records_of("test")


def test_a_seed_that_holds_out_too_few_pairs_of_a_key_is_refused_by_name():
    with pytest.raises(TaskError, match="seed = 8: held-out pairs leave key"):
        make_task("stream_kv", {"seed": 8}).split("train")
