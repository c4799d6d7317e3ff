"""The explorer of the front page: ten networks, and their circuit in a few frames.

It opens on the finished circuit, since a reader has to know what appears before seeing it appear.
"""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from circuitcore.training.store.run import Run
from livingpaper.explorer.exhibit import Example, Exhibit, PathStep
from livingpaper.explorer.material import Material
from livingpaper.explorer.retrieval_path import Lookup
from livingpaper.explorer.shown_run import MOST_BESIDE
from retrieval_circuits.lookup_circuit import PLAN
from retrieval_circuits.published_gate import gate_stop
from retrieval_circuits.symbolic_kv.design import TORCH
from retrieval_circuits.symbolic_kv.explorer.chapter import BIRTHS, runs_shown
from retrieval_circuits.symbolic_kv.readings import COPIES, ROUTES, motif_births

NONE = "no link of the circuit is supported by a test of this network"
CARRIED = ("carries", "matches", "copies")


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
    run, circuit = asked.run, bare.circuit(bare.start)
    done = {link.move: f"{link.sign} {link.does}" for link in circuit.links if link.supported}
    first, (copying, looking) = run.steps[0], (_born(material, run, motif) for motif in (COPIES, ROUTES))
    taggers = bare.find(run.run_id).tests[run.steps[-1]]["tags"].heads
    off = [f"zero({head})@all" for head in taggers]
    return (
        PathStep(
            title=f"Asked for {asked.key}, it says {asked.plain.likeliest}.",
            text=f"{', '.join(done.values()) or NONE}.",
            lit=tuple(done),
        ),
        PathStep(
            title="Before training it guesses.",
            text=f"At step {first} it says {asked.read(step=first).says}.",
            state={"step": first},
        ),
        PathStep(
            title="Copying comes first." if copying < looking else "Copying.",
            text=f"At step {copying:,} it says {asked.read(step=copying).says}.",
            state={"step": copying},
            lit=("copies",),
        ),
        PathStep(
            title="Then the look-up." if copying < looking else "The look-up.",
            text=f"At step {looking:,} it says {asked.read(step=looking).says}.",
            state={"step": looking}, lit=("tags", "carries", "matches"), claims=("KV5",),
        ),
        PathStep(
            title="Take the marks away.",
            text=f"Without {' and '.join(taggers)} it says {asked.read(edits=off).says}.",
            state={"edits": off}, lit=("tags",),
        ),
        PathStep(
            title="Ask for another key.",
            text=f"Asked for {asked.other.key}, it says {asked.other.read().says}.",
            state={"prompt": asked.other.prompt}, lit=CARRIED, claims=("KV3",),
        ),
        PathStep(
            title="Other random starts.",
            text=f"Below are {len(bare.shown)} networks; under each, how many of its links its own tests support.",
            claims=("KV1",),
        ),
        gate_stop(bare.find(run.run_id), {BIRTHS[COPIES]: "copying", BIRTHS[ROUTES]: "routing"}, {}),
    )  # fmt: skip


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
