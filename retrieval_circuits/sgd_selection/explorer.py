"""The explorer of the chapter: a network and a fork of it, in which another head came to join values to their keys."""

from collections.abc import Sequence
from dataclasses import replace

from livingpaper.explorer.exhibit import Exhibit, PathStep
from livingpaper.explorer.material import Material
from livingpaper.explorer.retrieval_path import Lookup
from retrieval_circuits.sgd_formation.circuit import PLAN
from retrieval_circuits.sgd_formation.explorer import done, first_reads, joiners, removed, runs_shown
from retrieval_circuits.sgd_formation.measures.links import COPIES, FINDS, JOINS
from retrieval_circuits.sgd_selection.design import DRAWN_FORK, NETWORKS, PARENT
from retrieval_circuits.sgd_selection.readings import half_joined, half_read

LABELS = {NETWORKS: "random starts", PARENT: "random starts", DRAWN_FORK: "a fork: other rows"}
"""Arm -> how it is called; the parent is in two of them, and shown once."""
BORN = {"half of values joined": half_joined, "half of reads right": half_read}


def explorer(materials: Sequence[Material]) -> Exhibit:
    """Networks from random starts, and a fork of one, the parent; it opens on that when it has learnt."""
    parent, fork = (materials[0].run(arm) for arm in (PARENT, DRAWN_FORK))
    task = parent.recipe.make_task()
    shown = runs_shown(materials, LABELS, task.reported, BORN)
    examples = first_reads(task)
    bare = Exhibit(
        name="explorer-sgd-selection", task=task, shown=shown, examples=examples, opening={"run": parent.run_id},
        plan=PLAN,
    )  # fmt: skip
    return replace(bare, path=_path(bare, *(Lookup(run, examples[0].prompt) for run in (parent, fork))))


def _path(bare: Exhibit, parent: Lookup, fork: Lookup) -> tuple[PathStep, ...]:
    """Every sentence is worded from what the networks say, and what their tests support."""
    own, others = (joiners(bare, one.run.run_id) for one in (parent, fork))
    names, other_names = " and ".join(own), " and ".join(others)
    (_, left), first = fork.run.recipe.parent, bare.find(parent.run.run_id).steps[0]
    there = {"run": fork.run.run_id, "step": fork.run.steps[-1]}
    early = parent.read(step=first)

    def without(asked: Lookup) -> str:
        return asked.read(edits=removed(own)).says

    return (
        PathStep(
            title=f"Here {names} joins values to their keys.",
            text=f"{done(bare.circuit(bare.start))}. Asked for {parent.key}, it says {parent.plain.likeliest}.",
            lit=(JOINS, FINDS, COPIES),
        ),
        PathStep(
            title=f"Beside it a fork: {other_names}.",
            text=f"It left the network at step {left:,}, with all its weights, and went on with other rows. "
            f"{done(bare.circuit({**bare.start, **there}))}. Asked the same, it says {fork.plain.likeliest}.",
            state={"other": there}, lit=(JOINS,), claims=("SS18",),
        ),
        PathStep(
            title=f"Take {names} away.",
            text=f"Without it the network says {without(parent)}, and the fork {without(fork)}; asked is {parent.key}, "
            f"of value {parent.words[parent.value_position]}.",
            state={"edits": removed(own), "other": there}, lit=(JOINS,), claims=("SS3",),
        ),
        PathStep(
            title="Before anybody wins.",
            text=f"At step {first:,} it says {early.says}: {done(bare.circuit({**bare.start, 'step': first}))}.",
            state={"step": first}, claims=("SS5",),
        ),
    )  # fmt: skip
