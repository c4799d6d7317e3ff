"""The explorer of the chapter: networks of four layers that learn hops from a mixture, and one taught in turn."""

from collections.abc import Iterator, Sequence

from circuitcore.tasks.k_fold_composition import KFoldComposition
from circuitcore.training.store.run import Run
from livingpaper.explorer.exhibit import Example, Exhibit, PathStep
from livingpaper.explorer.material import Material
from livingpaper.explorer.probe import probe
from livingpaper.explorer.shown_run import ShownRun
from retrieval_circuits.composition.design import FORWARD, FOUR, HOPS, WORDS

LABELS = {FOUR: "one to four hops, mixed", FORWARD: "one to four hops, in turn"}
EARLY = 1 / 6
"""Share of training at which the path looks at a network that still learns."""


def explorer(materials: Sequence[Material]) -> Exhibit:
    """Networks of both ways of training; it opens on a mixture's, asked for three hops."""
    mixed, turned = (materials[0].run(str(arm)) for arm in LABELS)
    task = mixed.recipe.make_task()
    shown = tuple(one for material in materials for one in _shown(material, task))
    examples = _examples(task)
    opening = {"run": mixed.run_id, "prompt": examples[HOPS - 2].prompt}
    return Exhibit(
        name="explorer-composition", task=task, shown=shown, examples=examples, opening=opening,
        path=_path(mixed, turned, examples),
    )  # fmt: skip


def _shown(material: Material, task: KFoldComposition) -> Iterator[ShownRun]:
    """Networks whose weights are here. Those with other hidden permutations would answer the same words otherwise."""
    for arm, label in LABELS.items():
        for run in material.runs(str(arm)):
            if run.recipe.make_task().hidden_seed == task.hidden_seed:
                curves = tuple(
                    material.curve(run, WORDS[hops], "accuracy", variable=f"hops_{hops}", chance=task.chance["test"])
                    for hops in range(1, HOPS + 1)
                )
                yield ShownRun(run=run, condition=material.condition(str(arm), label), curves=curves)


def _examples(task: KFoldComposition) -> tuple[Example, ...]:
    """The first held-out rows, one a number of hops, with their last query alone. No network had a say in it."""
    rows = task.few("test", HOPS)
    words = [task.decode(row).split() for row in rows.tokens]
    n_maps = task.max_length - task.n_queries
    return tuple(
        Example(label=WORDS[hops], prompt=" ".join([*row[:n_maps], row[-1]]), answer=task.vocab[answer])
        for hops, row, answer in zip(range(1, HOPS + 1), words, rows.answers.tolist(), strict=True)
    )


def _path(mixed: Run, turned: Run, examples: Sequence[Example]) -> tuple[PathStep, ...]:
    """Every sentence is worded from what the networks say."""
    one, three, four = examples[0], examples[HOPS - 2], examples[HOPS - 1]
    early = min(mixed.steps, key=lambda step: abs(step - EARLY * mixed.final_step))

    def says(run: Run, asked: Example, step: int | None = None) -> str:
        return f"it says {probe(run, step=step, prompt=asked.prompt).says}; right is {asked.answer}."

    return (
        PathStep(title="Three hops.", text=f"Asked {three.prompt.split()[-1]}, {says(mixed, three)}", claims=("KF10",)),
        PathStep(
            title="Four hops.", text=f"Asked {four.prompt.split()[-1]}, {says(mixed, four)}",
            state={"prompt": four.prompt}, claims=("KF12",),
        ),
        PathStep(
            title="Early in training.", text=f"Asked for three hops at step {early:,}, {says(mixed, three, early)}",
            state={"step": early}, claims=("KF8",),
        ),
        PathStep(
            title="Taught in turn.", text=f"Asked for a single hop at the end, {says(turned, one)}",
            state={"run": turned.run_id, "step": turned.steps[-1], "prompt": one.prompt}, claims=("KF17",),
        ),
    )  # fmt: skip
