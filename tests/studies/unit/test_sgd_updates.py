"""SGD selection, what updates are made of: parts sum to updates, lags to momentum, gains are those of the weights."""

import dataclasses

import pandas as pd
import pytest
import torch

from circuitcore.models import forward
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.training import RunStore
from circuitcore.training.replay import of_part, state_at
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import small_network
from retrieval_circuits.sgd_formation.measures import SIZES
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import N_LAGS, TRACED
from retrieval_circuits.sgd_selection.measures import Traced, updates

N_LOOKED = 6


def _trained(folder, **of_optimizer):
    """A tiny run of fifty updates, far from still."""
    task = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
    recipe = small_network(task, 1, 50, 8, fresh=True)
    optimizer = dataclasses.replace(recipe.optimizer, **{"warmup": 5, **of_optimizer})
    store = RunStore(folder, None)
    return store.get_or_train(dataclasses.replace(recipe, optimizer=optimizer, engine="torch")), store


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return _trained(tmp_path_factory.mktemp("runs"))


def _of(table, metric, variable=""):
    rows = table[(table["metric"] == metric) & (table["variable"] == variable)]
    return rows.pivot(index="step", columns="head", values="value")


def _joined(run, state):
    """What each head of the first layer joins, place by place."""
    task = run.recipe.make_task()
    found = asked(task, task.reported, N_LOOKED)
    pattern = forward(run.recipe.model, of_part(state, "weights"), found.batch.tokens, record=["pattern.0"]).cache[
        "pattern.0"
    ]
    return torch.stack([pattern[row, :, at, at - 1] for row, at in found.values.tolist()]).mean(0)


def test_parts_sum_to_the_update_and_windows_to_what_the_weights_gain(trained):
    run, store = trained
    table = updates(run, Traced(n_steps=34, every=10, n_lags=3, n_looked=N_LOOKED), lambda done: None)
    whole = _of(table, "linear")
    assert list(whole.index) == [10, 20, 30, 34]
    parts = sum(_of(table, part) for part in ("current", "momentum", "decay"))
    assert (parts - whole).abs().to_numpy().max() < 1e-3 * whole.abs().to_numpy().max()
    gained = _joined(run, state_at(run, 34, store)) - _joined(run, state_at(run, 3, store))
    assert _of(table, "grown").sum().to_numpy() == pytest.approx(gained.double().numpy(), abs=1e-6)
    assert (table["run_id"] == run.run_id).all()


def test_gradients_by_lag_sum_to_momentum(trained):
    """Moments start at zero: after three updates the fourth has all its gradients in view."""
    run, _ = trained
    table = updates(run, Traced(n_steps=4, every=4, n_lags=3, n_looked=N_LOOKED), lambda done: None)
    beta = run.recipe.optimizer.betas[0]
    lags = [_of(table, "lag", str(lag)).to_numpy() for lag in range(4)]
    weighted = [(1 - beta) * beta**lag * part for lag, part in enumerate(lags)]
    assert weighted[0] == pytest.approx(_of(table, "current").to_numpy(), rel=1e-9)
    assert sum(weighted[1:]) == pytest.approx(_of(table, "momentum").to_numpy(), rel=1e-4, abs=1e-12)


def test_the_raw_gradient_is_scored_at_two_lengths(trained):
    run, _ = trained
    table = updates(run, Traced(n_steps=4, every=4, n_lags=3, n_looked=N_LOOKED), lambda done: None)
    lengths = table.set_index("metric")["value"]
    longer = lengths["length"] / lengths["raw_length"]
    assert longer > 2
    assert _of(table, "raw_at_length").to_numpy() == pytest.approx(longer * _of(table, "raw").to_numpy(), rel=1e-6)


def test_updates_of_another_rule_are_refused(tmp_path):
    run, _ = _trained(tmp_path, name="adam", weight_decay=0.5)
    with pytest.raises(ValueError, match="its parts differ from it by"):
        updates(run, Traced(n_steps=4, every=4, n_lags=3, n_looked=N_LOOKED), lambda done: None)


def _results(parts):
    """A fork that head 2 wins, and the parts of its growth: metric and lag -> the value at each of two steps."""
    run = {"arm": TRACED, "init_seed": 1, "run_id": "fork", "layer": 0}
    ends = [
        {**run, "step": step, "metric": "joins", "head": head, "site": "", "value": 0.9 if head == 2 and step else 0.05}
        for step in (0, 9)
        for head in range(4)
    ]
    ends += [
        {**run, "step": step, "metric": "accuracy", "layer": None, "head": None, "site": "", "value": 1.0}
        for step in (0, 9)
    ]
    rows = [
        {**run, "step": step, "metric": metric, "variable": lag, "head": head, "value": value if head == 2 else 100.0}
        for (metric, lag), values in parts.items()
        for step, value in zip((50, 100), values, strict=True)
        for head in range(4)
    ]
    return Results(pd.DataFrame(ends), pd.DataFrame(), "paper", {"updates": pd.DataFrame(rows)})


def test_shares_of_growth_are_the_winners_over_the_whole_window():
    results = _results({("linear", ""): (0.3, 0.5), ("raw", ""): (0.01, 0.03), ("raw_at_length", ""): (0.2, 0.4)})
    assert readings.share_of_growth("raw")(results)[1] == pytest.approx(0.05)
    assert readings.share_of_growth("raw_at_length")(results)[1] == pytest.approx(0.75)


def test_older_gradients_are_held_against_the_current_one():
    lags = {("lag", str(lag)): (1.0, 1.0) for lag in range(1, N_LAGS + 1)}
    results = _results({**lags, ("lag", "0"): (1.0, 3.0)})
    assert readings.older_by(results, 5)[1] == pytest.approx(0.5)
    assert readings.older_gradients(results)[1] == pytest.approx(0.5)
