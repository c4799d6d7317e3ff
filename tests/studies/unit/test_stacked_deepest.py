"""Stacked heads: the source's deepest network is trained by its recipe, and what is shown of it can come out wrong."""

import pandas as pd
import pytest

from circuitcore.models import init_weights
from circuitcore.training import RunStore
from livingpaper.book import studies
from livingpaper.book.parameters import ParameterError
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads import design
from retrieval_circuits.stacked_heads.design import DEEP, DEEPEST, GRID, LOOKED_EVERY, SOURCE_GRID
from retrieval_circuits.stacked_heads.figures import appendix
from retrieval_circuits.stacked_heads.figures import deepest as figures

PUBLISHED = studies.load_params("stacked_heads")


def test_the_deepest_network_is_the_sources():
    """Section 9: 24 layers, width 512, heads of 16, no MLP, batches of 256, 6,400 steps, 80 between two checkpoints."""
    recipe, *others = design.recipes(PUBLISHED)[DEEPEST]
    model, task = recipe.model, recipe.make_task()
    assert (model.n_layers, model.n_heads, model.d_model, model.d_head, model.mlp) == (24, 1, 512, 16, "none")
    assert (task.n_steps, task.asked, task.n_train, task.max_length) == (4, (1, 2, 3, 4), 262_144, 36)
    assert (recipe.batch_size, recipe.optimizer.lr, recipe.optimizer.weight_decay) == (256, 1e-3, 0.1)
    assert recipe.checkpoint_at[-1] == 6_400 and len(recipe.checkpoint_at) == 81 and LOOKED_EVERY == 80
    assert recipe.stages[0].fresh == 0, "a fixed set of rows, seen several times"
    assert recipe.stages[0].epochs * 1_024 >= 6_400 > (recipe.stages[0].epochs - 1) * 1_024
    assert len(others) + 1 == len(PUBLISHED.source_seeds)


def test_its_attention_has_as_many_weights_as_the_source_s():
    """24 layers of W_Q, W_K, W_V and W_O of 512 x 16 each: 786,432, as the facts count them."""
    model = design.recipes(PUBLISHED)[DEEPEST][0].model
    weights = init_weights(model, 0)
    assert sum(value.numel() for name, value in weights.items() if ".attn.W_" in name) == 786_432


def test_a_network_of_twelve_layers_is_as_the_sources_a_to_c():
    """Section 8: 12 layers of one head, width 128, MLPs, chains of three, 24,000 batches of 128 out of 262,144 rows."""
    (recipe,) = design.recipes(PUBLISHED.model_copy(update={"deep_seeds": (1,)}))[DEEP]
    model, task = recipe.model, recipe.make_task()
    assert (model.n_layers, model.n_heads, model.d_model, model.d_head, model.d_mlp) == (12, 1, 128, 128, 512)
    assert (task.n_steps, task.asked, task.n_train, task.max_length) == (3, (1, 2, 3), 262_144, 28)
    assert (recipe.batch_size, recipe.n_steps, len(recipe.checkpoint_at)) == (128, 24_000, 81)
    assert (recipe.optimizer.lr, recipe.optimizer.weight_decay) == (1e-3, 0.1)
    assert recipe.stages[0].fresh == 0 and recipe.stages[0].epochs == 12, "11.7 times the same rows"
    weights = init_weights(model, 0)
    matrices = [value.numel() for name, value in weights.items() if name.startswith("blocks.") and ".W_" in name]
    assert sum(matrices) == 12 * 12 * 128**2, "2.36 million weights"


