"""Probes on features whose information is known: all of it, none, a class per fold, a constant."""

import pytest
import torch

from circuitcore.metrics.scores.probes import RIDGE, Fit, Folds

N_CLASSES, N_TRAIN, N_TEST, D = 4, 240, 2000, 12


def labels_of(n, seed):
    return torch.randint(N_CLASSES, (n,), generator=torch.Generator().manual_seed(seed))


def noise(n, seed):
    return torch.randn(n, D, generator=torch.Generator().manual_seed(seed))


def telling(labels, seed, strength=6.0):
    """Features that carry the class in their first channels."""
    x = noise(len(labels), seed)
    x[:, :N_CLASSES] += strength * torch.nn.functional.one_hot(labels, N_CLASSES)
    return x


TRAIN, TEST = labels_of(N_TRAIN, 0), labels_of(N_TEST, 1)
CHANCE_BOUND = 4 * (0.25 * 0.75 / N_TEST) ** 0.5


def fit_predict(train, labels, test, n_classes, **words):
    fit = Fit.of(train)
    return fit.predict(labels, fit.seen(test), n_classes, **words)


def published_fit_predict(train, labels, test, n_classes):
    fit = Fit.of(train)
    return fit.published_predict(labels, fit.seen(test), n_classes)


def cross_validated_accuracy(features, labels, n_classes, **words):
    return Folds.of(features, **words).accuracy(labels, n_classes)


@pytest.fixture(params=[fit_predict, published_fit_predict])
def probe(request):
    return request.param


def share(predicted, wanted):
    return float((predicted == wanted).double().mean())


def test_perfect_features_are_read_perfectly(probe):
    one_hot = torch.nn.functional.one_hot
    found = probe(one_hot(TRAIN, N_CLASSES).float(), TRAIN, one_hot(TEST, N_CLASSES).float(), N_CLASSES)
    assert torch.equal(found, TEST)
    assert share(probe(telling(TRAIN, 2), TRAIN, telling(TEST, 3), N_CLASSES), TEST) > 0.99


def test_features_without_information_score_chance(probe):
    assert abs(share(probe(noise(N_TRAIN, 2), TRAIN, noise(N_TEST, 3), N_CLASSES), TEST) - 0.25) < CHANCE_BOUND


def test_random_labels_score_chance(probe):
    """The baseline of the battery: telling features, labels dealt out anew."""
    x, at_test = telling(TRAIN, 2, strength=0.5), telling(TEST, 3, strength=0.5)
    found = [
        share(
            probe(x, TRAIN[torch.randperm(N_TRAIN, generator=torch.Generator().manual_seed(s))], at_test, N_CLASSES),
            TEST,
        )
        for s in range(20)
    ]
    # Each draw sends whole classes one way or another, so the draws scatter by more than 2000 rows would.
    assert abs(sum(found) / 20 - 0.25) < 4 * 0.25 / 20**0.5
    assert share(probe(x, TRAIN, at_test, N_CLASSES), TEST) > 0.3


def test_constant_features_say_the_commonest_class():
    skewed = torch.cat([torch.zeros(100), torch.ones(60), torch.full((80,), 3.0)]).long()
    found = fit_predict(torch.full((240, D), 2.5), skewed, torch.full((7, D), 2.5), N_CLASSES)
    assert (found == 0).all()
    assert fit_predict(torch.zeros(240, D), skewed, noise(7, 0) * 1e-9, N_CLASSES).tolist() == [0] * 7


def test_only_the_intercept_can_say_the_commonest_class():
    """Without one (as published), features that tell nothing leave class 0, which here is the rarest."""
    skewed = torch.cat([torch.zeros(10), torch.full((230,), 2.0)]).long()
    flat = torch.zeros(240, D)
    assert (fit_predict(flat, skewed, flat, N_CLASSES) == 2).all()
    assert (published_fit_predict(flat, skewed, flat, N_CLASSES) == 0).all()


def test_fit_is_the_ridge_solution_written_out():
    """One site, in plain NumPy-like steps: standardise, centre the one-hot labels, solve."""
    x, at_test = telling(TRAIN, 2, strength=1.0).double(), telling(TEST, 3, strength=1.0).double()
    mean, std = x.mean(0), x.std(0)
    z, target = (x - mean) / std, torch.nn.functional.one_hot(TRAIN, N_CLASSES).double()
    stacked = torch.cat([z, (RIDGE * N_TRAIN) ** 0.5 * torch.eye(D, dtype=torch.float64)])
    wanted = torch.cat([target - target.mean(0), torch.zeros(D, N_CLASSES, dtype=torch.float64)])
    solution = torch.linalg.lstsq(stacked, wanted).solution
    expected = ((at_test - mean) / std @ solution + target.mean(0)).argmax(1)
    assert torch.equal(fit_predict(x, TRAIN, at_test, N_CLASSES), expected)


