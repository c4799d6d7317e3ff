"""The stage draws what Python's stills draw: the same circuit of the same network, at the same places."""

import itertools
import random
from dataclasses import replace

import pytest
from conftest import page_with
from drawn import drawn_circuit, looking_circuit, one_layer_circuit
from laid_out import FORMS, LAID_OUT, SHARES, assert_same_places, for_page

from circuitcore.ground.environment import Folders
from circuitcore.tasks.forms import PromptError, matching
from circuitcore.training.store.run_store import RunStore
from livingpaper.explorer import moves
from livingpaper.explorer.exhibit import Exhibit, spread_examples
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.explorer.weights import packed
from livingpaper.explorer.widget import STATIC
from livingpaper.figures.circuit import Answer, Arrow, Circuit, Link, Token
from livingpaper.figures.circuit_layout import Layout
from retrieval_circuits.lookup_circuit import PLAN as LOOKUP
from retrieval_circuits.permutation_recall.circuit import PLAN as RECALL
from retrieval_circuits.sgd_formation.circuit import PLAN as STREAM
from retrieval_circuits.story_control.circuit import PLAN as NEXT_WORD

SCRIPTS = (
    *("parts.js", "decoder.js", "lookup.js", "edit_text.js", "edits.js", "marks.js", "prompt.js", "lab.js"),
    *("edited.js", "moves.js", "stage_layout.js", "stage_names.js"),
)
N_RANDOM, N_PROMPTS = 80, 2000
ATTENTION = 2e-5
"""Between the page, which adds up in float64, and Python in float32."""
CIRCUIT_ON = """([data, packed, states]) => {
    const lab = new circuitLab.Lab(data), run = data.runs[0].id;
    Object.assign(lab, { edits: circuitEdited.editedIn(lab), prompts: circuitPrompt });
    lab.add(run, packed);
    return states.map(state => {
        const reading = lab.read({ run, step: state.step }, state), tests = lab.testsAt(run, state.step);
        return circuitMoves.circuitOn(data, tests, reading, token => lab.word(token));
    });
}"""
FIRST = """([data, packed]) => {
    const lab = new circuitLab.Lab(data), { run, step } = data.opening, isPlain = lab.isPlain(data.opening);
    lab.add(run, packed);
    const asked = () => lab.read({ run, step }, data.opening).asked, alone = isPlain ? asked() : null;
    lab.prompts = circuitPrompt;
    return [alone, asked()];
}"""
PLANS = {
    "symbolic_kv": LOOKUP,
    "textual_kv": LOOKUP,
    "permutation_recall": RECALL,
    "story": NEXT_WORD,
    "balanced_stream": STREAM,
    "planted_repeats": NEXT_WORD,
}


@pytest.fixture(scope="module")
def blank(browser):
    """An empty page with all that draws in it."""
    yield from page_with(browser, *(STATIC / script for script in SCRIPTS))


# ---- where everything stands ----


def random_circuit(dice):
    """Any that can be drawn: words of all lengths, arrows anywhere, words brought to places that have several."""
    n_layers, n_tokens = dice.randint(1, 3), dice.randint(2, 24)
    letters = "abcdefghijklm<>;"
    tokens = tuple(
        Token("".join(dice.choices(letters, k=dice.randint(1, 9))), dice.randrange(3)) for _ in range(n_tokens)
    )

    def arrow(layer):
        target = dice.randrange(n_tokens)
        source = dice.randint(0, target)
        brings = dice.choice(["", tokens[source].word])
        return Arrow(layer=layer, source=source, target=target, weight=dice.random(), brings=brings)

    answer = Arrow(layer=n_layers, source=n_tokens - 1, target=None, weight=dice.choice([None, dice.random()]))
    links = tuple(
        Link(
            number=number, move=dice.choice(["tags", "carries", "matches"]), does="moves",
            head=dice.choice(["L0H1", "L0H*", "L0MLP"]),
            effect=dice.random(), supported=dice.random() < 0.5,
            arrows=tuple(arrow(dice.randrange(n_layers)) for _ in range(dice.randint(1, 3))),
        )
        for number in sorted(dice.sample(range(1, 10), dice.randrange(4)))
    )  # fmt: skip
    if links and dice.random() < 0.7:
        links = (*links[:-1], replace(links[-1], arrows=(answer,)))
    looks = tuple(replace(arrow(dice.randrange(n_layers)), brings="") for _ in range(dice.randrange(5)))
    said = dice.choice(tokens).word
    return Circuit(
        name="any", n_layers=n_layers, tokens=tokens, links=links, looks=looks,
        answer=Answer(word=said, probability=dice.random(), wanted=dice.choice([None, said, "other"]), tone=2),
    )  # fmt: skip


