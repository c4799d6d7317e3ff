"""One file of tensors: safetensors bytes that carry what they are, checked on every read. Nothing is unpickled."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
from torch import Tensor

from circuitcore.ground.reading import MAX_RUN_JSON_BYTES, parse_json, read_file
from circuitcore.training.errors import REMEDY, CheckpointError, StoreError

# First bytes of a pickle (protocol 2 and up) and of the zip archive that torch.save writes.
_PICKLE_STARTS = (b"\x80", b"PK\x03\x04")
_UNSEALED = "0" * 64  # stands where the hash will, while it is computed


def sha256(data: bytes) -> str:
    """SHA-256 of ``data``, 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def pack(tensors: Mapping[str, Tensor], identity: Mapping[str, str]) -> bytes:
    """Tensors as safetensors bytes with ``identity`` in the header; equal arguments give equal bytes.

    The header's metadata is put in by hand: the library writes it in an order that changes from call to call,
    and then the same weights would have many hashes.
    """
    plain = safetensors.torch.save(dict(tensors))
    header, body = _split(plain)
    fields = {"__metadata__": dict(sorted(identity.items())), **json.loads(header)}
    text = json.dumps(fields, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the format wants the tensors to start at a multiple of 8
    return len(text).to_bytes(8, "little") + text + body


def unpack(path: Path, data: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and identity out of the bytes of ``path`` (which only names them in errors).

    Raises:
        CheckpointError: a pickle, a cut file, or anything else that is not safetensors.
    """
    identity = read_identity(path, data)
    try:
        return safetensors.torch.load(data), identity
    except Exception as error:  # the library raises all sorts for a header that was made up
        raise CheckpointError(f"{path}: cut short or damaged ({_cause(error)}).") from error


def read_identity(path: Path, data: bytes) -> dict[str, str]:
    """What the header of the bytes of ``path`` says they are; errors as in ``unpack``."""
    refuse_pickle(path, data)
    try:
        identity = parse_json(_split(data)[0]).get("__metadata__", {})
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


def seal(tensors: Mapping[str, Tensor], identity: Mapping[str, str]) -> bytes:
    """As ``pack``, with a hash of the whole file in its own header: for files that no ledger vouches for."""
    data = pack(tensors, {**identity, "sha256": _UNSEALED})
    return data.replace(_UNSEALED.encode(), sha256(data).encode(), 1)


def read_sealed(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """What ``seal`` made, checked against its own hash.

    Raises:
        CheckpointError: absent, no sealed file, or damaged in any byte.
    """
    data = read_bytes(path)
    claimed = read_identity(path, data).get("sha256", _UNSEALED)
    if sha256(data.replace(claimed.encode(), _UNSEALED.encode(), 1)) != claimed:
        raise CheckpointError(f"{path}: damaged, its bytes do not give the hash in its header.")
    tensors, identity = unpack(path, data)
    del identity["sha256"]
    return tensors, identity


def read_bytes(path: Path) -> bytes:
    """The bytes of ``path``; CheckpointError where there is no such file or it cannot be read."""
    try:
        return read_file(path)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror}).") from error


def _cause(error: Exception) -> str:
    return str(error) if isinstance(error, safetensors.SafetensorError) else f"{type(error).__name__}: {error}"


def header_length(start: bytes) -> int:
    """Bytes of a safetensors file's header, out of the 8 that the file starts with.

    Raises:
        ValueError: more than any checkpoint needs; parsed, they would take thirty times that.
    """
    length = int.from_bytes(start, "little")
    if length > MAX_RUN_JSON_BYTES:
        raise ValueError(f"header of {length:,} bytes announced; allowed: at most {MAX_RUN_JSON_BYTES:,}")
    return length


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Header text and tensor bytes of a safetensors file: 8 bytes of header length, header, tensors."""
    length = header_length(data[:8])
    if len(data) < 8 + length:
        raise ValueError(f"header of {length} bytes announced, {len(data)} bytes in all")
    return data[8 : 8 + length], data[8 + length :]


def read_checked(path: Path, expected: str | None) -> bytes:
    """The bytes of ``path`` if they have the hash that the ledger holds for them; StoreError otherwise."""
    try:
        data = read_file(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror}). {REMEDY}") from error
    if sha256(data) != expected:
        raise StoreError(f"{path}: its bytes do not give the hash that the ledger holds. {REMEDY}")
    return data
