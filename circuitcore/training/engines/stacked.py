"""Many runs of one shape trained as one: every tensor has a leading run axis. The way to use a GPU on small models.

A small model leaves a GPU idle most of the time, waiting for the next kernel to be launched; a stack of runs costs
as many launches as one run. On a CPU it gains nothing: there, runs go side by side, one per core.
"""

import math
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.nn import functional

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.models.transformer import weight_shapes
from circuitcore.training.engines.engine import StepStats, load_tensors, scale_update
from circuitcore.training.engines.update import Update
from circuitcore.training.optimizer import Optimizer

StepBatch = tuple[Tensor, Tensor, Tensor]  # tokens, targets, loss_mask: what ``Engine.step`` takes


class StackedTorch:
    """``n`` runs that differ in nothing but their seeds, stepped together; ``runs[i]`` is run ``i`` as an ``Engine``.

    The runs share no number: one that diverges, or has no batch, leaves the others as they are, bit for bit. All
    weights of a run lie in one row ``[run parameter]``, so that gradient norm, clipping and update are one kernel each.

    A run's numbers depend in their last bits on how many runs are stacked, on its place among them, and on the size
    its batches are padded to, for these decide the order in which a processor adds. With those equal, the same
    state and the same batches give the same bits.

    Args:
        model: the architecture of every run.
        optimizer: the update rule of every run.
        init_seeds: one for each run.
        device: where the runs live, such as "cuda".
        least_rows: rows and positions every batch is padded to, or beyond if it is larger. A fixed size makes a
            run's bits independent of the batches beside it.

    Attributes:
        runs: the views.
        parts: "weights" and the rule's moments, such as Adam's "exp_avg", live, ``[run parameter]`` each.
        steps_done: updates done by each run.
    """

    def __init__(
        self,
        model: ModelConfig,
        optimizer: Optimizer,
        init_seeds: Sequence[int],
        device: str = "cpu",
        least_rows: tuple[int, int] = (0, 0),
    ):
        self._model, self._least_rows = model, least_rows
        self._max_norm = math.inf if optimizer.clip_norm is None else optimizer.clip_norm
        self._shapes = {name: shape for name, (shape, _) in weight_shapes(model).items()}
        rows = [_in_one_row(init_weights(model, seed), self._shapes) for seed in init_seeds]
        self._weights = torch.stack(rows).to(device).requires_grad_()
        self._rule = Update(optimizer, [self._weights])
        self.parts = {"weights": self._weights.detach()} | {name: one for name, (one,) in self._rule.moments.items()}
        self.factors: Tensor | None = None  # on what updates add, [run parameter]; None where none is scaled
        self.steps_done = [0] * len(init_seeds)
        self.runs = tuple(RunView(self, place) for place in range(len(init_seeds)))

    def step(self, batches: Mapping[int, StepBatch]) -> dict[int, StepStats]:
        """One update of the runs that have a batch, each as ``TorchEngine.step`` does it; the others stand still.

        Args:
            batches: place -> tokens, targets, loss_mask. Rows and positions may differ between runs: they are
                padded on the right, which under a causal mask no scored position sees.

        Returns:
            place -> the loss of the batch before the update and the norm of its whole unclipped gradient.

        Raises:
            ValueError: runs that have done different numbers of updates, or no run at all.
        """
        counts = {self.steps_done[place] for place in batches}
        if len(counts) != 1:
            raise ValueError(f"runs step together from one number of updates; these have done {sorted(counts)}")
        places = range(len(self.runs))
        losses = self._backward(batches)
        norms = torch.linalg.vector_norm(self._weights.grad, dim=1)
        self._weights.grad *= (self._max_norm / (norms + 1e-6)).clamp(max=1)[:, None]  # as clip_grad_norm_
        self._update(counts.pop(), [place for place in places if place not in batches])
        for place in batches:
            self.steps_done[place] += 1
        stats = torch.stack((losses.detach(), norms), 1).tolist()  # the only wait for the device in a step
        return {place: StepStats(*stats[place]) for place in batches}

    def gradients(self, batches: Mapping[int, StepBatch]) -> dict[int, dict[str, Tensor]]:
        """The whole gradient of each run's batch, as ``Engine.gradient`` gives it, on the CPU; nothing moves."""
        self._backward(batches)
        grad = self._weights.grad
        return {place: {name: value.cpu() for name, value in self.named(grad[place]).items()} for place in batches}

    def _backward(self, batches: Mapping[int, StepBatch]) -> Float[Tensor, " run"]:
        """The losses, their gradients left with the weights."""
        padded = _padded(batches, range(len(self.runs)), self._least_rows)
        tokens, targets, mask = (part.to(self._weights.device) for part in padded)
        losses = run_losses(forward(self._model, self.named(self._weights), tokens).logits, targets, mask)
        self._rule.forget_gradients()
        losses.sum().backward()  # no weight of one run is in the loss of another: each gets its own gradient
        return losses

    def _update(self, steps_done: int, idle: list[int]) -> None:
        """The optimizer's step, undone for the runs at the places in ``idle``."""
        kept = {name: value[idle] for name, value in self.parts.items()} if idle else {}
        before = None if self.factors is None else self.parts["weights"].clone()
        self._rule.count(steps_done)
        self._rule.apply(steps_done)
        if before is not None:
            scale_update(before, self.parts["weights"], self.factors)
        for name, value in kept.items():
            self.parts[name][idle] = value

    def scale_updates(self, place: int, factors: Mapping[str, Tensor]) -> None:
        """Multiply what updates of one run add to some of its tensors by ``factors`` from now on."""
        if self.factors is None:
            self.factors = torch.ones_like(self.parts["weights"])
        self.factors[place] = 1.0
        for name, value in self.named(self.factors[place]).items():
            if name in factors:
                value.copy_(factors[name])

    def named(self, rows: Float[Tensor, "*run parameter"]) -> dict[str, Tensor]:
        """Rows of parameters as named tensors ``[*run ...]``; views, through which gradients flow back."""
        sizes = [math.prod(shape) for shape in self._shapes.values()]
        parts = zip(self._shapes.items(), rows.split(sizes, -1), strict=True)
        return {name: part.unflatten(-1, shape) for (name, shape), part in parts}


