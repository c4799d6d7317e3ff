"""One gradient step on a few rows of the noisy task: against autograd, a loop, and tables of known answers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from livingpaper.claims.results import Results
from retrieval_circuits.bigrams_and_composition import readings
from retrieval_circuits.bigrams_and_composition.measures import network
from retrieval_circuits.bigrams_and_composition.measures import samples as function
from retrieval_circuits.bigrams_and_composition.measures.network import K2, O2
from retrieval_circuits.bigrams_and_composition.measures.samples import (
    ATTENTION,
    MLP,
    Samples,
    noisy_source,
    rows_of,
    steps,
)

ASKED = Samples(sizes=(8,), length=10, share=0.5, rows=(1, 4), n_draws=2, n_test=3)


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_step_is_minus_the_gradient_that_autograd_gives():
    """A network of one layer without positions, its keys and its W_O2 zero, and a matrix beside attention."""
    source = noisy_source(8, 0.5)
    train, test = rows_of(source, ASKED, 4, drawn()), rows_of(source, ASKED, 3, drawn(1))
    axes = torch.eye(16)
    frozen = network.Frozen(
        tokens=axes[:8], positions=torch.zeros(10, 16), remap=axes, values=axes, outputs=axes[8:]
    )  # fmt: skip
    for draw in range(2):
        weights = {K2: torch.zeros(16, 16), O2: torch.zeros(16, 16, requires_grad=True)}
        beside = torch.zeros(16, 16, requires_grad=True)
        tokens = tokens_of(train.averages[draw], source)
        answers = train.missing[draw].argmax(1)
        logits = logits_of(frozen, weights, beside, tokens)
        loss = torch.nn.functional.cross_entropy(logits, answers)
        by_attention, by_mlp = torch.autograd.grad(loss, (weights[O2], beside))
        found = steps(train, test, 4)
        fresh = tokens_of(test.averages[draw], source)
        stepped = logits_of(frozen, {K2: weights[K2], O2: -by_attention}, beside * 0, fresh)
        assert torch.allclose(found[ATTENTION][draw], stepped, atol=1e-6)
        stepped = logits_of(frozen, {K2: weights[K2], O2: weights[O2] * 0}, -by_mlp, fresh)
        assert torch.allclose(found[MLP][draw].expand(3, 8), stepped, atol=1e-6)


def tokens_of(averages, source):
    """Rows with these shares of tokens, in any order, but the trigger last."""
    rows = []
    for row in averages:
        tokens = [z for z in range(8) for _ in range(round(10 * row[z].item()))]
        tokens.remove(int(source.triggers[0]))
        rows.append([*tokens, int(source.triggers[0])])
    return torch.tensor(rows)


def logits_of(frozen, weights, beside, tokens):
    found = network.read(frozen, weights, tokens, torch.full((len(tokens), 1), 9))
    return (found.logits + frozen.tokens[tokens[:, -1:]] @ beside.T @ frozen.outputs.T)[:, 0]


def test_tokens_that_tie_are_the_same_triggers_at_every_call():
    found = {(int(source.triggers[0]), source.noise) for source in (noisy_source(256, 0.5) for _ in range(20))}
    assert found == {(0, 1)}


def test_rows_end_with_the_trigger_and_their_answers_are_noise_as_often_as_asked():
    source = noisy_source(8, 0.3)
    rows = rows_of(source, replace(ASKED, n_draws=1), 4000, drawn())
    assert torch.allclose(rows.averages.sum(-1), torch.ones(1, 4000))
    assert (rows.averages[..., source.triggers[0]] > 0).all()
    assert torch.allclose(rows.missing.sum(-1), torch.zeros(1, 4000), atol=1e-6)
    noisy = rows.missing.argmax(-1) == source.noise
    assert noisy.double().mean().item() == pytest.approx(0.3, abs=0.03)


def test_two_rows_have_about_one_over_the_vocabulary_in_common():
    """What attention's lead comes from: 1/N by chance, and the trigger that both hold."""
    for n_tokens in (16, 64):
        asked = replace(ASKED, length=48, n_draws=1)
        rows = rows_of(noisy_source(n_tokens, 0.5), asked, 2000, drawn()).averages[0]
        common = (rows[::2] * rows[1::2]).sum(1).mean().item()
        trigger = 1 / 48 + 47 / 48 / n_tokens
        chance = (1 - trigger) ** 2 / (n_tokens - 1)
        assert common == pytest.approx(trigger**2 + chance, rel=0.1)


def test_the_table_has_a_row_for_every_size_number_and_part():
    found = pd.DataFrame(function(ASKED, 0))
    assert len(found) == 4
    assert found["leads"].between(0, 1).all()
    pd.testing.assert_frame_equal(found, pd.DataFrame(function(ASKED, 0)))


def results(rows):
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    return Results(empty, pd.DataFrame(), "paper", {"samples": rows}, ("samples",))


def test_needed_rows_and_their_power():
    cells = []
    for n_tokens, first in ((16, 4), (32, 8), (64, 16)):
        for part, start in ((ATTENTION, first), (MLP, 2)):
            for rows in (1, 2, 4, 8, 16):
                lead = 1.0 if part == MLP else 1 / n_tokens
                cells.append((part, n_tokens, rows, float(rows >= start), lead))
    table = pd.DataFrame(cells, columns=["part", "n_tokens", "rows", "leads", "lead"]).assign(init_seed=1)
    given = results(table)
    assert readings.needed(table[table["part"] == ATTENTION])["rows"].tolist() == [4, 8, 16]
    assert readings.needed_power(ATTENTION)(given)[1] == pytest.approx(1)
    assert readings.needed_power(MLP)(given)[1] == pytest.approx(0)
    assert readings.lead_power(given)[1] == pytest.approx(-1)
    never = table.assign(leads=0.0)
    assert readings.needed(never[never["part"] == MLP])["rows"].unique().tolist() == [32]
    relapse = table[(table["part"] == MLP) & (table["n_tokens"] == 16)].assign(leads=[1.0, 0.5, 1.0, 1.0, 1.0])
    assert readings.needed(relapse)["rows"].tolist() == [4]
    assert np.isfinite(readings.needed_power(MLP)(given)).all()
