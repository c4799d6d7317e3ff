"""Looks that are forbidden one at a time: errors against attention masked by hand, and what is read of them."""

import itertools
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from torch.nn.functional import gelu, layer_norm

from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import init_weights
from circuitcore.tasks.chains import ChainRetrieval
from livingpaper.claims.results import KEY_COLUMNS, Results, SelectionError
from livingpaper.claims.view import NoRowsError
from retrieval_circuits.stacked_heads.design import DEEP, FOLLOWED
from retrieval_circuits.stacked_heads.figures.deepest import needed_in_deep
from retrieval_circuits.stacked_heads.measures.circuit import Reading
from retrieval_circuits.stacked_heads.measures.needed import UNLOOKED, needed_looks
from retrieval_circuits.stacked_heads.readings.needed import error_without, left_out, looks, unlooked_rise

TASK = ChainRetrieval(n_steps=2, n_train=8, n_test=12)
CONFIG = ModelConfig(
    d_vocab=TASK.d_out, n_ctx=TASK.max_length, d_in=TASK.d_in, n_layers=2, n_heads=2, d_model=12, d_mlp=16,
    norm="layer", positions="none", mlp="gelu", tied=False, bias="all", norm_eps=1e-5,
)  # fmt: skip
N_ROWS, LEAST = 6, 0.2
ROLES = ("queries", "value_0", "key_0", "value_1", "key_1")


@pytest.fixture(scope="module")
def weights():
    """Sharp attention, so that some links have much of it and others hardly any."""
    drawn = init_weights(CONFIG, 0)
    return {name: value * (12 if "W_Q" in name or "W_K" in name else 3) for name, value in drawn.items()}


def by_hand(weights, tokens, forbidden=()):
    """Outputs and attention ``[layer head row query key]``; ``forbidden``: layer, head, ``[row query key]`` mask."""
    hidden = tokens @ weights["embed.W_in"]
    n, seen, patterns = tokens.shape[1], [], []
    for layer in range(CONFIG.n_layers):
        block = {name.removeprefix(f"blocks.{layer}."): value for name, value in weights.items()}
        x = layer_norm(hidden, (CONFIG.d_model,), block["ln1.w"], block["ln1.b"], CONFIG.norm_eps)
        added = block["attn.b_O"]
        for head in range(CONFIG.n_heads):
            q, k, v = (x @ block[f"attn.W_{part}"][head] + block[f"attn.b_{part}"][head] for part in "QKV")
            scores = q @ k.mT / q.shape[-1] ** 0.5
            scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
            for of_layer, of_head, mask in forbidden:
                if (of_layer, of_head) == (layer, head):
                    scores = scores.masked_fill(mask, -torch.inf)
            pattern = scores.softmax(-1)
            patterns.append(pattern)
            added = added + pattern @ v @ block["attn.W_O"][head]
        seen.append(torch.stack(patterns[-CONFIG.n_heads :]))
        hidden = hidden + added
        x = layer_norm(hidden, (CONFIG.d_model,), block["ln2.w"], block["ln2.b"], CONFIG.norm_eps)
        hidden = hidden + gelu(x @ block["mlp.W_in"] + block["mlp.b_in"]) @ block["mlp.W_out"] + block["mlp.b_out"]
    x = layer_norm(hidden, (CONFIG.d_model,), weights["ln_final.w"], weights["ln_final.b"], CONFIG.norm_eps)
    return x @ weights["unembed.W_U"] + weights["unembed.b_U"], torch.stack(seen)


def error_by_hand(weights, batch, forbidden=()):
    """Squared error of each symbol, query by query."""
    outputs, _ = by_hand(weights, batch.tokens, forbidden)
    sums, n = [0.0] * TASK.n_steps, 0
    for row, at in itertools.product(range(len(batch)), range(batch.tokens.shape[1])):
        if batch.loss_mask[row, at] if batch.loss_mask.dim() == 2 else batch.loss_mask[at]:
            wrong = (outputs[row, at] - batch.targets[row, at]) ** 2
            n += 1
            for place in range(TASK.n_steps):
                sums[place] += wrong[place * TASK.d_symbol : (place + 1) * TASK.d_symbol].mean().item()
    return [total / n for total in sums]


def mask_by_hand(batch, query, key):
    """Which positions of one role may not look at which of the other, row by row."""
    n = batch.tokens.shape[1]
    mask = torch.zeros(len(batch), n, n, dtype=torch.bool)
    for row, at, to in itertools.product(range(len(batch)), range(TASK.n_chains), range(TASK.n_chains)):
        mask[row, batch.roles[query][row, at], batch.roles[key][row, to]] = True
    return mask


def links_by_hand(batch):
    """All pairs of roles of which the second never stands behind the first."""
    at = {role: batch.roles[role] for role in ROLES}
    return [
        (a, b) for a, b in itertools.permutations(ROLES, 2)
        if (at[b].max(1).values < at[a].min(1).values).all() or (a[-1] == b[-1] and (a[:5], b[:3]) == ("value", "key"))
    ]  # fmt: skip


@pytest.fixture(scope="module")
def table(weights):
    run = SimpleNamespace(
        run_id="planted", recipe=SimpleNamespace(make_task=lambda: TASK, model=CONFIG), steps=(7,),
        tokens_seen=lambda step: step, stack=lambda steps: {name: value[None] for name, value in weights.items()},
    )  # fmt: skip
    found = needed_looks(run, Reading(n_rows=N_ROWS, candidate=LEAST), lambda n: None)
    return found.astype({"metric": str, "site": str, "variable": str})


