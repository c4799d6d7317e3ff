"""What turns batches into weights: ``Engine`` is the seam, ``TorchEngine`` the oracle of the others."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.nn import functional

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.models.edits import Attend, Edit, edited_site
from circuitcore.models.plan import Plan, compile_edits
from circuitcore.training.during import clamped_roles
from circuitcore.training.engines.update import Update
from circuitcore.training.optimizer import Optimizer


class StepStats(NamedTuple):
    """One update, as seen before it: the batch's mean loss (see ``masked_loss``), norm of its unclipped gradient."""

    loss: float
    grad_norm: float


@runtime_checkable
class Engine(Protocol):
    """Trains one model. Two engines with equal state and equal batches go on to equal states, bit for bit."""

    def step(
        self,
        tokens: Shaped[Tensor, "batch pos *d_in"],
        targets: Shaped[Tensor, "batch pos *d_vocab"],
        loss_mask: Bool[Tensor, "batch pos"],
    ) -> StepStats:
        """One update on one batch."""

    def gradient(
        self,
        tokens: Shaped[Tensor, "batch pos *d_in"],
        targets: Shaped[Tensor, "batch pos *d_vocab"],
        loss_mask: Bool[Tensor, "batch pos"],
    ) -> dict[str, Tensor]:
        """The whole gradient of the batch's mean loss, unclipped, by the names of the weights; nothing moves."""

    def scale_updates(self, factors: Mapping[str, Tensor]) -> None:
        """Multiply from now on what an update adds to some tensors by ``factors``, shaped as they are.

        0 leaves a number as it is and 1 lets it move as ever, bit for bit.
        """

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights, named as ``init_weights`` names them."""

    def state(self) -> dict[str, Tensor]:
        """A copy of everything ``load`` needs to go on from here: weights, optimizer state, a scalar ``step``."""

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a ``state()``; KeyError or ValueError if it is not one of this engine and model."""


