"""What may be handed to C++, which reads memory where it is told: lengths, shapes and ids, looked at beforehand."""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from circuitcore.models import ModelConfig


def address(numbers: Float[Tensor, "*rows size"], shape: tuple[int, ...]) -> int:
    """Where float32 numbers of one shape begin in memory.

    Raises:
        ValueError: another shape, kind or device, or numbers that do not lie side by side.
    """
    plain = numbers.dtype == torch.float32 and numbers.device.type == "cpu" and numbers.is_contiguous()
    if tuple(numbers.shape) != shape or not plain:
        raise ValueError(
            f"numbers {tuple(numbers.shape)} of {numbers.dtype} on {numbers.device}; this model reads {shape}, of "
            "torch.float32 on the CPU, side by side"
        )
    return numbers.data_ptr()


def readable(config: ModelConfig, tokens: Shaped[Tensor, "batch pos *d_in"]) -> Tensor:
    """Tokens as C++ reads them, whatever ids they are; ValueError where they do not fit the model."""
    if tokens.dim() != 2 + bool(config.d_in) or (config.d_in and tokens.shape[2] != config.d_in):
        wanted = f"vectors [batch pos {config.d_in}]" if config.d_in else "token ids [batch pos]"
        raise ValueError(f"tokens of shape {tuple(tokens.shape)}; this model reads {wanted}")
    if tokens.shape[1] > config.n_ctx:
        raise ValueError(f"{tokens.shape[1]} positions, but the model was built for at most {config.n_ctx}")
    if config.d_in:
        return tokens.to(torch.float32).contiguous()
    if tokens.is_floating_point():  # cut to integers they would be other tokens
        raise ValueError(f"tokens are {tokens.dtype}; this model reads token ids, which are integers")
    return tokens.to(torch.int64).contiguous()


def known(config: ModelConfig, tokens: Shaped[Tensor, "batch pos *d_in"]) -> Tensor:
    """As ``readable``, with the ids checked (those of a training batch are checked in C++)."""
    tokens = readable(config, tokens)
    if not config.d_in:
        low, high = tokens.aminmax()
        if low < 0 or high >= config.d_vocab:
            raise ValueError(f"token ids {int(low)}..{int(high)}; the model's vocabulary is 0..{config.d_vocab - 1}")
    return tokens


def places(read_out: Int[Tensor, " batch"], size: int, positions: int) -> Int[Tensor, " batch"]:
    """One position per row, as C++ reads them; ValueError where it is not one for each, or outside its row."""
    if tuple(read_out.shape) != (size,):
        raise ValueError(f"read-outs of shape {tuple(read_out.shape)}; {size} rows have one each")
    if ((read_out < 0) | (read_out >= positions)).any():
        raise ValueError(f"read-outs {read_out.unique().tolist()} of rows with positions 0..{positions - 1}")
    return read_out.to(torch.int64).contiguous()
