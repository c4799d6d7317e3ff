"""One file of tensors: safetensors bytes that carry what they are, checked on every read. Nothing is unpickled."""

import json
from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from circuitcore.training.errors import CheckpointError
from circuitcore.training.store.digests import tensors_sha256
from circuitcore.training.store.file_bytes import header_and_body, read_bytes, read_identity, sha256

_UNSEALED = "0" * 64  # stands where the hash will, while it is computed


def pack(tensors: Mapping[str, Tensor], identity: Mapping[str, str]) -> bytes:
    """Tensors as safetensors bytes with ``identity`` in the header; equal arguments give equal bytes.

    The header's metadata is put in by hand: the library writes it in an order that changes from call to call,
    and then the same weights would have many hashes.
    """
    plain = safetensors.torch.save(dict(tensors))
    header, body = header_and_body(plain)
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


def weights_sha256(weights: Mapping[str, Tensor]) -> str:
    """Hash of tensors by name: names, types, shapes, and the bytes of their numbers."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    return tensors_sha256(
        {
            name: (
                str(tensor.dtype).removeprefix("torch."),
                list(tensor.shape),
                tensor.flatten().view(torch.uint8).numpy(),
            )
            for name, tensor in plain.items()
        }
    )


def _cause(error: Exception) -> str:
    return str(error) if isinstance(error, safetensors.SafetensorError) else f"{type(error).__name__}: {error}"
