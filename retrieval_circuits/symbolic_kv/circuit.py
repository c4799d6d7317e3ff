"""The circuit of each network, as it is drawn: on one prompt, with what its own causal tests support.

Effects are this seed's readings of the claims KV5, KV2, KV3 and KV4: of the heads of layer 0 that
``readings.chosen_heads`` names; of both heads of layer 1, or of one whose own exchange leads.
"""

from functools import partial

import pandas as pd

from circuitcore.training.store.run import Run
from livingpaper.claims.results import Results
from livingpaper.explorer.material import Material
from livingpaper.explorer.moves import Tested
from livingpaper.explorer.probe import probe
from livingpaper.figures.circuit import Circuit
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.circuit_parts import N_DRAWN, first_test_prompt
from retrieval_circuits.lookup_circuit import by_head, lookup_circuit
from retrieval_circuits.symbolic_kv.readings import TRAINED, chosen_heads, key_effects, query_effects, separated


def circuits(material: Material) -> tuple[Circuit, ...]:
    """The first ten trained networks in the order of their seeds, all on the first test prompt."""
    return tuple(circuit_of(material, run) for run in material.runs(TRAINED)[:N_DRAWN])


def circuit_of(material: Material, run: Run) -> Circuit:
    """One trained network at its last checkpoint."""
    task, seed = run.recipe.make_task(), run.recipe.init_seed
    name = material.condition(TRAINED, f"seed {seed}")
    reading = probe(run, prompt=first_test_prompt(task))
    return lookup_circuit(name, task, reading, link_tests(material.results, seed))


def link_tests(results: Results, seed: int) -> dict[str, Tested]:
    """Move -> whose it is in this network, and the share of answers that move when its link is exchanged."""

    def edge(role: str, effects: pd.Series) -> Tested:
        effect = float(effects[seed])
        head = chosen_heads(results, role)[seed]
        return Tested(heads=(head,), effect=effect, supported=MORE_OFTEN_THAN_NOT.reached(effect))

    def follows(site: str, variable: str) -> float:
        return float(separated(results, site, variable)[seed])

    return {
        "tags": edge("tagger", key_effects(results)),
        "carries": edge("carrier", query_effects(results)),
        "matches": by_head(1, "q", partial(follows, variable="query_key")),
        "copies": by_head(1, "z", partial(follows, variable="selected_value")),
    }
