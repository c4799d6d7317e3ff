"""What an explorer shows: what an exhibit refuses, what it keeps of a long run; paths say what ``probe`` says."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from circuitcore.ground.environment import Folders
from circuitcore.models import ModelConfig, init_weights
from circuitcore.training.schedule import Stage
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from livingpaper.claims.results import Results
from livingpaper.explorer.block import weights_script
from livingpaper.explorer.exhibit import Example, Exhibit, ExhibitError, PathStep, spread_examples
from livingpaper.explorer.material import Material, births_of
from livingpaper.explorer.moves import Move, Plan
from livingpaper.explorer.probe import probe
from livingpaper.explorer.retrieval_path import retrieval_path
from livingpaper.explorer.shown_run import MOST_BYTES, Birth, ShownRun

PROMPT = "<bos> K1 V1 ; K6 V6 ; K7 V0 ; Q K7 ->"
RUN, SECOND, OF_ANOTHER_TASK = "symbolic_kv-184c3e21d23e", "symbolic_kv-3ce50adb7c4e", "textual_kv-4f47b903cbfb"
SAYS = re.compile(r"(\S+) \(probability (\d\.\d\d)\)")
ATTENDS = re.compile(r"head (L\d+H\d+) reads (\S+) with attention (\d\.\d\d)")


def published(run_id):
    return RunStore(Folders.from_environment().published, None).get(run_id)


@pytest.fixture(scope="module")
def run():
    return published(RUN)


@pytest.fixture(scope="module")
def without_weights():
    return next(run for run in RunStore(Folders.from_environment().published, None).runs() if not run.steps)


@pytest.fixture
def make(run):
    """An exhibit of one run, with the fields that a test changes."""

    def make(**fields):
        shown = ShownRun(run=run, condition="trained")
        common = {"name": "explorer-kv", "task": run.recipe.make_task(), "shown": (shown,)}
        return Exhibit(**{**common, "examples": (Example(label="one", prompt=PROMPT),), **fields})

    return make


# ---- what is refused ----


@pytest.mark.parametrize("name", ["kv", "explorer-", "explorer-KV", "explorer-kv_2", "Explorer-kv", "explorer-<b>"])
def test_a_name_that_is_no_id_is_refused(make, name):
    with pytest.raises(ExhibitError, match=f"lower-case words with dashes; got '{name}'"):
        make(name=name)


def test_nothing_to_show_is_refused(make):
    with pytest.raises(ExhibitError, match="explorer-kv: needs a run and an example; got 0 and 1"):
        make(shown=())
    with pytest.raises(ExhibitError, match="got 1 and 0"):
        make(examples=())


def test_two_runs_of_one_condition_and_seed_are_refused(make, run):
    pair = [ShownRun(run=run, condition=condition) for condition in ("trained", "trained", "other")]
    with pytest.raises(ExhibitError, match=f"the same condition and seed: .*'trained', {run.recipe.init_seed}"):
        make(shown=tuple(pair[:2]))
    assert len(make(shown=tuple(pair[1:])).shown) == 2


def test_a_run_without_weights_or_with_another_vocabulary_is_refused(make, run, without_weights):
    first = ShownRun(run=run, condition="trained")
    with pytest.raises(ExhibitError, match=f"the weights of run {without_weights.run_id} are not here"):
        make(shown=(first, ShownRun(run=without_weights, condition="other")))
    with pytest.raises(ExhibitError, match=f"run {OF_ANOTHER_TASK} was trained on another vocabulary"):
        make(shown=(first, ShownRun(run=published(OF_ANOTHER_TASK), condition="other")))


IMPOSSIBLE = [
    ({"run": RUN.upper()}, ExhibitError, f"unknown run .* did you mean '{RUN}'"),
    ({"setp": 0}, ExhibitError, "unknown field of the state 'setp'; did you mean 'step'"),
    ({"step": 1}, ExhibitError, f"no step 1 of {RUN} here; there are 0, "),
    ({"prompt": "<bos> K1 ->"}, ValueError, "3 tokens; prompts of this task have"),
    ({"edits": ["zero(L9H0)@all"]}, ValueError, "no such part to edit"),
    ({"edits": ["resample(L0H0)@all"], "resample": 99}, ValueError, "reference prompt 99: there are 0 to 31"),
    ({"edits": ["patch(L0H0.z<-source)@all"]}, ValueError, "a patch needs a second prompt"),
    ({"other": {"run": "symbolic_kv-0", "step": 0}}, ExhibitError, "unknown run 'symbolic_kv-0'"),
    ({"other": {"run": RUN, "step": None}}, ExhibitError, f"no step None of {RUN} here"),
    ({"other": {"run": RUN}}, ExhibitError, "other network is given by run and step; got"),
    ({"other": RUN}, ExhibitError, "other network is given by run and step; got"),
    ({"rule": "no gate"}, ExhibitError, "explorer-kv: unknown rule 'no gate'"),
]


@pytest.mark.parametrize(("state", "error", "words"), IMPOSSIBLE)
def test_an_opening_or_a_stop_that_cannot_be_is_refused(make, state, error, words):
    with pytest.raises(error, match=words):
        make(opening=state)
    with pytest.raises(error, match=words):
        make(path=(PathStep(title="Fine.", text=""), PathStep(title="Not.", text="", state=state)))


def test_the_opening_is_whole_and_at_the_last_checkpoint(make, run):
    assert make().start == {
        "run": RUN, "step": run.steps[-1], "prompt": PROMPT, "source": "", "edits": [], "resample": 0, "other": None,
        "rule": "",
    }  # fmt: skip
    assert make(opening={"step": 0, "edits": ["zero(L1H0)@all"]}).start["step"] == 0


# ---- what the page gets ----


def long_run(config, epoch_ends, stages=()):
    """A run with a checkpoint at the end of every epoch, all alike."""
    recipe = SimpleNamespace(model=config, schedule=SimpleNamespace(epoch_ends=epoch_ends, stages=stages), init_seed=0)
    weights = init_weights(config, 0)
    made = {"run_id": "long", "steps": epoch_ends, "final_step": epoch_ends[-1], "recipe": recipe}
    return object.__new__(type("LongRun", (Run,), {**made, "weights": lambda self, step: weights}))


@pytest.mark.parametrize("d_model", [8, 32, 64])
def test_a_run_with_many_checkpoints_stays_within_the_budget(d_model):
    config = ModelConfig(d_vocab=40, n_ctx=16, d_model=d_model, d_mlp=2 * d_model)
    shown = ShownRun(run=long_run(config, tuple(range(3000))), condition="trained")
    assert shown.steps[0] == 0 and shown.steps[-1] == 2999
    gaps = {after - before for before, after in zip(shown.steps, shown.steps[1:], strict=False)}
    assert max(gaps) - min(gaps) <= 1
    assert MOST_BYTES * 0.8 < len(weights_script(shown)) <= MOST_BYTES
    assert [packed["at"] for packed in shown.weights()["checkpoints"]] == shown.entry()["steps"]
    assert shown.entry()["epochs"] == shown.steps  # here an epoch is one step


def test_a_short_run_keeps_every_checkpoint_and_tells_their_epochs(run):
    entry = ShownRun(run=run, condition="trained").entry()
    assert entry["steps"] == list(run.steps)
    assert [run.recipe.schedule.epoch_ends[epoch] for epoch in entry["epochs"]] == entry["steps"]


def test_where_training_rows_never_come_back_there_are_no_epochs():
    config, ends = ModelConfig(d_vocab=40, n_ctx=16, d_model=8, d_mlp=16), (0, 1_500, 3_000)
    passes, fresh = Stage(("train",), 1), Stage(("train",), 1, 500)
    told = []
    for stages in ((passes, passes), (fresh, fresh), (passes, fresh)):
        shown = ShownRun(run=long_run(config, ends, stages), condition="trained")
        told.append((shown.entry()["epochs"], shown.when(1_500)))
    assert told == [([0, 1, 2], "epoch 1"), ([], "step 1,500"), ([], "step 1,500")]


def test_the_payload_holds_all_that_the_menus_need(make, run):
    found = make(path=(PathStep(title="One.", text="It says.", state={"step": 0}),)).payload()
    assert found["task"]["vocab"] == list(run.recipe.make_task().vocab)
    (stop,) = found["path"]
    assert stop == {"title": "One.", "text": "It says.", "state": {"step": 0}, "lit": [], "told": []}
    assert [entry["id"] for entry in found["runs"]] == [RUN]
    assert found["opening"]["run"] == RUN and found["name"] == "explorer-kv"


# ---- what was measured ----


BIRTHS = pd.DataFrame(
    [(0, "routes", 2, 3), (0, "copies", None, 0), (0, "answers", 3, None), (1, "routes", 0, 1)],
    columns=["init_seed", "motif", "after", "by"],
)


def test_births_are_in_steps_or_in_epochs():
    run = long_run(ModelConfig(d_vocab=4, n_ctx=4), (0, 10, 25, 40, 60))
    labels = {"answers": "it answers", "routes": "it routes", "absent": "nothing", "copies": "it copies"}
    steps, epochs = (births_of(BIRTHS, run, labels, in_epochs=which) for which in (False, True))
    assert [birth.label for birth in steps] == ["it answers", "it routes", "it copies"]
    assert [(birth.after, birth.by) for birth in steps] == [(3, None), (2, 3), (None, 0)]
    assert [(birth.after, birth.by) for birth in epochs] == [(40, None), (25, 40), (None, 0)]


def test_a_curve_is_empty_where_the_score_was_not_measured_on_that_run(run):
    rows = [("accuracy", step, "val", value) for step, value in ((0, 0.1), (10, 0.5), (10, 0.75), (20, None))]
    table = pd.DataFrame(rows, columns=["metric", "step", "split", "value"]).assign(
        arm="trained", init_seed=0, run_id=run.run_id
    )
    results = Results(table, pd.DataFrame(), "paper")
    material = Material(results=results, runs_of=lambda arm: [run])
    curve = material.curve(run, "held out", "accuracy", split="val", chance=0.25)
    assert (curve.label, curve.steps, curve.values, curve.chance) == ("held out", (0, 10), (0.1, 0.75), 0.25)
    absent = ((run, "routing", "val"), (run, "accuracy", "ood"), (published(SECOND), "accuracy", "val"))
    for other, metric, split in absent:
        empty = material.curve(other, "none", metric, split=split)
        assert empty.steps == empty.values == ()
    assert material.runs("trained") == [run] and material.runs("absent") == []


@pytest.mark.parametrize(
    ("time", "birth"), [(0.0, (None, 0)), (3.0, (0, 10)), (10.0, (0, 10)), (10.5, (10, 20)), (math.inf, (20, None))]
)
def test_a_crossing_is_born_between_the_measurements_around_it(run, time, birth):
    rows = [{"metric": "accuracy", "step": step, "value": 0.5, "run_id": run.run_id} for step in (10, 0, 20, 10)]
    rows += [{**rows[0], "step": 5, "run_id": "another"}, {**rows[0], "step": 7, "metric": "loss"}]
    results = Results(pd.DataFrame(rows).assign(arm="trained", init_seed=0), pd.DataFrame(), "paper")
    material = Material(results=results, runs_of=lambda arm: [run])
    seed = run.recipe.init_seed
    (found,) = material.crossings(run, {"it routes": pd.Series({seed: time, seed + 1: 1.0})})
    assert (found.label, (found.after, found.by)) == ("it routes", birth)


def test_a_network_has_all_of_some_births_since_the_first_of_its_steps_that_is_late_enough(run):
    shown = ShownRun(run=run, condition="trained")
    first, *_, last = shown.steps
    early, late, never = (Birth(label="a", after=None, by=by) for by in (first, first + 1, None))
    assert shown.since(early) == first and shown.since(early, late) == shown.steps[1]
    assert shown.since(early, never) == last and shown.since(Birth(label="a", after=last, by=last + 1)) == last


def test_a_note_is_told_of_what_was_tested_and_where_no_moves_are_looked_for(run):
    shown = ShownRun(run=run, condition="trained", note="Streams were exchanged.")
    example = Example(label="one", prompt=PROMPT)
    bare = Exhibit(name="explorer-kv", task=run.recipe.make_task(), shown=(shown,), examples=(example,))
    assert bare.circuit(bare.start).note == "Streams were exchanged."
    looked_for = replace(bare, plan=Plan(moves=(Move(name="copies", does="copies it", layer=1),)))
    assert not looked_for.circuit(bare.start).links and looked_for.circuit(bare.start).note == ""


def test_spread_examples_are_rows_with_the_answers_they_want(run):
    task = run.recipe.make_task()
    rows = task.split("val")
    found = spread_examples(task, "val", 3)
    assert [example.label for example in found] == ["val 0", "val 1", "val 2"]
    for row, example in enumerate(found):
        assert torch.equal(task.encode(example.prompt), rows.tokens[row])
        assert probe(run, prompt=example.prompt).target == example.answer
    n_rows = len(rows)
    assert len(spread_examples(task, "val", n_rows + 5)) == n_rows


# ---- the path ----


@pytest.fixture(scope="module", params=[RUN, SECOND])
def stops(request):
    """Run, and (stop, what probe reads in its state) for each."""
    run = published(request.param)
    path = retrieval_path([run, published(SECOND)], PROMPT)

    def read(state):
        asked = {"step": run.steps[-1], "prompt": PROMPT, **{key: state[key] for key in state if key != "other"}}
        return probe(run, **asked)

    return run, [(stop, read(stop.state)) for stop in path]


def test_a_path_is_an_exhibits_and_every_stop_can_be_shown(make):
    runs = [published(run_id) for run_id in (RUN, SECOND)]
    shown = tuple(ShownRun(run=run, condition="trained") for run in runs)
    path = retrieval_path(runs, PROMPT)
    assert len(make(shown=shown, path=path).path) == 6
    assert len(retrieval_path(runs[:1], PROMPT)) == 5


def test_a_stop_of_a_path_tells_the_claims_that_are_named_for_it(run):
    named = {"Compare.": ("A1",), "Cut what they read.": ("A2", "A3")}
    path = retrieval_path([run, published(SECOND)], PROMPT, claims=named)
    assert {stop.title: stop.claims for stop in path if stop.claims} == named
    alone = retrieval_path([run], PROMPT, claims=named)  # a reader may have trained a single seed
    assert [stop.claims for stop in alone if stop.claims] == [("A2", "A3")]
    with pytest.raises(ExhibitError, match="unknown stop 'Compare'; did you mean 'Compare.'"):
        retrieval_path([run], PROMPT, claims={"Compare": ("A1",)})


def test_every_stop_says_what_probe_says_there(stops):
    _, found = stops
    for stop, reading in found[:5]:
        word, p = SAYS.findall(stop.text)[-1]  # the last one is of the state shown
        assert word == reading.likeliest
        assert p == f"{reading.probability_of(word):.2f}"
    assert not SAYS.search(found[5][0].text)


def test_every_attention_that_is_quoted_is_probes(stops):
    _, found = stops
    first, early = found[0], found[1]
    name, word, attention = ATTENDS.search(first[0].text).groups()
    layer, head = (int(number) for number in re.findall(r"\d+", name))
    place = PROMPT.split().index(word)
    assert word == first[1].target
    assert attention == f"{first[1].patterns[layer][head][-1, place].item():.2f}"
    quoted = re.search(rf"{name} reads {word} with attention (\d\.\d\d)", early[0].text)[1]
    assert quoted == f"{early[1].patterns[layer][head][-1, place].item():.2f}"
    largest = max(pattern[:, -1, place].max().item() for pattern in first[1].patterns)
    assert attention == f"{largest:.2f}"


def test_the_stops_tell_what_else_they_show(stops):
    run, [works, early, off, cut, moved, compared] = stops
    answer = works[1].target
    assert early[0].state["step"] in run.steps
    assert early[0].state["step"] == run.steps[0] or early[1].probability_of(answer) < 0.5
    name = ATTENDS.search(works[0].text)[1]
    alone = probe(run, prompt=PROMPT, edits=[f"zero({name})@all"])
    assert SAYS.search(off[0].text).groups() == (alone.likeliest, f"{alone.probability_of(alone.likeliest):.2f}")
    assert cut[0].text.endswith(f"{answer} has {cut[1].probability_of(answer):.2f}.")
    goal = probe(run, prompt=moved[0].state["source"]).target
    assert moved[0].text.endswith(f"the second prompt's own answer is {goal}.") and goal != answer
    assert f"Seed {run.recipe.init_seed} beside seed" in compared[0].text
