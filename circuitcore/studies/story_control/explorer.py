"""The explorers of the chapter: the story's network, which cannot retrieve, and one that learnt to."""

from collections.abc import Iterator, Sequence

from circuitcore.explorer.exhibit import Curve, Exhibit, PathStep, ShownRun, spread_examples
from circuitcore.explorer.material import Material
from circuitcore.explorer.probe import probe
from circuitcore.studies.story_control.design import PLANTED, STORY
from circuitcore.tasks.base import Task
from circuitcore.training.run import Run


def story(materials: Sequence[Material]) -> Exhibit:
    """The network trained on the story, asked for words it was trained on and for words it was not."""
    run = materials[0].run(STORY)
    task = run.recipe.make_task()
    examples = (*spread_examples(task, "train", 2), *spread_examples(task, "val", 3))
    seen, unseen = examples[0], examples[2]
    path = (
        PathStep(
            title="Known by heart.",
            text=f"A row it was trained on. Wanted is {seen.answer}; it says {probe(run, prompt=seen.prompt).says}.",
        ),
        PathStep(
            title="Not read from the context.",
            text=f"A row it was not trained on. Wanted is {unseen.answer}; it says "
            f"{probe(run, prompt=unseen.prompt).says}.",
            state={"prompt": unseen.prompt},
        ),
    )
    return Exhibit(
        name="explorer-story", task=task, shown=tuple(_runs(materials, STORY)), examples=examples,
        opening={"run": run.run_id}, path=path,
    )  # fmt: skip


def planted(materials: Sequence[Material]) -> Exhibit:
    """The network of the positive control, asked for a word that the context holds once before."""
    run = materials[0].run(PLANTED)
    task = run.recipe.make_task()
    examples = spread_examples(task, "val", 4)
    prompt, answer = examples[0].prompt, examples[0].answer
    words = prompt.split()
    last, place = len(words) - 1, _copied_from(words, answer)
    reading = probe(run, prompt=prompt)
    heads = {
        (layer, head): pattern[-1, place].item()
        for layer, found in enumerate(reading.patterns)
        for head, pattern in enumerate(found)
    }
    layer, head = max(heads, key=heads.get)
    name, early = f"L{layer}H{head}", run.steps[0]
    cut = [f"cut({name}:{last}->{place})"]
    path = (
        PathStep(
            title="It retrieves.",
            text=f"{words[-1]} stood before, and {answer} came after it, at position {place}. The network says "
            f"{reading.says}; {name} reads that position with attention {heads[layer, head]:.2f}.",
        ),
        PathStep(
            title="Before training.",
            text=f"At step {early} it says {probe(run, step=early, prompt=prompt).says}.",
            state={"step": early},
        ),
        PathStep(
            title="Cut that edge.",
            text=f"Without it {answer} has {probe(run, prompt=prompt, edits=cut).probability_of(answer):.2f}.",
            state={"edits": cut},
        ),
    )
    return Exhibit(
        name="explorer-planted", task=task, shown=tuple(_runs(materials, PLANTED)), examples=examples,
        opening={"run": run.run_id}, path=path,
    )  # fmt: skip


def _copied_from(words: Sequence[str], answer: str) -> int:
    """The position whose word is the answer and follows an earlier occurrence of the last word."""
    return next(at for at in range(1, len(words)) if words[at] == answer and words[at - 1] == words[-1])


def _runs(materials: Sequence[Material], arm: str) -> Iterator[ShownRun]:
    for material in materials:
        for run in material.runs(arm):
            yield ShownRun(run=run, condition=material.condition(arm), curves=_curves(material, run))


def _curves(material: Material, run: Run) -> tuple[Curve, ...]:
    task: Task = run.recipe.make_task()
    best = {"layer": 1, "family": "all"}
    return (
        material.curve(run, "accuracy, trained rows", "accuracy", split="train"),
        material.curve(run, "accuracy, held out", "accuracy", split="val", chance=task.chance["val"]),
        material.curve(run, "routing, best head of layer 1", "routing", **best),
        material.curve(run, "copying, best head of layer 1", "copying", **best),
    )
