"""Runs made by somebody who means harm, every hash and seal fitting: name -> (forgery, words of the problem).

A forgery is a function of the run's folder.
"""

import io
import json
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import torch
from forging import (
    HISTORY,
    LEDGER,
    RECIPE,
    change_header,
    change_recipe,
    change_weights,
    ledger_of,
    put_checkpoint,
    put_history,
    put_table,
    rechained,
    reseal,
    reseal_entry,
)

from circuitcore.training.store.parquet import from_parquet, to_parquet

Forgery = Callable[[Path], object]
DEEP, HUGE = 200_000, 10**400
NO_LEDGER, BAD_HEADER = "it is no ledger any more", "header is damaged"


def ledger(**changes) -> Forgery:
    return lambda run: reseal(run, **changes)


def entry(**changes) -> Forgery:
    return lambda run: reseal_entry(run, 1, **changes)


def text_of(name: str, change: Callable[[str], str | bytes]) -> Forgery:
    """Other text in a JSON file, which no seal can be made for."""

    def forge(run: Path) -> None:
        found = change((run / name).read_text())
        (run / name).write_bytes(found if isinstance(found, bytes) else found.encode())

    return forge


def without(*names: str) -> Forgery:
    """The ledger without some fields."""

    def forge(run: Path) -> None:
        fields = {key: value for key, value in ledger_of(run).items() if key not in names}
        (run / LEDGER).write_text(json.dumps(fields))
        if "seal" not in names:
            reseal(run)

    return forge


def texts(name: str, words: str) -> dict[str, tuple[Forgery, str]]:
    """What is no JSON, or JSON that two readers may read differently."""
    return {
        f"{name}: 200,000 open brackets": (text_of(name, lambda text: "[" * DEEP), "nested"),
        f"{name}: 200,000 open objects": (text_of(name, lambda text: '{"a":' * DEEP), "nested"),
        f"{name}: 20 closed brackets": (text_of(name, lambda text: "[" * 20 + "]" * 20), "nested"),
        f"{name}: a key twice": (text_of(name, lambda text: text.replace("{", '{"a": 1, "a": 1, ', 1)), "twice"),
        f"{name}: a byte order mark": (text_of(name, lambda text: f"\ufeff{text}"), words),
        f"{name}: UTF-16": (text_of(name, lambda text: text.encode("utf-16")), "no UTF-8"),
        f"{name}: Latin-1": (text_of(name, lambda text: text.replace("{", '{"é":1,', 1).encode("latin-1")), "no UTF-8"),
        f"{name}: a number of 5,000 digits": (text_of(name, lambda text: "9" * 5000), words),
        f"{name}: a number of 1e999": (text_of(name, lambda text: "1e999"), "1e999 is too large"),
        f"{name}: 60,000 keys, the last twice": (text_of(name, lambda text: many_keys()), "twice"),
        f"{name}: NaN": (text_of(name, lambda text: "NaN"), "NaN"),
        f"{name}: a list": (text_of(name, lambda text: "[]"), name),
        f"{name}: null": (text_of(name, lambda text: "null"), name),
        f"{name}: an empty object": (text_of(name, lambda text: "{}"), name),
        f"{name}: a pickle": (text_of(name, lambda text: pickle.dumps(text)), name),
        f"{name}: 40 MB": (lambda run: os.truncate(run / name, 40_000_000), "allowed: at most"),
    }


def many_keys() -> str:
    """Short, and long to look through if every key is compared with all others."""
    keys = [f"k{i}" for i in range(60_000)]
    return "{" + ",".join(f'"{key}":0' for key in [*keys, keys[-1]]) + "}"


def with_entry(change: Callable[[list[dict]], list[dict]]) -> Forgery:
    """Other checkpoints in the ledger, in one chain."""

    def forge(run: Path) -> None:
        fields = ledger_of(run)
        reseal(run, entries=rechained(run, change(fields["entries"]), fields["recipe_sha256"]))

    return forge


