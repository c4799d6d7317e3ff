"""Conditional retrieval: a worked example, where things stand, and what one of two symbols is worth."""

import hashlib

import pytest
import torch

from circuitcore.tasks import TaskError, make_task

ONE = make_task("conditional_retrieval", {})
TWO = make_task("conditional_retrieval", {"n_steps": 2})


def symbols_at(batch, role):
    row = torch.arange(len(batch))[:, None]
    return batch.tokens[row, batch.roles[role], :4]


def named(batch, row):
    """The row in letters: every symbol gets one where it first stands."""
    letters, found = {}, []
    for vector in batch.tokens[row, :, :4].tolist():
        found.append(letters.setdefault(tuple(vector), "abcdefghijklmnopqrstuvwxyz"[len(letters)]))
    return "".join(found)


def test_one_row_worked_by_hand():
    """Triples, right pairs, left pairs, queries. Asked for j: a on the left, b on the right, so c."""
    batch = ONE.split("test")
    row = named(batch, 0)
    triples, rights, lefts, queries = row[:12], row[12:20], row[20:28], row[28:]
    assert (triples, rights, lefts, queries) == EXAMPLE
    left = {lefts[at]: lefts[at + 1] for at in range(0, 8, 2)}
    right = {rights[at]: rights[at + 1] for at in range(0, 8, 2)}
    answer = {triples[at : at + 2]: triples[at + 2] for at in range(0, 12, 3)}
    where = {letter: batch.tokens[0, row.index(letter), :4] for letter in row}
    for letter, targets in zip(queries, batch.targets[0, -4:], strict=True):
        way = left[letter], right[letter], answer[left[letter] + right[letter]]
        assert torch.equal(targets, torch.cat([where[symbol] for symbol in way]))


EXAMPLE = ("abcdefdbgaeh", "iejbkble", "kdjaidla", "jkil")


def test_the_rows_stay_what_they_are():
    batch = TWO.draw("train", 64, 2**32 - 1)
    assert hashlib.sha256(batch.tokens.numpy().tobytes()).hexdigest()[:16] == "57157b6e62c283ec"


def test_entries_hold_the_symbols_of_one_chain():
    batch = TWO.split("test")
    for role, same in (
        *(("queries", key) for key in ("left_key_0", "right_key_0")),
        *((f"left_{k}", f"by_left_{k}") for k in (0, 1)),
        *((f"right_{k}", f"by_right_{k}") for k in (0, 1)),
        *(("answer_0", key) for key in ("left_key_1", "right_key_1")),
    ):
        assert torch.equal(symbols_at(batch, role), symbols_at(batch, same)), (role, same)
    assert batch.tokens.shape == (256, 4 * (7 * 2 + 1), 8)


def test_each_block_holds_one_kind_of_entry_the_farthest_first():
    batch = TWO.split("test")
    begin = 0
    for role, width in (("by_left_1", 3), ("right_key_1", 2), ("left_key_1", 2)):
        assert torch.equal(batch.roles[role].sort(1).values, (begin + width * torch.arange(4)).expand(256, 4)), role
        begin += width * 4
    assert (batch.roles["by_left_0"] >= begin).all()
    assert torch.equal(batch.roles["queries"].sort(1).values, torch.arange(56, 60).expand(256, 4))


def test_each_pair_of_symbols_belongs_to_one_chain_and_either_alone_to_two():
    batch = make_task("conditional_retrieval", {"n_options": 3, "n_test": 32}).split("test")
    left, right = (symbols_at(batch, f"by_{side}_0").double() for side in ("left", "right"))
    same = [(side[:, :, None] == side[:, None]).all(-1) for side in (left, right)]
    assert torch.equal(same[0] & same[1], torch.eye(9, dtype=torch.bool).expand(32, -1, -1))
    assert all((one.sum(-1) == 3).all() for one in same)


@pytest.mark.parametrize(("known", "level"), [((), 0.75), (("by_left_0",), 0.5), (("by_right_0",), 0.5)])
def test_one_of_two_symbols_is_worth_a_third_of_what_is_missing(known, level):
    batch = make_task("conditional_retrieval", {"n_test": 20_000, "targets": [3]}).split("test")
    answers = symbols_at(batch, "answer_0")
    alike = torch.ones(20_000, 4, 4)
    for role in known:
        symbols = symbols_at(batch, role)
        alike *= (symbols[:, :, None] == symbols[:, None]).all(-1)
    guess = (alike @ answers) / alike.sum(-1, keepdim=True)
    assert (guess - answers).square().mean() == pytest.approx(level, abs=0.01)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_options": 1}, "n_options = 1; allowed: an integer >= 2"),
        ({"n_steps": 0}, "n_steps = 0; allowed: an integer >= 1"),
        ({"d_symbol": 5}, "d_symbol = 5; allowed: an even integer"),
        ({"targets": [4]}, r"targets = \[4\]; allowed: symbols on the way, 1..3"),
        ({"n_options": 13}, "n_options = 13 with n_steps = 1 = 1,352 tokens; allowed: at most 1,000"),
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_what_makes_no_rows_is_refused(params, message):
    with pytest.raises(TaskError, match=message):
        make_task("conditional_retrieval", params)
