"""The explorer of the chapter: middle networks on pairs, the first from a guess to the answer."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from circuitcore.tasks.in_context_recall import InContextRecall
from circuitcore.training.store.run import Run
from livingpaper.claims.results import Results
from livingpaper.explorer.exhibit import Example, Exhibit, PathStep
from livingpaper.explorer.material import Material
from livingpaper.explorer.retrieval_path import Lookup
from livingpaper.explorer.shown_run import Curve, ShownRun
from livingpaper.figures.circuit import listed
from retrieval_circuits.emergence_laws.circuit import link_tests
from retrieval_circuits.emergence_laws.design import PAIRS
from retrieval_circuits.emergence_laws.figures.chapter import PARTS
from retrieval_circuits.emergence_laws.readings import answered, best_heads, formed
from retrieval_circuits.sgd_formation.circuit import PLAN
from retrieval_circuits.sgd_formation.explorer import done, joiners, removed
from retrieval_circuits.sgd_formation.measures.links import COPIES, FINDS, JOINS

LABEL = "pairs"
N_EXAMPLES = 4
COPYING, *LOOKS = PARTS
ANSWERS = "answers"


def explorer(materials: Sequence[Material]) -> Exhibit:
    """Networks whose weights are here; it opens on the first, at the end of training."""
    first = materials[0].run(PAIRS)
    task = first.recipe.make_task()
    examples = _examples(task)
    bare = Exhibit(
        name="explorer-laws", task=task, shown=tuple(one for material in materials for one in _shown(material, task)),
        examples=examples, opening={"run": first.run_id, "prompt": examples[0].prompt}, plan=PLAN,
    )  # fmt: skip
    return replace(bare, path=_path(bare, Lookup(first, examples[0].prompt)))


def _shown(material: Material, task: InContextRecall) -> Iterator[ShownRun]:
    """Networks of the same words, as one prompt is put to all of them: a reader may have trained on others."""
    runs = [run for run in material.runs(PAIRS) if run.recipe.make_task().vocab == task.vocab]
    times, curves = (made(material.results) if runs else {} for made in (born, _curves))
    for run in runs:
        accuracy = material.curve(run, "accuracy", "accuracy", chance=task.chance["test"])
        yield ShownRun(
            run=run,
            condition=material.condition(PAIRS, LABEL),
            curves=(accuracy, *(_of_run(rows, run, part) for part, rows in curves.items())),
            births=material.crossings(run, times),
            tests=link_tests(run),
        )


def born(results: Results) -> dict[str, pd.Series]:
    """When each part forms and the answer comes, by seed; steps, inf where it does not."""
    return {**{part: formed(results, PAIRS, read) for part, read in PARTS.items()}, ANSWERS: answered(results, PAIRS)}


def _curves(results: Results) -> dict[str, pd.DataFrame]:
    return {part: best_heads(results, PAIRS, read) for part, read in PARTS.items()}


def _of_run(rows: pd.DataFrame, run: Run, part: str) -> Curve:
    own = rows[rows["init_seed"] == run.recipe.init_seed].sort_values("step")
    return Curve(
        label=f"{part}, best head", steps=tuple(map(int, own["step"])), values=tuple(own["value"].round(4)),
        chance=round(float(own["chance"].iloc[0]), 4),
    )  # fmt: skip


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


def _path(bare: Exhibit, asked: Lookup) -> tuple[PathStep, ...]:
    """Every sentence is worded from what the network says, and what its tests support."""
    shown = bare.find(asked.run.run_id)
    births = {birth.label: birth for birth in shown.births}
    heads, first = joiners(bare, asked.run.run_id), shown.steps[0]
    copying, looking = (shown.since(*(births[part] for part in parts)) for parts in ((COPYING,), LOOKS))

    def at(step: int) -> str:
        tests = done(bare.circuit({**bare.start, "step": step}))
        return f"At step {step:,} it says {asked.read(step=step).says}; {tests}."

    def when(*parts: str) -> str:
        return f"Its best head {', '.join(births[part].told for part in parts)}."

    return (
        PathStep(
            title=f"Asked for {asked.key}, it says {asked.plain.likeliest}.",
            text=f"{done(bare.circuit(bare.start))}. It {births[ANSWERS].told}.",
            lit=(JOINS, FINDS, COPIES), claims=("EL5",),
        ),
        PathStep(title="Before training.", text=at(first), state={"step": first}),
        PathStep(
            title="Copying.", text=f"{when(COPYING)} {at(copying)}", state={"step": copying}, lit=(COPIES,),
            claims=("EL21",),
        ),
        PathStep(
            title="Both looks.", text=f"{when(*LOOKS)} {at(looking)}", state={"step": looking}, lit=(JOINS, FINDS),
            claims=("EL23",),
        ),
        PathStep(
            title="Ask for another key.", text=f"Asked for {asked.other.key}, it says {asked.other.read().says}.",
            state={"prompt": asked.other.prompt}, lit=(FINDS, COPIES),
        ),
        PathStep(
            title="Values without their keys.",
            text=f"Without {listed(heads)} it says {asked.read(edits=removed(heads)).says}.",
            state={"edits": removed(heads)}, lit=(JOINS,),
        ),
    )  # fmt: skip
