"""The explorer of the front page: ten networks, and their circuit in a few frames.

It opens on the finished circuit, since a reader has to know what appears before seeing it appear.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from circuitcore.training.store.run import Run
from livingpaper.explorer.exhibit import Example, Exhibit, PathStep
from livingpaper.explorer.material import Material
from livingpaper.explorer.probe import Reading
from livingpaper.explorer.retrieval_path import Lookup
from livingpaper.explorer.shown_run import MOST_BESIDE
from livingpaper.figures.circuit import Circuit, Link, likely, listed
from retrieval_circuits.lookup_circuit import PLAN
from retrieval_circuits.published_gate import OURS, gate_stop
from retrieval_circuits.symbolic_kv.design import TORCH
from retrieval_circuits.symbolic_kv.explorer.chapter import BIRTHS, runs_shown
from retrieval_circuits.symbolic_kv.readings import COPIES, ROUTES, motif_births

NONE = "no link of the circuit is supported by a test of this network"
GATED = {BIRTHS[COPIES]: "copying", BIRTHS[ROUTES]: "routing"}
LOOKING, CARRIED = ("tags", "carries", "matches"), ("carries", "matches", "copies")


def front(materials: Sequence[Material]) -> Exhibit:
    """Networks trained by torch alone; it opens on the first whose weights are shipped through training."""
    material, first = materials[0], materials[0].run(TORCH)
    task, prompt = first.recipe.make_task(), _first_test_prompt(first)
    shown = runs_shown(material, TORCH)[:MOST_BESIDE]
    asked = Lookup(first, prompt)
    examples = (
        Example(label="the first test prompt", prompt=prompt),
        Example(label="another key", prompt=asked.other.prompt),
    )
    bare = Exhibit(
        name="explorer-front", task=task, shown=shown, examples=examples, opening={"run": first.run_id}, plan=PLAN
    )
    return replace(bare, path=_path(bare, asked, material))


def _path(bare: Exhibit, asked: Lookup, material: Material) -> tuple[PathStep, ...]:
    """Every sentence is worded from what the network says, and what its tests support."""
    run, shown = asked.run, bare.find(asked.run.run_id)
    copying, looking = (_born(material, run, motif) for motif in (COPIES, ROUTES))
    return (
        PathStep(
            title=f"Asked for {asked.key}, it says {asked.plain.likeliest}.",
            text=f"{', '.join(f'{link.sign} {link.does}' for link in _links(bare, {})) or NONE}.",
            lit=_lit(bare, {}), claims=("KV1",),
        ),
        _untrained(asked),
        _copying(bare, asked, copying, is_first=copying < looking),
        PathStep(
            title="Then the look-up." if copying < looking else "The look-up.",
            text=f"At step {looking:,} it says {_says(asked.read(step=looking))}; its tests support "
            f"{listed([f'{link.sign} {link.move}' for link in _links(bare, {'step': looking})]) or 'none of this'}.",
            state={"step": looking}, lit=_lit(bare, {"step": looking}, LOOKING), claims=("KV2",),
        ),
        _without_tags(bare, asked),
        PathStep(
            title="Ask for another key.",
            text=f"Asked for {asked.other.key}, it says {_says(asked.other.read())}.",
            state={"prompt": asked.other.prompt}, lit=_lit(bare, {}, CARRIED), claims=("KV3",),
        ),
        PathStep(title="Other random starts.", text=_counted(bare.beside(bare.start))),
        gate_stop(shown, GATED, {}),
    )  # fmt: skip


def _links(bare: Exhibit, state: Mapping[str, object]) -> list[Link]:
    """Links of the opening network that its tests support in a state."""
    return [link for link in bare.circuit({**bare.start, **state}).links if link.supported]


def _lit(bare: Exhibit, state: Mapping[str, object], among: Sequence[str] = ()) -> tuple[str, ...]:
    return tuple(link.move for link in _links(bare, state) if not among or link.move in among)


def _says(reading: Reading) -> str:
    """The likeliest token and its probability, as they stand in the drawing."""
    return f"{reading.likeliest} ({likely(reading.probability_of(reading.likeliest))})"


def _untrained(asked: Lookup) -> PathStep:
    """It repeats a word where it does so at every position, not at the last one alone."""
    first = asked.run.steps[0]
    reading = asked.read(step=first)
    repeats = tuple(reading.vocab[token] for token in reading.logits.argmax(-1).tolist()) == asked.words
    said = "repeats the last word" if repeats else f"says {reading.likeliest}"
    return PathStep(
        title=f"Before training it {said}.",
        text=f"At step {first} it says {_says(reading)}.",
        state={"step": first},
    )


def _copying(bare: Exhibit, asked: Lookup, step: int, *, is_first: bool) -> PathStep:
    """Copying is dated by its score alone; of its test only what it supports is said."""
    births = {birth.label: birth for birth in bare.find(asked.run.run_id).births if birth.rule == OURS}
    born = listed([replace(births[label], label=noun).told for label, noun in GATED.items()])
    lit = _lit(bare, {"step": step}, ("copies",))
    is_tested = any(link.move == "copies" for link in bare.circuit({**bare.start, "step": step}).links)
    tested = " The test of copying does not support it yet." if is_tested and not lit else ""
    return PathStep(
        title="Copying comes first, by its score." if is_first else "Copying, by its score.",
        text=f"Born: {born}. At step {step:,} it says {_says(asked.read(step=step))}.{tested}",
        state={"step": step},
        lit=lit,
    )


def _without_tags(bare: Exhibit, asked: Lookup) -> PathStep:
    """The tagger is taken away, with whatever else it does."""
    tests = bare.find(asked.run.run_id).tests[asked.run.steps[-1]]
    heads = tests["tags"].heads
    lit = tuple(move for move in _lit(bare, {}) if set(tests[move].heads) <= set(heads))
    off = [f"zero({head})@all" for head in heads]
    return PathStep(
        title=f"Take away the head that {listed(lit)}." if lit else "Take a head away.",
        text=f"Without {listed(heads)} it says {_says(asked.read(edits=off))}.",
        state={"edits": off},
        lit=lit,
        claims=("KV5",),
    )


def _counted(circuits: Sequence[Circuit]) -> str:
    """What is counted of the drawn networks: in how many all is supported, and who tags in how many."""
    whole = sum(circuit.n_supported == len(circuit.links) > 0 for circuit in circuits)
    taggers = Counter(
        link.head for circuit in circuits for link in circuit.links if link.move == "tags" and link.supported
    )
    who = listed([f"{head} in {n}" for head, n in taggers.most_common()])
    told = f" The head that tags, where a test supports it: {who}." if who else ""
    return f"In {whole} of these {len(circuits)} networks their own tests support every link.{told}"


def _born(material: Material, run: Run, motif: str) -> int:
    """The first shown step at which a motif of this network is born; the last where it never is."""
    births = motif_births(material.results, TORCH)
    (by,) = births.loc[(births["init_seed"] == run.recipe.init_seed) & (births["motif"] == motif), "by"]
    after = [] if pd.isna(by) else [step for step in run.steps if step >= by]
    return after[0] if after else run.steps[-1]


def _first_test_prompt(run: Run) -> str:
    """Whatever prompt the test split begins with: no network and no picture had a say in it."""
    task = run.recipe.make_task()
    return task.decode(task.split("test").tokens[0])