def test_penalty_grows_with_the_rows():
    """Rows given twice change nothing in ours; in the published probe they halve the penalty."""
    x, twice, labels = telling(TRAIN, 2), telling(TRAIN, 2).repeat(2, 1), TRAIN.repeat(2)
    at_test = telling(TEST, 3, strength=1.0)
    heavy = fit_predict(x, TRAIN, at_test, N_CLASSES, ridge=10.0)
    # Standard deviations divide by n - 1, hence not to the last row.
    assert share(fit_predict(twice, labels, at_test, N_CLASSES, ridge=10.0), heavy) > 0.99
    assert share(fit_predict(x, TRAIN, at_test, N_CLASSES, ridge=1e-6), heavy) < 0.995


def test_scale_and_shift_of_features_do_not_matter(probe):
    x, at_test = telling(TRAIN, 2).double(), telling(TEST, 3).double()
    scale, shift = torch.logspace(-3, 3, D, dtype=torch.float64), torch.linspace(-50, 50, D, dtype=torch.float64)
    moved = probe(x * scale + shift, TRAIN, at_test * scale + shift, N_CLASSES)
    assert torch.equal(moved, probe(x, TRAIN, at_test, N_CLASSES))


def test_a_class_that_never_occurs_in_training_is_never_predicted(probe):
    """Why the published slot probe could not reach four-pair prompts: their slot 3 was never shown to it."""
    few = TRAIN % 3
    found = probe(telling(few, 2), few, telling(TEST, 3), N_CLASSES)
    assert not (found == 3).any()
    assert share(found, TEST) <= float((TEST != 3).double().mean())


def test_sites_and_checkpoints_are_solved_as_if_alone(probe):
    sites = torch.stack([torch.stack([telling(TRAIN, seed), noise(N_TRAIN, seed)]) for seed in (4, 5, 6)])
    at_test = torch.stack([torch.stack([telling(TEST, seed), noise(N_TEST, seed)]) for seed in (7, 8, 9)])
    together = probe(sites, TRAIN, at_test, N_CLASSES)
    for i in range(3):
        for j in range(2):
            assert torch.equal(together[i, j], probe(sites[i, j], TRAIN, at_test[i, j], N_CLASSES))


def test_cross_validation_scores_held_out_rows():
    assert cross_validated_accuracy(telling(TRAIN, 2), TRAIN, N_CLASSES) > 0.99
    x = noise(N_TRAIN, 2)
    assert abs(cross_validated_accuracy(x, TRAIN, N_CLASSES) - 0.25) < 4 * (0.25 * 0.75 / N_TRAIN) ** 0.5
    # A channel per row fits all training rows, and says nothing about held-out ones.
    memory = torch.eye(N_TRAIN)
    assert share(fit_predict(memory, TRAIN, memory, N_CLASSES), TRAIN) == 1
    assert cross_validated_accuracy(memory, TRAIN, N_CLASSES) < 0.5


def test_cross_validation_needs_two_rows_a_fold():
    with pytest.raises(ValueError, match="4 folds need at least 8 rows, got 7"):
        cross_validated_accuracy(noise(7, 0), TRAIN[:7], N_CLASSES)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 8])
def test_rows_that_ask_for_each_class_in_turn_are_cross_validated_as_any_other(n_classes):
    """With rows dealt out to four folds in turn, a fit to three of them would not know the fourth's class."""
    labels = torch.arange(480) % n_classes
    told = torch.nn.functional.one_hot(labels, n_classes) + 0.1 * noise(480, 2)[:, :n_classes]
    folds = Folds.of(told, [torch.zeros(480, dtype=torch.long), labels])
    assert folds.accuracy(labels, n_classes) > 0.99
    empty = Folds.of(noise(480, 3), [labels]).accuracy(labels, n_classes)
    assert abs(float(empty) - 1 / n_classes) < 4 * (1 / n_classes / 480) ** 0.5


def test_a_rare_class_that_a_fold_lacks_leaves_rows_in_their_folds():
    rare = (torch.arange(480) == 7).long()
    assert torch.equal(Folds.of(noise(480, 3), [rare]).fold, torch.arange(480) % 4)
