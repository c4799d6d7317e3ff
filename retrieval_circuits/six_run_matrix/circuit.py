"""The circuit of each network of the matrix, as it is drawn: on one prompt, with what its own causal tests support.

This study patches no paths. It exchanges parts of a network between prompts: for carrying, matching and copying what
stands at the last position, as the chapter on symbols does for the last two; for tagging, the keys that layer 1 reads
at the values. That test finds the marks, not the head that made them.
"""

from circuitcore.training.store.run import Run
from livingpaper.claims.results import Results
from livingpaper.explorer.material import Material
from livingpaper.explorer.probe import probe
from livingpaper.figures.circuit import Circuit
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.circuit_parts import N_DRAWN, Tested, by_leader, first_test_prompt
from retrieval_circuits.lookup_circuit import lookup_circuit
from retrieval_circuits.six_run_matrix.design import MATRIX

HEADS = ("H0", "H1")
"""Of each layer of the matrix's networks."""
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
    bound = MORE_OFTEN_THAN_NOT

    def follows(site: str, family: str, variable: str) -> float:
        where = {"family": family, "site": site, "variable": variable, "edit": ""}
        return float(results.final_values("interchange", arm, **where)[seed])

    def by_head(layer: int, part: str, variable: str) -> Tested:
        alone = {f"L{layer}{head}": follows(f"L{layer}{head}.{part}", SEPARATING, variable) for head in HEADS}
        return by_leader(alone, follows(f"L{layer}H*.{part}", SEPARATING, variable), bound)

    marks = follows("L1H*.k", SAME_KEY, "matching_slot")
    return {
        "tags": Tested(
            heads=tuple(f"L0{head}" for head in HEADS), effect=marks, supported=bound.reached(marks),
            found=WHERE_MARKS_ARE_READ,
        ),
        "carries": by_head(0, "z", "query_key"),
        "matches": by_head(1, "q", "query_key"),
        "copies": by_head(1, "z", "selected_value"),
    }  # fmt: skip
