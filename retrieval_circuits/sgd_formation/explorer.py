"""The explorer of the chapter: a small network before, while and after it learns to look a key up, and others after."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from circuitcore.tasks.streams import Stream
from livingpaper.explorer.exhibit import Example, Exhibit, PathStep
from livingpaper.explorer.material import Material
from livingpaper.explorer.retrieval_path import Lookup
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.figures.circuit import Circuit
from retrieval_circuits.sgd_formation.circuit import PLAN, links_of
from retrieval_circuits.sgd_formation.design import DRAWN, FRESH
from retrieval_circuits.sgd_formation.measures.links import COPIES, FINDS, JOINED_BY, JOINS
from retrieval_circuits.sgd_formation.readings.networks import Timed, joining_time, learning_time, looking_time

OLD, LONGEST = 3, 39
"""Examples ask for a value that was written three writes ago or earlier, so that the look can be seen, and have at most
so many tokens, so that a stream fits on a page. Much shorter ones are out of reach: in training no read comes before
there are as many writes as lags."""
N_EXAMPLES, N_ROWS = 4, 64
Events = Mapping[str, Callable[[str], Timed]]
"""How an event is called on the stage -> of an arm, the reading that dates it."""
BORN: Events = {
    "values look at keys": joining_time, "reads look at values": looking_time, "reads are right": learning_time
}  # fmt: skip
"""As the figure of the order of events dates them: half the way to the end."""
NOTHING_TESTED = "no move is supported by a test of this network at this step"


def explorer(materials: Sequence[Material]) -> Exhibit:
    """The drawn network among those on the same rows; it opens when it has learnt."""
    run = materials[0].run(DRAWN)
    task = run.recipe.make_task()
    shown = runs_shown(materials, dict.fromkeys((FRESH, DRAWN), "fresh rows"), task.reported, BORN)
    examples = first_reads(task)
    bare = Exhibit(
        name="explorer-sgd-formation", task=task, shown=shown, examples=examples, opening={"run": run.run_id}, plan=PLAN
    )
    return replace(bare, path=_path(bare, Lookup(run, examples[0].prompt)))


def runs_shown(
    materials: Sequence[Material], labels: Mapping[str, str], split: str, born: Events
) -> tuple[ShownRun, ...]:
    """The networks of some arms whose weights are here, each once: that of a reader may be a published one.

    Args:
        materials: of one origin, or two.
        labels: arm -> how it is called.
        split: of which accuracy is shown.
        born: what is dated in them.
    """
    found: dict[str, ShownRun] = {}
    for material in materials:
        for arm in (arm for arm in labels if material.runs(arm)):
            for one in _shown(material, arm, material.condition(arm, labels[arm]), split, born):
                found.setdefault(one.run.run_id, one)
    return tuple(found.values())


def _shown(material: Material, arm: str, condition: str, split: str, born: Events) -> Iterator[ShownRun]:
    """The networks of an arm, with what tests say of them at each step that is shown, and when events came."""
    tests = links_of(material.results, arm)
    times = {name: timed(arm).reached(material.results) for name, timed in born.items()}
    for run in material.runs(arm):
        yield ShownRun(
            run=run,
            condition=condition,
            births=material.crossings(run, times),
            curves=(
                material.curve(run, "accuracy", "accuracy", split=split, variable="", chance=None),
                material.curve(run, "joins, best head of layer 0", "joins", layer=JOINED_BY),
            ),
            tests=tests.get(run.run_id, {}),
        )


def first_reads(task: Stream) -> tuple[Example, ...]:
    """Of a few rows of the reported kind, in their order, the first read of an old value that is short enough.

    No network and no picture had a say in it.
    """
    batch = task.few(task.reported, N_ROWS)
    reads = task.reads_of(batch)
    fitting = ((reads.lag >= OLD) & (reads.at < LONGEST)).nonzero()[:, 0].tolist()
    first_of_row = {int(reads.row[number]): number for number in reversed(fitting)}
    chosen = islice(sorted(first_of_row.items()), N_EXAMPLES)
    return tuple(
        Example(label=f"{task.reported} {row}", prompt=task.decode(batch.tokens[row, : int(reads.at[number]) + 1]))
        for row, number in chosen
    )


def done(circuit: Circuit) -> str:
    """What supported moves do, each with its number and heads."""
    moves = [f"{link.sign} {link.head} {link.does}" for link in circuit.links if link.supported]
    return ", ".join(moves) or NOTHING_TESTED


def joiners(exhibit: Exhibit, run_id: str) -> tuple[str, ...]:
    """The heads that join values to their keys at the last step, as its test names them."""
    shown = exhibit.find(run_id)
    return shown.tests[shown.run.steps[-1]][JOINS].heads


def removed(heads: Sequence[str]) -> list[str]:
    """Edits that take heads away."""
    return [f"zero({head})@all" for head in heads]


def _path(bare: Exhibit, asked: Lookup) -> tuple[PathStep, ...]:
    """Every sentence is worded from what the network says, and what its tests support."""
    run, steps = asked.run, bare.find(asked.run.run_id).steps
    first, middle = steps[0], steps[len(steps) // 2]
    heads = joiners(bare, run.run_id)
    value = asked.words[asked.value_position]

    def at(step: int) -> str:
        reading = asked.read(step=step)
        tested = done(bare.circuit({**bare.start, "step": step}))
        wanted = "" if reading.likeliest == value else f", where {value} has {asked.share(reading):.2f}"
        return f"At step {step:,} it says {reading.says}{wanted}; {tested}."

    return (
        PathStep(
            title=f"Asked for {asked.key}, it says {asked.plain.likeliest}.",
            text=f"{done(bare.circuit(bare.start))}.",
            lit=(JOINS, FINDS, COPIES),
        ),
        PathStep(title="Before it reads.", text=at(first), state={"step": first}, claims=("SF8",)),
        PathStep(title="While it learns to.", text=at(middle), state={"step": middle}, claims=("SF14",)),
        PathStep(
            title="Ask for another key.",
            text=f"Asked for {asked.other.key}, it says {asked.other.read().says}.",
            state={"prompt": asked.other.prompt}, lit=(FINDS, COPIES), claims=("SF9",),
        ),
        PathStep(
            title="Values without their keys.",
            text=f"Without {' and '.join(heads)} it says {asked.read(edits=removed(heads)).says}.",
            state={"edits": removed(heads)}, lit=(JOINS,),
        ),
    )  # fmt: skip
