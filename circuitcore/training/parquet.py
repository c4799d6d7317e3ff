"""Tables as Parquet bytes and back. Nothing in them is unpickled, and their size is known before a row is read."""

import io
from pathlib import Path

import pandas as pd
import pyarrow.parquet

from circuitcore.training.errors import StoreError

LEVEL = 19  # of Zstandard; the largest table takes half a second
# A few bytes of Parquet can stand for any number of rows. The largest table published has 1.4 million cells.
MAX_CELLS = 10**8
MAX_UNPACKED_BYTES = 2**30


def to_parquet(table: pd.DataFrame) -> bytes:
    """A table as compressed Parquet; column types and ``attrs`` survive, the index does not."""
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
    """Rows and column names of the table in the bytes of ``path``, as its footer states them; no row is read.

    Raises:
        StoreError: no Parquet table, or one with more than ``MAX_CELLS`` cells or ``MAX_UNPACKED_BYTES`` unpacked.
    """
    try:
        footer = pyarrow.parquet.read_metadata(io.BytesIO(data))
        names = tuple(footer.schema.names)
        unpacked = sum(footer.row_group(group).total_byte_size for group in range(footer.num_row_groups))
    except Exception as error:
        raise StoreError(f"{path}: no Parquet table ({type(error).__name__}: {error}).") from error
    cells = footer.num_rows * max(1, len(names))
    if cells > MAX_CELLS or unpacked > MAX_UNPACKED_BYTES:
        raise StoreError(
            f"{path}: a table of {footer.num_rows:,} rows and {len(names):,} columns, {unpacked:,} bytes unpacked; "
            f"allowed: at most {MAX_CELLS:,} cells and {MAX_UNPACKED_BYTES:,} bytes."
        )
    return footer.num_rows, names
