"""A trained network of the living paper in TransformerLens 3, with nothing else of the paper installed.

``pip install "transformer-lens<4"``, then, in Python, from the folder of this file::

    import torch
    from load import load

    model, vocab = load()  # a HookedTransformer and the word of every token id
    ids = [vocab.index(word) for word in "<bos> K1 V6 ; K0 V4 ; Q K1 ->".split()]
    logits, cache = model.run_with_cache(torch.tensor([ids]))
    cache["pattern", 1]  # [batch head query key]
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

HERE = Path(__file__).resolve().parent
MOST_OFF = 1e-4  # of the largest logit; rounding in float32 stays far below, a swapped or missing tensor does not


def load(folder: Path | str = HERE, dtype: torch.dtype = torch.float32, **config: Any) -> tuple[Any, list[str]]:
    """The network as a ``HookedTransformer``, checked on the prompts that were exported with it.

    Args:
        folder: of ``config.json``, ``weights.safetensors`` and ``check.safetensors``.
        dtype: float32, in which the weights were trained, or float64.
        **config: further arguments of ``HookedTransformerConfig``, such as ``device="cuda"``, ``use_attn_result=True``.

    Returns:
        The model, and the words of its token ids in order; an id that means none is called ``<unused 7>``.

    Raises:
        ImportError: no TransformerLens, or version 4, which has no ``HookedTransformer``.
        ValueError: files that do not belong together, or logits that are not the exported ones.
    """
    try:
        from transformer_lens import HookedTransformer, HookedTransformerConfig
    except ImportError as error:
        raise ImportError('this needs TransformerLens below 4: pip install "transformer-lens<4"') from error
    folder = Path(folder)
    described = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    options = {"device": "cpu", **described["config"], **config}
    model = HookedTransformer(HookedTransformerConfig(dtype=dtype, **options))
    _fill(model, load_file(folder / "weights.safetensors"))
    _check(model, load_file(folder / "check.safetensors"))
    return model.eval(), described["vocab"]


def _fill(model: torch.nn.Module, weights: dict[str, torch.Tensor]) -> None:
    """Copy the weights into the model's parameters, which must be exactly these."""
    own = dict(model.named_parameters())
    if own.keys() != weights.keys():
        raise ValueError(f"weights.safetensors does not fit config.json: {sorted(own.keys() ^ weights.keys())}")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(weights[name])


@torch.no_grad()
def _check(model: Any, wanted: dict[str, torch.Tensor]) -> None:
    """Compare logits with those that circuitcore computed from the same weights."""
    device, logits = next(model.parameters()).device, wanted["logits"]
    found = model(wanted["tokens"].to(device), return_type="logits").cpu().double()
    off = float((found - logits).abs().max() / logits.abs().max())
    if not off <= MOST_OFF:
        text = f"logits are off by up to {off:.2g} of the largest; at most {MOST_OFF} would be rounding"
        raise ValueError(f"{text}. These files are not as they were exported.")
