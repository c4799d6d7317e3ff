"""What a network of next words does on one prompt, as it is drawn: attention, and the one link that is tested.

The test exchanges all that the last layer's heads write at the last position between two prompts. Nothing in these
tables could support an arrow from one word to another, so that all of these are attention alone.
"""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from circuitcore.tasks.base import Task
from circuitcore.tasks.forms import matching
from circuitcore.training.store.run import Run
from livingpaper.claims.results import Results
from livingpaper.explorer.material import Material
from livingpaper.explorer.moves import Move, Plan, Tested, circuit_on
from livingpaper.explorer.probe import Reading, probe
from livingpaper.figures.circuit import Circuit, percent
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.circuit_parts import N_DRAWN, first_test_prompt
from retrieval_circuits.story_control.design import PLANTED, STORY

BOUND = MORE_OFTEN_THAN_NOT
HEADS = ("L1H0", "L1H1")
"""Of the last layer."""
PLAN = Plan(moves=(Move(name="answers", does="brings the next word", layer=1, looks="anywhere"),))
FOUND = "exchanged between two prompts, it brings the other prompt's word on {effect} of them"


def story_circuits(material: Material) -> tuple[Circuit, ...]:
    """The first networks of the story whose weights are here, on the first test row."""
    return tuple(circuit_of(material, STORY, run) for run in material.runs(STORY)[:N_DRAWN])


def planted_circuits(material: Material) -> tuple[Circuit, ...]:
    """The same of the positive control."""
    return tuple(circuit_of(material, PLANTED, run) for run in material.runs(PLANTED)[:N_DRAWN])


def circuit_of(material: Material, arm: str, run: Run) -> Circuit:
    """One network at its last checkpoint."""
    task, seed = run.recipe.make_task(), run.recipe.init_seed
    reading = probe(run, prompt=first_test_prompt(task))
    name = material.condition(arm, f"seed {seed}")
    effects, known = answers_brought(material.results, arm), words_known(material.results, arm)
    tests = link_tests(material.results, arm, seed)
    return next_word_circuit(name, task, reading, tests, note_on_test(effects, known))


def next_word_circuit(name: str, task: Task, reading: Reading, tests: Mapping[str, Tested], note: str) -> Circuit:
    """The drawing's data.

    Args:
        name: of the network.
        task: of next words.
        reading: of its first test row, plain.
        tests: of each of ``PLAN``.
        note: as in ``Circuit``.
    """
    form, wanted = matching(task.forms, reading.words), task.vocab[int(task.split("test").answers[0])]
    return replace(circuit_on(form, reading, PLAN, tests, wanted), name=name, note=note)


def link_tests(results: Results, arm: str, seed: int) -> dict[str, Tested]:
    """Move -> whose it is in this network, and the share of answers that follow what was exchanged."""
    effect = float(answers_brought(results, arm)[seed])
    return {"answers": Tested(heads=HEADS, effect=effect, supported=BOUND.reached(effect), found=FOUND)}


def note_on_test(effects: pd.Series, known: pd.Series) -> str:
    """In how many networks the test supports the link, and whether it could have in networks that know so little.

    Args:
        effects: of ``answers_brought``, of all networks of an arm.
        known: of ``words_known``, of the same.
    """
    found = f"The test of ① supports it in {counted(effects)}."
    share = float(known.mean())
    if BOUND.reached(share):
        return found
    return (
        f"{found} That test asks for the next words of rows that were held out, of which these networks know "
        f"{percent(share)}: it could hardly have supported a link."
    )


def counted(effects: pd.Series) -> str:
    """In how many networks the link is supported, in words."""
    return f"{sum(map(BOUND.reached, effects))} of {len(effects)} network{'' if len(effects) == 1 else 's'}"


def answers_brought(results: Results, arm: str) -> pd.Series:
    """Per seed: share of pairs of prompts that get the other's word with the last layer's writes exchanged."""
    return results.final_values("interchange_chosen", arm, variable="target_token", edit="")


def words_known(results: Results, arm: str) -> pd.Series:
    """Per seed: share of the test rows, from which those pairs are taken, whose next word the network says."""
    return results.final_values("accuracy", arm, split="test")
