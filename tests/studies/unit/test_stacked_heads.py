"""Stacked heads: what is measured, what is read off the tables, and that each number can come out wrong."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from circuitcore.metrics.network import Network
from circuitcore.models import Head, ModelConfig, forward, init_weights
from circuitcore.tasks.chains import ChainRetrieval
from livingpaper.book import studies
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads import design, readings
from retrieval_circuits.stacked_heads.design import FOLLOWED, GRID, ONE, ONE_DEEP, REWARDED
from retrieval_circuits.stacked_heads.measures import circuit as reading
from retrieval_circuits.stacked_heads.measures import scores as measures

TASK = ChainRetrieval(n_steps=2, n_test=12)
TEST = TASK.split("test")
STUDY = studies.load("stacked_heads")
PUBLISHED = studies.load_params("stacked_heads")


def test_partial_losses_are_those_of_a_loop():
    outputs = torch.randn(2, *TEST.targets.shape, generator=torch.Generator().manual_seed(0))
    found = measures.partial_losses(TASK, outputs, TEST)
    for stack in range(2):
        for place in (0, 1):
            wrong = [
                (outputs[stack, row, at, 4 * place + i] - TEST.targets[row, at, 4 * place + i]).item() ** 2
                for row in range(12)
                for at in TEST.roles["queries"][row].tolist()
                for i in range(4)
            ]
            assert abs(found[stack, place].item() - np.mean(wrong)) < 1e-5


def test_the_mean_of_partial_losses_is_the_loss_that_is_trained_on():
    config = ModelConfig(
        d_vocab=8, n_ctx=20, d_in=8, n_layers=1, n_heads=2, d_model=8, d_mlp=8, positions="none", tied=False
    )
    output = forward(config, init_weights(config, 0), TEST.tokens).logits
    wanted = torch.nn.functional.mse_loss(output[TEST.loss_mask], TEST.targets[TEST.loss_mask])
    assert torch.allclose(measures.partial_losses(TASK, output, TEST).mean(), wanted)


@pytest.mark.parametrize("link", measures.links_of(TASK), ids=">".join)
def test_attention_along_a_link_is_that_of_a_loop(link):
    pattern = torch.rand(3, 12, 2, 20, 20, generator=torch.Generator().manual_seed(1))
    own, others = measures.link_attention(pattern, TEST, link)
    at, to = (TEST.roles[role] for role in link)
    for stack in range(3):
        for head in range(2):
            weights = pattern[stack, :, head]
            same = [weights[row, at[row, c], to[row, c]].item() for row in range(12) for c in range(4)]
            every = [
                sum(weights[row, at[row, c], to[row, other]].item() for other in range(4) if other != c)
                for row in range(12)
                for c in range(4)
            ]
            assert abs(own[stack, head].item() - np.mean(same)) < 1e-5
            assert abs(others[stack, head].item() - np.mean(every)) < 1e-5


@pytest.mark.parametrize("n_steps", [1, 2, 3])
def test_links_never_look_ahead_and_hold_every_pair_that_never_does(n_steps):
    task = dataclasses.replace(TASK, n_steps=n_steps, n_test=64)
    batch, roles = task.split("test"), measures.roles_of(task)
    behind = {
        (a, b)
        for a in roles
        for b in roles
        if a != b and bool((batch.roles[b] < batch.roles[a].min(1, keepdim=True).values).all())
    }
    inside = {(f"value_{k}", f"key_{k}") for k in range(n_steps)}
    assert set(measures.links_of(task)) == behind | inside


def test_every_arm_has_its_seeds_and_every_run_its_own_id():
    every = STUDY.recipes(PUBLISHED)
    arms = {arm: recipes for arm, recipes in every.items() if arm in map(str, GRID)}
    assert list(arms) == [str(cell) for cell in GRID]
    assert {arm: len(recipes) for arm, recipes in arms.items() if arm != str(FOLLOWED)} == dict.fromkeys(
        (str(cell) for cell in GRID if cell != FOLLOWED), len(PUBLISHED.seeds)
    )
    assert len(arms[str(FOLLOWED)]) == len(PUBLISHED.seeds)
    deep = [[recipe.init_seed for recipe in every[str(cell)]] for cell in ONE_DEEP]
    assert deep == [[*PUBLISHED.seeds[:5]]] * 3
    ids = [recipe.run_id for recipes in every.values() for recipe in recipes]
    assert len(set(ids)) == len(ids)


def test_a_cell_is_trained_on_what_its_name_says():
    arms = STUDY.recipes(PUBLISHED)
    for cell in (*GRID, *ONE_DEEP):
        recipe = arms[str(cell)][0]
        task = recipe.make_task()
        assert (task.n_steps, recipe.model.n_layers) == (cell.n_steps, cell.n_layers)
        assert task.asked == (tuple(range(1, cell.n_steps + 1)) if cell.rewarded else (cell.n_steps,))
        assert recipe.n_steps == (PUBLISHED.steps if cell.rewarded else PUBLISHED.unrewarded_steps)


def test_attention_is_measured_on_the_cell_that_is_followed_alone():
    settings = {arm: STUDY.instruments(PUBLISHED, arm)[0].settings for arm in STUDY.recipes(PUBLISHED)}
    looked = {arm: getattr(of_arm, "n_looked", 0) for arm, of_arm in settings.items()}
    assert {arm for arm, n_rows in looked.items() if n_rows} == {str(FOLLOWED)}


def results(losses, attention=()):
    """Results with given curves of partial losses, ``(cell, seed, place) -> values``, a checkpoint every 50 steps."""
    rows = [
        {"arm": str(cell), "init_seed": seed, "metric": "partial_loss", "variable": f"x_{place}", "value": value,
         "step": 50 * at, "site": "", "layer": 0, "head": 0}
        for (cell, seed, place), values in losses.items()
        for at, value in enumerate(values)
    ]  # fmt: skip
    rows += [
        {"arm": str(FOLLOWED), "init_seed": seed, "metric": "attention", "variable": "", "value": value,
         "step": 50 * at, "site": ">".join(link), "layer": 0, "head": head}
        for (seed, link, head), values in dict(attention).items()
        for at, value in enumerate(values)
    ]  # fmt: skip
    rows += [{**row, "metric": "loss"} for row in rows if row["metric"] == "partial_loss" and row["variable"] == "x_1"]
    table = pd.DataFrame(rows).assign(tokens_seen=0, edit="", split="test", family="", n=1)
    return Results(table.assign(run_id=table["arm"] + table["init_seed"].astype(str)), pd.DataFrame(), "paper")


EARLY, LATE, NEVER = [0.9, 0.1, 0.1], [0.9, 0.9, 0.1], [0.9, 0.9, 0.9]


def grid(second):
    """x_1 learnt early from two layers on; x_2 with as many layers as ``second`` says, late."""
    losses = {}
    for cell in REWARDED:
        losses[cell, 1, 1] = EARLY if cell.n_layers > 1 else NEVER
        losses[cell, 1, 2] = LATE if cell.n_layers >= second else NEVER
    return losses


@pytest.mark.parametrize(("second", "more"), [(2, 0), (3, 1), (5, 3), (9, 5)])
def test_layers_are_counted_to_the_first_depth_that_learns(second, more):
    assert readings.more_layers(2, 1, *REWARDED)(results(grid(second))).to_dict() == {1: more}


def test_a_seed_without_a_network_of_every_depth_has_no_depth_that_it_needs():
    losses = grid(3) | {(FOLLOWED, 2, 1): EARLY, (FOLLOWED, 2, 2): EARLY}
    assert readings.more_layers(2, 1, *REWARDED)(results(losses)).to_dict() == {1: 1}


def test_order_counts_networks_that_learnt_both():
    losses = grid(4)  # of depths 4, 5 and 6 x_2 is learnt
    assert readings.in_order(results(losses)).to_dict() == {1: 1.0}
    losses[REWARDED[5], 1, 1] = [0.9, 0.9, 0.9, 0.1]
    losses[REWARDED[5], 1, 2] = [0.9, 0.1, 0.1, 0.1]
    assert readings.in_order(results(losses))[1] == pytest.approx(2 / 3)
    assert readings.in_order(results(grid(9))).empty  # nobody learnt x_2: that is no order


def test_paths_are_those_of_the_head_that_has_most_of_them():
    given = {
        (1, readings.PREVIOUS, 0): [0.1, 0.9, 0.9],
        (1, readings.PREVIOUS, 1): [0.1, 0.2, 0.2],
        (1, readings.FIRST, 0): [0.0, 0.1, 0.1],
        (1, readings.FIRST, 1): [0.0, 0.0, 0.8],
    }
    found = results({(FOLLOWED, 1, 1): LATE}, given)
    assert readings.path_time(readings.PREVIOUS)(found)[1] == pytest.approx(25.0)
    assert readings.path_time(readings.FIRST)(found)[1] == pytest.approx(50 + 50 * 0.4 / 0.7)
    assert readings.final_attention(*readings.FIRST)(found)[1] == 0.8
    assert readings.path_and_loss(found)[1] == pytest.approx(abs((50 + 50 * 0.4 / 0.8) - (50 + 50 * 0.4 / 0.7)))


def test_what_never_appears_stands_at_the_end_of_training():
    found = results({(FOLLOWED, 1, 1): NEVER}, {(1, readings.FIRST, 0): [0.1, 0.1, 0.1]})
    assert readings.path_time(readings.FIRST)(found)[1] == 100.0
    assert readings.learnt_time(1)(found)[1] == 100.0


def test_the_error_that_claims_read_is_the_last_one():
    found = results({(ONE[2], 3, 1): [0.9, 0.2, 0.7]})
    assert readings.final_loss(ONE[2], 1)(found).to_dict() == {3: 0.7}


def test_a_smoke_run_is_measured(tmp_path):
    from circuitcore.training.store.run_store import RunStore

    params = studies.load_params("stacked_heads", "smoke")
    recipe = design.recipes(params)[str(FOLLOWED)][0]
    run = RunStore(tmp_path, None).get_or_train(recipe)
    scores, circuit, _ = design.instruments(params, str(FOLLOWED))
    table = scores.measure(run)
    assert set(table["metric"]) == {"partial_loss", "loss", "loss_at_place", "attention", "attention_elsewhere"}
    rows = table[table["metric"] == "attention"]
    assert len(rows) == len(recipe.checkpoint_epochs) * 16 * len(measures.links_of(recipe.make_task()))
    assert rows["value"].between(0, 1).all()


def looking_back():
    """A network by hand: head 0 of layer 0 looks at the position before, whatever stands there; all others evenly.

    Its first two numbers of positions, (cos t, sin t), are turned by one step for the query, so that the product with
    the key is largest one position earlier.
    """
    config = ModelConfig(
        d_vocab=8, n_ctx=20, d_in=8, n_layers=2, n_heads=2, d_model=8, d_head=4, d_mlp=8, norm="none", mlp="none",
        positions="none", tied=False,
    )  # fmt: skip
    weights = {name: torch.zeros_like(value) for name, value in init_weights(config, 0).items()}
    weights["embed.W_in"] = torch.eye(8)
    cos, sin = np.cos(1.0), np.sin(1.0)
    weights["blocks.0.attn.W_Q"][0, 4:6, :2] = 400 * torch.tensor([[cos, -sin], [sin, cos]])
    weights["blocks.0.attn.W_K"][0, 4:6, :2] = torch.eye(2)
    weights["blocks.0.attn.W_V"][0, :4, :4] = torch.eye(4)
    weights["blocks.0.attn.W_O"][0, :4, :4] = 2 * torch.eye(4)
    weights["blocks.1.attn.W_V"][1, :4, :4] = torch.eye(4)
    weights["blocks.1.attn.W_O"][1, :4, :4] = torch.eye(4)
    weights["unembed.W_U"][:4, :4] = torch.eye(4)
    return Network(config, {name: value[None] for name, value in weights.items()})


def test_a_planted_path_is_found_and_no_other():
    net = looking_back()
    found = reading.candidates(TASK, net, TEST, 0.5)
    assert set(found) == {reading.Path(Head(0, 0), f"value_{k}", f"key_{k}") for k in (0, 1)}
    assert all(value > 0.99 for value in found.values())


def test_a_random_network_has_no_path():
    config = dataclasses.replace(looking_back().config, n_heads=4, norm="layer", d_model=64, d_head=16)
    for seed in range(20):
        weights = {name: value[None] for name, value in init_weights(config, seed).items()}
        assert reading.candidates(TASK, Network(config, weights), TEST, 0.5) == {}


def test_with_its_own_paths_set_a_network_says_the_same_but_where_it_looks_by_another_role():
    """Values look back within their pair; keys and queries, which look back too, are set to look evenly."""
    net = looking_back()
    own, whole, uniform = reading.losses(TASK, net, TEST, [None, tuple(reading.candidates(TASK, net, TEST, 0.5)), ()])
    assert len({round(loss, 4) for loss in (own, whole, uniform)}) == 3
    loop = forward(net.config, {name: value[0] for name, value in net.weights.items()}, TEST.tokens).logits
    assert own == pytest.approx(measures.partial_losses(TASK, loop, TEST).mean().item(), abs=1e-5)


def test_a_path_that_nothing_reads_is_taken_away_and_one_that_is_read_stays():
    """The target is what the network says with the first path; the second belongs to a head that writes nothing."""
    net = looking_back()
    read = tuple(reading.Path(Head(0, 0), f"value_{k}", f"key_{k}") for k in (0, 1))
    idle = (reading.Path(Head(1, 0), "queries", "value_0"), reading.Path(Head(1, 0), "value_0", "key_0"))
    said = [reading.compile_edits([reading.edits_of(net, read)], TEST.roles, {}, patterns(net))]
    targets = forward(net.config, net.weights, TEST.tokens, said[0]).logits[0, 0]
    batch = dataclasses.replace(TEST, targets=targets)
    left, loss = reading.pruned(TASK, net, batch, (*idle, *read), 1e-6)
    assert set(left) == set(read) and loss < 1e-9
    assert min(reading.losses(TASK, net, batch, [left[:1], left[1:], ()])) > 1e-4


def patterns(net):
    return net.run(TEST, [f"pattern.{layer}" for layer in range(net.config.n_layers)]).cache


def test_errors_at_places_are_those_of_a_loop():
    outputs = torch.randn(2, *TEST.targets.shape, generator=torch.Generator().manual_seed(2))
    found = measures.losses_at_places(TASK, outputs, TEST)
    assert found.shape == (2, 2, 4)
    for stack in range(2):
        for symbol in (0, 1):
            for place in range(4):
                wrong = []
                for row in range(12):
                    for chain in range(4):
                        if TEST.roles[f"key_{symbol}"][row, chain] == 8 * (1 - symbol) + 2 * place:
                            at = TEST.roles["queries"][row, chain]
                            part = slice(4 * symbol, 4 * symbol + 4)
                            wrong.append((outputs[stack, row, at, part] - TEST.targets[row, at, part]).square().mean())
                assert len(wrong) == 12
                assert found[stack, symbol, place] == pytest.approx(torch.stack(wrong).mean().item(), rel=1e-5)
    assert torch.allclose(found.mean(-1), measures.partial_losses(TASK, outputs, TEST), atol=1e-6)


def test_who_follows_some_places_and_guesses_the_mean_of_the_rest_rests_at_quarters():
    """What the chapter says of one layer: 0.75, 0.5, 0.25 with none, one, two places followed, and 0 with three."""
    task = ChainRetrieval(n_steps=1, n_test=20_000)
    batch = task.split("test")
    row = torch.arange(len(batch))[:, None]
    values = batch.tokens[row, batch.roles["value_0"], :4]  # of each chain
    place = batch.roles["key_0"] // 2
    for followed in range(4):
        rest = (place >= followed)[..., None]
        mean = (values * rest).sum(1, keepdim=True) / (4 - followed)
        outputs = torch.zeros_like(batch.targets)
        outputs[row, batch.roles["queries"]] = torch.where(rest, mean, values)
        found = measures.partial_losses(task, outputs, batch).item()
        assert found == pytest.approx((1 - followed / 4) * (1 - 1 / (4 - followed)), abs=0.01)
