"""The runs and experiments a chapter stands on: which are published, which the reader's; what was measured on them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import ModuleType

from pydantic import BaseModel

from circuitcore.ground.durations import Durations, Work, expected
from circuitcore.ground.environment import Folders
from circuitcore.ground.progress import Watch
from circuitcore.metrics.instruments import measuring
from circuitcore.metrics.instruments.measuring import Instruments
from circuitcore.training.errors import StoreError
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Recipe
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.sweeps.computing import compute_all, left_to_compute, uncomputed
from circuitcore.training.sweeps.sweep import left_to_train, obtainable, train_all
from livingpaper.book import studies
from livingpaper.book.book_order import verdicts_in
from livingpaper.book.gathering import Arms, Units, results_of
from livingpaper.book.situation import each, situation
from livingpaper.claims.claim import Claim
from livingpaper.claims.results import Origin, Results, SelectionError
from livingpaper.claims.verdict import Verdict
from livingpaper.claims.view import NoRowsError, View, joined, on_data_sets
from livingpaper.explorer.material import Material
from livingpaper.figures.verdict_text import FalseAlarms


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a study with the reader's parameters stands on, beside what is published.

    Attributes:
        name: the study.
        params: its validated parameters.
        folders: where runs are looked up and kept.
    """

    name: str
    params: BaseModel
    folders: Folders
    _judged: dict[tuple[str, Results], tuple[Claim, Verdict]] = field(default_factory=dict, init=False, repr=False)
    _materials: dict[tuple[Results, bool], Material] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def study(self) -> ModuleType:
        """The study's module."""
        return studies.load(self.name)

    @cached_property
    def arms(self) -> Arms:
        """The reader's recipes by arm, as far as they can be had here (see ``obtainable``)."""
        return {arm: tuple(obtainable(self.store, recipes)) for arm, recipes in self._asked.items()}

    @cached_property
    def experiments(self) -> tuple[Experiment, ...]:
        """The reader's experiments."""
        return studies.experiments(self.study, self.params, self._asked)

    @cached_property
    def units(self) -> Units:
        """All that the reader asks for: recipes by arm, experiments seed by seed by their name."""
        return {**self.arms, **_by_name(self.experiments)}

    @cached_property
    def instruments(self) -> Mapping[str, Instruments]:
        """What the reader measures on each arm."""
        return studies.instruments(self.study, self.params, self._asked)

    @cached_property
    def published_params(self) -> BaseModel | None:
        """The published parameters; None for a study that publishes nothing."""
        return studies.load_params(self.name) if "published" in studies.tiers(self.name) else None

    @cached_property
    def published_arms(self) -> Arms:
        """The published recipes by arm; none for a study that publishes nothing."""
        if self._has_published_params:
            return self._asked
        return self.study.recipes(self.published_params) if self.published_params else {}

    @cached_property
    def published_units(self) -> Units:
        """The same as published; nothing for a study that publishes nothing."""
        if not self.published_params:
            return {}
        asked = (self.study, self.published_params, self.published_arms)
        found = self.experiments if self._has_published_params else studies.experiments(*asked)
        return {**self.published_arms, **_by_name(found)}

    @cached_property
    def published_instruments(self) -> Mapping[str, Instruments]:
        """What is measured on each published arm; nothing for a study that publishes nothing."""
        if not self.published_params:
            return {}
        asked = (self.study, self.published_params, self.published_arms)
        return self.instruments if self._has_published_params else studies.instruments(*asked)

    @cached_property
    def shipped(self) -> Mapping[Recipe | Experiment, Run]:
        """The published runs that are here. They are read as they are: nothing is trained, and no row is drawn."""
        found = ((recipe, self._shipping.find(recipe)) for recipe in each(self.published_units))
        return {recipe: run for recipe, run in found if run is not None}

    @property
    def _shipping(self) -> RunStore:
        """Finds published runs, never a local twin; what is measured on them since is kept beside the reader's."""
        return RunStore(self.folders.runs, self.folders.published, only_published=True)

    @cached_property
    def unpublished(self) -> tuple[str, ...]:
        """Runs that should be in ``published`` and are not: all of them while the paper is being made."""
        return tuple(recipe.run_id for recipe in each(self.published_units) if recipe not in self.shipped)

    @property
    def has_published(self) -> bool:
        """Whether the published runs are all here."""
        return bool(self.published_units) and not self.unpublished

    @cached_property
    def is_published(self) -> bool:
        """Whether the reader asks for exactly what is published: then nothing is trained."""
        return self.has_published and self.asks_the_same

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Whose results there will be: "paper", "rerun", or both."""
        if self.is_published:
            return ("paper",)
        return ("paper", "rerun") if self.has_published else ("rerun",)

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """Parameters, other than seeds and engine, that are not as published: then the seeds are another design's."""
        if not self.has_published:
            return ()
        before = self.published_params.model_dump()
        return tuple(
            name
            for name, value in self.params.model_dump().items()
            if value != before[name] and not name.endswith("seeds") and name != "engine"
        )

    @property
    def missing(self) -> tuple[Recipe, ...]:
        """The reader's recipes that have to be trained, each once."""
        return () if self.is_published else tuple(one for one in each(self.arms) if self.store.find(one) is None)

    @property
    def uncomputed(self) -> list[Experiment]:
        """The seeds of the reader's experiments that have to be computed."""
        return [] if self.is_published else uncomputed(self.store, self.experiments)

    @cached_property
    def store(self) -> RunStore:
        """Where the reader's runs are found and kept. Published runs serve too, if what is measured is the same:
        they keep too few checkpoints to be measured otherwise. The study's own tasks may be imported.
        """
        published = self.folders.published if self.published_instruments == self.instruments else None
        return RunStore(self.folders.runs, published, tuple({recipe.task for recipe in each(self._asked)}))

    def cost(self, executor: str = "processes") -> str:
        """What is there, what is missing, and how long the missing should take on this machine."""
        left = self.left(executor)
        return "\n".join([self.situation(), *([expected(left, Durations.of(self.folders.root))] if left else [])])

    def situation(self) -> str:
        """What is there and what is missing."""
        return situation(self)

    def left(self, executor: str = "processes") -> list[Work]:
        """What there is to train and to compute, then what there is to measure."""
        to_measure = [
            measuring.left_to_measure(self.name, lacking, recipes, executor)
            for origin in self.origins
            for lacking, recipes in self.unmeasured(origin).items()
        ]
        to_compute = left_to_compute(self.uncomputed, executor)
        return left_to_train(self.name, self.store, self.missing, executor) + to_compute + to_measure

    def gather(self, watch: Watch | None, executor: str = "processes") -> tuple[Results, ...]:
        """Train, compute and measure what is missing, then load everything: a ``Results`` for each of ``origins``.

        Args:
            watch: told what is going on; None for silence.
            executor: as in ``train_all``.

        Raises:
            StoreError: a published run lacks a table and the weights to measure it on, or a file is damaged.
            ExecutorError: runs that could not be trained, computed or measured.
        """
        found = []
        if "paper" in self.origins:
            self._measure("paper", executor, watch)
            found.append(self._published_results)
        if "rerun" in self.origins:
            durations, missing = Durations.of(self.folders.root), self.missing
            if missing:  # finished runs are read and no more: whoever trains draws their rows again to compare them
                with durations.timed_work(left_to_train(self.name, self.store, missing, executor)):
                    train_all(self.store, missing, executor, watch=watch)
            compute_all(self.store, self.experiments, executor, durations, watch)
            self._measure("rerun", executor, watch)
            found.append(self._rerun_results)
        return tuple(found)

    @cached_property
    def _published_results(self) -> Results:
        """The tables of the published runs, once all are measured: a study's second page reads none of them again."""
        return results_of(self.shipped.__getitem__, self.published_units, self.published_instruments, "paper")

    @cached_property
    def _rerun_results(self) -> Results:
        """The same of the reader's, which do not change once they are finished and measured."""
        return results_of(self._found, self.units, self.instruments, "rerun")

    def unmeasured(self, origin: Origin) -> dict[Instruments, list[Recipe]]:
        """Recipes by the tables that their runs lack."""
        if origin == "paper":
            return measuring.unmeasured(self.shipped.get, self.published_arms, self.published_instruments)
        return measuring.unmeasured(self.store.find, self.arms, self.instruments)

    def _measure(self, origin: Origin, executor: str, watch: Watch | None) -> None:
        """Measure what is missing on finished runs; StoreError where weights that it takes are not here."""
        store, arms = (self._shipping, self.published_arms) if origin == "paper" else (self.store, self.arms)
        todo, durations = self.unmeasured(origin), Durations.of(self.folders.root)
        measuring.require_weights(self.name, store, todo, arms, durations)
        for lacking, recipes in todo.items():
            with durations.timed_work([measuring.left_to_measure(self.name, lacking, recipes, executor)]):
                measuring.measure_all(store, lacking, recipes, executor, watch)

    def run_ids(self, origin: Origin) -> dict[str, tuple[str, ...]]:
        """Run ids by arm, and by experiment."""
        units = self.published_units if origin == "paper" else self.units
        return {arm: tuple(recipe.run_id for recipe in recipes) for arm, recipes in units.items()}

    @property
    def makers(self) -> dict[str, Callable]:
        """The functions that make the study's views, by name: of results, and of networks' weights."""
        return {**self.study.VIEWS, **getattr(self.study, "WEIGHT_VIEWS", {})}

    def view(self, name: str, found: Sequence[Results]) -> View:
        """One of ``makers``' views; of results, those of every origin under each other.

        Args:
            name: which.
            found: of ``gather``.

        Raises:
            SelectionError: nothing in any of the results to make it of.
        """
        make = self.makers[name]
        if name not in self.study.VIEWS:
            return make(self.material(found)[0].run)
        parts, silent = {}, {}
        for results in found:
            try:
                parts[results.origin] = make(results)
            except SelectionError as error:
                silent[results.origin] = error
            except NoRowsError:
                silent[results.origin] = SelectionError("no such networks among them")
        if not parts:
            raise next(iter(silent.values()))
        view, set_of = joined(parts, silent), getattr(self.study, "data_set_of", None)
        return view if set_of is None or "data_set" in view.table else on_data_sets(view, set_of)

    def material(self, found: Sequence[Results]) -> tuple[Material, ...]:
        """What the study's explorers are made from, for each of the results of ``gather``; the same for all of them."""
        beside = len(found) > 1
        for results in found:
            if (results, beside) not in self._materials:
                runs_of = partial(self._runs, results.origin)
                self._materials[results, beside] = Material(results=results, runs_of=runs_of, beside=beside)
        return tuple(self._materials[results, beside] for results in found)

    def _runs(self, origin: Origin, arm: str) -> list[Run]:
        if origin == "paper":
            return [self.shipped[recipe] for recipe in self.published_units[arm]]
        return [self._found(recipe) for recipe in self.units[arm]]

    def _found(self, recipe: Recipe | Experiment) -> Run:
        """The reader's run of ``recipe``, which has been trained; StoreError if it has gone since."""
        run = self.store.find(recipe)
        if run is None:
            raise StoreError(f"{self.folders.runs}: run {recipe.run_id} is not here any more; train it again.")
        return run

    def judged(self, claim: Claim, results: Results) -> Verdict:
        """The verdict on a claim."""
        asked = claim.id, results
        known, verdict = self._judged.get(asked, (None, None))
        if known is not claim:  # a page asks where it shows the claim, and again at its end; a notebook may change it
            verdict = claim.verdict(results)
            self._judged[asked] = claim, verdict
        return verdict

    def false_alarms(self, claim_id: str) -> FalseAlarms | None:
        """How often the battery reports a circuit where there is none, as published.

        None for claims that are not among the study's ``CIRCUIT_CLAIMS``, and where nothing is published.
        """
        if claim_id not in getattr(self.study, "CIRCUIT_CLAIMS", ()):
            return None
        control, claims = self.study.FALSE_ALARMS
        verdicts = verdicts_in(self.folders.published, control)
        ending = ".published" if claim_id.endswith(".published") else ""
        found = [verdicts.get(claim + ending) for claim in claims]
        return FalseAlarms(*found, control) if all(verdict and verdict.finding for verdict in found) else None

    @cached_property
    def recorded(self) -> dict[str, Verdict]:
        """The study's verdicts as they were published, by claim id; none where none were.

        Raises:
            StoreError: they are not what was published, or of another version.
        """
        return verdicts_in(self.folders.published, self.name.rpartition(".")[2])

    @cached_property
    def _asked(self) -> Arms:
        """The reader's recipes by arm, whether or not they can be trained here."""
        return self.study.recipes(self.params)

    @cached_property
    def _has_published_params(self) -> bool:
        """Whether the reader's parameters are the published ones, so that nothing is made twice."""
        return self.params == self.published_params

    @property
    def asks_the_same(self) -> bool:
        """Whether the reader asks for the published runs and tables, whether or not these are here."""
        same_runs = {arm: set(recipes) for arm, recipes in self.units.items()} == {
            arm: set(recipes) for arm, recipes in self.published_units.items()
        }
        return same_runs and self.published_instruments == self.instruments


def _by_name(experiments: Iterable[Experiment]) -> Units:
    return {one.name: one.by_seed for one in experiments}