class RunView:
    """One run of a stack, as an ``Engine``. Its state is that of ``TorchEngine``: either goes on from the other's."""

    def __init__(self, stack: StackedTorch, place: int):
        self._stack, self._place = stack, place

    def step(self, tokens: Tensor, targets: Tensor, loss_mask: Tensor) -> StepStats:
        """One update of this run alone; all others stand still. ``StackedTorch.step`` moves many for the same price."""
        return self._stack.step({self._place: (tokens, targets, loss_mask)})[self._place]

    def gradient(self, tokens: Tensor, targets: Tensor, loss_mask: Tensor) -> dict[str, Tensor]:
        """The whole gradient of the batch's mean loss, unclipped, by the names of the weights; nothing moves."""
        return self._stack.gradients({self._place: (tokens, targets, loss_mask)})[self._place]

    def scale_updates(self, factors: Mapping[str, Tensor]) -> None:
        """Multiply what an update of this run adds to some tensors by ``factors`` from now on."""
        self._stack.scale_updates(self._place, factors)

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights, named as ``init_weights`` names them."""
        return {name: value.cpu().clone() for name, value in self._live("weights").items()}

    def state(self) -> dict[str, Tensor]:
        """Weights, the rule's moments, and the number of updates done, as copies."""
        return {name: value.cpu().clone() for name, value in self._state().items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a ``state()``; ValueError if tensors are missing, left over, or of another shape."""
        load_tensors(self._state(), state)
        self._stack.steps_done[self._place] = int(state["step"])

    def _state(self) -> dict[str, Tensor]:
        """The live tensors, by the names ``TorchEngine`` stores them under."""
        tensors = {f"{part}.{name}": value for part in self._stack.parts for name, value in self._live(part).items()}
        return tensors | {"step": torch.tensor(self._stack.steps_done[self._place])}

    def _live(self, part: str) -> dict[str, Tensor]:
        return self._stack.named(self._stack.parts[part][self._place])


def stacked_engine(model: ModelConfig, optimizer: Optimizer, init_seed: int) -> RunView:
    """A stack of one run on the CPU: what ``engine="stacked"`` means to an executor that trains run by run.

    The same recipe trained among others (``executor="cuda"``), on another device, or in a stack of another height
    gives numbers that agree with these but for their last bits: sums of floats depend on their order. The engines
    "torch" and "native" give the same bits however many runs there are.
    """
    return StackedTorch(model, optimizer, [init_seed]).runs[0]


def run_losses(
    logits: Float[Tensor, "run batch pos d_vocab"],
    targets: Shaped[Tensor, "run batch pos *d_vocab"],
    loss_mask: Bool[Tensor, "run batch pos"],
) -> Float[Tensor, " run"]:
    """The loss of each run's batch, its mean over the positions in ``loss_mask``; nan where there is none.

    Targets that are token ids: cross-entropy in nats, ln(d_vocab) for a uniform guess. Targets that are vectors:
    squared error, averaged over outputs too.
    """
    if targets.is_floating_point():
        losses = (logits - targets).square().mean(-1)
    else:
        scored = targets.where(loss_mask, 0)  # a target that does not count may be anything
        losses = functional.cross_entropy(logits.flatten(0, 2), scored.flatten(), reduction="none").view_as(scored)
    return losses.where(loss_mask, 0.0).sum((1, 2)) / loss_mask.sum((1, 2))


def _padded(batches: Mapping[int, StepBatch], places: Sequence[int], least_rows: tuple[int, int]) -> StepBatch:
    """One batch for each place, ``[run batch pos ...]``: zeros, not scored, beyond a run's own rows and positions."""
    sizes = [batch[2].shape for batch in batches.values()]
    n_rows, n_pos = (max(least, *(size[axis] for size in sizes)) for axis, least in enumerate(least_rows))
    padded = []
    for kind in range(3):
        like = next(iter(batches.values()))[kind]
        stack = like.new_zeros(len(places), n_rows, n_pos, *like.shape[2:])
        for place, batch in batches.items():
            rows, positions = batch[kind].shape[:2]
            stack[place, :rows, :positions] = batch[kind]
        padded.append(stack)
    return tuple(padded)


def _in_one_row(weights: Mapping[str, Tensor], names: Mapping[str, object]) -> Float[Tensor, " parameter"]:
    """All tensors of one run, in the order of ``names``, end to end."""
    return torch.cat([weights[name].reshape(-1) for name in names])
