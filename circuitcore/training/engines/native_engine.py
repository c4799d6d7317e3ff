"""The engine in C++ (``circuitcore.native``) behind the ``Engine`` seam."""

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from circuitcore.models import ModelConfig, init_weights
from circuitcore.native import NativeDecoder, Training, UpdateRule
from circuitcore.training.engines.engine import StepStats, load_tensors, scale_update
from circuitcore.training.optimizer import Optimizer, rate


class NativeEngine:
    """The same training as ``TorchEngine``'s, several times faster; losses agree to 1e-5 over a hundred steps.

    Its bits do not depend on what else the machine does. They may differ between processors, as torch's do.

    Raises:
        BuildError: the C++ cannot be used here; ``circuitcore.native.why_not`` says so beforehand.
    """

    def __init__(self, model: ModelConfig, optimizer: Optimizer, init_seed: int):
        self._decoder = NativeDecoder(model)
        self._asked = optimizer
        self._rule = UpdateRule(
            name=optimizer.name,
            lr=optimizer.lr,
            betas=optimizer.betas,
            eps=optimizer.eps,
            weight_decay=optimizer.weight_decay,
            clip_norm=optimizer.clip_norm or 0.0,
            momentum=optimizer.momentum,
        )
        self._factors: Tensor | None = None
        self._training = Training(self._decoder.flat.join(init_weights(model, init_seed)), len(optimizer.moments))

    def step(
        self,
        tokens: Shaped[Tensor, "batch pos *d_in"],
        targets: Shaped[Tensor, "batch pos *d_vocab"],
        loss_mask: Bool[Tensor, "batch pos"],
    ) -> StepStats:
        """One update; losses as ``masked_loss`` has them. ValueError where the batch does not fit the model."""
        rule = self._rule._replace(lr=rate(self._asked, self._training.steps + 1))
        before = None if self._factors is None else self._training.parameters.clone()
        stats = StepStats(*self._decoder.step(self._training, rule, tokens, targets, loss_mask))
        if before is not None:
            scale_update(before, self._training.parameters, self._factors)
        return stats

    def gradient(
        self,
        tokens: Shaped[Tensor, "batch pos *d_in"],
        targets: Shaped[Tensor, "batch pos *d_vocab"],
        loss_mask: Bool[Tensor, "batch pos"],
    ) -> dict[str, Tensor]:
        """The whole gradient of the batch's mean loss, unclipped, by the names of the weights; nothing moves."""
        _, flat = self._decoder.gradient(self._training.parameters, tokens, targets, loss_mask)
        return self._decoder.flat.views(flat)

    def scale_updates(self, factors: Mapping[str, Tensor]) -> None:
        """Multiply what an update adds to some tensors by ``factors`` from now on."""
        every = self._decoder.flat.views(torch.ones_like(self._training.parameters))
        self._factors = self._decoder.flat.join(every | dict(factors)) if factors else None

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights, named as ``init_weights`` names them."""
        return {name: value.clone() for name, value in self._decoder.flat.views(self._training.parameters).items()}

    def state(self) -> dict[str, Tensor]:
        """Weights, the rule's moments, and the number of updates done, as copies; as ``TorchEngine`` names them."""
        return {name: value.clone() for name, value in self._state().items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a ``state()``; ValueError if tensors are missing, left over, or of another shape."""
        load_tensors(self._state(), state)
        self._training.steps = int(state["step"])

    def _state(self) -> dict[str, Tensor]:
        """The live tensors, by the name they are stored under."""
        now = self._training
        vectors = {"weights": now.parameters, **dict(zip(self._asked.moments, now.moments, strict=True))}
        tensors = {
            f"{kind}.{name}": value
            for kind, vector in vectors.items()
            for name, value in self._decoder.flat.views(vector).items()
        }
        return tensors | {"step": torch.tensor(now.steps)}
