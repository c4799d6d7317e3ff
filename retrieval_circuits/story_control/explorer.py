"""The explorers of the chapter: the story's network, which cannot retrieve, and one that learnt to."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import pandas as pd

from circuitcore.training.store.run import Run
from livingpaper.claims.results import Results
from livingpaper.explorer.exhibit import Example, Exhibit, PathStep, spread_examples
from livingpaper.explorer.material import Material, births_of
from livingpaper.explorer.probe import probe
from livingpaper.explorer.shown_run import Birth, ShownRun, shown_steps
from livingpaper.figures.circuit import percent
from retrieval_circuits.story_control.circuit import PLAN, link_tests, note_on_test
from retrieval_circuits.story_control.design import PLANTED, STORY
from retrieval_circuits.story_control.readings import MOTIFS, OURS, PUBLISHED, born_motifs

SPLITS = {"accuracy, trained rows": "train", "accuracy, held out": "val"}
N_TRAINED = 2
"""Rows that it was trained on, among the examples."""
RULES = {"our definitions": OURS, "the source's definitions": PUBLISHED}
"""As the buttons have them; the first is the one to open on."""


def story(materials: Sequence[Material]) -> Exhibit:
    """The network trained on the story, asked for words it was trained on and for words it was not."""
    run = materials[0].run(STORY)
    task = run.recipe.make_task()
    examples = (*spread_examples(task, "train", N_TRAINED), *spread_examples(task, "val", 6))
    seen, unseen = _words_wanted(examples[:N_TRAINED])[0], _first_miss(run, _words_wanted(examples[N_TRAINED:]))
    path = (
        PathStep(
            title="On rows held out it guesses.",
            text=f'Of a row held out, wanted is "{unseen.answer}"; it says {probe(run, prompt=unseen.prompt).says}. '
            f"{_where(unseen)}",
            claims=("SC2",),
        ),
        PathStep(
            title="Known by heart.",
            text=f'A row it was trained on. Wanted is "{seen.answer}"; it says {probe(run, prompt=seen.prompt).says}.',
            state={"prompt": seen.prompt},
        ),
        _best_held_out(materials[0], run, unseen),
    )  # fmt: skip
    return Exhibit(
        name="explorer-story", task=task, shown=tuple(_runs(materials, STORY)), examples=examples,
        opening={"run": run.run_id, "prompt": unseen.prompt}, path=path, plan=PLAN,
    )  # fmt: skip


def planted(materials: Sequence[Material]) -> Exhibit:
    """The network of the positive control, asked for a word that the context holds once before."""
    run = materials[0].run(PLANTED)
    task = run.recipe.make_task()
    examples = spread_examples(task, "val", 4)
    prompt, answer = examples[0].prompt, examples[0].answer
    words = prompt.split()
    last, place = len(words) - 1, _copied_from(words, answer)
    layer = run.recipe.model.n_layers - 1
    reading = probe(run, prompt=prompt)
    read = int(reading.patterns[layer][:, -1].mean(0).argmax())
    share = reading.patterns[layer][:, -1, read].mean().item()
    where = "that position" if read == place else f"position {read} instead, {read - place:+d} from it,"
    cuts = [f"cut(L{layer}H{head}:{last}->{read})" for head in range(run.recipe.model.n_heads)]
    path = (
        PathStep(
            title="It retrieves.",
            text=f"{words[-1]} stood before, and {answer} came after it, at position {place}. The network says "
            f"{reading.says}. Its last layer reads {where} with attention {share:.2f}.",
            claims=("SC4",),
        ),
        PathStep(
            title="Before training.",
            text=f"At step {run.steps[0]} it says {probe(run, step=run.steps[0], prompt=prompt).says}.",
            state={"step": run.steps[0]},
        ),
        PathStep(
            title="Cut what it reads.",
            text=f"Without that edge in any head of layer {layer} it says "
            f"{probe(run, prompt=prompt, edits=cuts).says}.",
            state={"edits": cuts},
        ),
    )
    return Exhibit(
        name="explorer-planted", task=task, shown=tuple(_runs(materials, PLANTED)), examples=examples,
        opening={"run": run.run_id}, path=path, plan=PLAN,
    )  # fmt: skip


def _where(example: Example) -> str:
    """Whether the prompt holds the wanted word, without which nothing can be looked up."""
    held = example.answer in example.prompt.split()
    return f"The wanted word stands {'in' if held else 'nowhere in'} the prompt."


def _best_held_out(material: Material, run: Run, asked: Example) -> PathStep:
    """The shown checkpoint that answers most held-out rows, asked for one of them; of equals the first."""
    curve = material.curve(run, "", "accuracy", split="val")
    shown = [(value, step) for step, value in zip(curve.steps, curve.values, strict=True) if step in shown_steps(run)]
    value, step = max(shown, key=lambda one: one[0])
    return PathStep(
        title="At its best on held-out rows.",
        text=f"Of the checkpoints here step {step:,} answers most held-out rows: {percent(value)}. On this one it says "
        f"{probe(run, step=step, prompt=asked.prompt).says}.",
        state={"prompt": asked.prompt, "step": step},
        claims=("SC3",),
    )


def _words_wanted(examples: Sequence[Example]) -> list[Example]:
    """Those that want a word of letters, not a mark; all where none does."""
    return [one for one in examples if one.answer.isalpha()] or list(examples)


def _first_miss(run: Run, examples: Sequence[Example]) -> Example:
    """The first example whose answer is not the likeliest token; the first where there is none."""
    missed = (one for one in examples if probe(run, prompt=one.prompt).likeliest != one.answer)
    return next(missed, examples[0])


def _copied_from(words: Sequence[str], answer: str) -> int:
    """The position whose word is the answer and follows an earlier occurrence of the last word."""
    return next(at for at in range(1, len(words)) if words[at] == answer and words[at - 1] == words[-1])


def _by_rule(results: Results, arm: str) -> dict[str, pd.DataFrame]:
    """Births of an arm's networks by each rule."""
    return {rule: born_motifs(results, arm, definitions) for rule, definitions in RULES.items()}


def _births(tables: Mapping[str, pd.DataFrame], run: Run) -> tuple[Birth, ...]:
    labels = {motif: motif for motif in MOTIFS}
    return tuple(birth for rule, table in tables.items() for birth in births_of(table, run, labels, rule=rule))


def _runs(materials: Sequence[Material], arm: str) -> Iterator[ShownRun]:
    for material in materials:
        tests = material.tests(arm, partial(link_tests, arm=arm))
        born = _by_rule(material.results, arm) if material.runs(arm) else {}
        for run in material.runs(arm):
            yield ShownRun(
                run=run,
                condition=material.condition(arm),
                curves=material.retrieval_curves(run, SPLITS),
                births=_births(born, run),
                note=note_on_test(material.results, arm),
                tests=tests[run.run_id],
            )
