"""The circuit of each network, as it is drawn: on one prompt, with what its own causal tests support.

Heads are those that ``readings.chosen_heads`` names, arrows go where the prompt's form says that keys and values
stand, widths are attention on this prompt, effects are this seed's readings of the claims KV5, KV2, KV3 and KV4.
"""

from circuitcore.models import Head
from circuitcore.tasks.base import Task
from circuitcore.tasks.forms import matching
from circuitcore.training.store.run import Run
from livingpaper.claims.results import Results
from livingpaper.explorer.material import Material
from livingpaper.explorer.probe import Reading, probe
from livingpaper.figures.circuit import Answer, Arrow, Circuit, Link, Token
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.symbolic_kv.readings import (
    BEST_HEADS,
    TRAINED,
    chosen_heads,
    key_effects,
    query_effects,
    separated,
)

N_DRAWN = 10
KEY, VALUE = 1, 2
"""Tones: of keys and what moves them, of values and what moves them."""
N_LAYERS = 2


def circuits(material: Material) -> tuple[Circuit, ...]:
    """The first ten trained networks in the order of their seeds, all on the first test prompt."""
    runs = material.runs(TRAINED)[:N_DRAWN]
    return tuple(circuit_of(material, run, first_test_prompt(run.recipe.make_task())) for run in runs)


def first_test_prompt(task: Task) -> str:
    """Whatever prompt the test split begins with: no network and no picture had a say in it."""
    return task.decode(task.split("test").tokens[0])


def circuit_of(material: Material, run: Run, prompt: str) -> Circuit:
    """One trained network on one prompt, at its last checkpoint."""
    results, seed = material.results, run.recipe.init_seed
    name = material.condition(TRAINED, f"seed {seed}")
    heads = {role: chosen_heads(results, role)[seed] for role in BEST_HEADS}
    return read_circuit(name, run.recipe.make_task(), probe(run, prompt=prompt), heads, link_effects(results, seed))


def link_effects(results: Results, seed: int) -> dict[str, float]:
    """Move -> share of answers that move when this link of this network is exchanged."""
    found = {
        "tags": key_effects(results),
        "carries": query_effects(results),
        "matches": separated(results, "L1H*.q", "query_key"),
        "copies": separated(results, "L1H*.z", "selected_value"),
    }
    return {move: float(values[seed]) for move, values in found.items()}


def read_circuit(name: str, task: Task, reading: Reading, heads: dict[str, str], effects: dict[str, float]) -> Circuit:
    """The drawing's data.

    Args:
        name: of the network.
        task: whose prompt was read.
        reading: of the prompt, plain.
        heads: role -> address.
        effects: move -> of ``link_effects``.
    """
    words, last = reading.words, len(reading.words) - 1
    query, pairs = matching(task.forms, words).lookup
    asked = next(value for key, value in pairs if words[key] == words[query])

    of_heads = {
        str(Head(layer, index)): pattern
        for layer, patterns in enumerate(reading.patterns)
        for index, pattern in enumerate(patterns)
    }

    def attention(role: str, target: int, source: int) -> float:
        return min(1.0, of_heads[heads[role]][target, source].item())

    tags = tuple(
        Arrow(layer=0, source=key, target=value, weight=attention("tagger", value, key), brings=words[key])
        for key, value in pairs
    )
    carried = Arrow(layer=0, source=query, target=last, weight=attention("carrier", last, query), brings=words[query])
    routed = attention("router", last, asked)
    arrows = {
        "tags": tags,
        "carries": (carried,),
        "matches": (Arrow(layer=1, source=asked, target=last, weight=routed),),
        "copies": (Arrow(layer=N_LAYERS, source=last, target=None, weight=routed),),
    }
    made_by = {
        "tags": ("marks every value with its key", heads["tagger"], KEY),
        "carries": ("carries the asked-for key to the end", heads["carrier"], KEY),
        "matches": ("finds the value whose mark fits", heads["router"], VALUE),
        "copies": ("copies that value into the answer", heads["router"], VALUE),
    }
    links = tuple(
        Link(
            move=move, does=does, head=head, tone=tone, effect=effects[move],
            supported=MORE_OFTEN_THAN_NOT.reached(effects[move]), arrows=arrows[move],
        )
        for move, (does, head, tone) in made_by.items()
    )  # fmt: skip
    tones = {query: KEY} | {key: KEY for key, _ in pairs} | {value: VALUE for _, value in pairs}
    said = reading.likeliest
    return Circuit(
        name=name,
        n_layers=N_LAYERS,
        tokens=tuple(Token(word, tones.get(at, 0)) for at, word in enumerate(words)),
        links=links,
        answer=Answer(word=said, probability=min(1.0, reading.probability_of(said)), wanted=words[asked], tone=VALUE),
    )
