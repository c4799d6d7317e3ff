"""The ways of doing a workload that are compared, by name, and what each needs to be there."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from torch import Tensor

from benchmarks.workloads import INIT_SEED, Workload
from circuitcore.models import init_weights
from circuitcore.native import why_not
from circuitcore.training.engines import ENGINES

DESIGNS: Mapping[str, str] = MappingProxyType(
    {
        "eager": "eager torch, fused attention and AdamW",
        "lens": "TransformerLens < 4",
        "torch": "this library's fallback, torch",
        "native": "this library, native",
    }
)
REFERENCE = "eager"
# What a training step computes, for ``flops.step_flops``; all others compute everything. The native step takes queries
# sixteen at a time and computes a few keys past the last one's: those are not counted.
ECONOMY: Mapping[str, Mapping[str, str]] = MappingProxyType({"native": {"rows": "needed", "attention": "triangle"}})


class Unavailable(RuntimeError):
    """A design that cannot be measured here; the message says why, in the words of a report."""


class Step(Protocol):
    """Trains one model."""

    def step(self, inputs: Tensor, targets: Tensor, mask: Tensor) -> float:
        """One update; the loss before it."""


class EngineStep:
    """Training steps of one of the library's engines."""

    def __init__(self, engine: str, workload: Workload):
        if engine == "native" and (reason := why_not()):
            raise Unavailable(reason)
        self.engine = ENGINES[engine](workload.model, workload.optimizer, INIT_SEED)

    def step(self, inputs: Tensor, targets: Tensor, mask: Tensor) -> float:
        """One update; the loss before it."""
        return self.engine.step(inputs, targets, mask).loss


def make_step(design: str, workload: Workload) -> Step:
    """What trains ``workload`` as ``design`` does, all from the same weights.

    Raises:
        Unavailable: this machine or this version cannot.
    """
    if design == "eager":
        from benchmarks.eager import EagerStep

        return EagerStep(workload, init_weights(workload.model, INIT_SEED))
    if design == "lens":
        return _lens("LensStep", workload)
    return EngineStep(design, workload)


def make_battery(design: str, workload: Workload):
    """What measures ``workload``'s conditions as ``design`` does; errors as ``make_step``."""
    weights = init_weights(workload.model, INIT_SEED)
    if design == "eager":
        from benchmarks.eager import EagerBattery

        return EagerBattery(workload, weights)
    if design == "lens":
        return _lens("LensBattery", workload)
    from benchmarks.battery import LibraryBattery

    return LibraryBattery(workload, weights, design)


def _lens(kind: str, workload: Workload):
    try:
        from benchmarks import lens
    except ImportError as error:
        raise Unavailable(f"TransformerLens is not installed ({error})") from error
    try:
        return getattr(lens, kind)(workload, init_weights(workload.model, INIT_SEED))
    except NotImplementedError as error:
        raise Unavailable(str(error)) from error
