"""Spectra and gradients of single reads of whole runs, whose weights are planted so that every number is known."""

import itertools

import numpy as np
import pytest
import torch
from given_run import GivenRun, picked
from torch.nn import functional

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.tasks.balanced_stream import BalancedStream
from retrieval_circuits.sgd_formation.measures import SIZES, geometry
from retrieval_circuits.sgd_formation.measures.geometry import Examples, OneRead, example_geometry, last_reads
from retrieval_circuits.sgd_formation.measures.spectra import spectra
from retrieval_circuits.sgd_formation.measures.steps import AtSteps

TASK = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
N_ROWS = 6
PLAIN = ModelConfig(
    d_vocab=12, n_ctx=4, n_layers=1, n_heads=2, d_model=8, d_mlp=0, mlp="none", positions="none", tied=False
)
N_OTHERS = PLAIN.d_vocab - 1


def measured(instrument, config, networks, settings):
    """The table of a run of these networks, and how many checkpoints were reported as done."""
    done = []
    return instrument(GivenRun(TASK, config, networks), settings, done.append), sum(done)


@pytest.mark.parametrize(("asked", "found"), [((), (3,)), ((1, 7), (1, 3)), ((2, 0, 3), (0, 2, 3))])
def test_steps_are_those_with_a_checkpoint_and_the_last(asked, found):
    assert AtSteps(steps=asked).of(GivenRun(TASK, PLAIN, [{}] * 4)) == found


# -- singular values

READ = np.full(8, 8**-0.5)
"""A direction of which every channel has a part, so that its numbers, shuffled, do something else."""
ACROSS = READ * np.tile((1, -1), 4)


def circuit(values, first):
    """Two factors whose product has these singular values, and this first direction that is read."""
    wide = np.linalg.qr(np.column_stack((first, np.eye(8)[:, 2:5])))[0]
    wide[:, 0] = first
    narrow = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 4)))[0]
    return (torch.tensor(array * np.sqrt(values), dtype=torch.float32) for array in (wide, narrow))


def planted(first):
    """A network: QK of the first head has values 4, 2, 1, 1 and that direction, OV 5 alone; in the second, swapped."""
    weights = {name: value.clone() for name, value in init_weights(PLAIN, 0).items()}
    for head, (of_qk, of_ov) in enumerate([((4, 2, 1, 1), (5, 0, 0, 0)), ((5, 0, 0, 0), (4, 2, 1, 1))]):
        weights["blocks.0.attn.W_Q"][head], weights["blocks.0.attn.W_K"][head] = circuit(of_qk, first)
        left, right = circuit(of_ov, READ)
        weights["blocks.0.attn.W_V"][head], weights["blocks.0.attn.W_O"][head] = left, right.T
    return weights


@pytest.fixture(scope="module")
def of_planted():
    """Checkpoints 0 and 2: between them the direction turns by 60 degrees, and its sign changes."""
    turned = -np.cos(np.pi / 3) * READ - np.sin(np.pi / 3) * ACROSS
    networks = [planted(turned), init_weights(PLAIN, 1), planted(READ)]
    table, done = measured(spectra, PLAIN, networks, AtSteps(steps=(0,)))
    assert sorted(table["step"].unique()) == [0, 2] and done == 2
    assert (table["tokens_seen"] == 1000 * table["step"]).all() and (table["run_id"] == "given").all()
    return table


@pytest.mark.parametrize(("head", "variable"), [(0, "QK"), (1, "OV")])
def test_planted_values_stand_in_the_rows_of_their_head_and_circuit(of_planted, head, variable):
    def values(metric, where=head):
        return picked(of_planted, metric, head=where, site=f"L0H{where}", variable=variable, edit="none").tolist()

    assert values("largest") == pytest.approx([4, 4], rel=1e-5)
    assert values("effective_rank") == pytest.approx([64 / 22] * 2, rel=1e-5)
    assert values("top_three") == pytest.approx([7 / 8] * 2, rel=1e-5)
    other = [values(metric, 1 - head) for metric in ("largest", "effective_rank", "top_three")]
    assert np.array(other) == pytest.approx(np.array([[5, 5], [1, 1], [1, 1]]), rel=1e-5)


def test_a_direction_is_compared_with_the_last_one_whatever_its_sign(of_planted):
    for head in (0, 1):
        assert picked(of_planted, "direction", head=head, variable="QK").tolist() == pytest.approx([0.5, 1], rel=1e-5)
        assert picked(of_planted, "direction", head=head, variable="OV").tolist() == pytest.approx([1, 1], rel=1e-5)


def of_values(values):
    """The three numbers of singular values, the largest first, by their definitions."""
    return values[0], values.sum() ** 2 / (values**2).sum(), values[:3].sum() / values.sum()


