"""The circuit of each of the larger networks, as it is drawn: how one y is recalled, with what its own tests support.

Every arrow is a test of the claims PR13, PR18 and PR15 on this very network, read off the same rows and held to the
same bounds: edges into the last position cut, two y trading places in the keys, the FFN replaced by a linear map. Of
two heads one is named where it moves the answer alone (``circuit_parts.by_leader``).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from circuitcore.tasks.forms import matching
from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.training.store.run import Run
from livingpaper.claims.results import Results
from livingpaper.explorer.material import Material
from livingpaper.explorer.moves import Move, Plan, Tested, circuit_on
from livingpaper.explorer.probe import Reading, probe
from livingpaper.figures.circuit import Circuit, percent
from retrieval_circuits.circuit_parts import KEY, N_DRAWN, VALUE, by_leader
from retrieval_circuits.permutation_recall.claims.parts import PARTS
from retrieval_circuits.permutation_recall.readings import parts
from retrieval_circuits.permutation_recall.readings.models import LEARNT, TWO

BOUNDS = {claim.id: claim.bound for claim in PARTS}
CUT = "without that look recall is lost on {effect} of prompts"
TRADED = "where two y trade places in the keys, the other y is answered on {effect} of prompts"
LINEAR = "with the nearest linear map in its place recall is lost on {effect} of prompts"
MOVES = (
    Move(name="finds", does="finds the x that stood before", layer=0, source="asked key", target="last"),
    Move(
        name="reads", does="looks at every y and needs the one shown with it", layer=0, source="asked value",
        target="last",
    ),
    Move(
        name="weighs", does="tells the places of y apart by how much it looks at each", layer=0,
        source="other values", target="last",
    ),
    Move(name="joins", does="joins place and y in the FFN", layer=0),
)  # fmt: skip
PLAN = Plan(moves=MOVES, tones={"x": KEY, "y": VALUE})
CUTS = {"finds": "cut x_source", "reads": "cut y_source"}
"""Move -> which edge into the last position is cut."""
FFN = "L0MLP"


def circuits(material: Material) -> tuple[Circuit, ...]:
    """The first networks like the source's larger one whose weights are here, on the first test row with a repeat."""
    return tuple(circuit_of(material, run) for run in material.runs(TWO)[:N_DRAWN])


def first_repeat(task: PermutationRecall) -> str:
    """The first row of the test split that shows an x again: no network and no picture had a say in it."""
    rows = task.split("test")
    return task.decode(rows.tokens[int((rows.variables["source"] < task.n_symbols).int().argmax())])


def circuit_of(material: Material, run: Run) -> Circuit:
    """One network at its last checkpoint."""
    task, seed = run.recipe.make_task(), run.recipe.init_seed
    name, results = material.condition(TWO, f"seed {seed}"), material.results
    reading = probe(run, prompt=first_repeat(task))
    return recall_circuit(name, task, reading, link_tests(results, seed), values_note(results, seed))


def link_tests(results: Results, seed: int) -> dict[str, Tested]:
    """Move -> whose it is in this network, and the share of prompts on which its test moves the answer.

    Nothing is supported in a network that does not recall: what is not there cannot be taken apart.
    """

    def lost(cut: str, site: str) -> float:
        return max(0.0, float(parts.lost_without_edge(results, cut, site)[seed]))

    def traded(site: str) -> float:
        return float(parts.answers_traded(results, "keys", site)[seed])

    def tested(share: Callable[[str], float], claim: str, words: str) -> Tested:
        alone = {head: share(head) for head in parts.HEADS}
        return by_leader(alone, share(parts.ALL_HEADS), BOUNDS[claim], words)

    found = {move: tested(partial(lost, cut), "PR13", CUT) for move, cut in CUTS.items()}
    found["weighs"] = tested(traded, "PR18", TRADED)
    whole, kept = (float(of(results)[seed]) for of in (parts.recall_whole, parts.recall_with_linear_map))
    found["joins"] = Tested(
        heads=(FFN,), effect=max(0.0, whole - kept), supported=BOUNDS["PR15"].reached(kept), found=LINEAR
    )
    return found if whole >= LEARNT else {move: replace(one, supported=False) for move, one in found.items()}


def values_note(results: Results, seed: int) -> str:
    """What trading places does in the values, where it is not what ties y and slot (claim PR17)."""
    moved = percent(float(parts.answers_traded(results, "values")[seed]))
    return f"③ is tested by two y that trade places in the keys; traded in the values, {moved} of answers follow."


def recall_circuit(
    name: str, task: PermutationRecall, reading: Reading, tests: dict[str, Tested], note: str = ""
) -> Circuit:
    """The drawing's data.

    Args:
        name: of the network.
        task: whose prompt was read.
        reading: of a prompt whose last x stood before, plain.
        tests: of each of ``MOVES``.
        note: as in ``Circuit``.
    """
    form = matching(task.forms, reading.words)
    return replace(circuit_on(form, reading, PLAN, tests, form.answer(reading.words)), name=name, note=note)
