"""Neurons set aside: the same reads as with weights changed, or finished by hand; which are ranked first."""

from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from torch.nn import functional

from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.behavior import correct, margin
from circuitcore.models import Site, forward
from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import init_weights
from circuitcore.tasks.balanced_stream import BalancedStream
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import FRESH
from retrieval_circuits.sgd_formation.figures import neurons as figures
from retrieval_circuits.sgd_formation.measures import neurons
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.sizes import SIZES
from retrieval_circuits.sgd_formation.readings import networks as readings

TASK = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
LAST, W_OUT = 1, "blocks.{}.mlp.W_out"
CONFIG = ModelConfig(
    d_vocab=len(TASK.vocab), n_ctx=TASK.max_length, n_layers=2, n_heads=2, d_model=8, d_mlp=16, norm="layer",
    positions="learned", mlp="gelu", bias="inside",
)  # fmt: skip


@pytest.fixture(scope="module")
def weights():
    generator = torch.Generator().manual_seed(1)
    return {
        name: value + 0.3 * torch.randn(value.shape, generator=generator)
        for name, value in init_weights(CONFIG, 0).items()
    }


@pytest.fixture(scope="module")
def found():
    return asked(TASK, TASK.reported, 12)


def aside(weights, layer):
    return neurons._Aside(TASK, Network(CONFIG, {name: value[None] for name, value in weights.items()}),
                          Site("mlp_post", layer))  # fmt: skip


def scored(logits, found):
    at_reads, first = logits[found.reads.row, found.reads.at], TASK.words.first_value
    hits, lead = correct(at_reads, found.reads.answer), margin(at_reads[:, first:], found.reads.answer - first)
    return hits.double().mean().item(), lead.double().mean().item()


def told(scores, number):
    return scores.accuracy[number].item(), scores.margin[number].item()


def at_zero(weights, layer, members, found):
    """What is read with the neurons' rows of the output matrix at zero."""
    name = W_OUT.format(layer)
    changed = weights | {name: weights[name] * ~members[:, None]}
    return scored(forward(CONFIG, changed, found.batch.tokens).logits, found)


SETS = torch.zeros(3, CONFIG.d_mlp, dtype=torch.bool)
SETS[1, [2, 5]], SETS[2] = True, True


@pytest.mark.parametrize("layer", [0, LAST])
def test_neurons_at_zero_are_rows_of_weights_at_zero(weights, found, layer):
    scores = aside(weights, layer).scores(found, SETS, "zero")
    for number, members in enumerate(SETS):
        assert told(scores, number) == pytest.approx(at_zero(weights, layer, members, found), abs=1e-5)


@pytest.mark.parametrize("how", list(neurons.STANDS_IN))
def test_what_stands_in_for_neurons_is_finished_by_hand(weights, found, how):
    scores = aside(weights, LAST).scores(found, SETS, how)
    tokens, keys = found.batch.tokens, [f"mlp_post.{LAST}", f"resid_mid.{LAST}"]
    hidden, stream = (forward(CONFIG, weights, tokens, record=keys).cache[key] for key in keys)
    kind = [3] + [(place - 1) % 3 for place in range(1, tokens.shape[1])]
    same = {one: [place for place, other in enumerate(kind) if other == one] for one in set(kind)}
    instead = {
        "zero": torch.zeros_like(hidden),
        "mean": torch.stack([hidden[:, same[one]].mean((0, 1)) for one in kind]).expand_as(hidden),
        "resample": torch.stack([*hidden[1:], hidden[0]]),
    }[how]
    for number, members in enumerate(SETS):
        written = torch.where(members, instead, hidden) @ weights[W_OUT.format(LAST)]
        after = functional.layer_norm(
            stream + written + weights.get(f"blocks.{LAST}.mlp.b_out", 0), (CONFIG.d_model,),
            weights["ln_final.w"], weights["ln_final.b"], CONFIG.norm_eps,
        )  # fmt: skip
        wanted = scored(after @ weights["embed.W_E"].T, found)
        assert told(scores, number) == pytest.approx(wanted, abs=1e-4)


