"""What a study's explorers are made from: one origin's results, and the runs whose weights are here."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from circuitcore.training.store.run import Run
from livingpaper.claims.results import Origin, Results, SelectionError
from livingpaper.explorer.moves import Tested
from livingpaper.explorer.shown_run import Birth, Curve, shown_steps


@dataclass(frozen=True, eq=False, kw_only=True)
class Material:
    """The published runs, or the reader's.

    Attributes:
        results: everything measured on them.
        runs_of: arm -> its runs, in the order of the seeds; those without weights too.
        beside: whether the other origin's material stands beside this one.
    """

    results: Results
    runs_of: Callable[[str], list[Run]]
    beside: bool = False

    @property
    def origin(self) -> Origin:
        """Whose runs they are."""
        return self.results.origin

    def runs(self, arm: str) -> list[Run]:
        """The runs of an arm whose weights are here; of an arm that these results lack, none."""
        return [run for run in self.runs_of(arm) if run.steps] if arm in self.results.arms else []

    def by_checkpoints(self, *arms: str) -> list[Run]:
        """The same of some arms, those with most checkpoints here first, among equals in the order of arms and seeds.

        Raises:
            SelectionError: no weights of any are here.
        """
        if not (runs := [run for arm in arms for run in self.runs(arm)]):
            raise SelectionError(f"no weights of arm {' or '.join(map(repr, arms))} are here")
        return sorted(runs, key=lambda run: -len(run.steps))

    def run(self, arm: str) -> Run:
        """The first of ``by_checkpoints``."""
        return self.by_checkpoints(arm)[0]

    def condition(self, arm: str, label: str = "") -> str:
        """What the reader chooses: the arm or its label, and whose it is where that could be asked."""
        whose = f" ({'published' if self.origin == 'paper' else 'yours'})" if self.beside else ""
        return f"{label or arm}{whose}"

    def curve(self, run: Run, label: str, metric: str, *, chance: float | None = None, **where: object) -> Curve:
        """One score of one run through training; arguments as ``Results.curve``. Several rows a step: the best.

        Where the score was not measured on this run, an empty curve.
        """
        try:
            rows = self.results.curve(metric, run_id=run.run_id, **where)
        except SelectionError:
            return Curve(label=label, steps=(), values=())
        best = rows.groupby("step", sort=True)["value"].max().dropna()
        return Curve(label=label, steps=tuple(map(int, best.index)), values=tuple(best.round(4)), chance=chance)

    def crossings(self, run: Run, times: Mapping[str, pd.Series]) -> tuple[Birth, ...]:
        """Births of one run: each between the last measurement of accuracy before a time and the first from it on.

        Args:
            run: with accuracy measured wherever the curves behind the times were.
            times: label -> when a curve gets somewhere (``emergence.crossing_times``), by init seed of the run's arm,
                in steps; inf: never.
        """
        measured = sorted(map(int, self.results.curve("accuracy", run_id=run.run_id)["step"].unique()))

        def birth(label: str, time: float) -> Birth:
            after = max((step for step in measured if step < time), default=None)
            return Birth(label=label, after=after, by=min((step for step in measured if step >= time), default=None))

        return tuple(birth(label, of_seeds[run.recipe.init_seed]) for label, of_seeds in times.items())

    def tests(
        self, arm: str, test: Callable[[Results], Mapping[int, Mapping[str, Tested]]]
    ) -> dict[str, dict[int, Mapping[str, Tested]]]:
        """What causal tests say of an arm's runs at each shown step, as far as they were made: run id -> step -> tests.

        Args:
            arm: whose runs are asked for.
            test: results in which one step is the last -> init seed -> move -> what its test found.
        """
        shown = {run: shown_steps(run) for run in self.runs(arm)}
        found = {run.run_id: {} for run in shown}
        if not shown:
            return found
        for step, results in self.results.at_steps(arm, set().union(*shown.values())):
            with contextlib.suppress(SelectionError):  # not every test is made at every step
                tested = test(results)
                for run, steps in shown.items():
                    if step in steps and run.recipe.init_seed in tested:
                        found[run.run_id][step] = tested[run.recipe.init_seed]
        return found

    def retrieval_curves(self, run: Run, splits: Mapping[str, str]) -> tuple[Curve, ...]:
        """Accuracy on some splits (label -> split), and the operators of layer 1.

        The line of chance is that of "val", or of the last split where that is not among them.
        """
        chance, drawn = run.recipe.make_task().chance, "val" if "val" in splits.values() else [*splits.values()][-1]
        accuracies = (
            self.curve(run, label, "accuracy", split=split, chance=chance[split] if split == drawn else None)
            for label, split in splits.items()
        )
        operators = (
            self.curve(run, f"{metric}, best head of layer 1", metric, layer=1, family="all")
            for metric in ("routing", "copying")
        )
        return (*accuracies, *operators)


def births_of(
    table: pd.DataFrame, run: Run, labels: Mapping[str, str], *, in_epochs: bool = False, rule: str = ""
) -> tuple[Birth, ...]:
    """Births of one run from a table of ``emergence.births.births``.

    Args:
        table: columns ``init_seed``, ``motif``, ``after``, ``by``, of the run's arm alone.
        run: whose rows are read.
        labels: motif -> how it is called, in the order of the lanes.
        in_epochs: ``after`` and ``by`` count epochs, not steps.
        rule: what counts as born in that table, where there are several.
    """
    ends = run.recipe.schedule.epoch_ends
    rows = table[table["init_seed"] == run.recipe.init_seed].set_index("motif")[["after", "by"]]

    def step(value: object) -> int | None:
        return None if pd.isna(value) else ends[int(value)] if in_epochs else int(value)

    return tuple(
        Birth(label=label, after=step(rows.at[motif, "after"]), by=step(rows.at[motif, "by"]), rule=rule)
        for motif, label in labels.items()
        if motif in rows.index
    )
