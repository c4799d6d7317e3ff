"""Tests of a look-up among pairs: against passes made row by row, and on networks without the move."""

import pytest
import torch

from circuitcore.ground.environment import Folders
from circuitcore.metrics.network import Network
from circuitcore.models.edit_text import parse_edit
from circuitcore.training import RunStore
from livingpaper.explorer.probe import edited_pass
from livingpaper.explorer.shown_run import shown_steps
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.emergence_laws.circuit import N_ROWS, link_tests, trial_of
from retrieval_circuits.sgd_formation.measures.links import tried

RUN = "in_context_recall-aedda33cca0a"
READ_OUT = 16
"""Words before the query: eight pairs."""
FEW = 6


@pytest.fixture(scope="module")
def run():
    """The network that the chapter's stage opens on."""
    return RunStore(Folders.from_environment().published, None).get(RUN)


def test_rows_differ_in_what_is_exchanged_alone(run):
    task = run.recipe.make_task()
    trial = trial_of(task, FEW)
    plain = trial.plain.tokens
    assert plain.shape == (FEW, READ_OUT + 1) and torch.equal(trial.plain.roles["read_out"], torch.full((FEW,), 16))
    for row in range(FEW):
        words, other = plain[row].tolist(), trial.others["finds"].tokens[row].tolist()
        pairs = dict(zip(words[0:READ_OUT:2], words[1:READ_OUT:2], strict=True))
        assert pairs[words[-1]] == int(trial.before[row])
        assert (
            other[:-1] == words[:-1] and other[-1] != words[-1] and pairs[other[-1]] == int(trial.wanted["finds"][row])
        )
        new, at = int(trial.wanted["copies"][row]), words.index(int(trial.before[row]))
        assert new not in words and task.vocab[new].startswith("V")
        assert trial.others["copies"].tokens[row].tolist() == [
            new if place == at else word for place, word in enumerate(words)
        ]


def test_the_other_value_is_no_single_word_that_a_network_may_prefer(run):
    new = trial_of(run.recipe.make_task(), N_ROWS).wanted["copies"]
    assert new.unique(return_counts=True)[1].max() <= N_ROWS // 8


def test_every_test_is_the_same_made_row_by_row(run):
    config, step = run.recipe.model, run.steps[-1]
    weights, trial = run.weights(step), trial_of(run.recipe.make_task(), FEW)
    found = {
        (metric, move, site): shares.item()
        for metric, move, site, shares in tried(Network(config, run.stack((step,))), trial)
    }
    given = {}
    for number in range(FEW):
        row, answer = trial.plain.tokens[number][None], int(trial.before[number])
        sources = {
            move: edited_pass(config, weights, of.tokens[number][None], [], {}).cache
            for move, of in trial.others.items()
        }

        def says(texts, move, row=row, sources=sources):
            edits = [parse_edit(text) for text in texts]
            return int(edited_pass(config, weights, row, edits, {"source": sources[move]}).logits[0, -1].argmax())

        at = row[0].tolist().index(answer)
        for site, heads in {**{f"H{head}": (head,) for head in range(4)}, "H*": range(4)}.items():
            cuts = [f"cut(L0H{head}:{key + 1}->{key})" for head in heads for key in range(0, READ_OUT, 2)]
            lost = says([], "finds") == answer != says(cuts, "finds")
            queries = says([f"patch(L1H{head}.q<-source)@{READ_OUT}" for head in heads], "finds")
            values = says([f"patch(L1H{head}.v<-source)@{at}" for head in heads], "copies")
            given.setdefault(("lost", "joins", f"L0{site}"), []).append(lost)
            given.setdefault(("moved", "finds", f"L1{site}"), []).append(queries == int(trial.wanted["finds"][number]))
            given.setdefault(("moved", "copies", f"L1{site}"), []).append(values == int(trial.wanted["copies"][number]))
    expected = {name: sum(values) / len(values) for name, values in given.items()}
    assert {name: share for name, share in found.items() if name[2] != "none"} == pytest.approx(expected)
    assert {name[1] for name, value in expected.items() if value > 0} == {"joins", "finds", "copies"}


def test_tests_of_all_steps_at_once_are_those_of_each_alone_and_are_held_to_the_shared_bound(run):
    found, trial = link_tests(run), trial_of(run.recipe.make_task(), N_ROWS)
    assert sorted(found) == shown_steps(run)
    for step, tests in found.items():
        alone = {
            (move, site): shares.item()
            for _, move, site, shares in tried(Network(run.recipe.model, run.stack((step,))), trial)
        }
        for move, one in tests.items():
            assert one.effect == pytest.approx(alone[move, one.who])
            assert one.supported == MORE_OFTEN_THAN_NOT.reached(one.effect)


def test_an_untrained_network_and_one_that_sees_nothing_have_no_move(run):
    assert run.steps[0] == 0 and not any(one.supported for one in link_tests(run)[0].values())
    blind = {
        name: torch.zeros_like(value) if name.endswith("W_O") else value
        for name, value in run.stack(run.steps[-1:]).items()
    }
    shares = {
        (move, site): value.item()
        for _, move, site, value in tried(Network(run.recipe.model, blind), trial_of(run.recipe.make_task(), FEW))
    }
    assert all(value == shares[move, "none"] for (move, site), value in shares.items() if move != "joins")
    assert all(value == 0 for (move, site), value in shares.items() if move == "joins" and site != "none")