def test_every_error_is_that_of_attention_masked_by_hand(weights, table):
    batch = TASK.split("test").rows(slice(0, N_ROWS))
    _, patterns = by_hand(weights, batch.tokens)
    own, looked, rises = error_by_hand(weights, batch), {}, []
    for (query, key), layer, head in itertools.product(links_by_hand(batch), (0, 1), (0, 1)):
        seen = [
            patterns[layer, head, row, batch.roles[query][row, chain], batch.roles[key][row, chain]].item()
            for row, chain in itertools.product(range(N_ROWS), range(TASK.n_chains))
        ]
        attention = sum(seen) / len(seen)
        if attention >= LEAST or attention <= UNLOOKED:
            errors = error_by_hand(weights, batch, [(layer, head, mask_by_hand(batch, query, key))])
            if attention >= LEAST:
                looked[layer, head, f"{query}>{key}"] = errors
            else:
                rises.append(sum(errors) / len(errors) - sum(own) / len(own))
    found = table[table["metric"] == "error_without"].groupby(["layer", "head", "site"])["value"].agg(list)
    assert set(found.index) == set(looked) and len(looked) > 3 and len(rises) > 3
    for look, errors in looked.items():
        assert found[look] == pytest.approx(errors, rel=1e-4)
    assert table.loc[table["metric"] == "error_with_all", "value"].to_list() == pytest.approx(own, rel=1e-4)
    rise = table[table["metric"] == "unlooked_rise"]
    assert rise["value"].item() == pytest.approx(sum(rises) / len(rises), abs=1e-4) and rise["n"].item() == len(rises)


def rows(arm, seed, metric, value, **more):
    at = {"layer": 0, "head": 0, "site": "", "variable": "", "edit": "", **more}
    return {"arm": arm, "init_seed": seed, "metric": metric, "value": value, "step": 9, "run_id": "x", **at}


def planted(arm):
    """Three networks: a needed look that is left, one that is left out, one that is not needed; the last has none."""
    needed, circuit = [], []
    for seed, cost in ((1, 0.0), (2, 0.01), (3, 0.7)):
        needed += [rows(arm, seed, "error_with_all", 0.1 * place, variable=f"x_{place}") for place in (1, 2)]
        needed += [rows(arm, seed, "unlooked_rise", 0.001 * seed)]
        for layer, rise in enumerate((1.0, 0.06 if seed == 1 else 0.04, 0.0)):
            needed += [rows(arm, seed, "error_without", 0.1 * place + rise, variable=f"x_{place}", layer=layer,
                            site="queries>value_0") for place in (1, 2)]  # fmt: skip
        circuit += [rows(arm, seed, "path", 0.9, layer=0, site="queries>value_0")]
        circuit += [rows(arm, seed, "circuit_loss", value, edit=edit) for edit, value in
                    {"none": 0.1, "paths": 0.1 + cost}.items()]  # fmt: skip
    tables = {"needed": pd.DataFrame(needed), "circuit": pd.DataFrame(circuit)}
    measured = pd.DataFrame([rows(arm, seed, "loss", 0.1) for seed in (1, 2, 3)])
    return Results(measured, pd.DataFrame(), "paper", tables)


def test_a_needed_look_that_the_circuit_has_not_is_counted_and_networks_without_a_circuit_have_no_number():
    results = planted(str(FOLLOWED))
    assert left_out()(results).to_dict() == {1: 1, 2: 0}
    assert unlooked_rise(FOLLOWED)(results).to_dict() == pytest.approx({1: 0.001, 2: 0.002, 3: 0.003})
    table = looks(results, str(FOLLOWED)).set_index(["init_seed", "layer"])
    assert table.loc[(1, 0), "left"] and not table.loc[(1, 1), "left"]
    assert table.loc[(1, 1), "rise"] == pytest.approx(0.06) and table.loc[(1, 1), "x_2"] == pytest.approx(0.26)


def test_an_error_without_a_look_is_of_the_head_that_is_needed_most_and_the_networks_own_where_none_looks():
    results = planted(str(FOLLOWED))
    needed = results.tables["needed"]
    blind = needed[(needed["init_seed"] != 3) | (needed["metric"] != "error_without")]
    results = Results(results.measurements, pd.DataFrame(), "paper", {"needed": blind})
    found = error_without(FOLLOWED, ("queries", "value_0"), 2)(results)
    assert found.to_dict() == pytest.approx({1: 1.2, 2: 1.2, 3: 0.2})
    other = error_without(FOLLOWED, ("value_0", "value_1"), 1)(results)
    assert other.to_dict() == pytest.approx({1: 0.1, 2: 0.1, 3: 0.1})


def test_looks_of_the_network_of_twelve_layers_are_told_one_by_one():
    table = needed_in_deep(planted(DEEP)).table
    first = table.iloc[0]
    assert first["look"] == "L0H0 query to value 0" and first["in its circuit"] == "yes"
    assert first["error of the second symbol"] == "1.200" and table.iloc[1]["in its circuit"] == "no"
    planted_rows = planted(DEEP)
    needed = planted_rows.tables["needed"]
    tables = {**planted_rows.tables, "needed": needed[needed["metric"] != "error_without"]}
    without = Results(planted_rows.measurements, pd.DataFrame(), "paper", tables)
    with pytest.raises(NoRowsError):  # no head looks anywhere for half of its attention
        needed_in_deep(without)
    with pytest.raises(SelectionError, match="deep_seeds is empty"):
        needed_in_deep(Results(pd.DataFrame(columns=KEY_COLUMNS), pd.DataFrame(), "paper", {}))