def circuits():
    """The three makers with their variations, and any others."""
    prompts = ("a K2 V1 ; K3 V6 ; Q K3 ->", "<bos> Mara saffron ; Theo indigo ; Enzo granite ; Q Theo ->")
    supported = itertools.product((True, False), repeat=4)
    yield from (drawn_circuit(prompts[0], supported=holds, weight=0.3) for holds in supported)
    yield from (
        drawn_circuit(prompt, said=said, weight=w) for prompt in prompts for said in (None, "V1") for w in (0.0, 1.0)
    )
    yield from (looking_circuit(), looking_circuit("a b " * 6, said="b"), replace(looking_circuit(), links=()))
    yield from (one_layer_circuit(place) for place in range(4))
    dice = random.Random(18)
    yield from (random_circuit(dice) for _ in range(N_RANDOM))


def test_everything_stands_where_python_puts_it(blank):
    every = list(circuits())
    found = blank.evaluate(LAID_OUT, [[for_page(circuit) for circuit in every], FORMS, SHARES])
    for circuit, pages in zip(every, found, strict=True):
        for page, form in zip(pages, FORMS, strict=True):
            assert_same_places(page, circuit, form)
    layouts = [Layout(circuit, "wide") for circuit in every]
    assert {layout.is_upright for layout in layouts} == {True, False}
    assert sum(bool(layout.fitting) for layout in layouts) > 10


# ---- what is drawn ----


def is_prompt(task, words):
    try:
        matching(task.forms, words)
    except PromptError:
        return False
    return True


def prompts(task, dice):
    """Rows of all splits, and how they begin where that is a prompt too: of other lengths, lacking what is asked."""
    for split in task.splits:
        tokens = task.few(split, N_PROMPTS).tokens
        words = task.decode(tokens[dice.randrange(len(tokens))]).split()
        yield " ".join(words)
        beginnings = [words[:n] for n in range(1, len(words)) if is_prompt(task, words[:n])]
        yield from (" ".join(one) for one in dice.sample(beginnings, min(2, len(beginnings))))


def some_tests(plan, config, dice):
    """Of each move but perhaps one: who makes it, and whether it is supported."""
    left_out = dice.choice([None, *plan.moves])
    found = {}
    for move in plan.moves:
        layer = min(move.layer, config.n_layers - 1)
        all_heads = tuple(f"L{layer}H{index}" for index in range(config.n_heads))
        is_attention = move.target != "answer" or move.looks is not None
        heads = dice.choice([all_heads, all_heads[-1:]]) if is_attention else (f"L{layer}MLP",)
        effect = round(dice.random(), 4)
        if move is not left_out:
            found[move.name] = moves.Tested(
                heads=heads, effect=effect, supported=effect >= 0.5, found="it moves {effect}"
            )
    return found


def published_exhibits(dice):
    """Some networks of every task, tested at their last step alone, and the states that are asked for."""
    store = RunStore(Folders.from_environment().published, None)
    runs = [run for run in store.runs() if run.steps]
    for task_name, plan in PLANS.items():
        of_task = [run for run in runs if run.recipe.task == task_name]
        assert of_task, task_name
        for run in dice.sample(of_task, min(2, len(of_task))):
            task = run.recipe.make_task()
            tests = {run.steps[-1]: some_tests(plan, run.recipe.model, dice)}
            shown = ShownRun(run=run, condition="trained", tests=tests)
            examples = spread_examples(task, task.splits[-1], 1)
            exhibit = Exhibit(name="explorer-one", task=task, shown=(shown,), examples=examples, plan=plan)
            asked = list(prompts(task, dice))
            states = [{**exhibit.start, "prompt": prompt} for prompt in asked]
            states.append({**exhibit.start, "prompt": asked[0], "edits": ["zero(L0H0)@all"]})
            states.append({**exhibit.start, "prompt": asked[0], "step": run.steps[0]})
            yield exhibit, shown, states


def assert_same_circuit(page, exhibit, state):
    circuit, reading, plan = exhibit.circuit(state), exhibit.reading(state), exhibit.plan
    assert page["layers"] == circuit.n_layers
    assert [(one["word"], one["tone"]) for one in page["tokens"]] == [(one.word, one.tone) for one in circuit.tokens]
    assert [link["move"]["name"] for link in page["links"]] == [link.move for link in circuit.links]
    order = [move.name for move in plan.moves]
    for found, link in zip(page["links"], circuit.links, strict=True):
        assert found["number"] == link.number == 1 + order.index(link.move)
        told = found["head"], found["isSupported"], found["found"], found["move"]["does"]
        assert told == (link.head, link.supported, link.found, link.does)
        assert found["effect"] == pytest.approx(link.effect, abs=1e-4)
        assert_same_arrows(found["arrows"], link.arrows)
    looks = sorted(page["looks"], key=lambda one: (one["layer"], one["target"], one["source"]))
    assert_same_arrows(looks, sorted(circuit.looks, key=lambda one: (one.layer, one.target, one.source)))
    for one in looks:
        layer, head = (int(number) for number in one["head"][1:].split("H"))
        at_head = reading.patterns[layer][head, one["target"], one["source"]].item()
        assert at_head == pytest.approx(one["weight"], abs=ATTENTION)
    said = page["answer"]
    assert (said["word"], said["tone"], said["wanted"]) == (
        circuit.answer.word,
        circuit.answer.tone,
        circuit.answer.wanted,
    )
    assert said["probability"] == pytest.approx(circuit.answer.probability, abs=1e-4)
    return circuit