def by_numpy(weights, layer, head, lot=None):
    """Left singular vectors and values of QK and OV of one head; with a generator, of the same numbers shuffled."""
    q, k, v, out = (weights[f"blocks.{layer}.attn.W_{part}"][head].double().numpy() for part in "QKVO")
    pairs = {"QK": (q, k.T), "OV": (v, out)}
    if lot is not None:
        pairs = {name: [lot.permuted(one.ravel()).reshape(one.shape) for one in pair] for name, pair in pairs.items()}
    return {name: np.linalg.svd(left @ right)[:2] for name, (left, right) in pairs.items()}


def test_every_row_is_what_numpy_finds_head_by_head():
    config = ModelConfig(d_vocab=12, n_ctx=4, n_layers=2, n_heads=2, d_model=8, d_mlp=16)
    networks = [init_weights(config, seed) for seed in range(3)]
    table, _ = measured(spectra, config, networks, AtSteps(steps=(0, 1)))
    own = table[table["edit"] != "shuffled"]
    own = own.set_index(["metric", "step", "layer", "head", "variable"])["value"].to_dict()
    wanted = {}
    for step, layer, head in itertools.product(range(3), range(2), range(2)):
        last = by_numpy(networks[-1], layer, head)
        for variable, (vectors, values) in by_numpy(networks[step], layer, head).items():
            numbers = dict(zip(("largest", "effective_rank", "top_three"), of_values(values), strict=True))
            numbers["direction"] = abs(vectors[:, 0] @ last[variable][0][:, 0])
            wanted |= {(metric, step, layer, head, variable): number for metric, number in numbers.items()}
    assert own == pytest.approx(wanted, rel=1e-6)


def test_shuffled_rows_are_the_mean_of_draws_and_lose_what_was_planted(of_planted):
    lot = np.random.default_rng(1)
    for head in (0, 1):
        draws = [by_numpy(planted(READ), 0, head, lot) for _ in range(400)]
        for variable in ("QK", "OV"):
            of_draws = np.array([of_values(draw[variable][1]) for draw in draws])
            bound = 5 * of_draws.std(0) * np.sqrt(1 / 20 + 1 / 400)
            found = [
                picked(of_planted, metric, step=2, head=head, variable=variable, edit="shuffled").item()
                for metric in ("largest", "effective_rank", "top_three")
            ]
            assert (np.abs(found - of_draws.mean(0)) < bound).all(), (head, variable)
    one = picked(of_planted, "effective_rank", step=2, head=0, variable="OV", edit="shuffled").item()
    assert one > 1.5, "the planted one has 1"


# -- gradients of single reads


def reads_alone(other_key):
    """A network that says nothing, whose gradients are known, at two words; ``other_key`` is the second's vector.

    All weights that are read out are 0. So the gradient by the unembedding is the outer product of the word's unit
    vector with (1/12 of each word, less the answer), and by all else 0. The cosine of two reads is that of their
    words, times 1 where answers are alike, and times -1/11 where not.
    """
    weights = {name: value.clone() for name, value in init_weights(PLAIN, 0).items()}
    weights["blocks.0.attn.W_O"].zero_()
    weights["unembed.W_U"].zero_()
    weights["embed.W_E"][3], weights["embed.W_E"][4] = 2 * torch.eye(8)[0], torch.tensor(other_key)
    return weights


ORTHOGONAL, OPPOSITE = [0.0, 3, 0, 0, 0, 0, 0, 0], [-3.0, 0, 0, 0, 0, 0, 0, 0]
KEYS, ANSWERS = [3, 3, 4, 3, 4], [5, 5, 5, 6, 0]  # an even network says word 0, which is right once
READS = OneRead(
    torch.tensor([[7, key, 9] for key in KEYS]),
    torch.full((5,), 1),
    torch.tensor(ANSWERS),
    {
        "key": torch.tensor(KEYS),
        "value": torch.tensor(ANSWERS),
        "lag": torch.arange(5),  # no two have it in common, and all have the split
        "split": torch.zeros(5, dtype=torch.long),
    },
)


def known(of_words):
    """Cosines of the five reads where those of the two words are ``of_words``."""
    cosines = np.eye(5)
    for i, j in itertools.permutations(range(5), 2):
        words = 1 if KEYS[i] == KEYS[j] else of_words
        cosines[i, j] = words * (1 if ANSWERS[i] == ANSWERS[j] else -1 / N_OTHERS)
    return cosines


def grouped(cosines, label):
    """``alike`` and ``unlike`` by going through all pairs."""
    groups = {True: [], False: []}
    for i, j in itertools.combinations(range(len(label)), 2):
        groups[label[i] == label[j]].append(cosines[i, j])
    return {"alike": np.mean(groups[True]), "unlike": np.mean(groups[False])}


@pytest.mark.parametrize(("other_key", "of_words"), [(ORTHOGONAL, 0), (OPPOSITE, -1), ([1.0] + [0.0] * 7, 1)])
def test_identical_reads_have_cosine_one_and_orthogonal_ones_zero(other_key, of_words):
    gradients, given = geometry.read_gradients(PLAIN, reads_alone(other_key), READS)
    unit = functional.normalize(gradients, dim=1)
    assert (unit @ unit.T).numpy() == pytest.approx(known(of_words), abs=1e-5)
    assert given.tolist() == [0] * 5


