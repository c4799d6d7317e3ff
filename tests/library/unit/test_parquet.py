"""Tables from a stranger: nothing in them runs, and their size is known before they are read."""

import io
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from circuitcore.training import StoreError
from circuitcore.training.store.parquet import from_parquet, table_shape, to_parquet


class Runs:
    """Leaves a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def parquet(table):
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "name", ["arrow.py_extension_type", "pandas.period", "pandas.interval", "arrow.opaque", "mine"]
)
def test_no_extension_type_is_unpickled(tmp_path, name):
    mark = tmp_path / "ran"
    metadata = {"ARROW:extension:name": name, "ARROW:extension:metadata": pickle.dumps(Runs(mark))}
    field = pyarrow.field("value", pyarrow.int64(), metadata=metadata)
    data = parquet(pyarrow.table([[1, 2]], schema=pyarrow.schema([field])))
    try:
        from_parquet(tmp_path / "given", data)
    except StoreError as error:
        assert "no Parquet table" in str(error)
    assert not mark.exists()
    pickle.loads(pickle.dumps(Runs(mark)))
    assert mark.exists(), "it would have shown"


@pytest.mark.parametrize(
    "pandas_says",
    [
        "x", "[]", "null", "{}", '{"columns": 3}', '{"index_columns": ["__import__(\'os\')"], "columns": []}',
        '{"index_columns": [], "columns": [{"name": "value", "numpy_type": "os.system", "pandas_type": "x"}]}',
        '{"index_columns": [], "column_indexes": [], "columns": [{"name": "value", "field_name": "value", '
        '"pandas_type": "object", "numpy_type": "category[os]", "metadata": null}], "attributes": "x"}',
        json.dumps({"attributes": 3, "columns": [], "index_columns": [{"kind": "range", "start": 0, "stop": 10**18}]}),
        "[" * 100_000,
    ],
)  # fmt: skip
def test_what_pandas_notes_about_columns_is_data(tmp_path, pandas_says):
    table = pyarrow.table({"value": [1, 2]}).replace_schema_metadata({"pandas": pandas_says})
    try:
        assert isinstance(from_parquet(tmp_path / "given", parquet(table)), pd.DataFrame)
    except StoreError as error:
        assert str(tmp_path / "given") in str(error)


def test_a_table_is_measured_before_it_is_read(tmp_path):
    data = to_parquet(pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.0, 2.0]}))
    assert table_shape(tmp_path, data) == (3, ("a", "b"))
    column = pyarrow.nulls(10_000_000, pyarrow.int8())
    data = parquet(pyarrow.table({f"c{i}": column for i in range(11)}))
    assert len(data) < 300_000
    for read in (table_shape, from_parquet):
        with pytest.raises(StoreError, match=r"10,000,000 rows and 11 columns.*at most 100,000,000 cells"):
            read(tmp_path, data)


def varint(number, n_bytes=0):
    """A whole number as a footer spells it, in at least so many bytes."""
    number, found = number << 1, bytearray()
    while number > 127 or len(found) + 1 < n_bytes:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def with_footer(data, told, instead, which):
    """A file whose footer says another number in some of the places where it says this one."""
    length = int.from_bytes(data[-8:-4], "little")
    footer, old = data[-8 - length : -8], varint(told)
    places = [place for place in range(length) if footer.startswith(old, place)]
    for place in [places[index] for index in which]:
        footer = footer[:place] + varint(instead, len(old)) + footer[place + len(old) :]
    changed = data[: -8 - length] + footer + data[-8:]
    assert changed != data and pyarrow.parquet.read_metadata(io.BytesIO(changed))
    return changed


def test_a_footer_that_makes_a_table_small_is_not_believed(tmp_path, monkeypatch):
    """Ten kilobytes of zeros that unpack to 16 MB, in one page."""
    monkeypatch.setattr("circuitcore.training.store.parquet.MAX_UNPACKED_BYTES", 10**7)
    n_rows, buffer = 2_000_000, io.BytesIO()
    zeros = pyarrow.table({"a": pyarrow.array(np.zeros(n_rows, "int64"))})
    pyarrow.parquet.write_table(
        zeros, buffer, compression="zstd", use_dictionary=False, max_rows_per_page=n_rows, data_page_size=2**30,
        row_group_size=n_rows, store_schema=False,
    )  # fmt: skip
    data = buffer.getvalue()
    told = pyarrow.parquet.read_metadata(io.BytesIO(data)).row_group(0).total_byte_size
    assert len(data) < 10**5
    smaller = with_footer(data, told, 9, (0, 1))
    assert pyarrow.parquet.read_metadata(io.BytesIO(smaller)).row_group(0).total_byte_size == 9
    for given in (data, smaller):
        with pytest.raises(StoreError, match=r"16,000,0\d\d bytes unpacked"):
            from_parquet(tmp_path / "given", given)
    monkeypatch.undo()
    assert table_shape(tmp_path, data) == (n_rows, ("a",))
    for which in ((0,), (1,)):
        with pytest.raises(StoreError, match="no Parquet table"):
            from_parquet(tmp_path / "given", with_footer(data, n_rows, 1, which))


def test_words_are_counted_as_often_as_they_stand_there(tmp_path, monkeypatch):
    words = pd.DataFrame({"a": ["x" * 1_000, None, "yy"] * 2_000, "b": [1, 2, 3] * 2_000})
    assert len(to_parquet(words)) < 5_000
    for table in (words, words.astype({"a": "category"})):
        data = to_parquet(table)
        pd.testing.assert_frame_equal(from_parquet(tmp_path, data), table)
        monkeypatch.setattr("circuitcore.training.store.parquet.MAX_UNPACKED_BYTES", 2_000 * 1_002)
        assert table_shape(tmp_path, data) == (6_000, ("a", "b"))
        monkeypatch.setattr("circuitcore.training.store.parquet.MAX_UNPACKED_BYTES", 2_000 * 1_002 - 1)
        for read in (table_shape, from_parquet):
            with pytest.raises(StoreError, match="2,004,000 bytes unpacked; allowed: at most .* and 2,003,999 bytes"):
                read(tmp_path, data)
        monkeypatch.undo()


def test_words_that_only_say_how_they_go_on_are_not_read(tmp_path):
    """Each repeats the one before it, all but the end: a few bytes a word, and the words differ."""
    buffer, words = io.BytesIO(), [f"{'x' * 5_000}{number:04}" for number in range(4_000)]
    pyarrow.parquet.write_table(
        pyarrow.table({"a": words}), buffer, use_dictionary=False, column_encoding={"a": "DELTA_BYTE_ARRAY"}
    )
    assert len(buffer.getvalue()) < 60_000
    for read in (table_shape, from_parquet):
        with pytest.raises(StoreError, match="no Parquet table"):
            read(tmp_path, buffer.getvalue())


@pytest.mark.parametrize("column", [[[1, 2]], [{"a": 1}], pyarrow.array([b"ab"], pyarrow.binary(2)), [[[]]]], ids=str)
def test_cells_are_words_numbers_and_truths(tmp_path, column):
    for read in (table_shape, from_parquet):
        with pytest.raises(StoreError, match="allowed: words, numbers, truths"):
            read(tmp_path, parquet(pyarrow.table({"a": column})))


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" * 100, pickle.dumps([1]), b"a,b\n1,2\n"])
def test_what_is_no_table_is_named(tmp_path, data):
    with pytest.raises(StoreError, match="given: no Parquet table"):
        from_parquet(tmp_path / "given", data)


def test_cut_anywhere_it_is_named(tmp_path):
    data = to_parquet(pd.DataFrame({"a": range(100), "b": [0.5] * 100}))
    for length in range(0, len(data), 37):
        with pytest.raises(StoreError, match="given: no Parquet table"):
            from_parquet(tmp_path / "given", data[:length])
