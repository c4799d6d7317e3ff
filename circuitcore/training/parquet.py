"""Tables as Parquet bytes and back."""

import io
from pathlib import Path

import pandas as pd

from circuitcore.training.errors import StoreError

LEVEL = 19  # of Zstandard; the largest table takes half a second


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
    """The table in the bytes of ``path`` (which only names them in errors); StoreError if it is none."""
    try:
        return pd.read_parquet(io.BytesIO(data), engine="pyarrow")
    except (ValueError, OSError) as error:
        raise StoreError(f"{path}: no Parquet table ({error}).") from error
