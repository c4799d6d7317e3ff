"""The sections of permutation recall again, by plain loops: one prompt at a time, on the second decoder."""

import dataclasses
import functools
import math

import pytest
import reference
import torch
from given_run import GivenRun, picked, untrained

from circuitcore.metrics.instruments.battery import SECTIONS, BatterySpec, measure, open_session
from circuitcore.tasks import make_task
from circuitcore.tasks.permutation_posterior import marginal_posterior, train_posterior, uniform_posterior
from retrieval_circuits.permutation_recall.design import model
from retrieval_circuits.permutation_recall.measures import SECTIONS as OWN

TASK = make_task("permutation_recall", {"n_rows": 300})
OTHERS = tuple(section.__name__ for section in SECTIONS if not section.__name__.startswith("recall"))
SPEC = BatterySpec(n_bases=12, n_reference=16, n_split=270, left_out=OTHERS, own=OWN)
FACTORS = {"W_Q": 2, "W_K": 2, "W_V": 3, "W_O": 3, "W_in": 2, "W_out": 3, "W_U": 3}


def config(n_layers=1, n_symbols=5, n_heads=2):
    # The second decoder has the norm's constant of the other chapters.
    return dataclasses.replace(model(n_symbols, 8, n_heads, 12, n_layers), norm_eps=1e-6)


def lively(config, seed):
    """Untrained weights under which every part has a say."""
    weights = untrained(config, seed)
    return {name: value * FACTORS.get(name.split(".")[-1], 1) for name, value in weights.items()}


class Slow:
    """Checkpoint 1 of two, by plain loops."""

    def __init__(self, n_layers):
        spec = SPEC if n_layers == 1 else dataclasses.replace(SPEC, n_split=40)  # the second decoder is slow
        self.config, self.session = config(n_layers), open_session(TASK, spec)
        self.weights = lively(self.config, 1)
        run = GivenRun(TASK, self.config, [lively(self.config, 0), self.weights])
        self.table = measure(run, spec)
        self.table = self.table[self.table["step"] == 1]
        self.run = functools.cache(lambda prompt: reference.run(self.config, self.weights, prompt))

    def logits(self, tokens):
        return self.run(tuple(tokens.tolist()))[0]

    def probabilities(self, tokens):
        """[step symbol]."""
        return self.logits(tokens)[::2, 1:].softmax(-1)


@pytest.fixture(scope="module", params=[1, 2], ids=["one layer", "two layers"])
def slow(request):
    return Slow(request.param)


def test_distance_from_the_posterior(slow):
    for split in ("test", "all"):
        batch, found = slow.session.splits[split], {}
        right, uniform = batch.targets[:, ::2], uniform_posterior(TASK, batch)
        p = torch.stack([slow.probabilities(tokens) for tokens in batch.tokens])
        for step in range(5):
            error = (p[:, step] - uniform[:, step]).abs()
            parts = error.split(256)
            found["bayes_mae"] = sum(part.mean() for part in parts) / len(parts)
            found["bayes_max_batched"] = sum(part.max() for part in parts) / len(parts)
            found["bayes_max"] = error.max()
            found["step_accuracy"] = sum(p[:, step].argmax(-1) + 1 == right[:, step]) / len(batch)
            losses = [-slow.logits(tokens)[2 * step].log_softmax(-1) for tokens in batch.tokens]
            found["step_loss"] = sum(loss[y] for loss, y in zip(losses, right[:, step], strict=True)) / len(batch)
            for metric, value in found.items():
                measured = picked(slow.table, metric, split=split, variable=f"step {step + 1}", family="").item()
                assert measured == pytest.approx(value.item(), abs=1e-9 if metric != "step_accuracy" else 1e-7)
        mean = picked(slow.table, "mean_loss", split=split).item()
        assert mean == pytest.approx(picked(slow.table, "step_loss", split=split).mean(), abs=1e-12)
        repeats = batch.variables["source"] < 5
        for family, members in (("normal", ~repeats), ("repeat", repeats)):
            error = (p - uniform)[members, 4].abs()  # fewer than 256: one batch
            where = {"split": split, "variable": "step 5", "family": family}
            assert picked(slow.table, "bayes_mae", **where).item() == pytest.approx(error.mean().item(), abs=1e-9)
            assert picked(slow.table, "bayes_max", **where).item() == pytest.approx(error.max().item(), abs=1e-9)
            assert (
                picked(slow.table, "bayes_max_batched", **where).item()
                == picked(slow.table, "bayes_max", **where).item()
            )


