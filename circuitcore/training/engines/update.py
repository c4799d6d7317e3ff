"""The one update rule of the engines that compute with torch: ``torch.optim``'s, at the rate of each step."""

from collections.abc import Sequence
from inspect import unwrap

import torch
from torch import Tensor

from circuitcore.training.optimizer import Optimizer, rate


def uncompiled(rule: type[torch.optim.Optimizer]) -> type[torch.optim.Optimizer]:
    """A rule of torch's that does the same to the bit, and does not bring in torch's compiler.

    To keep itself from being compiled, a rule imports the compiler at its first step: two seconds of each process that
    trains, where nothing is ever compiled. Its steps cannot be differentiated through.
    """
    plain = {name: unwrap(getattr(rule, name)) for name in ("add_param_group", "zero_grad")}
    return type(rule.__name__, (rule,), {**plain, "step": torch.no_grad()(unwrap(rule.step))})


TORCH_RULES = {
    name: uncompiled(rule)
    for name, rule in {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}.items()
}
"""Names of a recipe's rules -> torch's; what else trains takes them from here, too."""


class Update:
    """The update rule over some tensors.

    Args:
        optimizer: the rule.
        tensors: what it changes, live.

    Attributes:
        moments: name of a moment -> one live tensor for each of ``tensors``; zeros at first.
    """

    def __init__(self, optimizer: Optimizer, tensors: Sequence[Tensor]):
        self._asked = optimizer
        words = {"lr": optimizer.lr, "weight_decay": optimizer.weight_decay}
        if optimizer.name == "sgd":
            words |= {"momentum": optimizer.momentum}
        else:
            words |= {"betas": optimizer.betas, "eps": optimizer.eps}
        # One kernel for all tensors; deterministic on one thread.
        self._optimizer = TORCH_RULES[optimizer.name](tensors, **words, fused=True)
        # torch makes the moments at the first step; made here, a state has one shape from step 0 on.
        self.moments = {name: [torch.zeros_like(value) for value in tensors] for name in optimizer.moments}
        self._counts = [] if optimizer.name == "sgd" else [torch.zeros((), device=value.device) for value in tensors]
        for place, value in enumerate(tensors):
            state = {name: of_all[place] for name, of_all in self.moments.items()}
            self._optimizer.state[value] = state | ({"step": self._counts[place]} if self._counts else {})

    def apply(self, steps_done: int) -> None:
        """The update after ``steps_done`` earlier ones, by the gradients that the tensors have."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate(self._asked, steps_done + 1)
        self._optimizer.step()

    def count(self, steps_done: int) -> None:
        """Let the next update be the one after ``steps_done``: what Adam corrects the bias of its moments by."""
        for count in self._counts:
            count.fill_(steps_done)

    def forget_gradients(self) -> None:
        """Drop the tensors' gradients."""
        self._optimizer.zero_grad()
