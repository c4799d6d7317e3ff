"""Scores of permutation recall, where it is known beforehand what they must be."""

import math

import pytest
import torch
from given_run import picked

from circuitcore.metrics.instruments.battery import BatterySpec, open_session
from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.models import Output
from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.tasks.permutation_posterior import marginal_posterior, train_posterior, uniform_posterior
from retrieval_circuits.permutation_recall.design import model
from retrieval_circuits.permutation_recall.measures import scores as recall
from retrieval_circuits.permutation_recall.measures.skills import outcomes, recall_posterior, recall_skills

TASK = PermutationRecall(n_rows=900)
NEVER = 1e-300  # as good as zero, with a logarithm


class Oracle(Network):
    """A network that says what a posterior says; the answers come from the rows it is asked."""

    def __init__(self, posterior):
        # It has no weights, so that it is not made as a network is.
        for name, value in {"config": model(5, 8, 1, 4), "weights": {}, "kept": {}, "posterior": posterior}.items():
            object.__setattr__(self, name, value)

    def run(self, batch, record=()):
        p = self.posterior(batch)
        logits = torch.zeros(*batch.tokens.shape, p.shape[-1] + 1, dtype=torch.float64)
        logits[:, ::2] = torch.nn.functional.pad(p.clamp(min=NEVER).log(), (1, 0), value=math.log(NEVER))
        return Output(logits[None], {})

    def answers(self, batch):
        return self.run(batch).logits[:, :, -1]


@pytest.fixture(scope="module")
def session():
    return open_session(TASK, BatterySpec(n_bases=120, n_split=900))


def measured(session, posterior):
    rows, net = Rows("oracle", (0,), [0]), Oracle(posterior)
    recall_posterior(session, net, rows)
    recall_skills(session, net, rows)
    return rows.frame()


@pytest.fixture(scope="module")
def bayesian(session):
    return measured(session, lambda batch: uniform_posterior(session.task, batch))


@pytest.fixture(scope="module")
def guesser(session):
    return measured(session, lambda batch: torch.full((len(batch), 5, 5), 1 / 5, dtype=torch.float64))


def test_a_bayesian_is_at_no_distance_from_itself(bayesian):
    for metric in ("bayes_mae", "bayes_max_batched", "bayes_max"):
        assert picked(bayesian, metric).max() < 1e-12
    assert picked(bayesian, "leaning").abs().max() < 1e-12
    assert picked(bayesian, "mean_loss", split="all").item() == pytest.approx(math.log(120) / 5, abs=0.01)
    for step, level in enumerate([5, 4, 3, 2, 1], 1):
        found = picked(bayesian, "step_loss", split="test", variable=f"step {step}").item()
        assert found == pytest.approx(math.log(level) if step < 5 else 0, abs=1e-9), step


def test_a_bayesian_that_breaks_ties_by_number_is_as_often_right_as_the_ceiling(bayesian):
    for step, chance in enumerate([1 / 5, 1 / 4, 1 / 3, 1 / 2, 1], 1):
        found = picked(bayesian, "step_accuracy", split="all", variable=f"step {step}", family="").item()
        assert abs(found - chance) <= 4 * (chance * (1 - chance) / 900) ** 0.5, step
    assert set(picked(bayesian, "step_accuracy", variable="step 5")) == {1}
    assert picked(bayesian, "recall").min() == picked(bayesian, "elimination").item() == 1
    assert picked(bayesian, "eliminates").max() == picked(bayesian, "other_shown").max() == 0
    assert picked(bayesian, "p_answer").min() == pytest.approx(1)


def test_a_guesser_is_as_far_away_as_the_posterior_is_from_flat(guesser):
    for step, left in enumerate([5, 4, 3, 2], 1):
        mae = (left * (1 / left - 1 / 5) + (5 - left) / 5) / 5
        assert picked(guesser, "bayes_mae", split="test", variable=f"step {step}").item() == pytest.approx(mae)
        most = max(1 / 5 if left < 5 else 0, 1 / left - 1 / 5)
        for metric in ("bayes_max", "bayes_max_batched"):
            assert picked(guesser, metric, split="test", variable=f"step {step}").item() == pytest.approx(most)
        assert picked(guesser, "step_loss", split="test", variable=f"step {step}").item() == pytest.approx(math.log(5))
    assert picked(guesser, "bayes_mae", variable="step 5").tolist() == pytest.approx([(4 / 5 + 4 / 5) / 5] * 6)
    assert picked(guesser, "p_answer").tolist() == pytest.approx([1 / 5] * 2)
    assert picked(guesser, "mean_loss").tolist() == pytest.approx([math.log(5)] * 2)


@pytest.mark.parametrize(("edit", "prior"), [("", train_posterior), ("marginal", marginal_posterior)])
def test_a_mixture_is_taken_apart(session, edit, prior):
    def mixed(batch):
        knows = prior(session.task, batch)
        knows = knows[0] if isinstance(knows, tuple) else knows
        return 0.37 * knows + 0.63 * uniform_posterior(session.task, batch)

    table = measured(session, mixed)
    assert picked(table, "leaning", edit=edit).tolist() == pytest.approx([0.37] * 4, abs=1e-9)
    if edit == "marginal":
        assert picked(table, "follows_marginal").tolist() == [1] * 5
    n = table[(table["metric"] == "leaning") & (table["edit"] == edit)]["n"].tolist()
    assert n[0] == n[1] == n[2] == (session.splits["all"].variables["source"] == 5).sum()
    assert n[3] < n[2], "some rows agree with no permutation trained on"


