"""Next words of the story, and planted repeats: rows against plain loops over words."""

import itertools
import re
from importlib.resources import files

import pytest
import torch

from circuitcore.tasks import TaskError, make_task
from circuitcore.tasks.next_word import BUCKETS, render
from circuitcore.tasks.story import words

STORY = make_task("story", {})
SMALL = {"n_train": 300, "n_val": 40, "n_test": 40, "n_ood": 40}
PLANTED = make_task("planted_repeats", SMALL)
PHRASES = make_task("planted_repeats", {**SMALL, "n_phrases": 1, "n_phrase": 8})
TEXT = re.findall(r"\w+|[^\w\s]", (files("circuitcore") / "tasks" / "story.txt").read_text(encoding="utf-8"))


def said(task, row):
    return [task.vocab[token] for token in row.tolist()]


def test_the_text_is_as_long_and_as_varied_as_we_say():
    assert len(TEXT) == 1168 and len(set(TEXT)) == 545
    assert list(words()) == TEXT


def test_the_vocabulary_is_the_types_in_order():
    seen = ["<bos>"]
    for word in TEXT:
        if word not in seen:
            seen.append(word)
    assert list(STORY.vocab) == seen


@pytest.mark.parametrize(
    ("split", "start", "end", "n_context"),
    [("train", 24, 934, 24), ("val", 934, 1051, 24), ("test", 1051, 1168, 24), ("ood", 1051, 1168, 40)],
)
def test_rows_are_the_words_before_each_word(split, start, end, n_context):
    batch = STORY.split(split)
    assert len(batch) == end - start
    for row, wanted in enumerate(range(start, end)):
        assert said(STORY, batch.tokens[row]) == ["<bos>", *TEXT[wanted - n_context : wanted]]
        assert STORY.vocab[batch.answers[row]] == TEXT[wanted]


def test_the_worked_example():
    spoken = "She explained the oar , the ladder and the bell".split()
    at = next(i for i in range(len(TEXT)) if TEXT[i : i + len(spoken)] == spoken)
    row = at + len(spoken) - 1 - 24
    batch = STORY.split("train" if row < 910 else "val")
    row -= 0 if row < 910 else 910
    assert said(STORY, batch.tokens[row])[-9:] == spoken[:-1] and STORY.vocab[batch.answers[row]] == "bell"


@pytest.mark.parametrize("task", [STORY, PLANTED], ids=lambda task: task.name)
def test_variables_by_looking_at_the_words(task):
    batches = [*(task.split(name) for name in task.splits), *task.families(20).values()]
    for batch in batches:
        assert set(batch.variables) == set(task.variables)
        for row, tokens in enumerate(batch.tokens.tolist()):
            wanted = int(batch.answers[row])
            copies = [place for place, token in enumerate(tokens) if token == wanted]
            back = len(tokens) - copies[-1] if copies else None
            bucket = (
                "none" if back is None else "1" if back == 1 else "2-4" if back < 5 else "5-8" if back < 9 else "9+"
            )
            assert BUCKETS[batch.variables["repeat_distance_bucket"][row]] == bucket
            assert batch.roles["last_copy"][row] == (copies[-1] if copies else 0)
            assert batch.roles["read_out"][row] == len(tokens) - 1
            assert batch.variables["previous_token"][row] == tokens[-1]
            assert batch.variables["target_token"][row] == wanted
            if "target_seen_in_context" in task.variables:
                assert batch.variables["target_seen_in_context"][row] == bool(copies)


def test_every_bucket_starts_where_it_says():
    contexts = torch.arange(1, 13).repeat(13, 1)
    wanted = torch.tensor([13, *range(12, 0, -1)])  # nowhere, then 1, 2, ... 12 words back
    found = [BUCKETS[bucket] for bucket in render(contexts, wanted).variables["repeat_distance_bucket"]]
    assert found == ["none", "1", *["2-4"] * 3, *["5-8"] * 4, *["9+"] * 4]


def test_families_of_the_story_are_the_last_words():
    bases, families = STORY.bases(32), STORY.families(32)
    assert {name: batch.tokens.shape[1] - 1 for name, batch in families.items()} == {
        "full": 24, "half": 12, "quarter": 6, "last_8": 8, "drop_prefix": 18,
    }  # fmt: skip
    for batch in families.values():
        n_words = batch.tokens.shape[1] - 1
        for row, tokens in enumerate(batch.tokens):
            assert said(STORY, tokens) == ["<bos>", *said(STORY, bases.tokens[row])[-n_words:]]
            assert batch.answers[row] == bases.answers[row] and batch.base[row] == row


def after_last_time(spoken):
    """What followed the last word when it came before; it did so once."""
    (place,) = [place for place, word in enumerate(spoken[:-1]) if word == spoken[-1]]
    return spoken[place + 1]