class TorchEngine:
    """Plain PyTorch: the model's one forward path, autograd, ``torch.optim``."""

    def __init__(self, model: ModelConfig, optimizer: Optimizer, init_seed: int):
        self._model, self._steps_done = model, 0
        self._max_norm = math.inf if optimizer.clip_norm is None else optimizer.clip_norm
        self._weights = {name: value.requires_grad_() for name, value in init_weights(model, init_seed).items()}
        self._update, self._factors = Update(optimizer, list(self._weights.values())), {}
        self._edits: tuple[Edit, ...] = ()

    def step(
        self,
        tokens: Shaped[Tensor, "batch pos *d_in"],
        targets: Shaped[Tensor, "batch pos *d_vocab"],
        loss_mask: Bool[Tensor, "batch pos"],
    ) -> StepStats:
        """One update; the loss is ``masked_loss``."""
        loss = self._backward(tokens, targets, loss_mask)
        grad_norm = torch.nn.utils.clip_grad_norm_(self._weights.values(), self._max_norm)
        before = {name: self._weights[name].detach().clone() for name in self._factors}
        self._update.apply(self._steps_done)
        for name, value in before.items():
            scale_update(value, self._weights[name].detach(), self._factors[name])
        self._steps_done += 1
        return StepStats(loss.item(), grad_norm.item())

    def gradient(
        self,
        tokens: Shaped[Tensor, "batch pos *d_in"],
        targets: Shaped[Tensor, "batch pos *d_vocab"],
        loss_mask: Bool[Tensor, "batch pos"],
    ) -> dict[str, Tensor]:
        """The whole gradient of the batch's mean loss, unclipped, by the names of the weights; nothing moves."""
        self._backward(tokens, targets, loss_mask)
        return {name: value.grad.clone() for name, value in self._weights.items()}

    def scale_updates(self, factors: Mapping[str, Tensor]) -> None:
        """Multiply what an update adds to some tensors by ``factors`` from now on."""
        self._factors = dict(factors)

    def edit_passes(self, edits: Sequence[Edit]) -> None:
        """Make ``edits`` in every forward pass from now on, as ``during.edits_of`` gives them."""
        self._edits = tuple(edits)

    def _logits(self, tokens: Tensor) -> Tensor:
        if not self._edits:
            return forward(self._model, self._weights, tokens).logits
        return forward(self._model, self._weights, tokens, self._plan(tokens)).logits[0]

    def _plan(self, tokens: Tensor) -> Plan:
        """The edits on one batch; what parts are held at is no way for gradients to flow."""
        sites = {edited_site(edit).key for edit in self._edits}
        told = all(isinstance(edit, Attend) for edit in self._edits)  # of what is told, shapes alone are asked
        with torch.no_grad():
            clean = forward(self._model, self._weights, tokens[:1] if told else tokens, record=sites).cache
        clean = {name: value.expand(len(tokens), *value.shape[1:]) for name, value in clean.items()}
        sources = {
            "mean": {name: value.mean(0, keepdim=True) for name, value in clean.items()},
            "resample": {name: value.roll(1, 0) for name, value in clean.items()},
        }
        return compile_edits([self._edits], clamped_roles(self._edits, tokens), sources, clean)

    def _backward(self, tokens: Tensor, targets: Tensor, loss_mask: Tensor) -> Tensor:
        """The loss, its gradients left with the weights."""
        loss = masked_loss(self._logits(tokens), targets, loss_mask)
        self._update.forget_gradients()
        loss.backward()
        return loss

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights, named as ``init_weights`` names them."""
        return {name: value.detach().clone() for name, value in self._weights.items()}

    def state(self) -> dict[str, Tensor]:
        """Weights, the rule's moments, and the number of updates done, as copies."""
        return {name: value.detach().clone() for name, value in self._state().items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a ``state()``; ValueError if tensors are missing, left over, or of another shape."""
        load_tensors(self._state(), state)
        self._steps_done = int(state["step"])
        self._update.count(self._steps_done)

    def _state(self) -> dict[str, Tensor]:
        """The live tensors, by the name they are stored under."""
        parts = {"weights": list(self._weights.values()), **self._update.moments}
        tensors = {
            f"{part}.{name}": value
            for part, of_all in parts.items()
            for name, value in zip(self._weights, of_all, strict=True)
        }
        return tensors | {"step": torch.tensor(self._steps_done)}


def scale_update(before: Tensor, after: Tensor, factor: Tensor) -> None:
    """Let ``after`` be as far from ``before`` as it is times ``factor``; exact where that is 0 or 1."""
    torch.lerp(before, after, factor, out=after)


def load_tensors(own: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> None:
    """Copy ``state`` into the live tensors ``own``; ValueError if names or shapes differ."""
    if state.keys() != own.keys():
        raise ValueError(f"not a state of this model: tensors differ in {sorted(state.keys() ^ own.keys())}")
    for name, value in own.items():
        if state[name].shape != value.shape:
            raise ValueError(f"{name} has shape {tuple(state[name].shape)}, the model {tuple(value.shape)}")
    for name, value in own.items():
        value.detach().copy_(state[name])


def masked_loss(
    logits: Float[Tensor, "batch pos d_vocab"],
    targets: Shaped[Tensor, "batch pos *d_vocab"],
    loss_mask: Bool[Tensor, "batch pos"],
) -> Float[Tensor, ""]:
    """Mean loss over the positions in ``loss_mask``.

    Targets that are token ids ``[batch pos]``: cross-entropy in nats; a uniform guess gives ln(d_vocab). Targets that
    are vectors ``[batch pos d_vocab]``: the squared error, averaged over outputs too.
    """
    chosen, wanted = logits[loss_mask], targets[loss_mask]
    loss = functional.mse_loss if wanted.is_floating_point() else functional.cross_entropy
    return loss(chosen, wanted)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: sums then have one order, so every executor gets the same bits.

    It is also the fastest way to train models this small: runs go side by side, one per core.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
