"""Eta squared against analysis of variance; constant sites; both nulls on labels that say nothing."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy import stats

from circuitcore.metrics.instruments.battery import BatterySpec, open_session
from circuitcore.metrics.instruments.selectivity import (
    N_SHUFFLES,
    QUANTILE,
    eta_squared,
    largest_by_chance,
    selectivity,
    shuffled_bases,
    shuffled_rows,
)
from circuitcore.metrics.instruments.tracked import CONSTANT_BELOW, Sweep, deviation, tracked_sites, varies
from circuitcore.models import ModelConfig
from circuitcore.models.sites import Site
from circuitcore.tasks import Batch, TokenTask, make_task

SITE = Site("resid_post", 0)
SPEC = BatterySpec(n_bases=6, n_edge_bases=3, n_reference=12, n_probe=24, n_split=20)


@dataclass(frozen=True, kw_only=True)
class Bare(TokenTask):
    """Rows without families and without causal variables."""

    name: ClassVar[str] = "bare"
    vocab, splits, answers, max_length, chance = ("a", "b"), ("train", "test"), (0, 1), 2, {"train": 0.5, "test": 0.5}

    def make_splits(self):
        rows, where = torch.arange(40).view(20, 2) % 2, {"read_out": torch.ones(20, dtype=torch.int64)}
        return {name: Batch(tokens=rows, targets=rows, loss_mask=rows == 1, roles=where) for name in self.splits}


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def labels_of(n_rows, n_classes, seed=1):
    return torch.randint(n_classes, (n_rows,), generator=torch.Generator().manual_seed(seed))


def sweep_of(labels, base=None):
    """A sweep of one family; every row its own base unless said."""
    base = torch.arange(len(labels)) if base is None else base
    tokens = torch.zeros(len(labels), 13, dtype=torch.int64)
    read_out = {"read_out": torch.full((len(labels),), 12)}
    family = Batch(tokens=tokens, targets=tokens, loss_mask=tokens > 0, roles=read_out)
    return Sweep((family,), {"x": labels}, torch.full((len(labels),), 13), base)


# Eta squared.


def test_eta_squared_is_that_of_an_analysis_of_variance():
    values, labels = drawn(90, 5), labels_of(90, 4)
    values[:, 1] += labels
    found = eta_squared(values, labels, 4)
    for feature in range(5):
        groups = [values[labels == label, feature].numpy() for label in range(4)]
        f = stats.f_oneway(*groups).statistic
        assert np.isclose(found[feature], 3 * f / (3 * f + 90 - 4))


def test_eta_squared_written_out():
    values, labels = drawn(40, 3), labels_of(40, 5)  # the last class may be empty
    labels[labels == 4] = 0
    for feature in range(3):
        column = values[:, feature].tolist()
        mean = sum(column) / 40
        total = sum((value - mean) ** 2 for value in column)
        between = 0.0
        for label in set(labels.tolist()):
            group = [value for value, mine in zip(column, labels.tolist(), strict=True) if mine == label]
            between += len(group) * (sum(group) / len(group) - mean) ** 2
        assert float(eta_squared(values, labels, 5)[feature]) == pytest.approx(between / total)


def test_perfect_uninformative_and_constant_features():
    labels = torch.arange(12) % 3
    values = torch.stack([labels.double() ** 2, torch.arange(12) // 3 - 1.5, torch.full((12,), 0.1).double()], 1)
    assert torch.allclose(eta_squared(values, labels, 3), torch.tensor([1.0, 0.0, 0.0]).double())


def test_expected_where_labels_say_nothing():
    labels = torch.stack([labels_of(200, 5, seed) for seed in range(300)])
    found = eta_squared(drawn(200, 4), labels, 5)
    assert found.shape == (300, 4)
    assert abs(float(found.mean()) - 4 / 199) < 0.001


def test_labellings_are_scored_as_if_alone():
    values, labels = drawn(30, 4), torch.stack([labels_of(30, 3, seed) for seed in range(6)])
    together = eta_squared(values, labels, 3)
    for number in range(6):
        assert torch.allclose(together[number], eta_squared(values, labels[number], 3))


# Constant sites.


def test_rounding_and_lengths_do_not_count_as_variation():
    length = torch.tensor([13] * 40 + [16] * 8)
    noise = 3.0 + 1e-6 * drawn(48, 4)
    by_length = torch.where(length == 13, 1.0, -2.0)[:, None] + 1e-6 * drawn(48, 4)
    assert not varies(noise, length).any() and not varies(by_length, length).any()
    assert not varies(torch.zeros(48, 4), length).any()
    assert by_length.std() > 1
    one = noise.clone()
    one[:, 2] += 0.1 * drawn(48)
    assert varies(one, length).tolist() == [False, False, True, False]
    # Variation among the few long prompts alone counts, too.
    assert varies(noise + 0.1 * drawn(48, 4) * (length == 16)[:, None], length).all()


def test_deviation_is_relative_to_the_size_of_the_site():
    values, length = drawn(50, 3) + 2, torch.full((50,), 13)
    expected = values.numpy().std(0) / np.sqrt((values.numpy() ** 2).mean())
    assert np.allclose(deviation(values, length), expected)
    assert torch.allclose(deviation(1e6 * values, length), deviation(values, length))
    assert CONSTANT_BELOW < expected.min()


def test_tracked_sites_are_the_sources_twelve():
    names = [str(site) for site in tracked_sites(ModelConfig(d_vocab=36, n_ctx=16))]
    assert names == [
        *("L0.resid_post", "L0.mlp_out", "L0H0.q", "L0H0.v", "L0H1.v", "L1.resid_post", "L1.mlp_out"),
        *("L1H0.q", "L1H0.result", "L1H1.q", "L1H1.result", "L1.resid_final"),
    ]


def test_other_sizes_are_tracked_alike():
    one = [str(site) for site in tracked_sites(ModelConfig(d_vocab=36, n_ctx=16, n_layers=1, n_heads=1, mlp="none"))]
    assert one == ["L0.resid_post", "L0H0.q", "L0H0.result", "L0.resid_final"]
    three = [str(site) for site in tracked_sites(ModelConfig(d_vocab=36, n_ctx=16, n_layers=3, n_heads=4))]
    assert [name for name in three if name.startswith("L0H")] == ["L0H0.q", *(f"L0H{head}.v" for head in range(4))]
    assert len([name for name in three if name.startswith(("L1H", "L2H"))]) == 16


# Nulls.


def test_null_is_that_of_a_loop():
    values, labels = drawn(24, 5), {"x": labels_of(24, 3), "y": labels_of(24, 2, 2)}
    orders = shuffled_rows(24)
    found = largest_by_chance(values, labels, {"x": 3, "y": 2}, orders, [2, 3])
    assert found.shape == (N_SHUFFLES, 2)
    for shuffle in (0, 77, N_SHUFFLES - 1):
        etas = [eta_squared(values, labels[name][orders[shuffle]], n) for name, n in (("x", 3), ("y", 2))]
        largest = torch.stack(etas).amax(0)
        assert torch.allclose(found[shuffle], torch.stack([largest[:2].max(), largest[2:].max()]))


def exceedances(values_of, labels_of_draw, base=None):
    """Share of draws in which the site's best feature lies beyond each null."""
    beyond = []
    for seed in range(200):
        labels = labels_of_draw(seed)
        found = selectivity({SITE: values_of(seed)}, sweep_of(labels, base), {"x": int(labels.max()) + 1})[SITE]
        beyond.append([found.best()[2] > found.null_rows, found.best()[2] > found.null_bases])
    return np.mean(beyond, 0)