LEDGERS = texts(LEDGER, NO_LEDGER) | {
    f"ledger: {what}": (forge, words)
    for what, (forge, words) in {
        "step is text": (entry(step="0"), "entries.1.step = '0'"),
        "step is true": (entry(step=True), "entries.1.step = True"),
        "step is a fraction": (entry(step=4.5), "entries.1.step"),
        "step is negative": (entry(step=-1), "entries.1.step = -1"),
        "step has 40 digits": (entry(step=10**40), "entries.1.step"),
        "step is another": (entry(step=5), "does not follow"),
        "loss is text": (entry(loss="x"), "entries.1.loss = 'x'"),
        "loss is null": (entry(loss=None), "entries.1.loss = None"),
        "loss is true": (entry(loss=True), "entries.1.loss = True"),
        "loss is NaN": (entry(loss=float("nan")), "NaN"),
        "loss is infinite": (entry(loss=float("-inf")), "Infinity"),
        "loss has 400 digits": (entry(loss=HUGE), "entries.1.loss"),
        "loss is 1e999": (text_of(LEDGER, lambda text: re.sub('"loss": [^,]*', '"loss": 1e999', text)), "1e999 is too"),
        "100,000 empty entries": (ledger(entries=[{}] * 100_000), "entries.0"),
        "10,000 wrong tables": (ledger(tables={f"t{i}": None for i in range(10_000)}), "10,000 keys; allowed: at most"),
        "10,000 fields more": (ledger(**{f"t{i}": 0 for i in range(10_000)}), "keys; allowed: at most 1,000"),
        "10,000 fields more in an entry": (
            entry(**{f"t{i}": 0 for i in range(10_000)}),
            "keys; allowed: at most 1,000",
        ),
        "3 MB": (ledger(made_with=["x" * 400] * 8_000), "bytes; allowed: at most 2,097,152"),
        "loss is another": (entry(loss=0.5), "when recomputed"),
        "kept is null": (entry(kept=None), "entries.1.kept"),
        "kept is 1": (entry(kept=1), "entries.1.kept = 1"),
        "kept is false": (entry(kept=False), "does not know this file"),
        "hash is short": (entry(sha256="ab"), "entries.1.sha256 = 'ab'"),
        "hash in capitals": (entry(sha256="A" * 64), "entries.1.sha256"),
        "hash ends with a line": (entry(sha256="a" * 64 + "\n"), "entries.1.sha256"),
        "parent is another": (entry(parent="a" * 64), "does not follow"),
        "file is elsewhere": (entry(file="../../x"), "does not follow"),
        "a field more in an entry": (entry(note="x"), "entries.1.note"),
        "entries are null": (ledger(entries=None), "entries = None"),
        "entries are text": (ledger(entries=["x"]), "entries.0"),
        "entries are none": (ledger(entries=[]), "contradicts itself"),
        "tables are null": (ledger(tables=None), "tables = None"),
        "tables are a list": (ledger(tables=["x"]), "tables"),
        "a table with NUL in its key": (ledger(tables={"a\0b": "a" * 64}), r"tables.a"),
        "a table elsewhere": (ledger(tables={"../../x": "a" * 64}), "tables.../../x"),
        "a table in a folder": (ledger(tables={"a/b": "a" * 64}), "tables.a/b"),
        "a table without name": (ledger(tables={"": "a" * 64}), "tables"),
        "a table of 300 letters": (ledger(tables={"a" * 300: "a" * 64}), "tables.aaa"),
        "a table without hash": (ledger(tables={"scores-v1": None}), "tables.scores-v1 = None"),
        "a table that is not there": (ledger(tables={"other": "a" * 64}), "other.parquet"),
        "finished is text": (ledger(finished="no"), "finished = 'no'"),
        "finished is 1": (ledger(finished=1), "finished = 1"),
        "finished is false": (ledger(finished=False), "contradicts itself"),
        "history is null": (ledger(history_sha256=None), "contradicts itself"),
        "thinned is true": (ledger(history_thinned=True), "one per epoch"),
        "thinned is spelt out": (ledger(history_thinned=False), "spells out a default"),
        "a field more": (ledger(note="x"), "note"),
        "no made_with": (without("made_with"), "lacks fields"),
        "no finished": (without("finished"), "lacks fields"),
        "no run_id": (without("run_id"), "run_id"),
        "no seal": (without("seal"), "seal"),
        "seal is a number": (text_of(LEDGER, lambda text: json.dumps(json.loads(text) | {"seal": 1})), "'seal'"),
        "made_with is text": (ledger(made_with="x"), "made_with"),
        "made_with is a page": (ledger(made_with=["x" * 10_000]), "made_with.0"),
        "run_id is elsewhere": (ledger(run_id="../x"), "run_id"),
        "run_id is null": (ledger(run_id=None), "run_id = None"),
        "run_id is another's": (ledger(run_id="permutation_recall-0123456789ab"), "in a folder of another name"),
        "recipe is another": (ledger(recipe_sha256="a" * 64), "does not end as the hash of its recipe"),
        "rows are others": (ledger(data_sha256="a" * 64), "trained on other rows"),
        "the last checkpoint left out": (with_entry(lambda entries: entries[:-1]), "the recipe asks for"),
        "a checkpoint left out": (with_entry(lambda entries: [entries[0], entries[2]]), "the recipe asks for"),
        "no blanks": (text_of(LEDGER, lambda text: json.dumps(json.loads(text))), "not in the bytes"),
    }.items()
}