@pytest.mark.parametrize("task", [PLANTED, PHRASES], ids=["pairs", "phrases"])
@pytest.mark.parametrize("split", ["train", "val", "test", "ood", "full", "half", "quarter", "last_8", "drop_prefix"])
def test_planted_repeats_are_answered_by_what_came_after_last_time(task, split):
    batch = task.split(split) if split in task.splits else task.families(40)[split]
    for row, tokens in enumerate(batch.tokens):
        spoken = said(task, tokens)[1:]
        assert after_last_time(spoken) == task.vocab[batch.answers[row]]
        if split in task.splits:  # a cut may leave the wanted word at its start, without the cue
            assert spoken.count(task.vocab[batch.answers[row]]) == 1


@pytest.mark.parametrize("task", [PLANTED, PHRASES], ids=["pairs", "phrases"])
def test_every_phrase_stands_twice(task):
    """The blocks of a row, read off its words: from the end, cut off what stands twice."""
    batch, n = task.split("train"), task.n_phrase
    for row, context in enumerate(batch.tokens[:, 1:].tolist()):
        spoken = [*context, int(batch.answers[row])]
        blocks = [tuple(spoken[at : at + n]) for at in range(len(spoken) - n + 1)]
        twice = {block for block in blocks if blocks.count(block) == 2 and len(set(block)) == n}
        assert tuple(spoken[-n:]) in twice
        chosen = [found for found in itertools.combinations(sorted(twice), task.n_phrases) if disjoint(found)]
        assert any(all(spoken.count(word) == 2 for block in found for word in block) for found in chosen)


def disjoint(blocks):
    words = [word for block in blocks for word in block]
    return len(set(words)) == len(words)


@pytest.mark.parametrize("task", [PLANTED, PHRASES], ids=["pairs", "phrases"])
def test_the_loss_counts_what_the_row_tells(task):
    batch = task.split("train")
    for row, tokens in enumerate(batch.tokens.tolist()):
        whole = [*tokens, int(batch.answers[row])]
        told = [
            place
            for place in range(len(tokens))
            if any(whole[before : before + 2] == whole[place : place + 2] for before in range(place))
        ]
        assert [place for place, counts in enumerate(batch.loss_mask[row].tolist()) if counts] == told
        assert len(told) >= task.n_phrases * (task.n_phrase - 1) and told[-1] == len(tokens) - 1


def test_planted_phrases_start_everywhere():
    """One phrase of eight words: its first place is one of ten, all alike."""
    task = make_task("planted_repeats", {"n_phrases": 1, "n_phrase": 8, "n_train": 3000})
    starts = task.split("train").roles["last_copy"] - 7
    counts = torch.bincount(starts)
    assert len(counts) == 11 and counts[0] == 0
    assert (counts[1:] / 300 - 1).abs().max() < 0.2


def test_planted_words_are_uniform_enough():
    batch = make_task("planted_repeats", {}).split("train")
    counts = torch.bincount(batch.tokens[:, 1:].flatten(), minlength=33)[1:] / batch.tokens[:, 1:].numel()
    assert (counts * 32 - 1).abs().max() < 0.05
    assert (torch.bincount(batch.answers, minlength=33)[1:] * 32 / len(batch) - 1).abs().max() < 0.15


@pytest.mark.parametrize("task", [STORY, PLANTED], ids=lambda task: task.name)
def test_pairs_differ_in_the_variable_and_in_the_answer(task):
    test = [tuple(row) for row in task.split("test").tokens.tolist()]
    for pairs in task.interchanges(16):
        assert len(pairs) == 32
        for pair in range(len(pairs)):
            base, source = int(pairs.base.base[pair]), test.index(tuple(pairs.source.tokens[pair].tolist()))
            classes = task.split("test").variables[pairs.name]
            answers = task.split("test").answers
            fits = [
                other % len(test)
                for other in range(base, base + len(test))
                if classes[other % len(test)] != classes[base] and answers[other % len(test)] != answers[base]
            ]
            assert source == fits[pair % 2]
            assert pairs.expected["source_answer"][pair] == answers[source]


def test_chance_is_that_of_the_commonest_word():
    commonest = max(set(TEXT[24:934]), key=TEXT[24:934].count)
    for split, wanted in {"val": TEXT[934:1051], "test": TEXT[1051:], "ood": TEXT[1051:]}.items():
        assert STORY.chance[split] == pytest.approx(wanted.count(commonest) / 117)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("story", {"n_context": 8}, "n_context = 8; must be at least 12"),
        ("story", {"n_context_ood": 24}, "n_context_ood = 24; must be more than n_context = 24"),
        ("story", {"n_context_ood": 5000}, "n_context_ood = 5000; the story trained on has fewer"),
        ("planted_repeats", {"n_phrase": 1}, "6 phrases of 1 words; at least 1 of at least 2"),
        ("planted_repeats", {"n_words": 12}, "n_words = 12; the phrases of a row take 12"),
        ("planted_repeats", {"n_phrase": 3}, "n_context = 24; phrases of 18 words, each twice, need 35"),
        ("planted_repeats", {"n_val": 0}, "split val has 0 rows"),
    ],
)
def test_impossible_parameters_are_refused(name, params, message):
    with pytest.raises(TaskError, match=message):
        make_task(name, params)


def test_a_test_split_too_small_for_pairs_is_refused():
    task = make_task("planted_repeats", {**SMALL, "n_test": 1})
    with pytest.raises(TaskError, match="too few test rows"):
        task.interchanges(1)
