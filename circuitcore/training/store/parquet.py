"""Tables as Parquet bytes and back. Nothing in them is unpickled, and their size is known before they are unfolded."""

import io
from pathlib import Path

import pandas as pd
import pyarrow.compute
import pyarrow.parquet

from circuitcore.training.errors import StoreError
from circuitcore.training.store.parquet_pages import unpacked_bytes

LEVEL = 19  # of Zstandard; the largest table takes half a second
# A few bytes of Parquet can stand for any number of rows. The largest table published has 1.4 million cells.
MAX_CELLS = 10**8
MAX_UNPACKED_BYTES = 2**30
_PLAIN = ("string", "boolean", "integer", "floating", "mixed-integer-float", "empty", "categorical")  # of objects
_TEXT = "BYTE_ARRAY"
_KINDS = ("BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE", _TEXT)  # of the others a cell may take any number of bytes


def to_parquet(table: pd.DataFrame) -> bytes:
    """A table as compressed Parquet; column types and ``attrs`` survive, the index does not.

    Raises:
        StoreError: a column of anything but words, numbers and truths, which could not be read again.
    """
    for name, column in table.items():
        if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) not in _PLAIN:
            kinds = sorted({type(cell).__name__ for cell in column})
            raise StoreError(f"column {name!r} holds {', '.join(kinds)}; allowed in a table: words, numbers, truths")
    buffer = io.BytesIO()
    # Measured numbers hardly repeat: split into streams of equal bytes they take a third less than as a dictionary.
    measured = [name for name in table if pd.api.types.is_float_dtype(table[name].dtype)]
    table.to_parquet(
        buffer, engine="pyarrow", compression="zstd", compression_level=LEVEL, index=False,
        use_dictionary=[name for name in table if name not in measured], use_byte_stream_split=measured,
    )  # fmt: skip
    return buffer.getvalue()


def from_parquet(path: Path, data: bytes) -> pd.DataFrame:
    """The table in the bytes of ``path`` (which only names them in errors); StoreError if it is none, or too large."""
    table_shape(path, data)
    try:
        return pd.read_parquet(io.BytesIO(data), engine="pyarrow")
    except Exception as error:  # pyarrow and pandas raise all sorts for a file that was made up
        raise StoreError(f"{path}: no Parquet table ({type(error).__name__}: {error}).") from error


def table_shape(path: Path, data: bytes) -> tuple[int, tuple[str, ...]]:
    """Rows and column names of the table in the bytes of ``path``.

    Its footer states them, and each page how many bytes it unpacks to. A word is stored once however many rows have it,
    so columns of text are read, as numbers of their words; they are not written out.

    Raises:
        StoreError: no Parquet table, one with columns other than of words, numbers and truths, or one with more than
            ``MAX_CELLS`` cells or ``MAX_UNPACKED_BYTES``, unpacked and with its words written out.
    """
    try:
        footer = pyarrow.parquet.read_metadata(pyarrow.BufferReader(data))
        names, texts = tuple(footer.schema.names), _text_columns(footer.schema)
        n_rows, unpacked = _size(data, footer)
        fits = n_rows * max(1, len(names)) <= MAX_CELLS and unpacked <= MAX_UNPACKED_BYTES
        if fits:  # else not even the words are read
            unpacked = max(unpacked, _written_out(data, texts))
    except Exception as error:
        raise StoreError(f"{path}: no Parquet table ({type(error).__name__}: {error}).") from error
    if not fits or unpacked > MAX_UNPACKED_BYTES:
        raise StoreError(
            f"{path}: a table of {n_rows:,} rows and {len(names):,} columns, {unpacked:,} bytes unpacked; "
            f"allowed: at most {MAX_CELLS:,} cells and {MAX_UNPACKED_BYTES:,} bytes."
        )
    return n_rows, names


def _size(data: bytes, footer: pyarrow.parquet.FileMetaData) -> tuple[int, int]:
    """Rows, and bytes of all pages; ValueError where the footer's counts, each of which some reader uses, differ."""
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    for group in groups:
        counts = {group.num_rows, *(group.column(index).num_values for index in range(group.num_columns))}
        if len(counts) > 1 or min(counts) < 0:
            raise ValueError(f"columns of {sorted(counts)} cells in one group of rows")
    if footer.num_rows != sum(group.num_rows for group in groups):
        raise ValueError(f"{footer.num_rows} rows, and other numbers in its groups")
    return footer.num_rows, sum(unpacked_bytes(data, group) for group in groups)


def _text_columns(schema: pyarrow.parquet.ParquetSchema) -> list[str]:
    """The columns of words; ValueError for one that is no column of words, numbers or truths."""
    columns = [schema.column(index) for index in range(len(schema))]
    for column in columns:
        flat = column.path == column.name and not column.max_repetition_level
        if not flat or column.physical_type not in _KINDS:
            kind = column.physical_type if flat else "a list or a structure"
            raise ValueError(f"column {column.path[:80]!r} is {kind}; allowed: words, numbers, truths")
    return [column.name for column in columns if column.physical_type == _TEXT]


def _written_out(data: bytes, names: list[str]) -> int:
    """Bytes that the words of these columns take if each row has its own; read as numbers of words, they do not."""
    if not names:
        return 0
    file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data), read_dictionary=names)
    total = 0
    for name in names:  # one after the other, so that no more than one is in memory
        for chunk in file.read(columns=[name]).column(0).chunks:
            lengths = pyarrow.compute.binary_length(chunk.dictionary)
            total += pyarrow.compute.sum(lengths.take(chunk.indices)).as_py() or 0
    return total