STAGE = {"splits": ["train"], "epochs": 4}
RECIPES = texts(RECIPE, RECIPE) | {
    f"recipe: {key} = {str(value)[:40]}": (lambda run, key=key, value=value: change_recipe(run, **{key: value}), words)
    for key, value, words in (
        ("task", 3, "task = 3"),
        ("task", ["symbolic_kv"], "task = ['symbolic_kv']"),
        ("task", "permutation_recal", "did you mean 'permutation_recall'"),
        ("task", "no_such_module:X", "none was imported"),
        ("task", "..circuitcore:X", "unknown task"),
        ("task", ":X", "unknown task"),
        ("task", "os:system; echo", "unknown task"),
        ("task", "a" * 100_000, "unknown task"),
        ("task_params", None, "task_params = None"),
        ("task_params", ["n_rows"], "task_params = ['n_rows']"),
        ("task_params", {"n_row": 3}, "unknown parameter 'n_row'"),
        ("task_params", {"n_rows": "24"}, "parameter 'n_rows' = '24'"),
        ("task_params", {"n_rows": [[[[[[[[[[[[3]]]]]]]]]]]]}, "parameter 'n_rows'"),
        ("task_params", {"n_symbols": 3, "n_train": 4}, "written for other code"),
        ("model", None, "model = None"),
        ("model", [], "model = []"),
        ("model", {}, "lacks d_vocab, n_ctx"),
        ("model", {"d_vocab": 4, "n_ctx": 9, "x": 1}, "unknown model field 'x'"),
        ("model", {"d_vocab": "4", "n_ctx": 9}, "model.d_vocab = '4'"),
        ("model", {"d_vocab": 4, "n_ctx": 9, "n_heads": 10**30}, RECIPE),
        ("model", {"d_vocab": 4, "n_ctx": 9, "norm": {}}, "norm"),
        ("optimizer", None, "recipe.optimizer must be a JSON object"),
        ("optimizer", {"lr": 1}, "recipe.optimizer lacks"),
        ("batch_size", 0, "batch_size = 0"),
        ("batch_size", True, "batch_size = True"),
        ("batch_size", "8", "batch_size = '8'"),
        ("stages", None, "stages = None"),
        ("stages", [], "stages = ()"),
        ("stages", [1], "recipe.stages must be a JSON object"),
        ("stages", [STAGE | {"splits": "train"}], "stages.splits = 'train'"),
        ("stages", [STAGE | {"splits": [["train"]]}], "stages.splits"),
        ("stages", [STAGE | {"epochs": 10**30}], "at most 65535"),
        ("stages", [STAGE | {"epochs": True}], "stages.epochs = True"),
        ("stages", [STAGE | {"fresh": 10**12}], "stages.fresh = 1000000000000"),
        ("checkpoint_epochs", "0", "checkpoint_epochs = '0'"),
        ("checkpoint_epochs", [0, "4"], "checkpoint_epochs"),
        ("checkpoint_epochs", [4, 0], "checkpoint_epochs"),
        ("checkpoint_epochs", list(range(20_000)), "checkpoint_epochs"),
        ("init_seed", -1, "init_seed = -1"),
        ("init_seed", 1.5, "init_seed = 1.5"),
        ("data_seed", 10**9, "data_seed"),
        ("engine", [], "engine = []"),
        ("engine_version", 0, "engine_version = 0"),
        ("note", "x", "unknown field 'note'"),
    )
} | {
    "recipe: rate is text": (lambda run: change_optimizer(run, lr="x"), "optimizer.lr = 'x'"),
    "recipe: rate has 400 digits": (lambda run: change_optimizer(run, lr=HUGE), "optimizer.lr"),
    "recipe: betas is a number": (lambda run: change_optimizer(run, betas=3), "betas = 3"),
    "recipe: of a wider model": (lambda run: change_model(run, d_model=16, d_head=8), "holds other weights"),
    "recipe: of more layers": (lambda run: change_model(run, n_layers=2), "holds other weights"),
    "recipe: of a billion layers": (lambda run: change_model(run, n_layers=10**9), "n_layers must be at most 1,000"),
    "recipe: of other arithmetic": (lambda run: change_model(run, mlp="gelu"), "holds other weights"),
    "recipe: with blanks": (text_of(RECIPE, lambda text: json.dumps(json.loads(text))), "not in the bytes"),
    "recipe: another seed, ledger as it was": (
        text_of(RECIPE, lambda text: text.replace('"init_seed":0', '"init_seed":7')),
        "its hash is not in the ledger",
    ),
}  # fmt: skip


