"""The drawings of networks whose circuit is known: wired by hand, wired wrong, untrained."""

import dataclasses

import pandas as pd
import pytest
import torch
import wired
import wired_recall
from given_run import GivenRun
from wired import CARRIER, CONFIG, MATCHER, TAGGER, TASK

from circuitcore.metrics.instruments.battery import BatterySpec, measure
from circuitcore.models import init_weights
from circuitcore.models.transformer import weight_shapes
from circuitcore.tasks import make_task
from circuitcore.tasks.forms import matching
from livingpaper.claims.results import Results
from livingpaper.explorer.moves import FAINTEST, circuit_on
from livingpaper.explorer.probe import Question, read
from livingpaper.figures.circuit import in_words, takeaway
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.circuit_parts import by_leader
from retrieval_circuits.lookup_circuit import PLAN
from retrieval_circuits.permutation_recall import circuit as recall
from retrieval_circuits.permutation_recall.measures import SECTIONS
from retrieval_circuits.permutation_recall.readings.models import TWO
from retrieval_circuits.six_run_matrix import circuit as matrix
from retrieval_circuits.story_control import circuit as next_word
from retrieval_circuits.symbolic_kv import circuit as symbolic

SPEC = BatterySpec(n_bases=12, n_edge_bases=6, n_reference=48, n_probe=96, n_split=60)
RECALL_SPEC = BatterySpec(
    n_bases=240, n_reference=256, n_split=500, own=SECTIONS,
    left_out=(
        "behavior", "attention", "operators", "attribution", "ablations", "edges", "interchanges", "probes",
        "recall_posterior",
    ),
)  # fmt: skip
WITH_MLP = dataclasses.replace(CONFIG, mlp="relu", d_mlp=2)  # as the study's networks; in the wired ones it is silent
SEED = 3
MOVES = ("tags", "carries", "matches", "copies")
EVERY = [move.name for move in recall.MOVES]


def silent(weights):
    nothing = {name: torch.zeros(shape) for name, (shape, _) in weight_shapes(WITH_MLP).items() if ".mlp." in name}
    return weights | nothing


def results_of(weights, task=TASK, config=WITH_MLP, spec=SPEC, arm="trained"):
    run = GivenRun(task, config, [init_weights(config, SEED), weights, weights])
    table = measure(run, spec).assign(arm=arm, init_seed=SEED, run_id="given")
    return Results(table, pd.DataFrame(), "rerun")


def first_test_prompt(task):
    return task.decode(task.split("test").tokens[0])


def drawn(task, reading, plan, tests, note=""):
    form = matching(task.forms, reading.words)
    circuit = circuit_on(form, reading, plan, tests, form.answer(reading.words))
    return dataclasses.replace(circuit, name="given", note=note)


def circuit_of(weights, results=None):
    reading = read(WITH_MLP, weights, TASK, Question(prompt=first_test_prompt(TASK)))
    return drawn(TASK, reading, PLAN, symbolic.link_tests(results or results_of(weights), "trained")[SEED])


def edited(results, value, **where):
    """The results with other values in the rows that ``where`` names."""
    table = results.measurements.copy()
    chosen = pd.concat([table[column].astype(str) == wanted for column, wanted in where.items()], axis=1).all(axis=1)
    assert chosen.any()
    table.loc[chosen, "value"] = value
    return Results(table, results.history, results.origin)


@pytest.fixture(scope="module")
def found():
    return results_of(silent(wired.key_value_circuit()))


@pytest.fixture(scope="module")
def solved(found):
    return circuit_of(silent(wired.key_value_circuit()), found)


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
    results = results_of(silent(wired.first_slot_copier()))
    circuit = circuit_of(silent(wired.first_slot_copier()), results)
    supported = {link.move for link in circuit.links if link.supported}
    assert supported <= {"copies"}
    by_exchange = matrix.link_tests(results, "trained")[SEED]
    assert {move for move, one in by_exchange.items() if one.supported} <= {"copies"}