def test_where_all_permutations_are_trained_on_nothing_can_be_leant_to():
    session = open_session(PermutationRecall(n_train=120, n_rows=300), BatterySpec(n_bases=10, n_split=300))
    table = measured(session, lambda batch: uniform_posterior(session.task, batch))
    assert "leaning" not in set(table["metric"])
    assert picked(table, "follows_marginal", variable="step 5").tolist() == [1]
    assert set(table[table["metric"] == "follows_marginal"]["variable"]) == {"step 5"}, "no y is the commonest"


def test_rows_of_a_split_that_repeat_each_other_count_each_time(session, bayesian):
    batch = session.splits["test"]
    assert len(batch.tokens.unique(dim=0)) < len(batch)
    posterior = uniform_posterior(session.task, batch)
    y = batch.targets.gather(1, batch.roles["x"])
    for step in range(5):
        hits = sum(int(p[step].argmax()) + 1 == int(row[step]) for p, row in zip(posterior, y, strict=True))
        found = picked(bayesian, "step_accuracy", split="test", variable=f"step {step + 1}", family="").item()
        assert found == hits / len(batch)


def test_means_over_batches_by_hand():
    values = torch.rand(2, 600, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    parts = [values[:, :256], values[:, 256:512], values[:, 512:]]
    torch.testing.assert_close(recall.mean_over_batches(values), sum(part.mean(1) for part in parts) / 3)
    torch.testing.assert_close(recall.max_over_batches(values), sum(part.amax(1) for part in parts) / 3)
    assert (recall.max_over_batches(values) <= values.amax(1)).all()
    torch.testing.assert_close(recall.mean_over_batches(values[:, :256]), parts[0].mean(1))
    torch.testing.assert_close(recall.max_over_batches(values[:, :7]), values[:, :7].amax(1))


def test_token_zero_takes_no_part_in_probabilities_and_answers_but_in_the_loss():
    logits = torch.tensor([[[9.0, 0.0, 0.0, 1.0]]], dtype=torch.float64)
    assert recall.likeliest_symbol(logits).tolist() == [[3]]
    expected = torch.tensor([1, 1, math.e], dtype=torch.float64) / (2 + math.e)
    torch.testing.assert_close(recall.probabilities(logits)[0, 0], expected)
    loss = recall.loss(logits, torch.tensor([[3]]))
    assert loss.item() == pytest.approx(math.log(math.exp(9) + 2 + math.e) - 1)
    torch.testing.assert_close(recall.symbols_apart(logits), logits)


def test_a_favourite_is_one_that_no_other_equals():
    posterior = torch.tensor([[[0.5, 0.2, 0.3]], [[0.4, 0.4, 0.2]]])
    best, alone = recall.favourite(posterior)
    assert best[0].item() == 1 and alone[:, 0].tolist() == [True, False]


def test_every_answer_to_a_probe_is_one_of_three():
    probes = TASK.probes("test", 200)
    for symbol in range(1, 6):
        found = outcomes(torch.full((1, 200), symbol), probes)
        assert torch.stack(list(found.values())).sum(0).unique().tolist() == [1]
    for row, answer in enumerate(probes.answers.tolist()):
        shown = probes.tokens[row, 1::2].tolist()
        (unused,) = set(range(1, 6)) - set(shown)
        one = probes.rows(slice(row, row + 1))
        for symbol in range(1, 6):
            kind = "recall" if symbol == answer else "eliminates" if symbol == unused else "other_shown"
            assert outcomes(torch.tensor([[symbol]]), one)[kind].item(), (shown, answer, symbol)


@pytest.mark.parametrize("repeat_ratio", [0.0, 1.0])
def test_families_of_the_last_step_are_those_that_occur(repeat_ratio):
    task = PermutationRecall(repeat_ratio=repeat_ratio, n_rows=40)
    session = open_session(task, BatterySpec(n_bases=10, n_split=40))
    table = measured(session, lambda batch: uniform_posterior(task, batch))
    only = "repeat" if repeat_ratio else "normal"
    accuracy = table[table["metric"] == "step_accuracy"]
    assert set(accuracy["family"]) == {"", only}
    of_family = accuracy[accuracy["family"] == only]
    assert of_family["variable"].tolist() == ["step 5"] * 2 and of_family["n"].tolist() == [40] * 2
    assert ("leaning" in set(table["metric"])) is (not repeat_ratio)


def test_recall_is_scored_by_the_slot_that_is_repeated(session):
    """One who always remembers what stood in the first two slots, and guesses 1 otherwise."""

    def half(batch):
        predicted = torch.where(batch.variables["source"] < 2, batch.answers, 1)
        return torch.nn.functional.one_hot(predicted - 1, 5).double()[:, None].expand(-1, 5, -1)

    table, probes = measured(session, half), session.families["repeat"]
    for slot in range(4):
        of_slot = probes.variables["source"] == slot
        wanted = 1 if slot < 2 else (probes.answers[of_slot] == 1).double().mean().item()
        row = table[(table["metric"] == "recall") & (table["variable"] == f"source {slot + 1}")]
        assert row["value"].item() == pytest.approx(wanted) and row["n"].item() == of_slot.sum()
