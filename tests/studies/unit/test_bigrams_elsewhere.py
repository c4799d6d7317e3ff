"""Letters, a decoder of which everything is trained, widths and snapshots: against loops and networks wired by hand."""

import dataclasses
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import paper
from circuitcore.models.transformer import forward, init_weights
from retrieval_circuits.bigrams_and_composition import design, readings
from retrieval_circuits.bigrams_and_composition.measures import network, prose, source, training, wide
from retrieval_circuits.bigrams_and_composition.measures.everything import Generic, everything, measured, memories
from retrieval_circuits.bigrams_and_composition.measures.network import K1, K2, O2

BOOK = Path(paper.__file__).resolve().parent / "book"
TASK = training.Task(n_tokens=8, n_triggers=2, length=10, width=24, n_test=16, every=5)
GENERIC = Generic(n_tokens=8, n_triggers=2, length=9, width=16, rate=0.003, batch=8, steps=4, n_test=12, every=2)


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def chain(seed=0):
    return source.draw_source(8, 2, np.random.default_rng(seed))


def test_pairs_of_letters_are_counted_one_by_one():
    text = "A cat, a  hat!\n1 cat"
    found = prose.counted(text)
    pairs = Counter(zip("a cat a hat cat", "a cat a hat cat"[1:], strict=False))
    for i, first in enumerate(prose.SYMBOLS):
        for j, second in enumerate(prose.SYMBOLS):
            assert found[i, j] == pairs[first, second]


def test_the_counts_are_nearly_those_of_the_book_as_it_is():
    """Pages change; how often letters follow each other hardly does."""
    notebooks = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(BOOK.glob("*.ipynb"))]
    text = " ".join(
        "".join(cell["source"]) for book in notebooks for cell in book["cells"] if cell["cell_type"] == "markdown"
    )
    now = prose.counted(re.sub(r"`[^`]*`|\{[^}]*\}|\$[^$\n]*\$", " ", text))
    kept = np.array(prose.counts())
    assert kept.shape == now.shape == (27, 27)
    kept_share, share = kept / kept.sum(), now / now.sum()
    alone = np.outer(share.sum(1), share.sum(0))  # the same letters, whatever comes before
    assert np.abs(kept_share - share).sum() / 2 < 0.1 < np.abs(alone - share).sum() / 2
    law = prose.source_of(prose.Letters(**dataclasses.asdict(design.LETTERS_TASK), ways=(), counts=prose.counts()))
    assert torch.allclose(law.chain.sum(1), torch.ones(27, dtype=torch.float64)) and law.chain.min() > 0
    assert law.chain[1, 2] / law.chain[1, 3] == pytest.approx(
        (kept[1, 2] / kept[1].sum() + 1e-3) / (kept[1, 3] / kept[1].sum() + 1e-3)
    )
    assert prose.SYMBOLS[int(law.triggers[0])] == " "


def wired(asked, given, seed=0):
    """A decoder whose three memories are perfect: one channel a token, mark or position, as often as it takes."""
    n, length = asked.n_tokens, asked.length
    axes = torch.eye(asked.width)
    weights = {name: torch.zeros_like(weight) for name, weight in init_weights(asked.model, seed).items()}
    weights |= {name: torch.ones_like(weight) for name, weight in weights.items() if re.search(r"ln\w+\.w$", name)}
    tokens, marks, places = axes[:n], axes[n : 2 * n], axes[2 * n : 2 * n + length]
    weights["embed.W_E"], weights["pos_embed.W_pos"] = tokens.clone(), places.clone()
    weights["blocks.0.attn.W_Q"] = (places[1:].T @ places[:-1])[None]
    weights["blocks.0.attn.W_K"] = torch.eye(asked.width)[None]
    weights["blocks.0.attn.W_V"] = (tokens.T @ marks)[None]
    weights["blocks.0.attn.W_O"] = torch.eye(asked.width)[None]
    weights["blocks.1.attn.W_Q"] = (tokens.T @ marks)[None]
    weights["blocks.1.attn.W_K"] = torch.eye(asked.width)[None]
    weights["blocks.1.attn.W_V"] = (tokens.T @ tokens)[None]
    weights["blocks.1.attn.W_O"] = torch.eye(asked.width)[None]
    weights["unembed.W_U"] = tokens.T.clone()
    return weights


def test_memories_of_a_decoder_wired_by_hand_are_all_recalled_and_of_an_empty_one_none():
    asked, given = dataclasses.replace(GENERIC, width=48), chain()
    weights = wired(asked, given)
    assert memories(weights, given) == {K1: 1.0, K2: 1.0, O2: 1.0}
    broken = {
        **weights,
        "blocks.1.attn.W_Q": torch.zeros_like(weights["blocks.1.attn.W_Q"]),
        "unembed.W_U": weights["unembed.W_U"].roll(1, 1),
    }
    assert memories(broken, given) == {K1: 1.0, K2: 0.0, O2: 0.0}