def test_leaning_to_those_who_know_the_split(slow):
    batch = slow.session.splits["all"]
    uniform, (train, fits) = uniform_posterior(TASK, batch), train_posterior(TASK, batch)
    marginal = marginal_posterior(TASK, batch)
    rows = [row for row in range(len(batch)) if batch.variables["source"][row] == 5]
    for step in range(5):
        for edit, prior in (("", train), ("marginal", marginal)) if step < 4 else ():
            above, below, n = 0.0, 0.0, 0
            for row in rows:
                if fits[row, step]:
                    p, n = slow.probabilities(batch.tokens[row])[step], n + 1
                    way = prior[row, step] - uniform[row, step]
                    above, below = above + (p - uniform[row, step]) @ way, below + way @ way
            where = {"variable": f"step {step + 1}", "edit": edit}
            assert picked(slow.table, "leaning", **where).item() == pytest.approx((above / below).item(), abs=1e-9)
            table = slow.table[(slow.table["metric"] == "leaning") & (slow.table["edit"] == edit)]
            assert table[table["variable"] == f"step {step + 1}"]["n"].item() == n
        hits = []
        for row in rows:
            best = marginal[row, step].tolist()
            if best.count(max(best)) == 1:
                said = int(slow.probabilities(batch.tokens[row])[step].argmax())
                hits.append(said == best.index(max(best)))
        found = picked(slow.table, "follows_marginal", variable=f"step {step + 1}").item()
        assert found == pytest.approx(sum(hits) / len(hits), abs=1e-12)


def kind(row, said):
    """What an answer to a probe is, from the words alone."""
    *pairs, asked = row
    shown = dict(zip(pairs[::2], pairs[1::2], strict=True))
    return "recall" if said == shown[asked] else "other_shown" if said in shown.values() else "eliminates"


def test_skills_by_source(slow):
    normal, repeat = slow.session.families["normal"], slow.session.families["repeat"]
    kinds, sources, p = [], repeat.variables["source"].tolist(), []
    for tokens, answer in zip(repeat.tokens, repeat.answers.tolist(), strict=True):
        answers = slow.probabilities(tokens)[-1]
        kinds.append(kind(tokens.tolist(), int(answers.argmax()) + 1))
        p.append(answers[answer - 1].item())
    assert picked(slow.table, "p_answer", family="repeat").item() == pytest.approx(sum(p) / len(p), abs=1e-9)
    for metric in ("recall", "eliminates", "other_shown"):
        assert picked(slow.table, metric, variable="").item() == pytest.approx(kinds.count(metric) / 12)
        for source in set(sources):
            of_source = [said == metric for said, slot in zip(kinds, sources, strict=True) if slot == source]
            measured = picked(slow.table, metric, variable=f"source {source + 1}").item()
            assert measured == pytest.approx(sum(of_source) / len(of_source))
    p = [slow.probabilities(tokens)[-1] for tokens in normal.tokens]
    hits = [int(one.argmax()) + 1 == answer for one, answer in zip(p, normal.answers.tolist(), strict=True)]
    assert picked(slow.table, "elimination").item() == pytest.approx(sum(hits) / 12)
    mean = sum(one[answer - 1].item() for one, answer in zip(p, normal.answers.tolist(), strict=True)) / 12
    assert picked(slow.table, "p_answer", family="normal").item() == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize(("n_symbols", "n_train"), [(4, 19), (6, 576), (7, 4032)])
def test_other_sizes_of_the_task(n_symbols, n_train):
    task = make_task("permutation_recall", {"n_symbols": n_symbols, "n_train": n_train, "n_rows": 60})
    made = config(n_symbols=n_symbols)
    spec = dataclasses.replace(SPEC, n_split=60)
    table = measure(GivenRun(task, made, [untrained(made, seed) for seed in (0, 1)]), spec)
    assert len(picked(table, "step_accuracy", family="", split="test")) == 2 * n_symbols
    assert len(picked(table, "leaning", edit="")) == 2 * (n_symbols - 1)
    assert picked(table, "step_loss").between(0.5 * math.log(n_symbols), 3 * math.log(n_symbols)).all()
    batched, most = (picked(table, metric).to_numpy() for metric in ("bayes_max_batched", "bayes_max"))
    assert (batched <= most + 1e-12).all()


@pytest.mark.parametrize("name", ["symbolic_kv", "planted_repeats"])
def test_other_tasks_get_no_rows(name):
    task = make_task(name, {"n_train": 32, "n_val": 16, "n_test": 16, "n_ood": 16})
    made = dataclasses.replace(config(), d_vocab=len(task.vocab), n_ctx=task.max_length)
    spec = BatterySpec(n_bases=2, n_edge_bases=2, n_reference=8, n_probe=16, n_split=8, own=OWN)
    table = measure(GivenRun(task, made, [untrained(made, 0)]), spec)
    recall = dataclasses.replace(spec, own=())
    assert len(table) == len(measure(GivenRun(task, made, [untrained(made, 0)]), recall))
