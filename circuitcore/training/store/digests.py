"""Hashes of values, not of files: equal values have equal hashes, however they are stored.

Each is a SHA-256, 64 hex digits. ``circuitcore.ground.contents`` lists those of what is published.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd
import safetensors
from pandas.api.extensions import ExtensionArray

from circuitcore.ground.contents import json_sha256
from circuitcore.training.store.ledger import Ledger

Buffer: TypeAlias = bytes | bytearray | np.ndarray
_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
MOST_SMALL = 255  # fewer words than this are numbered in a byte: up to 254, from 1, as 0 stands for a missing one
MOST_WHOLE = 2**63 - 1


def table_sha256(table: pd.DataFrame) -> str:
    """Hash of a table's values.

    A table is a set of rows (equal ones counted), so rows and columns may come in any order; a measurement is found by
    what stands in its row. A cell is a word, a whole number, a number or a truth; whether words are categories, and in
    how many bits a number is kept, does not matter while each number is the same.

    What is hashed: JSON of the number of rows and of each column's name, kind and words; then the rows, sorted as
    bytes. A word is its number in the sorted list of the column's words (from 1; 0: missing), in one byte or four; a
    whole number has eight bytes, and a mark of its absence where the column lacks some; a number is a float64 with one
    NaN; a truth is a byte. Zeros are the one case where equal cells differ here: 0.0 and -0.0 have other bytes.

    Raises:
        ValueError: a column of another kind, or a whole number above 2**63 - 1.
    """
    return cells_sha256(cells_of(table), len(table))


def cells_of(table: pd.DataFrame) -> dict[str, ExtensionArray]:
    """The cells of each column of a table, by its name."""
    return {name: table[name].array for name in table.columns}


def cells_sha256(cells: Mapping[str, ExtensionArray], n_rows: int) -> str:
    """Hash of the table that has these columns, each of ``n_rows`` cells: that of ``table_sha256``, with its errors."""
    columns, fields = [], []
    for name in sorted(cells):
        kind, words, found = _column(name, cells[name])
        columns.append([name, kind, words])
        fields += found
    digest = hashlib.sha256(json.dumps([n_rows, columns], separators=(",", ":")).encode())
    if n_rows and fields:
        digest.update(_sorted_rows(fields))
    return digest.hexdigest()


def numbered(cells: ExtensionArray) -> ExtensionArray:
    """The same cells, words as categories: whoever hashes many parts of a column compares its words but once."""
    if cells.dtype.kind != "O" or isinstance(cells, pd.Categorical):
        return cells
    return pd.Categorical.from_codes(*pd.factorize(cells))


def tensors_sha256(tensors: Mapping[str, tuple[str, list[int], Buffer]]) -> str:
    """Hash of tensors by name: names, types as torch calls them, shapes, and the bytes of their numbers."""
    named = sorted(tensors.items())
    header = [[name, dtype, shape] for name, (dtype, shape, _) in named]
    digest = hashlib.sha256(json.dumps(header, separators=(",", ":")).encode())
    for _, (_, _, numbers) in named:
        digest.update(numbers)
    return digest.hexdigest()


def stored_weights_sha256(data: bytes) -> str:
    """``checkpoint.weights_sha256`` of what the bytes of a safetensors file hold, without torch.

    Raises:
        ValueError: no such file, or one with tensors of a type that no weights have.
    """
    try:
        tensors = dict(safetensors.deserialize(data))
        return tensors_sha256(
            {name: (_TYPES[one["dtype"]], one["shape"], one["data"]) for name, one in tensors.items()}
        )
    except (safetensors.SafetensorError, KeyError) as error:
        raise ValueError(f"no weights ({error})") from error


def training_sha256(ledger: Ledger) -> str:
    """Hash of what a ledger records of the training: everything but which files there are, and their hashes.

    Of a checkpoint that is step, loss, and the hash that it had when it was made, a link of the chain.
    """
    return json_sha256(
        {
            "run_id": ledger.run_id,
            "recipe_sha256": ledger.recipe_sha256,
            "data_sha256": ledger.data_sha256,
            "finished": ledger.finished,
            "made_with": ledger.made_with,
            "history_thinned": ledger.history_thinned,
            "checkpoints": [[entry.step, entry.sha256, entry.loss] for entry in ledger.entries],
        }
    )


def _column(name: str, cells: ExtensionArray) -> tuple[str, list[str], list[np.ndarray]]:
    """A column's kind, its words, and its cells as one field of bytes or two; see ``table_sha256``."""
    letter = cells.dtype.kind
    if letter == "O":  # of categories, text, and Python objects alike
        words, numbers = _numbered(cells)
        if not all(isinstance(word, str) for word in words):
            raise ValueError(f"column {name!r} holds {cells.dtype}, not all of them words")
        return "word", words, [numbers.astype("u1" if len(words) < MOST_SMALL else "<u4")]
    if letter == "b":
        return "truth", [], [cells.to_numpy("u1")]
    if letter == "f":
        numbers = cells.to_numpy("<f8", na_value=np.nan)
        return "number", [], [np.where(np.isnan(numbers), np.nan, numbers)]
    if letter in "iu":
        if letter == "u" and len(cells) and int(cells.to_numpy("<u8", na_value=0).max()) > MOST_WHOLE:
            # In eight bytes with a sign it would be a negative one.
            raise ValueError(f"column {name!r} holds a whole number above {MOST_WHOLE}")
        absent = cells.isna()
        if not absent.any():
            return "whole", [], [cells.to_numpy("<i8")]
        return "whole, some missing", [], [cells.to_numpy("<i8", na_value=0), absent.astype("u1")]
    raise ValueError(f"column {name!r} holds {cells.dtype}; allowed: words, whole numbers, numbers, truths")