def change_optimizer(run: Path, **changes) -> Path:
    return change_recipe(run, optimizer=json.loads((run / RECIPE).read_text())["optimizer"] | changes)


def change_model(run: Path, **changes) -> Path:
    return change_recipe(run, model=json.loads((run / RECIPE).read_text())["model"] | changes)


def header(change: Callable[[dict], object]) -> Forgery:
    """A checkpoint with other fields in its header."""

    def changed(text: bytes) -> bytes:
        fields = json.loads(text)
        return json.dumps(change(fields) or fields).encode()

    return lambda run: change_header(run, changed)


def tensor(**changes) -> Forgery:
    """A checkpoint whose header describes one tensor differently."""
    return header(lambda fields: fields["embed.W_E"].update(changes))


def weights(change: Callable[[dict], dict]) -> Forgery:
    return lambda run: change_weights(run, change)


def overlapping(fields: dict) -> None:
    first, second = [value for key, value in fields.items() if key != "__metadata__"][:2]
    second["data_offsets"] = first["data_offsets"]


CHECKPOINTS = {
    f"checkpoint: {what}": (forge, words)
    for what, (forge, words) in {
        "header of 200,000 brackets": (lambda run: change_header(run, lambda text: b"[" * DEEP), BAD_HEADER),
        "header of 200,000 objects": (lambda run: change_header(run, lambda text: b'{"a":' * DEEP), BAD_HEADER),
        "header of 5,000 tensors": (
            header(lambda fields: fields | {f"t{i}": fields["embed.W_E"] for i in range(5_000)}),
            "damaged",
        ),
        "header longer than the file": (lambda run: put_checkpoint(run, b"\xff" * 7 + b"\x00{}"), BAD_HEADER),
        "header of 2^63 bytes": (lambda run: put_checkpoint(run, b"\xff" * 8 + b"{}"), BAD_HEADER),
        "header of 3 MB, most of them blanks": (
            lambda run: change_header(run, lambda text: text + b" " * 3_000_000),
            "bytes announced; allowed: at most",
        ),
        "header empty": (lambda run: change_header(run, lambda text: b""), BAD_HEADER),
        "header no JSON": (lambda run: change_header(run, lambda text: b"x" * 64), BAD_HEADER),
        "header a list": (lambda run: change_header(run, lambda text: b"[]"), BAD_HEADER),
        "header without fields": (lambda run: change_header(run, lambda text: b"{}"), "damaged"),
        "header UTF-16": (lambda run: change_header(run, lambda text: text.decode().encode("utf-16")), BAD_HEADER),
        "a key twice": (
            lambda run: change_header(run, lambda text: text.replace(b"{", b'{"a":1,"a":1,', 1)),
            BAD_HEADER,
        ),
        "tensors overlap": (header(overlapping), "damaged"),
        "offsets past the end": (tensor(data_offsets=[0, 10**12]), "damaged"),
        "offsets negative": (tensor(data_offsets=[-8, 0]), "damaged"),
        "offsets backwards": (tensor(data_offsets=[8, 0]), "damaged"),
        "offsets text": (tensor(data_offsets="x"), "damaged"),
        "type nobody knows": (tensor(dtype="F99"), "damaged"),
        "type torch does not know": (tensor(dtype="F4"), "damaged"),
        "type is a number": (tensor(dtype=3), "damaged"),
        "type is another": (tensor(dtype="I32"), "holds other weights"),
        "shape too large": (tensor(shape=[2**40, 2**40]), "damaged"),
        "shape with 0": (tensor(shape=[0, 2**62]), "damaged"),
        "shape negative": (tensor(shape=[-1, 8]), "damaged"),
        "metadata a list": (header(lambda fields: fields | {"__metadata__": []}), BAD_HEADER),
        "metadata with numbers": (header(lambda fields: fields | {"__metadata__": {"step": 4}}), BAD_HEADER),
        "metadata absent": (header(lambda fields: fields.pop("__metadata__") and None), "its header says {}"),
        "metadata of another step": (header(lambda fields: fields["__metadata__"].update(step="8")), "its header says"),
        "metadata more": (header(lambda fields: fields["__metadata__"].update(note="x")), "its header says"),
        "bytes after its end": (lambda run: longer_checkpoint(run), "damaged"),
        "a pickle": (lambda run: put_checkpoint(run, pickle.dumps({"a": 1})), "refused. This is a pickle"),
        "a torch archive": (lambda run: put_checkpoint(run, archive()), "refused. This is a pickle"),
        "empty": (lambda run: put_checkpoint(run, b""), BAD_HEADER),
        "weights zero": (weights(lambda found: {k: v * 0 for k, v in found.items()}), "when recomputed"),
        "weights NaN": (weights(lambda found: {k: v * torch.nan for k, v in found.items()}), "its loss is nan"),
        "weights huge": (weights(lambda found: {k: v * 1e30 for k, v in found.items()}), "when recomputed"),
        "a tensor more": (weights(lambda found: found | {"x": torch.ones(3)}), "holds other weights"),
        "a tensor of whole numbers more": (weights(lambda found: found | {"x": torch.ones(3).int()}), "other weights"),
        "a tensor less": (weights(lambda found: dict(list(found.items())[1:])), "holds other weights"),
        "a tensor wider": (weights(lambda found: found | {"embed.W_E": torch.ones(4, 99)}), "holds other weights"),
        "a tensor of whole numbers": (weights(lambda found: {k: v.int() for k, v in found.items()}), "other weights"),
        "no tensor": (weights(lambda found: {}), "holds other weights"),
    }.items()
}


