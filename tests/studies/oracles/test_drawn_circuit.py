"""The drawing of networks whose circuit is known: wired by hand, wired wrong, untrained."""

import dataclasses

import pandas as pd
import pytest
import torch
import wired
from given_run import GivenRun
from wired import CARRIER, CONFIG, MATCHER, TAGGER, TASK

from circuitcore.metrics.instruments.battery import BatterySpec, measure
from circuitcore.models import init_weights
from circuitcore.models.transformer import weight_shapes
from livingpaper.claims.results import Results
from livingpaper.explorer.probe import Question, read
from livingpaper.figures.circuit import in_words
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.symbolic_kv.circuit import first_test_prompt, link_effects, read_circuit
from retrieval_circuits.symbolic_kv.readings import BEST_HEADS, chosen_heads

SPEC = BatterySpec(n_bases=12, n_edge_bases=6, n_reference=48, n_probe=96, n_split=60)
WITH_MLP = dataclasses.replace(CONFIG, mlp="relu", d_mlp=2)  # as the study's networks; in the wired ones it is silent
SEED = 3


def silent(weights):
    nothing = {name: torch.zeros(shape) for name, (shape, _) in weight_shapes(WITH_MLP).items() if ".mlp." in name}
    return weights | nothing


def circuit_of(weights):
    run = GivenRun(TASK, WITH_MLP, [init_weights(WITH_MLP, SEED), weights, weights])
    table = measure(run, SPEC).assign(arm="trained", init_seed=SEED, run_id="given")
    results = Results(table, pd.DataFrame(), "rerun")
    prompt = first_test_prompt(TASK)
    reading = read(WITH_MLP, weights, TASK, Question(prompt=prompt))
    heads = {role: chosen_heads(results, role)[SEED] for role in BEST_HEADS}
    return read_circuit("given", TASK, reading, heads, link_effects(results, SEED))


@pytest.fixture(scope="module")
def solved():
    return circuit_of(silent(wired.key_value_circuit()))


@pytest.mark.slow
def test_every_link_of_the_wired_circuit_is_supported(solved):
    assert [(link.move, link.head, link.effect, link.supported) for link in solved.links] == [
        ("tags", str(TAGGER), 1.0, True),
        ("carries", str(CARRIER), 1.0, True),
        ("matches", str(MATCHER), 1.0, True),
        ("copies", str(MATCHER), 1.0, True),
    ]
    assert solved.score == "4 of 4" and "4 of 4 links are supported" in in_words(solved)


@pytest.mark.slow
def test_its_arrows_lie_where_it_is_wired_to_look(solved):
    words = solved.prompt.split()
    assert words == first_test_prompt(TASK).split()
    tags, carries, matches, copies = ([*link.arrows] for link in solved.links)
    assert [(words[arrow.source][0], words[arrow.target][0], arrow.brings) for arrow in tags] == [
        ("K", "V", words[at]) for at in (1, 4, 7)
    ]
    assert [(words[arrow.source], words[arrow.target]) for arrow in carries] == [(words[-2], "->")]
    asked = words.index(words[-2]) + 1
    assert [(arrow.source, arrow.target, arrow.layer) for arrow in matches] == [(asked, len(words) - 1, 1)]
    assert [arrow.target for arrow in copies] == [None]
    assert {arrow.weight for arrow in (*tags, *carries, *matches)} == {1.0}
    assert solved.answer.word == solved.answer.wanted == words[asked]
    assert [token.tone for token in solved.tokens] == [
        {"K": 1, "V": 2}.get(word[0], 0) if len(word) == 2 and word != "->" else 0 for word in words
    ]


@pytest.mark.slow
def test_an_untrained_network_has_no_link():
    circuit = circuit_of(init_weights(WITH_MLP, SEED))
    assert circuit.n_supported == 0
    assert all(link.effect < MORE_OFTEN_THAN_NOT.value for link in circuit.links)


@pytest.mark.slow
def test_a_network_that_never_looks_up_neither_tags_nor_matches():
    """It always says the first value: its write is a value, and nothing else of the circuit is there."""
    circuit = circuit_of(silent(wired.first_slot_copier()))
    supported = {link.move for link in circuit.links if link.supported}
    assert supported <= {"copies"}
