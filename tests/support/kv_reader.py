"""Reads key-value prompts word by word, for tests that must not trust the task's own arithmetic."""

import torch


def parse(task, row):
    """(list of (key, value), queried key) from one row of token ids; fails on any other form."""
    words = [task.vocab[token] for token in row.tolist()]
    assert words[0] == "<bos>" and words[-1] == "->" and words[-3] == "Q"
    body = words[1:-3]
    assert body[2::3] == [";"] * (len(body) // 3)
    return list(zip(body[0::3], body[1::3], strict=True)), words[-2]


def answer(task, row):
    """The word that a row of token ids asks for."""
    pairs, query = parse(task, row)
    return dict(pairs)[query]


def assert_even(column, n_classes):
    """Every class as frequent as the others, within 4.5 standard deviations of an even draw."""
    share = 1 / n_classes
    spread = (len(column) * share * (1 - share)) ** 0.5
    counts = torch.bincount(column, minlength=n_classes)
    assert len(counts) == n_classes
    assert (counts - len(column) * share).abs().max() < 4.5 * spread, counts
