"""Calling the compiled decoder: structures mirrored from ``source/config.hpp`` and ``train.hpp``, and one class."""

import ctypes
from collections.abc import Sequence
from ctypes import c_double, c_int, c_int64, c_void_p
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from circuitcore.models import ModelConfig
from circuitcore.models.capabilities import require
from circuitcore.native import inputs
from circuitcore.native.build import open_library
from circuitcore.native.flat import FlatWeights
from circuitcore.native.known import ACTIVATIONS, KNOWN, SIZES, WHO


def _structure(name: str, /, **fields: type) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


WORDS = ("post_norm", "rope", "activation", "tied")
CONFIG = _structure("Config", **dict.fromkeys((*SIZES, *WORDS), c_int64), norm_eps=c_double)
# Field of the structure -> the tensor whose place it holds.
PLACES = {
    "W_pos": "pos_embed.W_pos",
    "ln_final_w": "ln_final.w",
    "ln_final_b": "ln_final.b",
    "W_U": "unembed.W_U",
    "b_U": "unembed.b_U",
}
LAYER_PLACES = {f"{part}_{c}": f"attn.{part}_{c}" for part, cs in (("W", "QKVO"), ("b", "QKVO")) for c in cs}
LAYER_PLACES |= {f"ln{n}_{part}": f"ln{n}.{part}" for n in (1, 2) for part in "wb"}
LAYER_PLACES |= {f"{part}_{name}": f"mlp.{part}_{name}" for part in "Wb" for name in ("gate", "in", "out")}
EVERYWHERE = _structure("Places", **dict.fromkeys(("embed", *PLACES), c_int64))
OF_LAYER = _structure("LayerPlaces", **dict.fromkeys(LAYER_PLACES, c_int64))
BATCH = _structure(
    "Batch",
    **dict.fromkeys(("inputs", "targets", "mask"), c_void_p),
    **dict.fromkeys(("size", "positions", "vector_targets"), c_int64),
)
SITES = ("resid_pre", "q", "k", "v", "scores", "z", "resid_mid", "mlp_post", "mlp_out", "resid_post")  # forward.hpp
RECORDABLE = tuple(name for name in SITES if name != "scores") + ("pattern", "resid_final")
STRIDES = ("row_stride", "position_stride", "head_stride")
EDIT = _structure(
    "Edit",
    **dict.fromkeys(("intervention", "site", "layer", "head"), c_int64),
    **dict.fromkeys(("positions", "keys", "value"), c_void_p),
    **dict.fromkeys(STRIDES, c_int64),
)
ALSO_RECORDED = {"pattern": 100, "resid_final": 101}  # record.hpp
WANTED = _structure("Wanted", site=c_int64, layer=c_int64, to=c_void_p)
RECORDING = _structure(
    "Recording",
    **dict.fromkeys(("inputs", "at"), c_void_p),
    **dict.fromkeys(("size", "positions", "wanted"), c_int64),
    **dict.fromkeys(("each", "logits"), c_void_p),
)
QUESTION = _structure(
    "Question",
    **dict.fromkeys(("inputs", "read_out"), c_void_p),
    **dict.fromkeys(("size", "positions", "edits"), c_int64),
    **dict.fromkeys(("edit", "logits", "pattern"), c_void_p),
)
RULE = _structure(
    "Rule",
    **dict.fromkeys(("lr", "beta1", "beta2", "eps", "weight_decay", "clip_norm", "momentum"), c_double),
    name=c_int64,
)
RULES = ("adam", "adamw", "sgd")  # in the order of the enum in update.hpp


class UpdateRule(NamedTuple):
    """One of ``RULES`` at the rate of one step; ``clip_norm`` 0 leaves gradients as they are."""

    name: str
    lr: float
    betas: tuple[float, float]
    eps: float
    weight_decay: float
    clip_norm: float
    momentum: float = 0.0


