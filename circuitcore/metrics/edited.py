"""The read-out under many interventions: one clean pass, and of each intervention only what its edits can change.

Interventions that first act at about the same place share a pass; those the read-out cannot see take none.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from circuitcore.metrics.native_passes import covers, native_passes
from circuitcore.models import ModelConfig, forward
from circuitcore.models.edits import Cache, Edit, Resolved, resolve
from circuitcore.models.plan import plan
from circuitcore.models.reach import Onset, onset
from circuitcore.models.sites import HEAD_SITES, STREAM_SITES, stage
from circuitcore.models.transformer import Weights
from circuitcore.models.window import Window
from circuitcore.tasks.base import Batch

EDITS_AT_ONCE = 4  # whole passes; one that fits the caches is a fifth faster than one four times as large


@dataclass(frozen=True, eq=False)
class Answers:
    """What comes out at the read-out under each intervention.

    Attributes:
        logits: at the read-out.
        pattern: the last layer's, from the read-out.
    """

    logits: Float[Tensor, "edit ckpt batch vocab"]
    pattern: Float[Tensor, "edit ckpt batch head key"]


def answers_under(
    config: ModelConfig,
    weights: Weights,
    batch: Batch,
    interventions: Sequence[Sequence[Edit]],
    sources: Mapping[str, Cache],
) -> Answers:
    """What comes out at the read-out under each intervention; the way of all edited passes that end there.

    Args:
        config: the architecture.
        weights: a stack of checkpoints.
        batch: rows that are run, with their roles.
        interventions: each a tuple of edits made together.
        sources: recorded caches by name, which are read in place.

    Raises:
        ValueError: as in ``resolve``.
    """
    like = _shapes(config, weights, batch)
    found = [resolve(edits, batch.roles, sources, like) for edits in interventions]
    onsets = [onset(edits, batch.roles["read_out"], config.n_layers) for edits in found]
    if not covers(config, weights, found):
        return Answers(*_torch_passes(config, weights, batch, found, onsets))
    seen = [() if start is None else edits for edits, start in zip(found, onsets, strict=True)]
    logits, pattern = native_passes(config, weights, batch, seen)
    return Answers(logits[1:], pattern[1:])  # the clean pass comes first


def _torch_passes(
    config: ModelConfig,
    weights: Weights,
    batch: Batch,
    found: Sequence[Sequence[Resolved]],
    onsets: Sequence[Onset | None],
) -> tuple[Tensor, Tensor]:
    """Logits and the last layer's pattern at the read-out, under each intervention."""
    window = Window.of_answers(batch.roles["read_out"], config.n_layers)
    output = forward(config, weights, batch.tokens, record=_kept(config, found))
    last, pattern_key = config.n_layers - 1, f"pattern.{config.n_layers - 1}"
    logits = window.part("resid_final", last, output.logits)[..., 0, :].repeat(len(found), 1, 1, 1)
    pattern = window.part("pattern", last, output.cache[pattern_key])[..., 0, :].repeat(len(found), 1, 1, 1, 1)
    for members, part in _passes(onsets, dataclasses.replace(window, clean=output.cache)):
        edits = plan([found[number] for number in members], part)
        edited = forward(config, weights, batch.tokens, edits, [pattern_key])
        logits[members] = edited.logits[..., 0, :]
        pattern[members] = edited.cache[pattern_key][..., 0, :]
    return logits, functional.pad(pattern, (0, batch.tokens.shape[1] - window.stop))


def _shapes(config: ModelConfig, weights: Weights, batch: Batch) -> Cache:
    """A tensor of each editable site's shape ``[ckpt *site shape]`` that takes no memory, to resolve edits against."""
    like, n_rows, n_pos = next(iter(weights.values())), len(batch), batch.tokens.shape[1]
    shapes = {name: (n_rows, n_pos, config.n_heads, config.d_head) for name in HEAD_SITES}
    shapes |= {name: (n_rows, n_pos, config.d_model) for name in STREAM_SITES}
    shapes |= {
        "mlp_post": (n_rows, n_pos, config.d_mlp),
        **dict.fromkeys(("scores", "pattern"), (n_rows, config.n_heads, n_pos, n_pos)),
    }
    absent = ("mlp_post", "mlp_out") if config.mlp == "none" else ()
    return {
        f"{name}.{layer}": like.new_zeros(()).expand(len(like), *shape)
        for layer in range(config.n_layers)
        for name, shape in shapes.items()
        if name not in absent and (name != "resid_final" or layer == config.n_layers - 1)
    }


def _kept(config: ModelConfig, interventions: Sequence[Sequence[Resolved]]) -> set[str]:
    """What the passes can take up from: the edited sites, and what is read beside them from their layer on."""
    sites = {edit.site for edits in interventions for edit in edits}
    layers = range(min((site.layer for site in sites), default=config.n_layers), config.n_layers)
    beside = {f"{name}.{layer}" for name in ("resid_pre", "q", "k", "v", "resid_mid") for layer in layers}
    return {site.key for site in sites} | beside | {f"pattern.{config.n_layers - 1}"}


def _passes(onsets: Sequence[Onset | None], window: Window) -> Iterator[tuple[list[int], Window]]:
    """Interventions to run together, by number, and the part of the pass that they leave open."""
    places = {number: _place(start, window) for number, start in enumerate(onsets) if start is not None}
    in_order = sorted(places, key=lambda number: (places[number], onsets[number].stage))
    for (layer, first, narrow), alike in itertools.groupby(in_order, places.get):
        # At the read-out alone, what is kept of earlier positions is read whole: no seam within the keys.
        part = dataclasses.replace(window, first=0 if narrow else first)
        numbers, at_once = list(alike), EDITS_AT_ONCE * window.stop // (1 if narrow else window.stop - first)
        for begin in range(0, len(numbers), at_once):
            together = numbers[begin : begin + at_once]
            yield together, dataclasses.replace(part, start=(layer, onsets[together[0]].stage))


def _place(start: Onset, window: Window) -> tuple[int, int, bool]:
    """Layer and position to take up at, and whether nothing is open but the last layer at the read-out."""
    first = min(start.first, int(window.read_out.min()))  # rows that are read out before any edit are read out, too
    return start.layer, first, start.layer == window.last_layer and start.stage > stage("resid_pre")
