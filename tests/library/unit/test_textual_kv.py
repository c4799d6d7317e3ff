"""Textual key-value retrieval against the words of its prompts, and against the generator written a second time."""

import random

import pytest
import torch

from circuitcore.tasks import TaskError, make_task, textual_kv
from circuitcore.tasks.kv_prompts import prompts_of, render
from circuitcore.tasks.textual_kv import KEYS, VALUES, TextualKV

SMALL = {"n_train_2": 200, "n_train_3": 300, "n_val": 60, "n_test": 60, "n_ood": 60}
TASK = TextualKV(**SMALL)
AT_QUERY = TextualKV(**SMALL, read_out="query")


def texts_by_the_rules(seed, sizes):
    """The source's generator in its own words: text prompts, one stream, exact prompts never twice."""
    rng, seen, splits = random.Random(seed), set(), {}
    for split, (n_pairs, n_rows) in sizes.items():
        rows = []
        while len(rows) < n_rows:
            keys, values = rng.sample(list(KEYS), n_pairs), rng.sample(list(VALUES), n_pairs)
            pairs = list(zip(keys, values, strict=True))
            rng.shuffle(pairs)
            key, value = pairs[len(rows) % n_pairs]
            prompt = "<bos> " + " ; ".join(f"{k} {v}" for k, v in pairs) + f" ; Q {key} ->"
            if prompt not in seen:
                seen.add(prompt)
                rows.append((prompt, value))
        splits[split] = rows
    return splits


@pytest.mark.parametrize(("seed", "at_once"), [(17, 256), (3, 1)], ids=["drawn at once", "drawn in many parts"])
def test_every_row_is_the_generators(seed, at_once, monkeypatch):
    monkeypatch.setattr(textual_kv, "AT_ONCE", at_once)
    task = TextualKV(**SMALL, generator_seed=seed)
    sizes = {split: (task.pairs[split], n_rows) for split, n_rows in task.sizes.items()}
    for split, rows in texts_by_the_rules(seed, sizes).items():
        batch = task.split(split)
        assert [task.decode(row) for row in batch.tokens] == [prompt for prompt, _ in rows]
        assert [task.vocab[answer] for answer in batch.answers] == [value for _, value in rows]


def test_redraws_are_met_and_counted():
    """Nearly half of all two-pair prompts: many draws repeat an earlier one, and the slots still take turns."""
    task = TextualKV(**SMALL | {"n_train_2": 50_000})
    batch = task.split("train_2_pairs")
    assert len({tuple(row) for row in batch.tokens.tolist()}) == 50_000
    assert batch.variables["matching_slot"].tolist() == [row % 2 for row in range(50_000)]


def test_splits_and_sizes_are_the_sources():
    task = TextualKV()
    assert task.splits == ("train_3_pairs", "train_2_pairs", "val", "test", "test_ood_4_pairs")
    assert [task.split(split).tokens.shape for split in task.splits] == [
        (30_000, 13), (30_000, 10), (3000, 13), (3000, 13), (3000, 16),
    ]  # fmt: skip
    assert len(task.vocab) == 36 and task.max_length == 16
    assert task.chance == pytest.approx(
        {"train_3_pairs": 1 / 3, "train_2_pairs": 1 / 2, "val": 1 / 3, "test": 1 / 3, "test_ood_4_pairs": 1 / 4}
    )


def test_read_out_at_the_query_drops_the_arrow_and_nothing_else():
    for split in TASK.splits:
        arrow, query = TASK.split(split), AT_QUERY.split(split)
        assert torch.equal(query.tokens, arrow.tokens[:, :-1])
        assert torch.equal(query.answers, arrow.answers)
        assert torch.equal(query.roles["read_out"], query.roles["query_key"])
        assert torch.equal(query.roles["slot_value"], arrow.roles["slot_value"])
        assert query.loss_mask.sum(1).eq(1).all() and query.loss_mask[:, -1].all()
    assert AT_QUERY.max_length == TASK.max_length - 1


@pytest.mark.parametrize("task", [TASK, AT_QUERY], ids=["arrow", "query"])
def test_reading_undoes_rendering(task):
    batch = task.split("test")
    again = render(prompts_of(batch, task.alphabet), task.alphabet)
    assert torch.equal(again.tokens, batch.tokens) and torch.equal(again.answers, batch.answers)


@pytest.mark.parametrize("task", [TASK, AT_QUERY], ids=["arrow", "query"])
def test_families_have_the_sources_rows(task):
    families = task.families(8)
    assert {name: len(rows) for name, rows in families.items()} == {
        "query_key_sweep": 24, "slot_permutation": 48, "value_permutation": 48,
        "same_answer_different_slot": 16, "same_slot_different_answer": 16, "longer_context": 8,
    }  # fmt: skip


def test_the_sources_value_interchange():
    """Per base the two swaps that keep the slot and change what is in it."""
    test = {experiment.name: experiment for experiment in TASK.interchanges(8)}["selected_value"]
    assert len(test) == 16
    for base, source, wanted in zip(test.base.tokens, test.source.tokens, test.expected["source_answer"], strict=True):
        words, changed = TASK.decode(base).split(), TASK.decode(source).split()
        slot = [words[1 + 3 * place] for place in range(3)].index(words[-2])
        assert changed[1 + 3 * slot] == changed[-2] != words[-2]
        assert TASK.vocab[wanted] == changed[2 + 3 * slot] != words[2 + 3 * slot]
        pairs = {(words[1 + 3 * place], words[2 + 3 * place]) for place in range(3)}
        assert pairs == {(changed[1 + 3 * place], changed[2 + 3 * place]) for place in range(3)}


def test_shuffled_targets_keep_prompts_and_counts():
    shuffled = TextualKV(**SMALL, targets="shuffled")
    for split in TASK.splits:
        true, dealt = TASK.split(split), shuffled.split(split)
        assert torch.equal(true.tokens, dealt.tokens)
        assert torch.equal(true.answers.bincount(), dealt.answers.bincount())
        assert (true.answers != dealt.answers).float().mean() > 0.8
    assert set(shuffled.chance.values()) == {1 / 16}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"read_out": "arow"}, "did you mean 'arrow'|is 'arrow' meant|arrow"),
        ({"targets": "none"}, "matched"),
        ({"n_val": 0}, "val has 0 rows"),
        ({"n_train": 5}, "n_train"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(TaskError, match=message):
        make_task("textual_kv", params)


def test_a_split_that_cannot_be_drawn_says_how_far_it_came(monkeypatch):
    monkeypatch.setattr(textual_kv, "MOST_ATTEMPTS", 1)  # no draw may be lost; among 2000 about 17 are
    with pytest.raises(TaskError, match=r"train_2_pairs: only \d+ of 2000 rows after 2000 draws"):
        TextualKV(**SMALL | {"n_train_2": 2000}).prompts()
