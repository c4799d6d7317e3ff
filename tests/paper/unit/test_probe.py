"""``probe``: what a network makes of a prompt under edits, and what it refuses."""

import re
from dataclasses import replace

import pytest
import torch

from circuitcore.ground.environment import Folders
from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.models.edit_text import parse_edit
from circuitcore.tasks import make_task
from circuitcore.training.errors import StoreError
from circuitcore.training.store.run_store import RunStore
from livingpaper.explorer import probe
from livingpaper.explorer.probe import Question, attribution, edited_pass, find_run, read
from livingpaper.explorer.references import references

TASK = make_task("symbolic_kv", {})
PROMPT, SOURCE = "<bos> K1 V1 ; K6 V6 ; K7 V0 ; Q K7 ->", "<bos> K7 V3 ; K6 V6 ; K1 V0 ; Q K1 ->"
CONFIG = ModelConfig(d_vocab=len(TASK.vocab), n_ctx=16, d_model=16, d_mlp=24)
WEIGHTS = {name: tensor.double() for name, tensor in init_weights(CONFIG, 0).items()}


def asked(prompt=PROMPT, config=CONFIG, weights=WEIGHTS, **more):
    return read(config, weights, TASK, Question(prompt=prompt, **more))


@pytest.fixture(scope="module")
def run():
    """A published run with weights at several steps."""
    found = RunStore(Folders.from_environment().published, None).runs()
    return next(run for run in found if len(run.steps) > 1)


@pytest.fixture(scope="module")
def prompt(run):
    task = run.recipe.make_task()
    return task.decode(task.split(task.splits[-1]).tokens[0])


def test_without_edits_it_is_the_plain_forward_pass():
    reading = asked()
    output = forward(CONFIG, WEIGHTS, TASK.encode(PROMPT)[None], record=["pattern.0", "pattern.1"])
    assert torch.equal(reading.logits, output.logits[0])
    assert torch.equal(reading.probabilities, output.logits[0, -1].softmax(-1))
    for layer, pattern in enumerate(reading.patterns):
        assert torch.equal(pattern, output.cache[f"pattern.{layer}"][0])
    assert reading.words == tuple(PROMPT.split())
    assert reading.target == "V0"
    assert set(reading.answers) == {f"V{number}" for number in range(8)}


def test_the_table_holds_the_likeliest_tokens_and_the_margin():
    reading = asked()
    head, *rows, margin, over_answers = str(reading).splitlines()
    assert head.split() == ["token", "probability", "logit"]
    order = reading.logits[-1].argsort(descending=True)[:5].tolist()
    assert [row.split()[0] for row in rows] == [TASK.vocab[token] for token in order]
    assert [float(row.split()[2]) for row in rows] == pytest.approx(reading.logits[-1, order].tolist(), abs=6e-4)
    assert [float(row.split()[1]) for row in rows] == pytest.approx(reading.probabilities[order].tolist(), abs=6e-5)
    assert margin == f"margin: {reading.margin:.4f} (over {reading.runner_up})"
    told = f"{reading.margin_over_answer_words:.4f} (over {reading.runner_up_answer})"
    assert over_answers == f"margin over answer words: {told}"


@pytest.mark.parametrize("config", [CONFIG, replace(CONFIG, d_vocab=len(TASK.vocab) + 3)], ids=["all used", "unused"])
def test_the_margin_is_the_tables_and_the_other_one_is_over_answer_words(config):
    """Also where the network has more tokens than the task has words: the tables count them too."""
    reading = asked(config=config, weights={name: w.double() for name, w in init_weights(config, 0).items()})
    values = dict(zip(reading.vocab, reading.logits[-1].tolist(), strict=True))
    others = {word: logit for word, logit in values.items() if word != "V0"}
    among = {word: logit for word, logit in others.items() if word in reading.answers}
    assert reading.margin == pytest.approx(values["V0"] - max(others.values()))
    assert reading.runner_up == max(others, key=others.get)
    assert reading.margin_over_answer_words == pytest.approx(values["V0"] - max(among.values()))
    assert reading.runner_up_answer == max(among, key=among.get)
    assert reading.margin < reading.margin_over_answer_words, "here a word that is no value comes second"


def test_without_a_target_the_margins_are_of_the_likeliest_answer():
    shuffled = make_task("symbolic_kv", {"targets": "shuffled"})
    reading = read(CONFIG, WEIGHTS, shuffled, Question(prompt=PROMPT))
    values = sorted((reading.logits[-1, shuffled.vocab.index(word)].item() for word in reading.answers), reverse=True)
    assert reading.target is None
    assert reading.margin_over_answer_words == pytest.approx(values[0] - values[1])
    rival = reading.logits[-1, shuffled.vocab.index(reading.runner_up)].item()
    assert reading.margin == pytest.approx(values[0] - rival)
    assert reading.runner_up == max((w for w in reading.vocab if w != reading.favoured), key=reading.probability_of)
    told = read(CONFIG, WEIGHTS, shuffled, Question(prompt=PROMPT, answer="V5"))
    assert told.target == told.favoured == "V5"
    with pytest.raises(ValueError, match="the answer 'V9' is no word of this task"):
        read(CONFIG, WEIGHTS, shuffled, Question(prompt=PROMPT, answer="V9"))


def test_a_whole_stream_patched_is_the_source():
    for site in ("resid_pre", "resid_mid", "resid_post"):
        edited = asked(edits=(f"patch(L1.{site}<-source)@all", "patch(L0.resid_post<-source)@all"), source=SOURCE)
        assert torch.allclose(edited.logits, asked(SOURCE).logits)
    at_the_end = asked(edits=("patch(L1.resid_post<-source)@12",), source=SOURCE)
    assert torch.allclose(at_the_end.logits[-1], asked(SOURCE).logits[-1])
    assert torch.equal(at_the_end.logits[:-1], asked().logits[:-1])