class Replace(NamedTuple):
    """New values at one site, or for ``scores`` forbidden keys.

    Attributes:
        site: name in ``SITES``.
        layer: its layer.
        head: the head meant; None for all, and where the site has no heads.
        positions: bool ``[batch pos]``, where; for a cut the queries.
        value: float32 ``[batch pos d]`` or ``[batch pos head d_head]``, in any strides but the last; None for zeros.
        keys: bool ``[batch pos]``, for a cut the keys.
    """

    site: str
    layer: int
    head: int | None
    positions: Tensor
    value: Tensor | None
    keys: Tensor | None = None


def _edit(intervention: int, edit: Replace) -> ctypes.Structure:
    """The edit as C++ sees it; the tensors must outlive it."""
    places = [None if tensor is None else tensor.data_ptr() for tensor in (edit.positions, edit.keys, edit.value)]
    strides = () if edit.value is None else edit.value.stride()[:-1]
    head = -1 if edit.head is None else edit.head
    return EDIT(intervention, SITES.index(edit.site), edit.layer, head, *places, *strides)


class NativeDecoder:
    """One compiled decoder with the memory it works in; not to be used by two threads at once.

    Weights, moments and gradients are the caller's flat vectors (see ``FlatWeights``).

    Raises:
        BuildError: the native code cannot be used on this machine (``why_not`` says so beforehand).
        UnsupportedError: it does not know a word of the config (``native.unsupported`` says so beforehand).
    """

    def __init__(self, config: ModelConfig, library: ctypes.CDLL | None = None):
        require(WHO, KNOWN, config)
        self.flat, self._config = FlatWeights(config), config
        self._library = declared(library or open_library())
        everywhere, layers = _places(config, self.flat.places)
        sizes = {name: getattr(config, name) for name in SIZES}
        structure = CONFIG(
            **sizes,
            post_norm=config.norm_position == "post",
            rope=config.positions == "rope",
            activation=ACTIVATIONS.index(config.mlp),
            tied=config.tied,
            norm_eps=config.norm_eps,
        )
        self._handle = self._library.decoder_new(ctypes.byref(structure), ctypes.byref(everywhere), layers)

    def __del__(self):
        if hasattr(self, "_handle"):
            self._library.decoder_free(self._handle)

    def gradient(
        self,
        parameters: Float[Tensor, " size"],
        tokens: Shaped[Tensor, "batch pos *d_in"],
        targets: Shaped[Tensor, "batch pos *d_vocab"],
        loss_mask: Bool[Tensor, "batch pos"],
    ) -> tuple[float, Float[Tensor, " size"]]:
        """Mean loss over the positions in ``loss_mask``, and its gradient. Losses as in ``step``."""
        gradient, batch = torch.empty_like(parameters), self._batch(tokens, targets, loss_mask)
        loss = self._library.decoder_gradient(
            self._handle, self._weights_at(parameters), ctypes.byref(batch), gradient.data_ptr(), self.flat.size
        )
        return loss, gradient

    def step(
        self, state: "Training", rule: UpdateRule, tokens: Tensor, targets: Tensor, loss_mask: Tensor
    ) -> tuple[float, float]:
        """One update of ``state``, in place; the loss before it and the norm of its unclipped gradient.

        Args:
            state: weights, moments and the number of updates done.
            rule: the update rule.
            tokens: ids ``[batch pos]``, or vectors ``[batch pos d_in]``.
            targets: ids ``[batch pos]`` for cross-entropy in nats, or vectors ``[batch pos d_vocab]`` for the mean
                squared error over outputs.
            loss_mask: ``[batch pos]``, the positions that are scored; the loss is their mean.

        Raises:
            ValueError: more positions than the model has, shapes that do not fit (those of ``state`` included), an id
                outside the vocabulary.
        """
        n_moments = max(len(state.moments), 2 if rule.name != "sgd" else rule.momentum != 0)
        moments = inputs.address(state.moments, (n_moments, self.flat.size))
        parameters, gradient = map(self._weights_at, (state.parameters, state.gradient))
        batch, norm = self._batch(tokens, targets, loss_mask), c_double()
        numbers = (rule.lr, *rule.betas, rule.eps, rule.weight_decay, rule.clip_norm, rule.momentum)
        asked = RULE(*numbers, RULES.index(rule.name))
        state.steps += 1
        vectors, by_reference = (parameters, moments, gradient, self.flat.size), map(ctypes.byref, (batch, asked))
        loss = self._library.decoder_step(self._handle, *vectors, *by_reference, state.steps, ctypes.byref(norm))
        return loss, norm.value

    def answers(
        self,
        parameters: Float[Tensor, " size"],
        tokens: Shaped[Tensor, "batch pos *d_in"],
        read_out: Int[Tensor, " batch"],
        edits: Sequence[Sequence[Replace]],
    ) -> tuple[Float[Tensor, "edit batch d_vocab"], Float[Tensor, "edit batch head key"]]:
        """Logits and the last layer's pattern at the read-out: of the clean pass first, then under each intervention.

        Of an intervention only what lies behind its first edit is computed.

        Args:
            parameters: the weights of one checkpoint.
            tokens: ids, or vectors.
            read_out: one position per row.
            edits: per intervention its replacements; where two meet, the later one wins. Without any, the answers are
                the clean ones.

        Raises:
            ValueError: more positions than the model has, an id outside the vocabulary, a read-out outside its row.
        """
        (size, positions), c = tokens.shape[:2], self._config
        tokens, read_out = inputs.known(c, tokens), inputs.places(read_out, size, positions)
        listed = [(number, edit) for number, together in enumerate(edits, 1) for edit in together]
        array = (EDIT * len(listed))(*(_edit(number, edit) for number, edit in listed))
        logits = torch.empty(len(edits) + 1, size, c.d_vocab)
        pattern = torch.zeros(len(edits) + 1, size, c.n_heads, positions)
        question = QUESTION(
            *(tokens.data_ptr(), read_out.data_ptr(), size, positions, len(listed)),
            *(ctypes.addressof(array), logits.data_ptr(), pattern.data_ptr()),
        )
        self._library.decoder_answers(self._handle, self._weights_at(parameters), ctypes.byref(question))
        for number, together in enumerate(edits, 1):
            if not together:
                logits[number], pattern[number] = logits[0], pattern[0]
        return logits, pattern

    def record(
        self,
        parameters: Float[Tensor, " size"],
        tokens: Shaped[Tensor, "batch pos *d_in"],
        keys: Sequence[str],
        *,
        with_logits: bool = True,
        at: Bool[Tensor, " pos"] | None = None,
    ) -> tuple[Float[Tensor, "batch pos d_vocab"] | None, dict[str, Tensor]]:
        """Logits of a clean pass, and sites by keys like ``"pattern.1"``, shaped as ``circuitcore.models.sites`` says.

        Args:
            parameters: the weights of one checkpoint.
            tokens: ids, or vectors.
            keys: of ``RECORDABLE`` sites that the decoder has.
            with_logits: whether there are logits; None in their place otherwise.
            at: positions that are wanted; all by default. At the others the sites hold NaN.

        Raises:
            ValueError: more positions than the model has, an id outside the vocabulary; logits or patterns at some
                positions only, or at none.
        """
        (size, positions), c, tokens = tokens.shape[:2], self._config, inputs.known(self._config, tokens)
        widths = dict.fromkeys(("q", "k", "v", "z"), (c.n_heads, c.d_head)) | {"mlp_post": (c.d_mlp,)}
        at = torch.ones(positions, dtype=torch.bool) if at is None else at
        if not at.all() and (with_logits or not at.any() or any(key.startswith("pattern") for key in keys)):
            raise ValueError(f"logits and patterns come at all of {positions} positions, sites at one at least: {at}")
        found, wanted = {}, []
        for key in dict.fromkeys(keys):  # each once: what C++ writes to must stay
            name, layer = key.split(".")
            lead = (size, c.n_heads, positions) if name == "pattern" else (size, positions)
            width = (positions,) if name == "pattern" else widths.get(name, (c.d_model,))
            found[key] = torch.empty(*lead, *width)
            if name == "pattern" or not at.all():  # nothing is written above the diagonal, or where nothing is wanted
                found[key].fill_(0 if name == "pattern" else torch.nan)
            site = ALSO_RECORDED[name] if name in ALSO_RECORDED else SITES.index(name)
            wanted.append(WANTED(site, int(layer), found[key].data_ptr()))
        each, logits = (WANTED * len(wanted))(*wanted), torch.empty(size, positions, c.d_vocab) if with_logits else None
        to = None if logits is None else logits.data_ptr()
        mask = at.expand(size, positions).contiguous()
        where = (tokens.data_ptr(), mask.data_ptr(), size, positions)
        recording = RECORDING(*where, len(wanted), ctypes.addressof(each), to)
        self._library.decoder_record(self._handle, self._weights_at(parameters), ctypes.byref(recording))
        return logits, found

    def _weights_at(self, vector: Tensor) -> int:
        """Where the numbers of one of the model's flat vectors begin; ValueError for a vector of another length."""
        return inputs.address(vector, (self.flat.size,))

    def _batch(self, tokens: Tensor, targets: Tensor, loss_mask: Tensor) -> ctypes.Structure:
        """The batch as C++ sees it; it keeps its tensors alive."""
        c, shape, vectors = self._config, tuple(loss_mask.shape), targets.is_floating_point()
        wanted = {"tokens": (*shape, c.d_in) if c.d_in else shape, "targets": (*shape, c.d_vocab) if vectors else shape}
        for name, tensor in (("tokens", tokens), ("targets", targets)):
            if tuple(tensor.shape) != wanted[name]:
                raise ValueError(f"{name} have shape {tuple(tensor.shape)}; with this loss_mask: {wanted[name]}")
        tokens = inputs.readable(c, tokens)
        targets = targets.to(torch.float32 if vectors else torch.int64).contiguous()
        loss_mask = loss_mask.bool().contiguous()
        batch = BATCH(tokens.data_ptr(), targets.data_ptr(), loss_mask.data_ptr(), *shape, vectors)
        batch.kept = (tokens, targets, loss_mask)
        if not self._library.batch_fits(self._handle, ctypes.byref(batch)):
            raise ValueError(f"a token or target id is outside 0..{c.d_vocab - 1}, the model's vocabulary")
        return batch


