"""What a network of next words does on one prompt, as it is drawn: attention, and the one link that is tested.

The test exchanges all that the last layer's heads write at the last position between two prompts. Nothing in these
tables could support an arrow from one word to another, so that all of these are attention alone.
"""

import pandas as pd

from circuitcore.tasks.base import Task
from circuitcore.training.store.run import Run
from livingpaper.claims.results import Results
from livingpaper.explorer.material import Material
from livingpaper.explorer.probe import Reading, probe
from livingpaper.figures.circuit import Arrow, Circuit, Link, percent
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.circuit_parts import (
    KEY,
    N_DRAWN,
    VALUE,
    addresses,
    answer_of,
    attention,
    attention_alone,
    first_test_prompt,
    tokens_of,
)
from retrieval_circuits.story_control.design import PLANTED, STORY

BOUND = MORE_OFTEN_THAN_NOT
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
    return next_word_circuit(name, task, reading, float(effects[seed]), note_on_test(effects, known))


def next_word_circuit(name: str, task: Task, reading: Reading, effect: float, note: str) -> Circuit:
    """The drawing's data.

    Args:
        name: of the network.
        task: of next words.
        reading: of its first test row, plain.
        effect: of ``answers_brought``, of this network.
        note: as in ``Circuit``.
    """
    row = task.split("test").rows(slice(0, 1))
    words, copied = reading.words, int(row.roles["last_copy"])
    link = answering(reading, effect)
    tones = {at: KEY for at, word in enumerate(words) if copied and word == words[-1]}
    tones |= {copied: VALUE} if copied else {}
    return Circuit(
        name=name,
        n_layers=len(reading.patterns),
        tokens=tokens_of(reading, tones),
        links=(link,),
        answer=answer_of(reading, task.vocab[int(row.answers)]),
        looks=attention_alone(reading, link.arrows),
        note=note,
    )


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


def answering(reading: Reading, effect: float) -> Link:
    """The last layer's heads bring the next word; as wide as the most that they look at from the last position."""
    last, layer = len(reading.words) - 1, len(reading.patterns) - 1
    heads = addresses(reading, layer)
    widest = max(attention(reading, heads, last, source) for source in range(last + 1))
    return Link(
        move="answers",
        does="brings the next word",
        head=f"L{layer}H*",
        tone=VALUE,
        effect=effect,
        supported=BOUND.reached(effect),
        arrows=(Arrow(layer=layer + 1, source=last, target=None, weight=widest),),
        found=FOUND,
    )