def test_memories_are_the_scores_that_attention_computes():
    """Between positions alone: with tokens at zero, the first layer's scores are those of the probe, but for scale."""
    asked, given = GENERIC, chain()
    weights = init_weights(asked.model, 3)
    still = {**weights, "embed.W_E": torch.zeros_like(weights["embed.W_E"])}
    output = forward(asked.model, still, torch.zeros(1, asked.length, dtype=torch.long), record=("q.0", "k.0"))
    scores = output.cache["q.0"][0, 1:, 0] @ output.cache["k.0"][0, :, 0].T
    lengths = (still["pos_embed.W_pos"] - still["pos_embed.W_pos"].mean(1, keepdim=True)).norm(dim=1)
    scores = scores * lengths  # the probe leaves the norm's scale out
    right = scores.argmax(1) == torch.arange(asked.length - 1)
    assert memories(weights, given)[K1] == pytest.approx(right.float().mean().item())


def test_attention_of_the_decoder_is_that_of_loops():
    asked, given, generator = GENERIC, chain(), drawn()
    weights = init_weights(asked.model, 1)
    test = training.asked_of(given, source.draw(given, 12, asked.length + 1, generator), asked.length, generator)
    found = measured(asked.model, given, weights, test)
    output = forward(asked.model, weights, test.inputs, record=("pattern.0", "pattern.1"))
    triggers, previous, match, right = set(given.triggers.tolist()), [], [], []
    for row, tokens in enumerate(test.inputs.tolist()):
        first, second = (output.cache[f"pattern.{layer}"][row, 0] for layer in (0, 1))
        previous += [first[at, at - 1].item() for at in range(1, len(tokens)) if tokens[at - 1] in triggers]
        for at, real in zip(test.where[row].tolist(), test.real[row].tolist(), strict=True):
            if real:
                match.append(sum(second[at, k].item() for k in range(1, at + 1) if tokens[k - 1] == tokens[at]))
                place = given.triggers.tolist().index(tokens[at])
                right.append(output.logits[row, at].argmax().item() == test.outputs[row, place].item())
    wanted = {"previous": previous, "match": match, "accuracy": right}
    assert {name: found[name] for name in wanted} == pytest.approx({k: np.mean(v) for k, v in wanted.items()}, abs=1e-6)


def test_a_decoder_is_measured_before_and_while_it_learns():
    rows = pd.DataFrame(everything(GENERIC, 0))
    assert rows["step"].tolist() == [0, 2, 4]
    again = pd.DataFrame(everything(GENERIC, 0))
    pd.testing.assert_frame_equal(rows, again)
    assert rows["match"].nunique() == 3


def test_three_steps_by_width_are_a_row_a_width_between_random_directions():
    asked = wide.Widths(n_tokens=8, n_triggers=2, length=8, samples=(64,), queries=4, n_test=16, widths=(8, 256))
    rows = pd.DataFrame(wide.three_steps_by_width(asked, 0))
    assert rows["d"].tolist() == [8, 256]
    assert rows[O2].iloc[1] > rows[O2].iloc[0]
    frozen = wide.random(8, 9, 2048, drawn())
    for vectors in (frozen.tokens, frozen.positions, frozen.outputs):
        assert torch.allclose(vectors @ vectors.T, torch.eye(len(vectors)), atol=0.12)
    marks = frozen.tokens @ frozen.remap.T
    assert marks.norm(dim=1).mean().item() == pytest.approx(1, abs=0.05)


def test_compared_scores_are_those_of_single_products():
    frozen = network.draw_frozen(8, 10, 24, drawn())
    weights = {name: network.uniform(24, 24, drawn(n)) for n, name in enumerate((K1, K2, O2))}
    found = network.compared(frozen, weights, torch.tensor([5, 2]), torch.tensor([0, 3]))
    assert found[K1].scores[4, 7] == pytest.approx(
        (frozen.positions[5] @ weights[K1] @ frozen.positions[7]).item(), abs=1e-4
    )
    mark = frozen.remap @ frozen.tokens[6]
    assert found[K2].scores[1, 6] == pytest.approx((frozen.tokens[2] @ weights[K2] @ mark).item(), abs=1e-4)
    said = frozen.outputs[4] @ weights[O2] @ frozen.values @ frozen.tokens[3]
    assert found[O2].scores[1, 4] == pytest.approx(said.item(), abs=1e-4)
    assert [found[name].right.tolist() for name in (K2, O2)] == [[5, 2], [0, 3]]
    assert found[K1].right.tolist() == list(range(9)) and found[K1].items.tolist() == list(range(1, 10))


def test_gaps_between_memories_are_those_between_halves():
    rows = pd.DataFrame(
        {"step": [0, 10, 20, 30], O2: [0, 1, 1, 1], K2: [0, 0, 0.6, 1], K1: [0, 0.1, 0.1, 0.8], "init_seed": 1}
    )
    assert readings.least_gap(rows).tolist() == [10]
