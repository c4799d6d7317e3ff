"""What each arm and each experiment of a study costs from nothing on this machine: trained, measured, computed anew."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from circuitcore.ground.durations import Durations, Work, length
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.instruments.measuring import left_to_measure
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Recipe
from circuitcore.training.sweeps.computing import left_to_compute
from circuitcore.training.sweeps.status import RunStatus, SweepStatus
from circuitcore.training.sweeps.sweep import kind_of_step, to_train


@dataclass(frozen=True)
class Forecasts:
    """How long things take here from nothing, in words; "more than" so much where a part is not known.

    Attributes:
        each: of every arm and experiment by itself, by name.
        runs: of all runs, each once.
        whole: of these and all experiments.
    """

    each: Mapping[str, str]
    runs: str
    whole: str


def forecasts(
    study: str,
    status: SweepStatus,
    instruments: Mapping[str, Sequence[Instrument]],
    experiments: Iterable[Experiment],
    durations: Durations,
) -> Forecasts:
    """Of all arms and experiments of a study.

    A step is remembered by engine and batch, as it was in the last training of any of the study's networks. It is taken
    for the mean of all of them, of which each has its share by its multiplications. The machine is not probed: it may
    be at work.

    Args:
        study: its name.
        status: its arms, with the steps of their runs.
        instruments: of each arm.
        experiments: the study's.
        durations: what steps, checkpoints and tables took, here or as shipped.
    """
    experiments = tuple(experiments)
    weights = _weights(status.runs)
    steps = {run.recipe: run.n_steps * weights[run.recipe] for run in status.runs}
    recipes = {arm: [run.recipe for run in runs] for arm, runs in status.arms.items()}
    parts = {arm: _work(study, steps, [(instruments[arm], of_arm)]) for arm, of_arm in recipes.items()}
    parts |= {one.name: left_to_compute(one.by_seed, "processes") for one in experiments}
    runs = _work(study, steps, _measured(recipes, instruments))
    tables = left_to_compute([part for one in experiments for part in one.by_seed], "processes")
    units = durations.expected((part.name for of_one in (*parts.values(), runs) for part in of_one), probe=False)
    each = {name: length(of_one, units) if of_one else "-" for name, of_one in parts.items()}
    return Forecasts(each, length(runs, units) if runs else "-", length([*runs, *tables], units))


def _work(
    study: str, steps: Mapping[Recipe, float], measured: Iterable[tuple[Sequence[Instrument], list[Recipe]]]
) -> list[Work]:
    """Training and measuring some recipes, each of which is trained once."""
    measured = [(asked, recipes) for asked, recipes in measured if recipes]
    trained = {recipe: steps[recipe] for _, recipes in measured for recipe in recipes}
    found = to_train(study, trained, "processes")
    return found + [left_to_measure(study, asked, recipes, "processes") for asked, recipes in measured if asked]


def _measured(
    recipes: Mapping[str, list[Recipe]], instruments: Mapping[str, Sequence[Instrument]]
) -> list[tuple[Sequence[Instrument], list[Recipe]]]:
    """Instruments, and the recipes that they measure: a recipe may stand in arms that measure other things."""
    found = defaultdict(dict)
    for arm, of_arm in recipes.items():
        found[tuple(instruments[arm])].update(dict.fromkeys(of_arm))
    return [(asked, list(of_all)) for asked, of_all in found.items()]


def _weights(runs: Sequence[RunStatus]) -> dict[Recipe, float]:
    """Of a step of each run, where that of the mean step of its kind is 1."""
    steps, products = defaultdict(int), defaultdict(float)
    for run in runs:
        kind = kind_of_step(run.recipe)
        steps[kind] += run.n_steps
        products[kind] += run.n_steps * multiplications(run.recipe)
    usual = {kind: products[kind] / steps[kind] for kind in steps}
    return {run.recipe: multiplications(run.recipe) / usual[kind_of_step(run.recipe)] for run in runs}


def multiplications(recipe: Recipe) -> float:
    """Of one row's way forward, with the matrices of a network and its attention; backward is as much for all.

    The last layer counts half: its keys and values are of all positions, the rest is wanted where an answer is read.
    Steps of one, three and six layers took 1, 6.1 and 14 times as long on chains; so counted they take 1, 5 and 11. On
    compositions two, three and four took 1, 1.6 and 2.2, and count 1, 1.7 and 2.3.
    """
    model = recipe.model
    inner, gates = model.n_heads * model.d_head, {"swiglu": 3, "none": 0}.get(model.mlp, 2)
    a_layer = model.d_model * (4 * inner + gates * model.d_mlp) + 2 * model.n_ctx * inner
    return model.n_ctx * a_layer * (model.n_layers - 0.5)
