"""Tables as Parquet bytes and back."""

import io
from pathlib import Path

import pandas as pd

from circuitcore.training.errors import StoreError


def to_parquet(table: pd.DataFrame) -> bytes:
    """A table as compressed Parquet; column types and ``attrs`` survive, the index does not."""
    buffer = io.BytesIO()
    table.to_parquet(buffer, engine="pyarrow", compression="zstd", index=False)
    return buffer.getvalue()


def from_parquet(path: Path, data: bytes) -> pd.DataFrame:
    """The table in the bytes of ``path`` (which only names them in errors); StoreError if it is none."""
    try:
        return pd.read_parquet(io.BytesIO(data), engine="pyarrow")
    except (ValueError, OSError) as error:
        raise StoreError(f"{path}: no Parquet table ({error}).") from error
