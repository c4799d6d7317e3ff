"""Tables from a stranger: nothing in them runs, and their size is known before they are read."""

import io
import json
import pickle
from pathlib import Path

import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from circuitcore.training import StoreError
from circuitcore.training.parquet import from_parquet, table_shape, to_parquet


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


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" * 100, pickle.dumps([1]), b"a,b\n1,2\n"])
def test_what_is_no_table_is_named(tmp_path, data):
    with pytest.raises(StoreError, match="given: no Parquet table"):
        from_parquet(tmp_path / "given", data)


def test_cut_anywhere_it_is_named(tmp_path):
    data = to_parquet(pd.DataFrame({"a": range(100), "b": [0.5] * 100}))
    for length in range(0, len(data), 37):
        with pytest.raises(StoreError, match="given: no Parquet table"):
            from_parquet(tmp_path / "given", data[:length])