def test_its_grid_has_eight_depths_of_two_kinds_and_the_tier_that_trains_it_eight_seeds_of_each():
    """Section 7: 8 heads, width 128, 10,000 batches of 512 out of 2^20 rows; five look-ups, or three unrewarded."""
    params = studies.load_params("stacked_heads", "source")
    assert params.model_copy(update={"source_grid_seeds": ()}) == PUBLISHED, "all else is as published"
    made = design.recipes(params)
    assert not set(design.recipes(PUBLISHED)) & set(SOURCE_GRID) and len(SOURCE_GRID) == 16
    depths = {True: [], False: []}
    for arm in SOURCE_GRID:
        first, *others = made[arm]
        model, task = first.model, first.make_task()
        assert (model.n_heads, model.d_model, model.d_head, model.d_mlp) == (8, 128, 16, 512), arm
        assert (first.batch_size, first.n_steps, task.n_train, first.stages[0].fresh) == (512, 10_000, 2**20, 0), arm
        assert (first.optimizer.lr, first.optimizer.weight_decay, len(others)) == (1e-3, 0.1, 7), arm
        assert (task.n_steps, task.asked) in ((5, (1, 2, 3, 4, 5)), (3, (3,))), arm
        depths[len(task.asked) > 1].append(model.n_layers)
    assert depths == {True: list(range(1, 9)), False: list(range(1, 9))}
    weights = init_weights(made[next(reversed(SOURCE_GRID))][0].model, 0)
    assert sum(value.numel() for name, value in weights.items() if name.startswith("blocks.")) == 8 * 198_272


@pytest.mark.parametrize(("seeds", "most"), [("source_grid_seeds", 256), ("source_seeds", 1024), ("deep_seeds", 1024)])
def test_rows_that_the_sources_networks_cannot_train_on_are_refused_by_the_parameters_name(seeds, most):
    none = dict.fromkeys(("source_grid_seeds", "source_seeds", "deep_seeds"), [])
    given = studies.read_params("stacked_heads") | none | {seeds: [1]}
    assert studies.validate("stacked_heads", given | {"n_rows": most}).n_rows == most
    with pytest.raises(ParameterError, match=rf"n_rows: given {most + 1} .*\(at most {most} with {seeds}"):
        studies.validate("stacked_heads", given | {"n_rows": most + 1})
    assert studies.validate("stacked_heads", given | none | {"n_rows": 20_000}).n_rows == 20_000


def test_a_network_of_its_grid_is_trained_measured_and_listed(tmp_path):
    small = {"d_model": 8, "source_steps": 4, "n_rows": 8, "source_grid_seeds": (3,)}
    params = studies.load_params("stacked_heads", "smoke").model_copy(update=small)
    arm = "D 3, only the last, 2 layers of 8 heads"
    (recipe,) = design.recipes(params)[arm]
    run = RunStore(tmp_path, None).get_or_train(recipe)
    assert run.final_step == 6
    (scores,) = design.instruments(params, arm)
    found = scores.measures(run, scores.settings, lambda n: None).assign(arm=arm, init_seed=3)
    others = pd.DataFrame([{"arm": str(GRID[0]), "init_seed": 1, "run_id": "a", "step": step, "metric": "partial_loss",
                            "variable": "x_1", "value": 0.2} for step in (0, 50)])  # fmt: skip
    results = Results(pd.concat([others, found]), pd.DataFrame(), "paper", {})
    listed = appendix.every_network(results).table.set_index("arm")
    assert set(listed["init_seed"]) == {1, 3}
    (error,) = found[(found["step"] == 6) & (found["metric"] == "partial_loss")]["value"]
    assert listed["error of the third symbol"][arm] == f"{error:.3f}" and listed["third symbol learnt"][arm] == ""


def results(looked, losses, left=()):
    curves = [
        {"arm": DEEPEST, "init_seed": 1, "run_id": "a", "step": 80 * at, "metric": "partial_loss",
         "variable": f"x_{place}", "value": value}
        for place, values in losses.items()
        for at, value in enumerate(values)
    ]  # fmt: skip
    curves += [{**row, "metric": "loss", "variable": ""} for row in curves if row["variable"] == "x_1"]
    paths = [
        {"arm": arm, "init_seed": 1, "step": 80 * at, "site": site, "layer": layer, "value": value}
        for (arm, site, layer), values in looked.items()
        for at, value in enumerate(values)
    ]
    circuit = [
        {"arm": DEEPEST, "init_seed": 1, "metric": "circuit_loss", "edit": edit, "site": "", "layer": 0, "head": 0,
         "value": value}
        for edit, value in {"none": 0.02, "paths": 0.04}.items()
    ]  # fmt: skip
    circuit += [
        {"arm": DEEPEST, "init_seed": 1, "metric": "path", "edit": "", "site": site, "layer": layer, "head": 0,
         "value": 0.9}
        for layer, site in left
    ]  # fmt: skip
    tables = {"paths": pd.DataFrame(paths), "circuit": pd.DataFrame(circuit)}
    return Results(pd.DataFrame(curves), pd.DataFrame(), "paper", tables)