@pytest.mark.slow
def test_without_patched_paths_the_same_circuit_is_found_by_exchanges(found):
    tests = matrix.link_tests(found, "trained")[SEED]
    assert {move: (one.who, one.effect, one.supported) for move, one in tests.items()} == {
        "tags": ("L0H*", 1.0, True),  # the test finds the marks, not who made them
        "carries": (str(CARRIER), 1.0, True),
        "matches": (str(MATCHER), 1.0, True),
        "copies": (str(MATCHER), 1.0, True),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("move", "where"),
    [
        ("tags", {"family": "same_key", "site": "L1H*.k", "variable": "matching_slot"}),
        ("carries", {"family": "separating", "variable": "query_key", "layer": "0"}),
        ("matches", {"family": "separating", "variable": "query_key", "layer": "1"}),
        ("copies", {"family": "separating", "variable": "selected_value"}),
    ],
)
def test_a_table_edited_past_the_bound_takes_the_arrow_out(found, move, where):
    where = dict(where)
    if layer := where.pop("layer", None):
        results = found
        for head in ("H0", "H1", "H*"):
            results = edited(results, 0.49, metric="interchange", site=f"L{layer}{head}.{'zq'[int(layer)]}", **where)
    else:
        results = edited(found, 0.49, metric="interchange", **where)
    tests = matrix.link_tests(results, "trained")[SEED]
    assert [one for one in MOVES if not tests[one].supported] == [move]
    reading = read(WITH_MLP, silent(wired.key_value_circuit()), TASK, Question(prompt=first_test_prompt(TASK)))
    circuit = drawn(TASK, reading, PLAN, tests, matrix.NOTE)
    assert circuit.score == "3 of 4" and move in takeaway(circuit).partition("Dashed, not supported:")[2]


def test_a_head_is_named_only_where_it_moves_the_answer_alone():
    def who(first, second, together=1.0):
        one = by_leader({"L1H0": first, "L1H1": second}, together, MORE_OFTEN_THAN_NOT)
        return one.who, one.effect, one.supported

    assert who(0.05, 0.9) == ("L1H1", 0.9, True)
    assert who(0.3, 0.7) == ("L1H*", 1.0, True)  # they share it
    assert who(0.9, 0.95) == ("L1H*", 1.0, True)  # either will do
    assert who(0.0, 0.49, 0.49) == ("L1H*", 0.49, False)


@pytest.fixture(scope="module")
def recalled():
    results = results_of(
        wired_recall.recall_circuit(), wired_recall.TASK, wired_recall.CONFIG, RECALL_SPEC, arm=TWO
    )  # fmt: skip
    return results


def recall_drawn(results):
    task = wired_recall.TASK
    rows = task.split("test")
    prompt = task.decode(rows.tokens[int((rows.variables["source"] < task.n_symbols).int().argmax())])  # first repeat
    reading = read(wired_recall.CONFIG, wired_recall.recall_circuit(), task, Question(prompt=prompt))
    tests, note = recall.link_tests(results)[SEED], recall.values_note(results, SEED)
    return drawn(task, reading, recall.PLAN, tests, note)


@pytest.mark.slow
def test_the_wired_recall_is_found_head_by_head(recalled):
    circuit = recall_drawn(recalled)
    match, look = str(wired_recall.MATCH), str(wired_recall.READ)
    assert {link.move: (link.head, link.supported) for link in circuit.links} == {
        "finds": (match, True),
        "reads": (look, True),
        "weighs": (look, True),
        "joins": ("L0MLP", True),
    }
    words = circuit.prompt.split()
    finds, reads, weighs, joins = (link.arrows for link in circuit.links)
    (x,), (y,) = ([arrow.source for arrow in arrows] for arrows in (finds, reads))
    assert words[x] == words[-1] and y == x + 1 and circuit.answer.word == circuit.answer.wanted == words[y]
    assert {arrow.source for arrow in (*reads, *weighs)} == {1, 3, 5, 7}
    assert finds[0].weight == pytest.approx(1, abs=1e-3)
    assert sum(arrow.weight for arrow in (*reads, *weighs)) == pytest.approx(1, abs=1e-3)
    assert joins[0].weight is None
    assert "traded in the values, 0 % of answers follow" in takeaway(circuit)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lacking", "value", "where"),
    [
        (["finds"], 0.6, {"metric": "recall_under", "edit": "cut x_source"}),
        (["reads"], 0.6, {"metric": "recall_under", "edit": "cut y_source"}),
        (["weighs"], 0.4, {"metric": "answers_swapped_under", "edit": "swap keys' positions"}),
        (["joins"], 0.6, {"metric": "recall_under", "edit": "linear"}),
        (EVERY, 0.8, {"metric": "recall", "variable": ""}),  # what is not there cannot be taken apart
    ],
)
def test_a_table_of_recall_edited_past_the_bound_takes_the_arrow_out(recalled, lacking, value, where):
    circuit = recall_drawn(edited(recalled, value, **where))
    assert [link.move for link in circuit.links if not link.supported] == lacking