def longer_checkpoint(run: Path) -> None:
    put_checkpoint(run, (run / ledger_of(run)["entries"][1]["file"]).read_bytes() + b"\0" * 8)


def archive() -> bytes:
    buffer = io.BytesIO()
    torch.save({"a": torch.ones(2)}, buffer)
    return buffer.getvalue()


def history_of(run: Path) -> pd.DataFrame:
    return from_parquet(run / HISTORY, (run / HISTORY).read_bytes())


def bomb() -> bytes:
    """A few kilobytes that stand for ten million rows of eleven columns."""
    buffer, column = io.BytesIO(), pyarrow.nulls(10_000_000, pyarrow.int8())
    pyarrow.parquet.write_table(pyarrow.table({f"c{i}": column for i in range(11)}), buffer)
    return buffer.getvalue()


def text_bomb(*, categories: bool) -> bytes:
    """A kilobyte that stands for ten million words of a thousand letters, ten gigabytes."""
    buffer, numbers = io.BytesIO(), pyarrow.array(np.zeros(10_000_000, "int32"))
    words = pyarrow.DictionaryArray.from_arrays(numbers, pyarrow.array(["x" * 1_000]))
    pyarrow.parquet.write_table(pyarrow.table({"a": words}), buffer, store_schema=categories, compression="zstd")
    return buffer.getvalue()


TABLES = {
    "table: text": (lambda run: put_table(run, b"a,b\n1,2\n"), "no Parquet table"),
    "table: empty": (lambda run: put_table(run, b""), "no Parquet table"),
    "table: cut": (lambda run: put_table(run, (run / HISTORY).read_bytes()[:-9]), "no Parquet table"),
    "table: a bomb": (lambda run: put_table(run, bomb()), "allowed: at most 100,000,000 cells"),
    "table: a bomb of text": (lambda run: put_table(run, text_bomb(categories=False)), "10,000,000,000 bytes"),
    "table: a bomb of categories": (lambda run: put_table(run, text_bomb(categories=True)), "10,000,000,000 bytes"),
    "table: a pickle": (lambda run: put_table(run, pickle.dumps([1])), "no Parquet table"),
    "history: text": (lambda run: put_history(run, b"step,loss\n"), "no Parquet table"),
    "history: of fewer steps": (lambda run: put_history(run, to_parquet(history_of(run)[:-1])), "7 rows"),
    "history: of more steps": (
        lambda run: put_history(run, to_parquet(pd.concat([history_of(run)] * 2))),
        "16 rows",
    ),
    "history: other columns": (
        lambda run: put_history(run, to_parquet(history_of(run).rename(columns={"loss": "lost"}))),
        "no history of this run",
    ),
}
FORGERIES = LEDGERS | RECIPES | CHECKPOINTS | TABLES
