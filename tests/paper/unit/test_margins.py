"""Both margins of ``probe`` on the published networks: the tables' own, and the one over answer words."""

import pandas as pd
import pytest
import torch
from shipped import all_with_weights

from circuitcore.ground.environment import Folders
from circuitcore.metrics.instruments.battery import BatterySpec, open_session
from circuitcore.metrics.scores import behavior
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.training.store.run_store import RunStore
from livingpaper.explorer.probe import Question, read

PUBLISHED = Folders.from_environment().published
ALL_WITH_WEIGHTS = all_with_weights(PUBLISHED)
WITH_WEIGHTS = [name for name in ALL_WITH_WEIGHTS if not name.startswith(f"{ChainRetrieval.name}-")]
"""Of rows of vectors there are no words, and so no margins over them."""
N_ROWS = 5
TRAINED = ("symbolic_kv-184c3e21d23e", "symbolic_kv-3ce50adb7c4e")
FAMILY = "longer_context"
"""The smallest of the batches that a table holds a mean margin of."""


def test_there_are_networks_to_ask():
    assert len(WITH_WEIGHTS) > 20 and len(ALL_WITH_WEIGHTS) - len(WITH_WEIGHTS) == 10


def published(run_id):
    return RunStore(PUBLISHED, None).get(run_id)


def readings(run, task, rows):
    """What a network says at its last step, prompt by prompt."""
    weights = run.weights(run.steps[-1])
    asked = (
        Question(prompt=task.decode(tokens), answer=task.vocab[answer])
        for tokens, answer in zip(rows.tokens, rows.answers, strict=True)
    )
    return [read(run.recipe.model, weights, task, question) for question in asked]


def family(task):
    return open_session(task, BatterySpec()).families[FAMILY]


@pytest.mark.parametrize("run_id", WITH_WEIGHTS)
def test_every_published_network_has_both_margins(run_id):
    run, task = published(run_id), published(run_id).recipe.make_task()
    rows = task.split(task.splits[-1]).rows(slice(0, N_ROWS))
    found, at = readings(run, task, rows), torch.arange(N_ROWS)
    logits = torch.stack([reading.logits[-1] for reading in found])
    allowed = torch.zeros_like(logits, dtype=torch.bool)
    allowed[:, list(task.answers)] = True
    allowed[at, rows.answers] = False
    over_answers = logits[at, rows.answers] - logits.where(allowed, -torch.inf).amax(1)
    assert [reading.margin for reading in found] == behavior.margin(logits, rows.answers).tolist()
    assert [reading.margin_over_answer_words for reading in found] == over_answers.tolist()
    for reading in found:
        assert (reading.margin > 0) == (reading.likeliest == reading.favoured)
        assert (reading.margin < reading.margin_over_answer_words) == (reading.runner_up not in reading.answers)


@pytest.mark.parametrize("run_id", TRAINED)
def test_the_mean_margin_is_the_number_in_the_table_and_the_other_one_is_not(run_id):
    run, task = published(run_id), published(run_id).recipe.make_task()
    found = readings(run, task, family(task))
    [table] = run.path.parent.glob("battery-*.parquet")
    asked = "run_id == @run_id and metric == 'margin' and step == @run.steps[-1] and family == @FAMILY"
    rows = pd.read_parquet(table).query(asked)
    [stored] = rows.itertuples()
    assert len(found) == stored.n
    assert sum(reading.margin for reading in found) / stored.n == pytest.approx(stored.value, rel=1e-5)
    gaps = [reading.margin_over_answer_words - reading.margin for reading in found]
    assert sum(gap > 0 for gap in gaps) > stored.n / 10 and max(gaps) > 1, "by whole logits, on many prompts"