def effects_measured(effects, known):
    """Seed -> effect, as a table of measurements has it, and how many words each network knows."""
    common = {"arm": "given", "run_id": "given", "step": 0, "edit": "", "split": "test", "variable": "target_token"}
    metrics = {"interchange_chosen": effects, "accuracy": dict.fromkeys(effects, known)}
    rows = [
        {**common, "metric": metric, "init_seed": seed, "value": value}
        for metric, values in metrics.items()
        for seed, value in values.items()
    ]
    return Results(pd.DataFrame(rows), pd.DataFrame(), "rerun")


def next_word_drawn(effects, known=0.9):
    task, config = make_task("planted_repeats", {"n_train": 64}), dataclasses.replace(CONFIG, n_ctx=64, tied=True)
    config = dataclasses.replace(config, d_vocab=len(task.vocab))
    reading = read(config, init_weights(config, SEED), task, Question(prompt=first_test_prompt(task)))
    results = effects_measured(effects, known)
    tests, note = next_word.link_tests(results, "given")[SEED], next_word.note_on_test(results, "given")
    wanted = task.vocab[int(task.split("test").answers[0])]
    circuit = circuit_on(matching(task.forms, reading.words), reading, next_word.PLAN, tests, wanted)
    return reading, dataclasses.replace(circuit, name="given", note=note)


def test_next_words_are_attention_alone_but_for_the_link_that_is_tested():
    reading, circuit = next_word_drawn({1: 0.9, 2: 0.2, SEED: 0.4})
    assert takeaway(circuit).startswith("Given: no link is supported by a causal test of this network.")
    assert "Grey: attention alone." in takeaway(circuit)
    assert takeaway(circuit).endswith("The test of ① supports it in 1 of 3 networks.")
    assert [link.supported for link in circuit.links] == [False]
    assert circuit.looks and all(arrow.weight >= FAINTEST for arrow in circuit.looks)
    for arrow in circuit.looks:
        assert arrow.weight == pytest.approx(reading.patterns[arrow.layer][:, arrow.target, arrow.source].max().item())
    read_at_the_end = {arrow.source for arrow in circuit.looks if arrow.layer == 1} | {len(reading.words) - 1}
    assert {arrow.target for arrow in circuit.looks if arrow.layer == 1} == {len(reading.words) - 1}
    assert {arrow.target for arrow in circuit.looks if arrow.layer == 0} <= read_at_the_end


def test_a_test_that_asks_for_words_that_nobody_knows_says_so():
    _, circuit = next_word_drawn({SEED: 0.0}, known=0.05)
    assert takeaway(circuit).endswith(
        "in 0 of 1 network. That test asks for the next words of rows that were held out, of which these networks know "
        "5 %: it could hardly have supported a link."
    )


def test_the_link_of_next_words_is_supported_from_its_bound_on():
    _, circuit = next_word_drawn({SEED: 0.5})
    assert takeaway(circuit).endswith("in 1 of 1 network.")
    assert [(link.head, link.supported) for link in circuit.links] == [("L1H*", True)]
    assert takeaway(circuit).startswith("Given ① brings the next word.")
    key, value = ([at for at, token in enumerate(circuit.tokens) if token.tone == tone] for tone in (1, 2))
    assert len(circuit.tokens) - 1 in key and value[0] - 1 in key
    assert circuit.answer.wanted == circuit.tokens[value[0]].word