@pytest.mark.slow
def test_nulls_are_calibrated_for_the_best_of_many_features():
    """Independent rows: either null is passed in one draw of twenty, although the best of 10 features is taken."""
    rows, bases = exceedances(lambda seed: drawn(60, 10, seed=seed), lambda seed: labels_of(60, 4, 10_000 + seed))
    bound = 4 * (0.05 * 0.95 / 200) ** 0.5  # of draws; that of the nulls' own 200 shuffles is smaller
    assert abs(rows - (1 - QUANTILE)) < bound and abs(bases - (1 - QUANTILE)) < bound


@pytest.mark.slow
def test_only_the_null_of_whole_bases_is_calibrated_where_rows_share_a_base():
    """Features and labels that are each the same in all rows of a base, and have nothing to do with one another."""
    base = torch.arange(30).repeat_interleave(6)
    rows, bases = exceedances(
        lambda seed: drawn(30, 10, seed=seed)[base], lambda seed: labels_of(30, 4, 10_000 + seed)[base], base
    )
    assert rows > 0.9
    assert abs(bases - (1 - QUANTILE)) < 4 * (0.05 * 0.95 / 200) ** 0.5


def test_labels_that_are_there_are_found():
    labels = labels_of(120, 3)
    values = drawn(120, 6)
    values[:, 4] += 4 * labels
    found = selectivity({SITE: values}, sweep_of(labels), {"x": 3})[SITE]
    assert found.best()[:2] == (4, "x") and found.best()[2] > 0.8 > found.null_rows
    assert found.counts()["x"] >= 1
    assert torch.allclose(found.eta[0], eta_squared(values, labels, 3))


def test_bases_change_places_whole():
    sweep = Sweep.of(open_session(make_task("symbolic_kv", {}), dataclasses.replace(SPEC, n_bases=5)))
    orders = shuffled_bases(sweep)
    start, moves = 0, []
    for batch in sweep.batches:
        part = orders[:, start : start + len(batch)]
        assert torch.equal(part.sort(1).values, torch.arange(start, start + len(batch)).expand(N_SHUFFLES, -1))
        each = len(batch) // 5
        for shuffle in range(0, N_SHUFFLES, 50):
            from_base = sweep.base[part[shuffle]].view(5, each)
            assert (from_base == from_base[:, :1]).all()  # rows of one base get the labels of one base, in their order
            assert torch.equal((part[shuffle] - start) % each, torch.arange(len(batch)) % each)
            moves.append(from_base[:, 0].tolist())
        start += len(batch)
    per_family = [moves[i : i + 4] for i in range(0, len(moves), 4)]
    assert all(family == per_family[0] for family in per_family)  # and the same one in every family


def test_bases_of_different_sizes_are_refused():
    with pytest.raises(ValueError, match="different numbers of rows"):
        shuffled_bases(sweep_of(labels_of(5, 2), torch.tensor([0, 0, 0, 1, 1])))


def test_some_rows_keep_their_labels():
    sweep = Sweep.of(open_session(make_task("symbolic_kv", {}), SPEC))
    some = sweep.some(50)
    assert len(some.length) == 50 == sum(map(len, some.batches))
    at = 0
    for batch in some.batches:
        here = slice(at, at + len(batch))
        assert torch.equal(some.labels["query_key"][here], batch.variables["query_key"])
        assert (some.length[here] == batch.tokens.shape[1]).all()
        at += len(batch)
    assert len(sweep.some(10_000).length) == len(sweep.length)


def test_a_task_without_variables_is_refused():
    session = open_session(Bare(), SPEC)
    with pytest.raises(ValueError, match="'bare' names no causal variable"):
        Sweep.of(session)