def test_sets_are_those_ranked_first_and_twenty_by_lot_of_each_size_that_there_is():
    order = torch.tensor([3, 1, 0, 2])
    mask, names = neurons._sets(order, (1, 3, 8))
    assert names == ["all", "top 1", *["drawn 1"] * 20, "top 3", *["drawn 3"] * 20]
    members = [row.nonzero().flatten().tolist() for row in mask]
    assert (members[0], members[1], members[22]) == ([0, 1, 2, 3], [3], [0, 1, 3])
    assert mask[1:].sum(1).tolist() == [1] * 21 + [3] * 21 and len(mask[23:].unique(dim=0)) > 1
    assert neurons._by_name(torch.arange(43.0), names) == {
        "all": 0, "top 1": 1, "drawn 1": 11.5, "top 3": 22, "drawn 3": 32.5, "worst drawn 1": 2, "worst drawn 3": 23,
    }  # fmt: skip


class Run:
    """A run of one checkpoint, as far as the instrument looks at it."""

    run_id, final_step = "made", 7

    def __init__(self, weights):
        self.weights, self.recipe = weights, SimpleNamespace(model=CONFIG, make_task=lambda: TASK)

    def stack(self, steps):
        return {name: value[None] for name, value in self.weights.items()}

    def tokens_seen(self, step):
        return 0


def test_neurons_are_ranked_on_validation_rows_and_read_on_test_rows(weights):
    loud = weights | {(name := W_OUT.format(LAST)): weights[name] * torch.linspace(0.1, 3, CONFIG.d_mlp)[:, None]}
    table = neurons.without_neurons(Run(loud), neurons.Neurons(n_rows=12, sizes=(1, 3)), lambda n: None)
    table = table.astype({"edit": str, "variable": str, "site": str}).set_index(["site", "edit", "variable"])["value"]
    alone = torch.eye(CONFIG.d_mlp, dtype=torch.bool)
    ranked, read = (asked(TASK, split, 12) for split in ("validation", "test"))
    cost = aside(loud, LAST).scores(ranked, alone, "mean").margin
    assert cost.argsort()[:3].tolist() != aside(loud, LAST).scores(read, alone, "mean").margin.argsort()[:3].tolist()
    for size in (1, 3):
        members = torch.isin(torch.arange(CONFIG.d_mlp), cost.argsort()[:size])
        wanted, _ = at_zero(loud, LAST, members, read)
        assert table["L1MLP", "zero", f"top {size}"] == pytest.approx(wanted)
    whole, _ = scored(forward(CONFIG, loud, read.batch.tokens).logits, read)
    silent, _ = at_zero(loud, LAST, torch.ones(CONFIG.d_mlp, dtype=torch.bool), read)
    assert (table["L1MLP", "none", ""], table["L1MLP", "zero", "all"]) == (pytest.approx(whole), pytest.approx(silent))


def test_costs_are_what_the_whole_network_reads_less_what_is_left():
    left = {"all": 0.0, "top 1": 0.9, "top 8": 0.5, "drawn 8": 0.8, "worst drawn 8": 0.7}
    rows = [{"edit": "none", "variable": "", "value": 1.0}]
    rows += [
        {"edit": how, "variable": name, "value": value} for how in neurons.STANDS_IN for name, value in left.items()
    ]
    table = pd.DataFrame([
        {"arm": FRESH, "init_seed": seed, "site": site, "metric": "neurons_accuracy", "n": 320, **row}
        | {"value": row["value"] - 0.1 * (seed == 2)}
        for seed in (1, 2) for site in ("L0MLP", "L1MLP") for row in rows
    ])  # fmt: skip
    table = table.assign(run_id=table["init_seed"].astype(str), step=7)
    results = Results(table.drop(columns="site"), pd.DataFrame(), "paper", {"neurons": table})
    assert readings.without_neurons("L0MLP", "drawn 8")(results).to_dict() == {1: 0.8, 2: pytest.approx(0.7)}
    drawn = figures.set_aside(results).table.set_index(["group", "series", "init_seed"])["value"]
    assert set(drawn.index.get_level_values("group")) == {
        f"{site}: {size}" for site in ("L0MLP", "L1MLP") for size in ("1 neuron", "8 neurons")
    }
    for series, cost in zip(figures.SERIES.values(), (0.5, 0.2, 0.3), strict=True):
        assert drawn["L1MLP: 8 neurons", series, 2] == pytest.approx(cost)
    ways = figures.set_aside_ways(results)
    assert ways.table[ways.table["MLP"] == "L1MLP"].iloc[0].to_dict() == {
        "arm": FRESH, "MLP": "L1MLP", "set to": "zero", "all": "100%", "top 1": "10%", "top 8": "50%",
    }  # fmt: skip
    assert figures.eight(ways) == {"eight_at_zero": "50%", "eight_at_means": "50%"}
