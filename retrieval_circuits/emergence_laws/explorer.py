"""The explorer of the chapter: middle networks on pairs, the first from a guess to the answer."""

from collections.abc import Iterator, Sequence

from circuitcore.tasks.in_context_recall import InContextRecall
from circuitcore.training.store.run import Run
from livingpaper.explorer.exhibit import Example, Exhibit, PathStep
from livingpaper.explorer.material import Material
from livingpaper.explorer.probe import probe
from livingpaper.explorer.shown_run import ShownRun
from retrieval_circuits.emergence_laws.design import PAIRS

LABEL = "pairs"
N_EXAMPLES = 4


def explorer(materials: Sequence[Material]) -> Exhibit:
    """Networks whose weights are here; it opens on the first, at the end of training."""
    first = materials[0].run(PAIRS)
    task = first.recipe.make_task()
    examples = _examples(task)
    return Exhibit(
        name="explorer-laws", task=task, shown=tuple(one for material in materials for one in _shown(material, task)),
        examples=examples, opening={"run": first.run_id, "prompt": examples[0].prompt}, path=_path(first, examples),
    )  # fmt: skip


def _shown(material: Material, task: InContextRecall) -> Iterator[ShownRun]:
    """Networks of the same words, as one prompt is put to all of them: a reader may have trained on others."""
    for run in (run for run in material.runs(PAIRS) if run.recipe.make_task().vocab == task.vocab):
        curves = (
            material.curve(run, "accuracy", "accuracy", chance=task.chance["test"]),
            *(material.curve(run, words, "mass", variable=look) for words, look in LOOKS.items()),
        )
        yield ShownRun(run=run, condition=material.condition(PAIRS, LABEL), curves=curves)


LOOKS = {"attention from values to their keys": "values>keys", "attention from the query to its value":
         "read_out>values"}  # fmt: skip


def _examples(task: InContextRecall) -> tuple[Example, ...]:
    """The first rows held out, with their last query alone. No network had a say in it."""
    rows = task.few("test", N_EXAMPLES)
    words = [task.decode(row).split() for row in rows.tokens]
    return tuple(
        Example(
            label=f"row {place}", prompt=" ".join([*row[: task.context], row[-1]]), answer=task.vocab[answer]
        )
        for place, (row, answer) in enumerate(zip(words, rows.answers.tolist(), strict=True), 1)
    )  # fmt: skip


def _path(run: Run, examples: Sequence[Example]) -> tuple[PathStep, ...]:
    """Every sentence is worded from what the network says."""
    asked, early, middle = examples[0], run.steps[0], run.steps[len(run.steps) // 2]

    def says(step: int) -> str:
        return f"it says {probe(run, step=step, prompt=asked.prompt).says}; right is {asked.answer}."

    return (
        PathStep(title="At the end.", text=f"Asked for {asked.prompt.split()[-1]}, {says(run.steps[-1])}"),
        PathStep(title="Untrained.", text=f"Before training {says(early)}", state={"step": early}),
        PathStep(title="On the way.", text=f"At step {middle:,} {says(middle)}", state={"step": middle}),
    )