def test_mean_and_resample_take_from_the_reference_prompts():
    n_pos = len(PROMPT.split())
    rows = references(TASK, n_pos)
    z = forward(CONFIG, WEIGHTS, rows, record=["z.0"]).cache["z.0"]
    inputs, edits = TASK.encode(PROMPT)[None], ("mean(L0H1)@all", "resample(L0H0)@3")
    sources = {"mean": {"z.0": z.mean(0, keepdim=True)}, "resample": {"z.0": z[5:6]}}
    output = edited_pass(CONFIG, WEIGHTS, inputs, [parse_edit(edit) for edit in edits], sources)
    expected = z.mean(0)[:, 1]
    assert torch.allclose(output.cache["z.0"][0, :, 1], expected)
    assert torch.allclose(output.cache["z.0"][0, 3, 0], z[5, 3, 0])
    assert torch.equal(asked(edits=edits, resample=5).logits, output.logits[0])


def test_a_cut_edge_has_no_attention():
    reading = asked(edits=("cut(L1H0:12->3)", "cut(L1H0:12->12)"))
    assert reading.patterns[1][0, 12, [3, 12]].tolist() == [0, 0]
    assert reading.patterns[1].sum(-1).allclose(torch.ones(2, 13).double())
    assert torch.equal(reading.logits[:-1], asked().logits[:-1])


@pytest.mark.parametrize("edits", [(), ("zero(L0H0)@all", "cut(L1H1:12->11)")])
def test_the_shares_of_all_parts_sum_to_the_logits(edits):
    reading = asked(edits=edits)
    assert list(reading.attribution) == ["embed", "L0H0", "L0H1", "L0MLP", "L1H0", "L1H1", "L1MLP"]
    assert torch.allclose(sum(reading.attribution.values()), reading.logits[-1])
    assert not edits or not reading.attribution["L0H0"].any()


def test_a_post_norm_model_has_no_attribution():
    config = ModelConfig(d_vocab=len(TASK.vocab), n_ctx=16, d_model=16, d_mlp=24, norm_position="post")
    weights = init_weights(config, 0)
    assert asked(config=config, weights=weights).attribution is None
    cache = edited_pass(config, weights, TASK.encode(PROMPT)[None], [], {}).cache
    with pytest.raises(ValueError, match="needs a pre-norm residual stream; this model is post-norm"):
        attribution(config, weights, cache)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"prompt": ""}, "the prompt has no tokens"),
        ({"prompt": PROMPT.replace("K6", "K9")}, "token 4: 'K9' is no word of this task"),
        ({"edits": ("zero(L1H0)@13",)}, "zero(L1H0)@13: no position 13; the prompt has positions 0..12"),
        ({"edits": ("zero(L1H0)@read_out",)}, "zero(L1H0)@read_out: no position read_out"),
        ({"edits": ("cut(L1H0:all->3)",)}, "cut(L1H0:all->3): no position all"),
        ({"edits": ("cut(L1H0:3->4)",)}, "no such edge; a position attends to itself and to those before it"),
        ({"edits": ("cut(L1H2:3->2)",)}, "no such part to edit: L1H2:3->2"),
        ({"edits": ("zero(L2MLP)@all",)}, "no such part to edit: L2.mlp_out"),
        ({"edits": ("zero L1H0",)}, "an edit is written like zero(L1H0)@all"),
        ({"edits": ("patch(L0.z<-source)@all",)}, "a patch needs a second prompt to take the activation from"),
        ({"edits": ("patch(L0.z<-mean)@all",), "source": SOURCE}, "a patch takes from the second prompt, <-source"),
        (
            {"edits": ("patch(L0.z<-source)@all",), "source": PROMPT.replace("Q", "K2 V2 ; Q")},
            "the second prompt has 16 tokens, the first 13; they must have as many",
        ),
        ({"edits": ("patch(L0.z<-source)@all",), "source": "K1"}, "1 token; prompts of this task have"),
        ({"edits": ("resample(L0H0)@all",), "resample": 32}, "reference prompt 32: there are 0 to 31"),
        ({"edits": ("resample(L0H0)@all",), "resample": -1}, "reference prompt -1: there are 0 to 31"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(wrong, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        asked(**wrong)


def test_what_no_edit_uses_is_not_read():
    assert torch.equal(asked(source="nonsense", resample=99).logits, asked().logits)


def test_vectors_are_no_prompt():
    config = ModelConfig(d_vocab=20, n_ctx=16, d_in=3, tied=False)
    with pytest.raises(ValueError, match="this model reads vectors of 3 numbers"):
        asked(config=config, weights=init_weights(config, 0))


def test_a_run_is_asked_by_its_id_at_its_last_step(run, prompt):
    by_id, itself = probe(run.run_id, step=run.steps[-1], prompt=prompt), probe(run, prompt=prompt)
    assert torch.equal(by_id.logits, itself.logits)
    weights = run.weights(run.steps[0])
    first = read(run.recipe.model, weights, run.recipe.make_task(), Question(prompt=prompt))
    assert torch.equal(probe(run, step=run.steps[0], prompt=prompt).logits, first.logits)


def test_a_step_or_run_that_is_not_here_is_refused_with_those_that_are(run, prompt):
    with pytest.raises(StoreError, match=f"no weights at step 7; there are {run.steps[0]}, {run.steps[1]}"):
        probe(run, step=7, prompt=prompt)
    with pytest.raises(StoreError, match=rf"no run .*{run.run_id[:-1]}|unknown run .*{run.run_id[:-1]}"):
        find_run(run.run_id[:-1])
    with pytest.raises(StoreError, match="none of its weights are here"):
        probe(run.only([]), prompt=prompt)