def _numbered(cells: ExtensionArray) -> tuple[list[str], np.ndarray]:
    """The words of a column, sorted, and the number of each cell's among them, from 1; 0 where it is missing."""
    codes, known = (cells.codes, cells.categories) if isinstance(cells, pd.Categorical) else pd.factorize(cells)
    known, codes = known.tolist(), codes.astype("i8") + 1
    used = np.bincount(codes, minlength=len(known) + 1)[1:]
    words = sorted((word for word, times in zip(known, used, strict=True) if times), key=str)
    place = {word: number for number, word in enumerate(words, 1)}
    return words, np.array([0, *(place.get(word, 0) for word in known)])[codes]


def _sorted_rows(fields: list[np.ndarray]) -> np.ndarray:
    """Rows that have these fields, at least one of each, next to each other, sorted as bytes."""
    rows = np.empty(len(fields[0]), [(str(place), field.dtype) for place, field in enumerate(fields)])
    for place, field in enumerate(fields):
        rows[str(place)] = field
    beginnings = _beginnings(fields)
    # To compare numbers is much faster than to compare rows: only those that begin alike are.
    order = np.argsort(beginnings)
    rows, beginnings = rows.view(f"S{rows.itemsize}")[order], beginnings[order]
    alike = beginnings[1:] == beginnings[:-1]
    tied = np.append(alike, False) | np.append(False, alike)
    rows[tied] = np.sort(rows[tied])
    return rows


def _beginnings(fields: list[np.ndarray]) -> np.ndarray:
    """For each row a number made of its first 64 bits, those aside that all rows share; it rises as the rows do."""
    found, room = np.zeros(len(fields[0]), "u8"), 64
    for field in fields:
        bits = field.view(f">u{field.itemsize}").astype("u8")  # the first byte counts most, as where bytes are sorted
        differ = int(np.bitwise_or.reduce(bits ^ bits[0]))
        last = (differ & -differ).bit_length() - 1 if differ else 0
        width = differ.bit_length() - last if differ else 0
        taken = min(width, room)
        part = (bits >> np.uint64(last + width - taken)) & np.uint64(2**taken - 1)
        found, room = found << np.uint64(taken) | part, room - taken
        if not room:
            break
    return found
