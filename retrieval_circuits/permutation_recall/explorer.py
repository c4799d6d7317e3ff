"""The explorer of the chapter: the source's two models, and which part remembers, taken apart by the reader."""

from collections.abc import Iterator, Sequence

from circuitcore.training.store.run import Run
from livingpaper.explorer.exhibit import Example, Exhibit, PathStep
from livingpaper.explorer.material import Material, births_of
from livingpaper.explorer.probe import Reading, probe
from livingpaper.explorer.shown_run import Curve, ShownRun
from retrieval_circuits.permutation_recall.circuit import PLAN, link_tests, values_note
from retrieval_circuits.permutation_recall.readings.models import AMONG_SHOWN, ONE, TWO
from retrieval_circuits.permutation_recall.readings.sizes import recall_times

LABELS = {ONE: "small, trained without repeats", TWO: "large, trained with repeats"}
DISPLAYED = ((5, 3, 2, 4, 1), (2, 1, 4, 3, 5))
"""The sequence that the source displays: the y of x = 1..5, held out, and the order of the x."""
OPENING = (2, 1, 4, 3, 2)
"""The same with the first x once more."""
PERMUTATION, ORDER = DISPLAYED
SHOWN_FIRST = (1, OPENING[-1])
"""Position of the y to be remembered, and its x."""


def explorer(materials: Sequence[Material]) -> Exhibit:
    """Both models; it opens on the larger one, asked for the first x again."""
    shown = tuple(run for material in materials for run in shown_runs(material))
    large, small = (materials[0].run(arm) for arm in (TWO, ONE))
    examples = tuple(
        Example(label=label, prompt=prompt_of(order))
        for label, order in {
            "the first x again": OPENING,
            "the last x is new": ORDER,
            "the third x again": (*ORDER[:4], ORDER[2]),
            "two pairs shown": ORDER[:3],
        }.items()
    )
    path = _path(large, small, examples[0].prompt, examples[1].prompt)
    return Exhibit(
        name="explorer-permutation-recall", task=large.recipe.make_task(), shown=shown, examples=examples,
        opening={"run": large.run_id}, path=path, plan=PLAN,
    )  # fmt: skip


def prompt_of(order: Sequence[int]) -> str:
    """The pairs of all x but the last, and the last x."""
    return " ".join(str(word) for x in order for word in (x, PERMUTATION[x - 1]))[:-2]


def shown_runs(material: Material) -> Iterator[ShownRun]:
    """Every network of both models whose weights are here, the larger model's first."""
    tests, born = material.tests(TWO, link_tests), recall_times(material.results).assign(motif="recalls")
    for arm in (TWO, ONE):
        for run in material.runs(arm):
            yield ShownRun(
                run=run,
                condition=material.condition(arm, LABELS[arm]),
                curves=_curves(material, run),
                births=births_of(born[born["arm"] == arm], run, {"recalls": "recalls"}, in_epochs=True),
                note=values_note(material.results, run.recipe.init_seed) if arm == TWO else "",
                tests=tests.get(run.run_id, {}),
            )


def _curves(material: Material, run: Run) -> tuple[Curve, ...]:
    last = {"variable": "step 5", "split": "test"}
    return (
        material.curve(
            run, "accuracy at the last step, x repeated", "step_accuracy", family="repeat", **last, chance=AMONG_SHOWN
        ),
        material.curve(run, "accuracy at the last step, x new", "step_accuracy", family="normal", **last),
        material.curve(run, "accuracy at step 2", "step_accuracy", variable="step 2", split="test"),
    )


def _path(large: Run, small: Run, repeated: str, new: str) -> tuple[PathStep, ...]:
    """Every sentence is worded from what the networks say."""
    place, x = SHOWN_FIRST
    y = str(PERMUTATION[x - 1])
    heads = range(large.recipe.model.n_heads)
    last = len(repeated.split()) - 1
    cuts, off = [f"cut(L0H{head}:{last}->{place})" for head in heads], ["zero(L0MLP)@all"]

    def says(run: Run, prompt: str = repeated, edits: Sequence[str] = ()) -> Reading:
        return probe(run, prompt=prompt, edits=edits)

    return (
        PathStep(title="It remembers.", text=f"x = {x} comes again. The network says {says(large).says}; y was {y}."),
        PathStep(
            title="It counts.",
            text=f"Here no x is repeated, and one y is left over. It says {says(large, new).says}.",
            state={"prompt": new},
        ),
        PathStep(
            title="Cut what it reads.",
            text=f"No head may read the y at position {place} from the last position. It says "
            f"{says(large, edits=cuts).says}; {y} has {says(large, edits=cuts).probability_of(y):.2f}.",
            state={"edits": cuts}, claims=("PR13",),
        ),
        PathStep(
            title="Take the FFN away.",
            text="Attention is as it was, the FFN writes nothing. The network says "
            f"{says(large, edits=off).says}; {y} has {says(large, edits=off).probability_of(y):.2f}.",
            state={"edits": off}, claims=("PR15",),
        ),
        PathStep(
            title="Never shown a repeat.",
            text=f"The small model was trained without repeats. Asked the same, it says {says(small).says}; {y} has "
            f"{says(small).probability_of(y):.2f}.",
            state={"run": small.run_id, "step": small.steps[-1]}, claims=("PR1",),
        ),
    )  # fmt: skip
