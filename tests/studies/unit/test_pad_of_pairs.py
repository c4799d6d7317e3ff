"""The pad of the chapter stores as its experiments do, and predicts what they predict."""

import pytest
import torch

from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.explorer.memory_pad import Stored
from livingpaper.explorer.memory_sums import filled, recall
from retrieval_circuits.associative_memory import explorer
from retrieval_circuits.associative_memory.measures.closed_form import predicted_accuracy
from retrieval_circuits.associative_memory.measures.sums import RULES, recalled, unit_vectors
from retrieval_circuits.associative_memory.measures.training import Trained, train

NAME = "associative_memory"


@pytest.fixture(scope="module")
def pad():
    evidence = Evidence(NAME, studies.load_params(NAME), Folders.from_environment())
    return explorer.pad(evidence.material(evidence.gather(None)))


def drawn(n, width, seed):
    return unit_vectors(1, n, width, torch.Generator().manual_seed(seed)).double()


@pytest.mark.parametrize(("way", "rule"), [("sum", "hebbian"), ("step", "one step")])
@pytest.mark.parametrize("n", [2, 9, 40])
def test_sums_and_one_step_are_those_of_the_experiment(way, rule, n):
    inputs, outputs = drawn(n, 8, 0), drawn(n, 8, 1)
    memory = RULES[rule](inputs, outputs, torch.arange(n))
    ours = filled(way, inputs[0].numpy(), outputs[0].numpy())
    assert torch.allclose(torch.from_numpy(ours), memory[0])
    found = recall(ours, inputs[0].numpy(), outputs[0].numpy())
    assert found.is_recalled.tolist() == recalled(memory, inputs, outputs, torch.arange(n))[0].bool().tolist()


def test_one_step_of_descent_is_the_gradient_step_times_the_rate():
    inputs, outputs = drawn(9, 8, 0)[0].numpy(), drawn(9, 8, 1)[0].numpy()
    one = filled("descent", inputs, outputs, steps=1, rate=3.0)
    assert one == pytest.approx(3.0 * filled("step", inputs, outputs))


def test_descent_recalls_what_the_experiment_recalls(pad):
    steps, counts = 30, (10, 24, 40)
    asked = Trained(
        widths=(16,), loads=(1.0,), optimizers=("gd",), rates=(pad.rate,), looks=(steps,), short=(99, 1), exact_to=0
    )
    pairs = (torch.from_numpy(table[16][: max(counts)]) for table in (pad.inputs, pad.outputs))
    shares = train(asked, *pairs, torch.arange(max(counts)) < torch.tensor(counts)[:, None])[steps][0]
    for n, share in zip(counts, shares.tolist(), strict=True):
        _, found = pad.reading(Stored(width=16, pairs=n, way="descent", steps=steps))
        assert found.is_recalled.mean() == pytest.approx(share)


def test_what_is_predicted_is_the_closed_form(pad):
    for d in pad.widths:
        assert pad.predicted[d][:2] == [None, None]
        for n in (3, 24, pad.n_pairs):
            assert pad.predicted[d][n - 1] == predicted_accuracy(d, n)
    assert not set(studies.load_params(NAME).seeds) & {explorer.SEED}
    assert pad.n_bytes < 130_000