def assert_same_arrows(page, arrows):
    places = [(one["layer"], one["source"], one["target"], one["brings"]) for one in page]
    assert places == [(one.layer, one.source, one.target, one.brings) for one in arrows]
    for found, arrow in zip(page, arrows, strict=True):
        assert found["weight"] == (arrow.weight if arrow.weight is None else pytest.approx(arrow.weight, abs=ATTENTION))


@pytest.mark.slow
def test_the_circuit_of_a_published_network_is_pythons(blank):
    seen, lengths, shifted = [], {}, 0
    for exhibit, shown, states in published_exhibits(random.Random(18)):
        steps = sorted({state["step"] for state in states})
        weights = packed(shown.run.recipe.model, {step: shown.run.weights(step) for step in steps})
        found = blank.evaluate(CIRCUIT_ON, [exhibit.payload(), weights, states])
        for page, state in zip(found, states, strict=True):
            circuit = assert_same_circuit(page, exhibit, state)
            assert bool(circuit.links) <= (state["step"] in shown.tests)
            seen.append((len(circuit.looks), len(circuit.links), len(exhibit.plan.moves), circuit.answer.wanted))
            shifted += [link.number for link in circuit.links] != [*range(1, len(circuit.links) + 1)]
            lengths.setdefault(exhibit.task.name, set()).add(len(circuit.tokens))
    assert lengths.keys() == PLANS.keys() and all(len(found) > 1 for found in lengths.values())
    assert any(wanted is None for *_, wanted in seen)
    assert sum(n_looks > 0 for n_looks, *_ in seen) > len(seen) / 2
    assert any(0 < n_links < n_moves for _, n_links, n_moves, _ in seen)  # some moves go nowhere on some prompts
    assert shifted  # and others that come after them keep their numbers


def test_the_first_prompt_is_drawn_before_there_is_what_reads_prompts(blank):
    n_later = 0
    for exhibit, shown, states in published_exhibits(random.Random(60)):
        for state in states[:2]:
            first = replace(exhibit, opening={"prompt": state["prompt"]})
            step = first.start["step"]
            weights = packed(shown.run.recipe.model, {step: shown.run.weights(step)})
            alone, read = blank.evaluate(FIRST, [first.payload(), weights])
            has_units = any(form.unit for form in exhibit.task.forms)
            assert alone == read or (alone is None and has_units)
            n_later += alone is None
    assert n_later  # of streams


# ---- what is told of tests ----


def test_the_page_gets_heads_effect_and_support_of_each_test_at_its_step(blank):
    run = RunStore(Folders.from_environment().published, None).get("symbolic_kv-184c3e21d23e")
    early, late = run.steps[2], run.steps[-1]
    tests = {
        early: {"tags": moves.Tested(heads=("L0H1",), effect=0.12344, supported=False)},
        late: {
            "tags": moves.Tested(heads=("L0H0", "L0H1"), effect=1.0, supported=True),
            "copies": moves.Tested(heads=("L1H0",), effect=0.5, supported=True, found="it says so on {effect}"),
        },
        run.final_step + 1: {"tags": moves.Tested(heads=("L0H1",), effect=0.5, supported=True)},  # not shown
    }
    shown = ShownRun(run=run, condition="trained", tests=tests, note="Of one network.")
    entry = shown.entry()
    assert entry["tests"] == {
        early: {"tags": ["L0H1", 0.1234, 0]},
        late: {"tags": ["L0H0 L0H1", 1.0, 1], "copies": ["L1H0", 0.5, 1]},
    }
    task = run.recipe.make_task()
    examples = spread_examples(task, "val", 1)
    exhibit = Exhibit(name="explorer-one", task=task, shown=(shown,), examples=examples, plan=LOOKUP)
    script = "([data, steps]) => steps.map(step => new circuitLab.Lab(data).testsAt(data.runs[0].id, step))"
    at_early, at_late, at_none = blank.evaluate(script, [exhibit.payload(), [early, late, run.steps[1]]])
    moved = "moves the answer on {effect} of prompts"
    assert at_early == {
        "tags": {"heads": ["L0H1"], "head": "L0H1", "effect": 0.1234, "isSupported": False, "found": moved}
    }
    both = {"heads": ["L0H0", "L0H1"], "head": "L0H*", "effect": 1, "isSupported": True, "found": moved}
    own = {"heads": ["L1H0"], "head": "L1H0", "effect": 0.5, "isSupported": True, "found": "it says so on {effect}"}
    assert at_late == {"tags": both, "copies": own}
    assert at_none == {}
    circuit = exhibit.circuit({**exhibit.start, "step": run.steps[1]})
    assert not circuit.links and circuit.looks and not circuit.note
