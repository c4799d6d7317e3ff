"""The circuit of each network of the matrix, as it is drawn: on one prompt, with what its own causal tests support.

This study patches no paths. It exchanges parts of a network between prompts: for carrying, matching and copying what
stands at the last position, as the chapter on symbols does for the last two; for tagging, the keys that layer 1 reads
at the values. That test finds the marks, not the head that made them.
"""

from functools import partial

from circuitcore.training.store.run import Run
from livingpaper.claims.results import Results
from livingpaper.explorer.material import Material
from livingpaper.explorer.moves import Tested
from livingpaper.explorer.probe import probe
from livingpaper.figures.circuit import Circuit
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.circuit_parts import N_DRAWN, first_test_prompt
from retrieval_circuits.lookup_circuit import HEADS, by_head, lookup_circuit
from retrieval_circuits.six_run_matrix.design import MATRIX

WHERE_MARKS_ARE_READ = "exchanged in the keys that layer 1 reads there, it moves the answer on {effect} of prompts"
NOTE = (
    "No path was patched here: ① is tested by exchanging what layer 1 reads as keys at the values, which does not tell "
    "the heads of layer 0 apart."
)
SEPARATING, SAME_KEY = "separating", "same_key"
"""Prompts whose key, slot and value point to three answers; prompts that ask for the same key in another slot."""


def circuits(material: Material) -> tuple[Circuit, ...]:
    """The first networks of either curriculum whose weights are here, on the first test prompt; "off" comes first."""
    each = N_DRAWN // len(MATRIX)
    return tuple(circuit_of(material, arm, run) for arm in MATRIX for run in material.runs(arm)[:each])


def circuit_of(material: Material, arm: str, run: Run) -> Circuit:
    """One network at its last checkpoint."""
    task, seed = run.recipe.make_task(), run.recipe.init_seed
    name = material.condition(arm, f"seed {seed} ({arm})")
    reading = probe(run, prompt=first_test_prompt(task))
    return lookup_circuit(name, task, reading, link_tests(material.results, arm, seed), NOTE)


def link_tests(results: Results, arm: str, seed: int) -> dict[str, Tested]:
    """Move -> whose it is in this network, and the share of answers that follow what was exchanged."""

    def follows(site: str, variable: str, family: str = SEPARATING) -> float:
        where = {"family": family, "site": site, "variable": variable, "edit": ""}
        return float(results.final_values("interchange", arm, **where)[seed])

    marks = follows("L1H*.k", "matching_slot", SAME_KEY)
    return {
        "tags": Tested(
            heads=tuple(f"L0{head}" for head in HEADS), effect=marks, supported=MORE_OFTEN_THAN_NOT.reached(marks),
            found=WHERE_MARKS_ARE_READ,
        ),
        "carries": by_head(0, "z", partial(follows, variable="query_key")),
        "matches": by_head(1, "q", partial(follows, variable="query_key")),
        "copies": by_head(1, "z", partial(follows, variable="selected_value")),
    }  # fmt: skip
