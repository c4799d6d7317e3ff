"""The update rule and its learning rate, as frozen values that every engine reads alike."""

import math
from dataclasses import dataclass
from typing import Literal

from circuitcore.ground.hashed import later
from circuitcore.training.fields import are_increasing, is_count, is_number, require, require_silent, words_of


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """The update rule: that of ``torch.optim``, with a rate that may change from step to step (``rate``).

    Attributes:
        name: "adam", "adamw", or "sgd" (with ``momentum``, and no damping of it).
        lr: the learning rate, or its largest value.
        betas: of Adam's two moments.
        eps: added to Adam's denominator.
        weight_decay: Adam's and SGD's is added to the gradient, AdamW's is decoupled.
        clip_norm: largest total gradient norm; None leaves gradients as they are.
        momentum: of SGD.
        warmup: steps over which the rate rises linearly to its value; step ``warmup`` is the first that has it.
        decay: how the rate falls after that: not at all, along a half cosine, or in steps.
        decay_from: the last step at the whole rate, before the cosine.
        decay_until: the first step at ``final_lr``, where the cosine ends.
        final_lr: the rate from then on.
        decay_at: numbers of updates after which the rate is multiplied by ``decay_factor``.
        decay_factor: what it is multiplied by.

    Raises:
        RecipeError: a field that cannot be used, or one that decides nothing under this rule.
    """

    name: Literal["adam", "adamw", "sgd"] = "adam"
    lr: float
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    clip_norm: float | None = None
    momentum: float = later(0.0)
    warmup: int = later(0)
    decay: Literal["none", "cosine", "step"] = later("none")
    decay_from: int = later(0)
    decay_until: int = later(0)
    final_lr: float = later(0.0)
    decay_at: tuple[int, ...] = later(())
    decay_factor: float = later(1.0)

    def __post_init__(self):
        for name in ("name", "decay"):
            words, given = words_of(Optimizer, name), getattr(self, name)
            require(given in words, f"optimizer.{name}", given, " or ".join(words))
        _check_rule(self)
        _check_rate(self)
        sgd = self.name == "sgd"
        require_silent(self, "optimizer.", {"betas": not sgd, "eps": not sgd, "momentum": sgd}, f"name = {self.name!r}")
        cosine, steps = self.decay == "cosine", self.decay == "step"
        says = dict.fromkeys(("decay_from", "decay_until", "final_lr"), cosine)
        says |= dict.fromkeys(("decay_at", "decay_factor"), steps)
        require_silent(self, "optimizer.", says, f"decay = {self.decay!r}")
        # 1 and 1.0 are one value, so they must be one text in the hash.
        object.__setattr__(self, "betas", tuple(float(beta) for beta in self.betas))
        for field in ("lr", "eps", "weight_decay", "clip_norm", "momentum", "final_lr", "decay_factor"):
            value = getattr(self, field)
            object.__setattr__(self, field, None if value is None else float(value))

    @property
    def moments(self) -> tuple[str, ...]:
        """What is kept of the gradients from step to step, a tensor for each weight, by the names ``torch`` has."""
        if self.name == "sgd":
            return ("momentum_buffer",) if self.momentum else ()
        return ("exp_avg", "exp_avg_sq")


def rate(optimizer: Optimizer, step: int) -> float:
    """The learning rate of one update.

    Args:
        optimizer: the rule.
        step: the update, counted from 1.
    """
    risen = min(1.0, step / optimizer.warmup) if optimizer.warmup else 1.0
    return optimizer.lr if risen == 1 and optimizer.decay == "none" else risen * _after_decay(optimizer, step)


def _after_decay(optimizer: Optimizer, step: int) -> float:
    if optimizer.decay == "step":
        return optimizer.lr * optimizer.decay_factor ** sum(step > at for at in optimizer.decay_at)
    if optimizer.decay == "none" or step <= optimizer.decay_from:
        return optimizer.lr
    done = min(1.0, (step - optimizer.decay_from) / (optimizer.decay_until - optimizer.decay_from))
    return optimizer.final_lr + (optimizer.lr - optimizer.final_lr) * (1 + math.cos(math.pi * done)) / 2


def _check_rule(of: Optimizer) -> None:
    require(is_number(of.lr) and of.lr > 0, "optimizer.lr", of.lr, "a number > 0")
    pair = isinstance(of.betas, tuple) and len(of.betas) == 2
    in_range = pair and all(is_number(beta) and 0 <= beta < 1 for beta in of.betas)
    require(in_range, "optimizer.betas", of.betas, "two numbers in [0, 1)")
    require(is_number(of.eps) and of.eps > 0, "optimizer.eps", of.eps, "a number > 0")
    decays = is_number(of.weight_decay) and of.weight_decay >= 0
    require(decays, "optimizer.weight_decay", of.weight_decay, "a number >= 0")
    clips = of.clip_norm is None or (is_number(of.clip_norm) and of.clip_norm > 0)
    require(clips, "optimizer.clip_norm", of.clip_norm, "a number > 0, or None")
    keeps = is_number(of.momentum) and 0 <= of.momentum < 1
    require(keeps, "optimizer.momentum", of.momentum, "a number in [0, 1)")


def _check_rate(of: Optimizer) -> None:
    require(is_count(of.warmup, 0), "optimizer.warmup", of.warmup, "an integer >= 0")
    require(is_count(of.decay_from, 0), "optimizer.decay_from", of.decay_from, "an integer >= 0")
    ends = is_count(of.decay_until, of.decay_from + 1) if of.decay == "cosine" else is_count(of.decay_until, 0)
    require(ends, "optimizer.decay_until", of.decay_until, f"an integer > decay_from = {of.decay_from}")
    final = is_number(of.final_lr) and 0 <= of.final_lr <= of.lr
    require(final, "optimizer.final_lr", of.final_lr, f"a number in [0, lr = {of.lr}]")
    falls = are_increasing(of.decay_at, 1) and (of.decay != "step" or len(of.decay_at) > 0)
    require(falls, "optimizer.decay_at", of.decay_at, "increasing integers >= 1, one at least with decay = 'step'")
    factor = of.decay != "step" or (is_number(of.decay_factor) and 0 < of.decay_factor < 1)
    require(factor, "optimizer.decay_factor", of.decay_factor, "a number in (0, 1)")
