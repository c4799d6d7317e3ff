"""Maps with a hidden layer: gradients against autograd, training against Adam, readings against known tables."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from livingpaper.claims.results import Results
from retrieval_circuits.associative_memory import design
from retrieval_circuits.associative_memory.measures import OUTPUT_LAYER, WHOLE, hidden, sums
from retrieval_circuits.associative_memory.readings import hidden as readings

SMALL = hidden.Hidden(
    sizes=((4, 6), (6, 4)), loads=(0.5, 1.0), output_loads=(0.5,), shared_loads=(0.5, 1.0), shared=3, rates=(0.03, 0.1),
    looks=(4, 16),
)  # fmt: skip


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def pairs(n, n_outputs, width=4):
    inputs, outputs = (sums.unit_vectors(1, m, width, drawn(m))[0] for m in (n, n_outputs))
    return inputs, outputs, torch.arange(n) % n_outputs


def scores_of(given, looks, writes):
    inputs, outputs, _ = given
    return torch.relu(inputs @ looks.T) @ writes @ outputs.T


def test_gradients_are_those_of_autograd():
    given = tuple(part.double() if part.is_floating_point() else part for part in pairs(9, 5))
    layers = [torch.randn(2, 6, 4, generator=drawn(seed)).double().requires_grad_() for seed in (1, 2)]
    losses = [
        torch.nn.functional.cross_entropy(scores_of(given, *network), given[2]) for network in zip(*layers, strict=True)
    ]
    wanted = torch.autograd.grad(sum(losses), layers)
    with torch.no_grad():
        found = hidden.gradients(given, tuple(layers))
    assert all(torch.allclose(one, other) for one, other in zip(found, wanted, strict=True))
    assert min(slope.abs().max() for slope in wanted) > 1e-3


@pytest.mark.parametrize("hidden_too", [True, False])
def test_training_is_that_of_adam(hidden_too):
    given, start, rates = pairs(8, 8), hidden.drawn_layers(4, 6, drawn(3)), (0.05, 0.2)
    found = hidden.learn(given, start, rates, (5, 30), hidden_too=hidden_too)
    for place, rate in enumerate(rates):
        looks, writes = (layer[0].clone().requires_grad_() for layer in start)
        rule = torch.optim.Adam([looks, writes] if hidden_too else [writes], lr=rate)
        for step in range(1, 31):
            rule.zero_grad()
            torch.nn.functional.cross_entropy(scores_of(given, looks, writes), given[2]).backward()
            rule.step()
            if step in found:
                right = (scores_of(given, looks, writes).argmax(1) == given[2]).float().mean()
                assert found[step][place].item() == pytest.approx(right.item())
    assert found[30].max() > found[5].min()


def test_a_row_each_of_size_load_rate_and_look():
    rows = pd.DataFrame(hidden.hidden_layer(SMALL, 0))
    assert len(rows) == 2 * 2 * (2 * 2 + 1 + 2)
    own = rows[(rows["classes"] == 0) & (rows["load"] == 1.0)]
    assert {round(n * math.log(n)) for n in own["n_pairs"]} <= {23, 24, 25}
    assert rows.loc[(rows["classes"] == 3) & (rows["load"] == 0.5), "n_pairs"].unique().tolist() == [12]
    assert rows.loc[rows["trained"] == OUTPUT_LAYER, "rate"].unique().tolist() == [0.03]
    with pytest.raises(ValueError, match="loads .* allowed: above 0, rising"):
        hidden.Hidden(**{**vars(SMALL), "loads": (1.0, 0.5)})


def ending(loads, **columns):
    """Rows of maps that recall everything up to a load each, and nothing at the next one."""
    table = [
        {"d": 8, "hidden": m, "load": load * factor, "accuracy": float(factor == 1), "steps": 64, "init_seed": 1}
        for m, load in loads.items()
        for factor in (1, 1.02)
    ]
    return pd.DataFrame(table).assign(**columns)


def results(**tables):
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    return Results(empty, pd.DataFrame(), "paper", tables, tuple(tables))


def test_powers_and_shares_of_maps_whose_loads_are_known():
    whole = ending({16: 2.0, 32: 2.0, 64: 2.0}, trained=WHOLE, classes=0, rate=0.03)
    shared = ending({16: 0.8, 32: 0.4, 64: 0.2}, trained=WHOLE, classes=design.FEW_SHARED, rate=0.03)
    alone = ending({16: 0.5, 64: 0.5}, trained=OUTPUT_LAYER, classes=0, rate=0.03)
    matrix = pd.DataFrame({"optimizer": "adam", "rate": 1.0, "d": 16, "load": [1.0, 1.02], "accuracy": [1.0, 0.0]})
    given = results(
        hidden_layer=pd.concat([whole, shared, alone], ignore_index=True), trained=matrix.assign(steps=64, init_seed=1)
    )
    assert readings.power(0)(given)[1] == pytest.approx(1.0)
    assert readings.power(design.FEW_SHARED)(given)[1] == pytest.approx(0.0, abs=1e-9)
    assert readings.alone_by_whole((8, 64))(given)[1] == pytest.approx(0.25)
    found = readings.beside_matrix(WHOLE)(given)[1]
    assert found == 1, "128 parameters' worth of load 2 are as many pairs as 256 of load 1"
    assert readings.beside_matrix(OUTPUT_LAYER)(given)[1] < 0.5


def test_a_line_through_loads_meets_its_limit_by_the_correction_that_they_have():
    table = pd.DataFrame({"product": [128, 256, 512], "init_seed": 1, "load": 2.0})
    assert readings.intercepts(table, "1/√p")[1] == pytest.approx(2.0)
    assert readings.intercepts(table, "1/ln N")[1] == pytest.approx(2.0)
    table["load"] = 2.0 + 3.0 / np.sqrt(table["product"])
    assert readings.intercepts(table, "1/√p")[1] == pytest.approx(2.0)
    pairs = [sums.pairs_at(load, product**0.5) for load, product in zip(table["load"], table["product"], strict=True)]
    wanted = np.linalg.lstsq(np.stack([np.ones(3), 1 / np.log(pairs)], axis=1), table["load"], rcond=None)[0][0]
    assert readings.intercepts(table, "1/ln N")[1] == pytest.approx(wanted)
