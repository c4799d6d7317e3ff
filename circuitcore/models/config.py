"""The architecture of a decoder, as a frozen value."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from circuitcore.ground.hashed import canonical, later
from circuitcore.ground.spelling import unknown

NORM_EPS = 1e-6
# Sizes only make tensors larger, and a tensor that is there has been paid for; layers make names. A recipe of a few
# hundred bytes could ask for those of a billion layers.
MAX_LAYERS = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """What a decoder is made of; every variant is a word, never a boolean pair.

    Raises:
        ValueError: a word that is not allowed, a size below one, more than ``MAX_LAYERS`` layers, an odd ``d_head``
            with RoPE.
    """

    d_vocab: int
    n_ctx: int
    n_layers: int = 2
    n_heads: int = 2
    d_model: int = 48
    d_head: int = 0  # 0: d_model // n_heads
    d_mlp: int = 96
    d_in: int = 0  # 0: token inputs; otherwise vectors of this width, mapped linearly
    norm: Literal["rms", "layer", "none"] = "rms"
    norm_position: Literal["pre", "post"] = "pre"
    positions: Literal["rope", "learned", "none"] = "rope"
    mlp: Literal["swiglu", "gelu", "relu", "none"] = "swiglu"
    init: Literal["torch", "small", "encoder"] = "torch"  # see ``init_weights``
    tied: bool = True  # unembedding = embedding transposed
    bias: Literal["none", "inside", "all"] = "none"  # inside: of attention and MLP; all: of the unembedding, too
    norm_eps: float = later(NORM_EPS)  # added to the mean square

    def __post_init__(self):
        may_be_zero = {"d_head", "d_in"} | ({"d_mlp"} if self.mlp == "none" else set())
        for field in dataclasses.fields(self):
            _check_field(field, getattr(self, field.name), 0 if field.name in may_be_zero else 1)
        if self.n_layers > MAX_LAYERS:
            raise ValueError(f"n_layers must be at most {MAX_LAYERS:,}, got {self.n_layers}")
        if not self.d_head:
            if self.d_model % self.n_heads:
                raise ValueError(f"d_model {self.d_model} is not a multiple of n_heads {self.n_heads}: give d_head")
            object.__setattr__(self, "d_head", self.d_model // self.n_heads)
        if self.positions == "rope" and self.d_head % 2:
            raise ValueError(f"RoPE rotates pairs of channels, so d_head must be even, got {self.d_head}")
        if self.tied and self.d_in:
            raise ValueError("vector inputs have no token embedding to tie to: set tied=False")

    def to_dict(self) -> dict[str, Any]:
        """What is hashed of it, as JSON literals.

        ``bias`` is False for "none" and True for "all", as before there were words for it: runs keep their names.
        """
        return canonical(self) | {"bias": _AS_HASHED.get(self.bias, self.bias)}

    @staticmethod
    def in_words(fields: Mapping[str, Any]) -> dict[str, Any]:
        """``fields`` as ``to_dict`` makes them, with the word for the biases."""
        return dict(fields) | ({"bias": _in_words(fields["bias"])} if "bias" in fields else {})

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ModelConfig":
        """The config that ``to_dict`` made those of; an unknown field, or one missing, is an error that names it."""
        allowed = [field.name for field in dataclasses.fields(cls)]
        needed = [field.name for field in dataclasses.fields(cls) if field.default is dataclasses.MISSING]
        if missing := [name for name in needed if name not in fields]:
            raise ValueError(f"the model lacks {', '.join(missing)}")
        for name in fields:
            if name not in allowed:
                raise ValueError(unknown("model field", name, allowed))
        return cls(**cls.in_words(fields))


_AS_HASHED = {"none": False, "all": True}


def _in_words(bias: Any) -> Any:
    return {hashed: word for word, hashed in _AS_HASHED.items()}[bias] if isinstance(bias, bool) else bias


def _check_field(field: dataclasses.Field, value: Any, least: int) -> None:
    """Refuse a word or a size the decoder does not know."""
    if get_origin(field.type) is Literal:
        if value not in get_args(field.type):
            raise ValueError(f"{field.name}: {unknown('word', str(value), get_args(field.type))}")
    elif not isinstance(value, field.type) or (field.type is int and isinstance(value, bool)):
        raise ValueError(f"{field.name} must be {field.type.__name__}, got {value!r}")
    elif field.type is float and not 0 < value < 1:
        raise ValueError(f"{field.name} must lie between 0 and 1, got {value}")
    elif field.type is int and value < least:
        raise ValueError(f"{field.name} must be at least {least}, got {value}")
