"""Chains of several lengths: the shorter ones are chains too, padded behind the last query, and lengths are even."""

import hashlib

import pytest
import torch

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.tasks import TaskError, make_task

TASK = make_task("chain_lengths", {"n_steps": 3})
LONG = make_task("chain_retrieval", {"n_steps": 3, "targets": [3]})


def answers(inputs):
    """The last symbol of each query's chain, in the order of the queries, by following pairs, and how many look-ups."""
    symbols = [tuple(vector[:4]) for vector in inputs[inputs.abs().sum(-1) > 0].tolist()]
    follows, wanted = dict(zip(symbols[:-4:2], symbols[1:-4:2], strict=True)), []
    for symbol in symbols[-4:]:
        while symbol in follows:
            symbol = follows[symbol]
        wanted.append(symbol)
    return torch.tensor(wanted), len(follows) // 4


@pytest.mark.parametrize("split", TASK.splits)
def test_every_row_wants_the_ends_of_its_chains(split):
    batch = TASK.split(split)
    lengths = set()
    for inputs, targets, mask, read_out, queries in zip(
        batch.tokens, batch.targets, batch.loss_mask, batch.roles["read_out"], batch.roles["queries"], strict=True
    ):
        wanted, length = answers(inputs)
        lengths.add(length)
        assert torch.equal(targets[mask], wanted)
        assert mask.nonzero().flatten().tolist() == list(range(8 * length, 8 * length + 4)) == sorted(queries.tolist())
        assert read_out == 8 * length + 3 and not inputs[8 * length + 4 :].any()
    assert lengths == ({1, 2, 3} if split == "mixed" else {int(split[-1])} if split.startswith("train_") else {3})


def test_test_rows_are_those_of_the_other_task():
    for split in ("train", "val", "test"):
        ours, theirs = TASK.split(split), LONG.split(split)
        assert torch.equal(ours.tokens, theirs.tokens) and torch.equal(ours.targets, theirs.targets)
        assert set(ours.roles) == set(theirs.roles)


def test_the_lengths_are_equally_frequent_and_the_rows_pinned():
    batch = TASK.draw("mixed", 3_000, 1)
    counts = (batch.roles["read_out"] // 8).bincount()[1:]
    assert (counts - 1_000).abs().max() < 100
    parts = (batch.tokens, batch.targets, batch.roles["queries"])
    digest = hashlib.sha256(b"".join(part.contiguous().numpy().tobytes() for part in parts)).hexdigest()
    assert digest[:16] == "e3036884c215434c"


def test_padding_reaches_nothing_that_is_scored():
    batch = TASK.draw("train_1", 8, 2)
    config = ModelConfig(
        d_vocab=4, n_ctx=28, d_in=8, n_layers=2, n_heads=2, d_model=8, d_mlp=8, positions="none", tied=False
    )
    weights, noise = init_weights(config, 0), torch.randn(8, 16, 8, generator=torch.Generator().manual_seed(0))
    padded = torch.cat((batch.tokens[:, :12], noise), 1)
    said, other = (forward(config, weights, tokens).logits[batch.loss_mask] for tokens in (batch.tokens, padded))
    assert torch.equal(said, other)


def test_targets_are_refused():
    with pytest.raises(TaskError, match=r"targets = \[1\]; allowed: none"):
        make_task("chain_lengths", {"targets": [1]})
