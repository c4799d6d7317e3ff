"""Prompts as rows of words: the source's own links, and what they come to by a reader of the prompts' text."""

import re

import pytest
import torch

from circuitcore.tasks import TaskError, make_task
from circuitcore.tasks.chain_prompts import FORMULATIONS, draw_world, prompt_of
from circuitcore.tasks.chain_words import ChainWords


def asked_and_answered(task, batch, row):
    """Words asked for and words wanted, in their order."""
    at = batch.roles["questions"][row]
    return [(task.vocab[batch.tokens[row, i]], task.vocab[batch.targets[row, i]]) for i in at.tolist()]


@pytest.mark.parametrize("name", sorted(FORMULATIONS))
def test_a_row_answers_as_the_prompt_does(name):
    task = ChainWords(formulation=name, depths=(), n_questions=1)
    worlds = [draw_world(name, None, 5, number) for number in range(20)]
    batch = task.rows_of(worlds, [[world.asked] for world in worlds])
    for row, world in enumerate(worlds):
        prompt = prompt_of(name, world)
        assert asked_and_answered(task, batch, row) == [(world.asked[-1], prompt.answer)]
        said = set(task.decode(batch.tokens[row]).split()) - {"?"}
        if name in ("F1", "F2", "F4"):  # the words of the others are bent in their lines
            assert said <= set(re.findall(r"\w+", prompt.text))


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_every_line_comes_to_what_its_key_comes_to(depth):
    task = ChainWords(depths=(depth,), wanted="every line", n_test=30)
    batch = task.split("test")
    assert batch.loss_mask.sum(1).unique().tolist() == [4 * depth + 4]
    for row in range(30):
        words, ends = [task.vocab[token] for token in batch.tokens[row].tolist()], batch.loss_mask[row].nonzero()
        follows = {words[at]: words[at + 1] for at in range(0, 8 * depth, 2)}
        for at in ends.flatten().tolist():
            found = words[at]
            while found in follows:
                found = follows[found]
            assert task.vocab[batch.targets[row, at]] == found


def test_depths_take_turns_and_every_question_is_asked_once():
    task = ChainWords(depths=(1, 2, 3), n_test=12)
    batch = task.split("test")
    assert batch.variables["depth"].tolist() == [0, 1, 2] * 4
    for row in range(12):
        assert len({word for word, _ in asked_and_answered(task, batch, row)}) == 4
    assert not torch.equal(task.draw("train", 12, 1).tokens, task.draw("train", 12, 2).tokens)


def test_functions_use_the_words_of_equations():
    assert ChainWords(formulation="F4", depths=()).vocab == ChainWords().vocab
    assert ChainWords(formulation="F5", depths=()).chance["test"] == 1 / 16


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"formulation": "F9"}, "F9"),
        ({"depths": (14,)}, "depth = 14 of F1"),
        ({"depths": (3, 2)}, "each once, increasing"),
        ({"n_questions": 5}, "F1 has 1 to 4"),
        ({"wanted": "all"}, "wanted: "),
        ({"formulation": "F5", "depths": (), "wanted": "every line"}, "not every line there comes to an answer"),
        ({"n_test": 0}, "n_test = 0"),
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_parameters_that_make_no_rows_are_refused(params, message):
    with pytest.raises(TaskError, match=re.escape(message)):
        make_task("chain_words", params)


def test_a_world_of_another_depth_is_refused():
    with pytest.raises(TaskError, match="prompt 0 has 3 blocks"):
        ChainWords(depths=(2,), n_questions=1).rows_of([draw_world("F1", 3)], [[("i",)]])