def test_the_table_holds_the_means_of_planted_cosines(monkeypatch):
    monkeypatch.setattr(geometry, "last_reads", lambda task, n_rows: READS)
    networks = [reads_alone(ORTHOGONAL), init_weights(PLAIN, 1), reads_alone(OPPOSITE)]
    table, done = measured(example_geometry, PLAIN, networks, Examples(steps=(0,), n_rows=N_ROWS))
    assert sorted(table["step"].unique()) == [0, 2] and done == 2
    assert set(table["variable"]) == {"key", "value", "right"} and (table["n"] == 5).all()
    labels = {"key": KEYS, "value": ANSWERS, "right": [0, 0, 0, 0, 1]}
    for step, of_words in ((0, 0), (2, -1)):
        for (variable, label), metric in itertools.product(labels.items(), ("alike", "unlike")):
            found = picked(table, metric, step=step, variable=variable).item()
            assert found == pytest.approx(grouped(known(of_words), label)[metric], abs=1e-5), (step, variable, metric)
    by_hand = {("alike", "key"): (1 - 3 / 11) / 4, ("unlike", "key"): 0, ("alike", "value"): 1 / 3}
    by_hand |= {("unlike", "value"): -3 / 77, ("alike", "right"): (1 - 2 / 11) / 6, ("unlike", "right"): -1 / 44}
    first = table[(table["step"] == 0) & (table["metric"] != "by_lot")].set_index(["metric", "variable"])["value"]
    assert first.to_dict() == pytest.approx(by_hand, abs=1e-5)


def test_the_chance_of_labels_is_that_of_all_their_orders():
    cosines = known(0)
    orders = [grouped(cosines, label) for label in itertools.permutations(KEYS)]
    low, high = np.quantile([of["alike"] - of["unlike"] for of in orders], (0.93, 1))
    found = geometry.common(torch.tensor(cosines), torch.tensor(KEYS))["by_lot"]
    assert low <= found + 1e-9 and found <= high + 1e-9


def read_off(split):
    """The last read of each row by going through its words: words up to its key, the answer, and what it has."""
    for words in TASK.split(split).tokens[:N_ROWS].tolist():
        named = [TASK.vocab[word] for word in words]
        at = max(place for place, name in enumerate(named) if name == "R") + 1
        writes = [words[place + 1] for place in range(at - 1) if named[place] == "W"]
        lag = writes[::-1].index(words[at])
        yield words[: at + 1], words[at + 1], {"key": words[at], "value": words[at + 1], "lag": lag, "split": split}


@pytest.fixture(scope="module")
def by_words():
    return [one for split in ("test", "heldout_pairs") for one in read_off(split)]


def test_last_reads_are_those_that_the_words_show(by_words):
    reads = last_reads(TASK, N_ROWS)
    assert reads.answers.tolist() == [answer for _, answer, _ in by_words]
    for row, (words, _, has) in enumerate(by_words):
        assert reads.at[row] == len(words) - 1 and reads.tokens[row, : len(words)].tolist() == words
        of_words = {name: value for name, value in has.items() if name != "split"}
        assert {name: reads.labels[name][row].item() for name in of_words} == of_words
    assert reads.labels["split"].tolist() == [0] * N_ROWS + [1] * N_ROWS


def test_the_table_of_a_stream_is_that_of_reads_taken_one_by_one(by_words):
    config = ModelConfig(d_vocab=len(TASK.vocab), n_ctx=TASK.max_length, n_layers=2, n_heads=2, d_model=8, d_mlp=16)
    weights, gradients, right = init_weights(config, 3), [], []
    for words, answer, _ in by_words:
        alone = {name: value.clone().requires_grad_() for name, value in weights.items()}
        logits = forward(config, alone, torch.tensor([words])).logits[0, -1]
        functional.cross_entropy(logits[None], torch.tensor([answer])).backward()
        gradients.append(torch.cat([value.grad.flatten() for value in alone.values()]).double().numpy())
        right.append(int(logits.argmax()) == answer)
    lengths = [np.sqrt(one @ one) for one in gradients]
    cosines = np.array([[a @ b / (m * n) for b, n in zip(gradients, lengths, strict=True)]
                        for a, m in zip(gradients, lengths, strict=True)])  # fmt: skip
    labels = {name: [has[name] for _, _, has in by_words] for name in ("key", "value", "lag", "split")}
    labels = {name: label for name, label in (labels | {"right": right}).items() if 1 < len(set(label)) < len(label)}
    assert {"key", "lag", "split"} <= labels.keys()
    table, done = measured(example_geometry, config, [weights], Examples(steps=(), n_rows=N_ROWS))
    found = table[table["metric"] != "by_lot"].set_index(["variable", "metric"])["value"].to_dict()
    wanted = {(name, metric): value for name in labels for metric, value in grouped(cosines, labels[name]).items()}
    assert found == pytest.approx(wanted, abs=1e-5) and done == 1
    assert (table["n"] == 2 * N_ROWS).all()
