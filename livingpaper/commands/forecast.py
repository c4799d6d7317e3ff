"""What each arm and each experiment of a study costs from nothing on this machine: trained, measured, computed anew."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from circuitcore.ground.durations import Durations, Work, length
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.instruments.measuring import left_to_measure
from circuitcore.models.config import ModelConfig
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Recipe
from circuitcore.training.sweeps.computing import left_to_compute
from circuitcore.training.sweeps.status import RunStatus, SweepStatus
from circuitcore.training.sweeps.sweep import to_train


@dataclass(frozen=True)
class Forecasts:
    """How long things take here from nothing, in words; "more than" so much where a part is not known.

    Attributes:
        each: of every arm and experiment, by name.
        whole: of all of them, each run once.
    """

    each: Mapping[str, str]
    whole: str


def forecasts(
    study: str,
    status: SweepStatus,
    instruments: Mapping[str, Sequence[Instrument]],
    experiments: Iterable[Experiment],
    durations: Durations,
) -> Forecasts:
    """Of all arms and experiments of a study.

    A step is remembered by engine and batch, for all networks of a study alike. An arm has its share of that by the
    multiplications of its own networks.

    Args:
        study: its name.
        status: its arms, with the steps of their runs.
        instruments: of each arm.
        experiments: the study's.
        durations: what steps, checkpoints and tables took, here or as shipped.
    """
    usual = {kind: _cost(alike) for kind, alike in _by_kind(status.runs).items()}
    arms = {arm: _of_arm(study, runs, instruments[arm], usual) for arm, runs in status.arms.items()}
    tables = {one.name: left_to_compute(one.by_seed, "processes") for one in experiments}
    once = [_of_arm(study, runs, instruments[arm], usual) for arm, runs in _each_once(status.arms).items()]
    units = durations.expected(part.name for of_one in (arms | tables).values() for part in of_one)
    return Forecasts(
        {name: length(of_one, units) if of_one else "-" for name, of_one in (arms | tables).items()},
        length([part for of_one in (*once, *tables.values()) for part in of_one], units),
    )


def _each_once(arms: Mapping[str, Sequence[RunStatus]]) -> dict[str, list[RunStatus]]:
    """The arms without runs that stand in an earlier one, and without those that are left with none."""
    seen, found = set(), {}
    for arm, runs in arms.items():
        found[arm] = [run for run in runs if run.recipe not in seen]
        seen.update(run.recipe for run in runs)
    return {arm: runs for arm, runs in found.items() if runs}


def _of_arm(
    study: str, runs: Sequence[RunStatus], instruments: Sequence[Instrument], usual: Mapping[tuple, float]
) -> list[Work]:
    if not runs:
        return []
    recipes = [run.recipe for run in runs]
    found = to_train(study, {run.recipe: run.n_steps for run in runs}, "processes")
    share = {kind: _cost(alike) / usual[kind] for kind, alike in _by_kind(runs).items()}
    training = [replace(part, units=part.units * share[kind]) for kind, part in zip(share, found, strict=True)]
    return [*training, left_to_measure(study, instruments, recipes, "processes")] if instruments else training


def _by_kind(runs: Iterable[RunStatus]) -> dict[tuple, list[RunStatus]]:
    """Those that share a remembered time of a step."""
    kinds = defaultdict(list)
    for run in runs:
        kinds[run.recipe.engine, run.recipe.batch_size].append(run)
    return kinds


def _cost(runs: Sequence[RunStatus]) -> float:
    """Of the mean step of some runs, in multiplications a row."""
    return sum(run.n_steps * multiplications(run.recipe) for run in runs) / sum(run.n_steps for run in runs)


def multiplications(recipe: Recipe) -> int:
    """Of one row's way forward through the matrices of a network and its attention; backward is as much for all."""
    model: ModelConfig = recipe.model
    inner, gates = model.n_heads * model.d_head, {"swiglu": 3, "none": 0}.get(model.mlp, 2)
    matrices = model.n_layers * model.d_model * (4 * inner + gates * model.d_mlp) + model.d_model * model.d_vocab
    return model.n_ctx * (matrices + 2 * model.n_layers * model.n_ctx * inner)
