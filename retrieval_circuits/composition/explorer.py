"""The explorer of the chapter: networks of four layers that learn hops from a mixture, and one taught in turn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from circuitcore.tasks.k_fold_composition import KFoldComposition
from livingpaper.claims.results import Results, SelectionError
from livingpaper.explorer.exhibit import Example, Exhibit, PathStep
from livingpaper.explorer.material import Material
from livingpaper.explorer.probe import Reading, probe
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.figures.circuit import percent
from retrieval_circuits.composition.circuit import streams_note
from retrieval_circuits.composition.design import FOLLOWED, FORWARD, FOUR, HOPS, WORDS, Arm
from retrieval_circuits.composition.readings import times

LABELS = {FOUR: "one to four hops, mixed", FORWARD: "one to four hops, in turn"}


def explorer(materials: Sequence[Material]) -> Exhibit:
    """Networks of both ways of training; it opens on a mixture's, asked for three hops."""
    runs = [materials[0].run(str(arm)) for arm in LABELS]
    task = runs[0].recipe.make_task()
    shown = tuple(one for material in materials for one in _shown(material, task))
    examples = _examples(task)
    here = {one.run.run_id: one for one in shown}
    if absent := [run.run_id for run in runs if run.run_id not in here]:
        raise SelectionError(f"run {absent[0]} was trained on other hidden permutations than {runs[0].run_id}")
    mixed, turned = (_Asked(here[run.run_id], examples) for run in runs)
    opening = {"run": mixed.shown.run.run_id, "prompt": examples[HOPS - 2].prompt}
    return Exhibit(
        name="explorer-composition", task=task, shown=shown, examples=examples, opening=opening,
        path=_path(mixed, turned),
    )  # fmt: skip


def _shown(material: Material, task: KFoldComposition) -> Iterator[ShownRun]:
    """Networks whose weights are here. Those with other hidden permutations would answer the same words otherwise."""
    for arm, label in LABELS.items():
        runs = [run for run in material.runs(str(arm)) if run.recipe.make_task().hidden_seed == task.hidden_seed]
        answered = born(material.results, arm) if runs else {}
        for run in runs:
            curves = tuple(
                material.curve(run, WORDS[hops], "accuracy", variable=f"hops_{hops}", chance=task.chance["test"])
                for hops in range(1, HOPS + 1)
            )
            yield ShownRun(
                run=run,
                condition=material.condition(str(arm), label),
                curves=curves,
                births=material.crossings(run, answered),
                note=streams_note(material.results, arm, run.recipe.init_seed),
            )


def born(results: Results, arm: Arm) -> dict[str, pd.Series]:
    """When each number of hops is first answered, by seed, as the figures of arrivals have it; inf: not by the end."""
    wide = times(results, arm).pivot(index="init_seed", columns="hops", values="time")
    return {words: wide[hops] for hops, words in WORDS.items()}


def _examples(task: KFoldComposition) -> tuple[Example, ...]:
    """The first held-out rows, one a number of hops, with their last query alone. No network had a say in it."""
    rows = task.few("test", HOPS)
    words = [task.decode(row).split() for row in rows.tokens]
    n_maps = task.max_length - task.n_queries
    return tuple(
        Example(label=WORDS[hops], prompt=" ".join([*row[:n_maps], row[-1]]), answer=task.vocab[answer])
        for hops, row, answer in zip(range(1, HOPS + 1), words, rows.answers.tolist(), strict=True)
    )


@dataclass(frozen=True, eq=False)
class _Asked:
    """One network, and a prompt for each number of hops."""

    shown: ShownRun
    examples: tuple[Example, ...]

    def since(self, hops: int) -> int:
        """The first shown step by which a number of hops is answered; the last where it is not."""
        return self.shown.since(self.shown.births[hops - 1])

    def asked(self, hops: int) -> str:
        """The query of a number of hops."""
        return self.examples[hops - 1].prompt.split()[-1]

    def read(self, hops: int, step: int) -> Reading:
        """What it says to its prompt."""
        return probe(self.shown.run, step=step, prompt=self.examples[hops - 1].prompt)

    def told(self, hops: int, step: int) -> str:
        """The same in words, and how it does on all test rows."""
        curve, right = self.shown.curves[hops - 1], self.examples[hops - 1].answer
        share = dict(zip(curve.steps, curve.values, strict=True))[step]
        return (
            f"At step {step:,} it answers {percent(share)} of queries of {WORDS[hops]}. Asked {self.asked(hops)}, it "
            f"says {self.read(hops, step).says}; right is {right}."
        )

    def state(self, hops: int, step: int) -> dict[str, object]:
        """Where that can be seen."""
        return {"run": self.shown.run.run_id, "step": step, "prompt": self.examples[hops - 1].prompt}


def _path(mixed: _Asked, turned: _Asked) -> tuple[PathStep, ...]:
    """From the end back to where one hop is answered, then on; every sentence is worded from what the networks say."""
    end, turned_end = mixed.shown.steps[-1], turned.shown.steps[-1]
    one, two = (mixed.since(hops) for hops in (1, 2))

    def stop(title: str, hops: int, step: int, *claims: str) -> PathStep:
        return PathStep(title=title, text=mixed.told(hops, step), state=mixed.state(hops, step), claims=claims)

    return (
        PathStep(
            title=f"Asked {mixed.asked(HOPS - 1)}, it says {mixed.read(HOPS - 1, end).likeliest}.",
            text=f"This network has {FOUR.n_layers} layers; the claims are on {FOLLOWED.n_layers}.",
            claims=("KF8", "KF9"),
        ),
        stop("One hop.", 1, one),
        stop("Two hops.", 2, two),
        stop("Three hops, at that step.", HOPS - 1, two),
        stop("Four hops, at the end.", HOPS, end, "KF12"),
        PathStep(
            title="Taught in turn.",
            text=f"First answered: {turned.shown.births[0].told}. {turned.told(1, turned_end)}",
            state=turned.state(1, turned_end), claims=("KF17",),
        ),
    )  # fmt: skip