class Training:
    """What changes while a decoder is trained: flat weights, the rule's moments ``[moment size]``, updates done."""

    def __init__(self, parameters: Float[Tensor, " size"], n_moments: int = 2):
        self.parameters, self.steps = parameters.clone(), 0
        self.moments = torch.zeros(n_moments, len(parameters))
        self.gradient = torch.zeros_like(parameters)


def peak_gflops(seconds: float) -> float:
    """What one core does on registers alone: 10^9 multiplications and additions (fp32) per second, for ``seconds``."""
    return declared(open_library()).peak_gflops(seconds)


def declared(library: ctypes.CDLL) -> ctypes.CDLL:
    """The library with the signatures of its functions."""
    signatures = {
        "decoder_new": (c_void_p, (c_void_p, c_void_p, c_void_p)),
        "decoder_free": (None, (c_void_p,)),
        "batch_fits": (c_int, (c_void_p, c_void_p)),
        "decoder_gradient": (c_double, (c_void_p, c_void_p, c_void_p, c_void_p, c_int64)),
        "decoder_step": (c_double, (*(c_void_p,) * 4, c_int64, c_void_p, c_void_p, c_int64, c_void_p)),
        "decoder_answers": (None, (c_void_p, c_void_p, c_void_p)),
        "decoder_record": (None, (c_void_p, c_void_p, c_void_p)),
        "peak_gflops": (c_double, (c_double,)),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _places(config: ModelConfig, places: dict[str, int]) -> tuple[ctypes.Structure, ctypes.Array]:
    """Where every tensor begins, -1 for those the decoder lacks."""
    embed = places["embed.W_in" if config.d_in else "embed.W_E"]
    everywhere = EVERYWHERE(embed, **{field: places.get(name, -1) for field, name in PLACES.items()})
    layers = (OF_LAYER * config.n_layers)()
    for number in range(config.n_layers):
        for field, name in LAYER_PLACES.items():
            setattr(layers[number], field, places.get(f"blocks.{number}.{name}", -1))
    return everywhere, layers
