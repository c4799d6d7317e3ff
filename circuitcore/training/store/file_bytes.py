"""The bytes of a run's files, checked when they are read; of a checkpoint what its header says, without torch."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from circuitcore.ground.reading import MAX_RUN_JSON_BYTES, parse_json, read_file
from circuitcore.training.errors import REMEDY, CheckpointError, StoreError

SQUEEZED = ".squeezed"  # how the name of a file ends whose bytes are squeezed (``store.squeezed``)
# First bytes of a pickle (protocol 2 and up) and of the zip archive that torch.save writes.
_PICKLE_STARTS = (b"\x80", b"PK\x03\x04")


def sha256(data: bytes) -> str:
    """SHA-256 of ``data``, 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def read_bytes(path: Path) -> bytes:
    """The bytes of ``path``, restored where they were squeezed; CheckpointError if absent, unreadable or damaged."""
    try:
        return _restored(path, read_file(path))
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror}). {REMEDY}") from error
    except ValueError as error:
        raise CheckpointError(f"{path}: damaged ({error}). {REMEDY}") from error


def read_checked(path: Path, expected: str | None) -> bytes:
    """The bytes of ``path``, restored where they were squeezed, if they have the hash that the ledger holds for them.

    Raises:
        StoreError: absent, unreadable, or other bytes.
    """
    try:
        data = _restored(path, read_file(path))
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror}). {REMEDY}") from error
    except ValueError as error:
        raise StoreError(f"{path}: damaged ({error}). {REMEDY}") from error
    if sha256(data) != expected:
        raise StoreError(f"{path}: its bytes do not give the hash that the ledger holds. {REMEDY}")
    return data


def _restored(path: Path, data: bytes) -> bytes:
    if path.suffix != SQUEEZED:
        return data
    from circuitcore.training.store.squeezed import restore  # pyarrow takes long to import, and most files need none

    return restore(data)


def read_json(path: Path, most: int, make: Callable[[Any], str]) -> str:
    """What ``make`` makes of the JSON in ``path``, at most so many bytes; StoreError where it is absent or damaged."""
    try:
        return make(parse_json(read_file(path, most)))
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror}). {REMEDY}") from error
    except ValueError as error:
        raise StoreError(f"{path}: damaged ({error}). {REMEDY}") from error


def read_identity(path: Path, data: bytes) -> dict[str, str]:
    """What the header of the bytes of ``path`` says they are; errors as in ``checkpoint.unpack``."""
    refuse_pickle(path, data)
    try:
        identity = parse_json(header_and_body(data)[0]).get("__metadata__", {})
        if not all(isinstance(value, str) for value in identity.values()):
            raise ValueError("metadata that is no text")
    except (ValueError, AttributeError) as error:
        raise CheckpointError(f"{path}: no safetensors file, or one whose header is damaged ({error}).") from error
    return identity


def refuse_pickle(path: Path, data: bytes) -> None:
    """Stop at a pickle before anything looks into it.

    Raises:
        CheckpointError: ``data`` starts as a pickle or a torch.save archive does.
    """
    # A safetensors file starts with the length of its header, which may have these first bytes, too.
    if data.startswith(_PICKLE_STARTS) and data[8:9] != b"{":
        raise CheckpointError(
            f"{path}: refused. This is a pickle (or a torch.save archive), and a pickle can run any code when it is "
            "loaded; circuitcore reads safetensors only. If you trust its maker, load it yourself and save the "
            "tensors with safetensors.torch.save_file."
        )


def header_length(start: bytes) -> int:
    """Bytes of a safetensors file's header, out of the 8 that the file starts with.

    Raises:
        ValueError: more than any checkpoint needs; parsed, they would take thirty times that.
    """
    length = int.from_bytes(start, "little")
    if length > MAX_RUN_JSON_BYTES:
        raise ValueError(f"header of {length:,} bytes announced; allowed: at most {MAX_RUN_JSON_BYTES:,}")
    return length


def header_and_body(data: bytes) -> tuple[bytes, bytes]:
    """Header text and tensor bytes of a safetensors file: 8 bytes of header length, header, tensors."""
    length = header_length(data[:8])
    if len(data) < 8 + length:
        raise ValueError(f"header of {length} bytes announced, {len(data)} bytes in all")
    return data[8 : 8 + length], data[8 + length :]