@pytest.fixture
def planted():
    """The pair is joined at once, the first answer fetched at 120, the others never; another arm has other paths."""
    looked = {
        (DEEPEST, site, layer): [0.0, 0.0, 0.0, 0.0]
        for site in (">".join(link) for links in figures.events(4).values() for link in links)
        for layer in (0, 1)
    }
    looked |= {
        (DEEPEST, "value_0>key_0", 1): [0.0, 1.0, 1.0, 1.0],
        (DEEPEST, "queries>value_0", 0): [0.0, 0.0, 1.0, 1.0],
    }
    looked |= {("another", "queries>value_3", 0): [1.0, 1.0, 1.0, 1.0]}
    losses = {1: [1.0, 1.0, 0.0, 0.0], 2: [1.0] * 4, 3: [1.0] * 4, 4: [1.0] * 4}
    return results(looked, losses, left=((14, "value_0>key_0"), (21, "queries>value_0"), (21, "value_1>value_1")))


def test_what_appears_is_dated_and_what_never_does_stands_at_the_end(planted):
    table = figures.deepest_times(planted).table.set_index("group")["value"]
    assert table["path: value to its key"] == 40 and table["path: query to first answer"] == 120
    assert table["error of the first symbol falls"] == 120
    never = ["path: query to fourth answer", "path: an answer to a later one", "error of the fourth symbol falls"]
    assert (table[never] == 240).all() and len(table) == 10


def test_the_sources_numbers_stand_beside_ours(planted):
    table = figures.deepest_numbers(planted).table.set_index("quantity")
    assert table["value"].to_dict() == {
        "squared error at the end": 0.0,
        "squared error with every map replaced": 0.04,
        "heads that are used": 2,
        "step at which the first path appears": 40,
    }
    assert table.loc["squared error at the end", "source"] == "0.031"
    words = figures.deepest_circuits(planted).table["paths that are left"].item()
    assert words == "L14H0 value 0 to key 0; L21H0 query to value 0"


def test_a_network_of_twelve_layers_is_drawn_beside_it_by_its_three_look_ups(planted):
    """It is planted as the deepest without its fourth symbol, under the other arm's name."""
    table, paths, circuit = planted.measurements, planted.tables["paths"], planted.tables["circuit"]
    fewer = table[(table["arm"] == DEEPEST) & (table["variable"] != "x_4")].assign(arm=DEEP)
    looked = paths[(paths["arm"] == DEEPEST) & ~paths["site"].str.contains("value_3")].assign(arm=DEEP)
    tables = {"paths": pd.concat([paths, looked]), "circuit": pd.concat([circuit, circuit.assign(arm=DEEP)])}
    results = Results(pd.concat([table, fewer]), pd.DataFrame(), "paper", tables)
    times = figures.deepest_times(results).table
    assert times.groupby("series").size().to_dict() == {"24 layers, seed 1": 10, "12 layers, seed 1": 8}
    own = times[times["arm"] == DEEP].set_index("group")["value"]
    assert own["path: value to its key"] == 40 and "path: query to fourth answer" not in own
    assert list(figures.deepest_circuits(results).table["network"]) == ["24 layers", "12 layers"]
    beside = figures.deepest_numbers(results).table.set_index("quantity")
    assert len(beside) == 6 and beside["init_seed"].eq(1).all()
    assert beside.loc["heads that are used, 12 layers", ["source", "value"]].to_list() == ["4", 2]
    assert beside.loc["squared error at the end, 12 layers", "source"] == "below 0.01"
