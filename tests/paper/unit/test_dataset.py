"""Rows as JSON lines: the published data set byte for byte, and every other task in the same way."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from circuitcore.tasks import TASKS, Batch, TokenTask, make_task
from livingpaper.commands import cli
from livingpaper.commands.dataset import json_lines, parameters_of
from livingpaper.commands.output import CUT_SHORT

pytestmark = pytest.mark.slow

# Of the source's five files, rendered as JSON lines ("Retrieval Motif Emergence in Small Transformers").
PUBLISHED = {
    "train_2_pairs": "d75c126dd9e9230e259f102d56b2ca09d96bfa83cf21eb5fc95b2c0f9137e049",
    "train_3_pairs": "4ab72b1d0701b6322d740efc3db781589900b810f03e881144ed30ff2e9b25c1",
    "val": "cd4ceb597ea5bfcd862271454cfd21ca9287ead1b564fe93630f77c9a2108d36",
    "test": "4d7d457a157a11000341ffa5d945a3b29d8b67a6b15cb567478c1132ec87f157",
    "test_ood_4_pairs": "ee4bbeb26a263cbf74ab8f47778421a9b356c4ed5d20584b3462cadc8fa197bd",
}


@dataclass(frozen=True, kw_only=True)
class Echo(TokenTask):
    """``a ?`` wants ``? a``: both positions are scored."""

    name: ClassVar[str] = "echo"
    vocab = ("a", "b", "?")
    max_length = 2
    splits = ("train", "test")
    answers = (0, 1)
    chance: ClassVar[dict[str, float]] = {"train": 0.5, "test": 0.5}

    def make_splits(self):
        return {"train": self.rows(torch.tensor([0, 1])), "test": self.rows(torch.tensor([1]))}

    def rows(self, word):
        mark = torch.full_like(word, 2)
        return Batch(
            tokens=torch.stack([word, mark], 1),
            targets=torch.stack([mark, word], 1),
            loss_mask=torch.ones(len(word), 2, dtype=torch.bool),
            roles={"read_out": torch.ones_like(word)},
            variables={"word": word},
        )


def written(capfdbinary, *words):
    assert cli.main(["dataset", *words]) == 0
    return capfdbinary.readouterr().out


@pytest.mark.parametrize("split", PUBLISHED)
def test_the_textual_splits_are_the_published_ones_byte_for_byte(split, capfdbinary):
    assert hashlib.sha256(written(capfdbinary, "textual_kv", "--split", split)).hexdigest() == PUBLISHED[split]


def test_all_splits_are_written_in_order_unless_some_are_named(capfdbinary):
    sizes = {"n_train_2": 2, "n_train_3": 3, "n_val": 4, "n_test": 5, "n_ood": 6}
    options = [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]
    rows = [json.loads(line) for line in written(capfdbinary, "textual_kv", *options).splitlines()]
    order = ["train_3_pairs"] * 3 + ["train_2_pairs"] * 2 + ["val"] * 4 + ["test"] * 5 + ["test_ood_4_pairs"] * 6
    assert [row["split"] for row in rows] == order
    assert [row["id"] for row in rows][2:5] == ["train_3_pairs_000002", "train_2_pairs_000000", "train_2_pairs_000001"]
    both = written(capfdbinary, "textual_kv", *options, "--split", "test", "--split", "val").splitlines()
    assert [json.loads(line)["split"] for line in both] == ["test"] * 5 + ["val"] * 4


@pytest.mark.parametrize("read_out", ["arrow", "query"])
@pytest.mark.parametrize("targets", ["matched", "shuffled"])
@pytest.mark.parametrize("name", ["symbolic_kv", "textual_kv"])
def test_every_field_of_a_key_value_row_is_what_its_prompt_says(name, targets, read_out):
    params = {"targets": targets} | ({"read_out": read_out} if name == "textual_kv" else {})
    task = make_task(name, params)
    for split in task.splits:
        for row, record in zip(range(40), task.records(split), strict=False):
            words = record["prompt"].removesuffix(" ->").split()
            question = words.index("Q")
            pairs = [(words[at], words[at + 1]) for at in range(1, question, 3)]
            assert list(record) == "id task split num_pairs prompt target query_key context_pairs".split()
            assert (record["id"], record["split"]) == (f"{split}_{row:06d}", split)
            assert (record["num_pairs"], record["task"]) == (len(pairs), f"kv_retrieve_{len(pairs)}")
            assert record["query_key"] == words[-1] == words[question + 1]
            assert record["context_pairs"] == [
                {"key": key, "value": value, "pair_index": index} for index, (key, value) in enumerate(pairs)
            ]
            assert record["target"] == task.vocab[task.split(split).answers[row]]
            assert targets == "shuffled" or record["target"] == dict(pairs)[record["query_key"]]


def test_a_task_without_a_format_of_its_own():
    assert list(json_lines(Echo())) == [
        '{"id": "train_000000", "task": "echo", "split": "train", "prompt": "a ?", "targets": ["?", "a"], '
        '"variables": {"word": 0}}\n',
        '{"id": "train_000001", "task": "echo", "split": "train", "prompt": "b ?", "targets": ["?", "b"], '
        '"variables": {"word": 1}}\n',
        '{"id": "test_000000", "task": "echo", "split": "test", "prompt": "b ?", "targets": ["?", "b"], '
        '"variables": {"word": 1}}\n',
    ]


@pytest.mark.parametrize("name", TASKS)
def test_every_registered_task_can_be_written(name):
    task = make_task(name, {})
    for split in task.splits:
        first = json.loads(next(json_lines(task, [split])))
        tokens = task.split(split).tokens[0]
        shown = first["prompt"] if isinstance(task, TokenTask) else first["inputs"]
        assert first["id"] == f"{split}_000000"
        assert shown == (task.decode(tokens) if isinstance(task, TokenTask) else tokens.tolist())


def test_rows_of_vectors_are_written_with_what_is_wanted():
    task = make_task("chain_retrieval", {"n_chains": 2, "d_symbol": 2, "n_steps": 1, "n_train": 1, "n_test": 1})
    first = json.loads(next(json_lines(task, ["test"])))
    assert list(first) == ["id", "task", "split", "inputs", "targets", "variables"]
    symbols = [vector[:2] for vector in first["inputs"]]
    assert first["targets"] == [symbols[symbols.index(query) + 1] for query in symbols[4:]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["textul_kv"], "unknown task 'textul_kv'; did you mean 'textual_kv'"),
        (["textual_kv", "--split", "vla"], "task 'textual_kv': unknown split 'vla'; did you mean 'val'"),
        (["textual_kv", "--split", "val", "--split", "vla"], "unknown split 'vla'"),
        (["textual_kv", "--set", "n_train3=1"], "unknown parameter 'n_train3'; did you mean 'n_train_3'"),
        (["textual_kv", "--set", "n_val=many"], "parameter 'n_val' = 'many' (str); allowed: int"),
        (["textual_kv", "--set", "n_val=1.5"], "parameter 'n_val' = 1.5 (float); allowed: int"),
        (["textual_kv", "--set", "n_val"], "--set n_val: allowed: NAME=VALUE"),
        (["textual_kv", "--set", "n_val=1", "--set", "n_val=2"], "'n_val' is given twice"),
    ],
)
def test_what_cannot_be_written_is_named_before_the_first_line(words, message, capsys):
    assert cli.main(["dataset", *words]) == 1
    output = capsys.readouterr()
    assert message in output.err and output.out == ""


def test_values_are_json_or_words():
    given = parameters_of(["a=1", "b=[1, 2]", "c=query", 'd="1"', "e=null", "f=x=y"])
    assert given == {"a": 1, "b": [1, 2], "c": "query", "d": "1", "e": None, "f": "x=y"}


def test_a_reader_that_has_enough_ends_it_silently_and_not_as_done():
    command = [sys.executable, "-W", "error", "-m", "livingpaper.commands.cli", "dataset", "symbolic_kv"]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": os.environ | {"OMP_NUM_THREADS": "1"}}
    with subprocess.Popen(command, **options) as process:
        assert json.loads(process.stdout.readline())["id"] == "train_000000"
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == CUT_SHORT
