"""Stacked heads, chains of three: what is trained, where heads look at the end, and what claims read off them."""

from dataclasses import replace

import pandas as pd
import pytest

from circuitcore.metrics.network import Network
from circuitcore.training.store.run_store import RunStore
from livingpaper.book import studies
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads import design, readings
from retrieval_circuits.stacked_heads.claims import CLAIMS
from retrieval_circuits.stacked_heads.design import (
    ALL_LENGTHS,
    ENDS,
    FRESH_SCARCE,
    LAST_TWO,
    LONG_SCARCE,
    ONE,
    ONE_EACH,
    REWARDED,
    SCARCE,
    SHORTEST_FIRST,
    THREE,
    THREE_LAST,
    TO_SPARE,
)
from retrieval_circuits.stacked_heads.design.recipes import N_LOOKED
from retrieval_circuits.stacked_heads.figures import grid as grid_figures
from retrieval_circuits.stacked_heads.figures import three as figures
from retrieval_circuits.stacked_heads.measures import scores
from retrieval_circuits.stacked_heads.readings.three import (
    AHEAD,
    error_at_the_end_of,
    learnt_with,
    looked_along,
    paths_ahead,
    seen_in_order,
    symbols_learnt,
)

PUBLISHED = studies.load_params("stacked_heads")
EARLY, MIDDLE, LATE, NEVER = [0.9, 0.1, 0.1, 0.1], [0.9, 0.9, 0.1, 0.1], [0.9, 0.9, 0.9, 0.1], [0.9] * 4


def test_three_look_ups_are_trained_on_what_they_say():
    arms = design.recipes(PUBLISHED)
    asked = {THREE_LAST: (3,), LAST_TWO: (2, 3), ENDS: (1, 3), SHORTEST_FIRST: (3,), ALL_LENGTHS: (3,)}
    for arm, wanted in {**dict.fromkeys((*THREE, FRESH_SCARCE), (1, 2, 3)), **asked}.items():
        recipe = arms[str(arm)][0]
        task = recipe.make_task()
        assert (task.n_steps, task.asked, recipe.model.n_layers) == (3, wanted, arm.n_layers)
        assert recipe.n_steps == PUBLISHED.three_steps and len(recipe.checkpoint_epochs) == 81
        seeds = PUBLISHED.fresh_seeds if arm == FRESH_SCARCE else PUBLISHED.three_seeds
        assert [one.init_seed for one in arms[str(arm)]] == list(seeds)
    for long, recipe in zip(arms[str(LONG_SCARCE)], arms[str(FRESH_SCARCE)], strict=False):
        fields = ("task", "task_params", "model", "optimizer", "batch_size", "init_seed", "data_seed", "engine")
        assert all(getattr(long, name) == getattr(recipe, name) for name in fields), "the same networks, trained on"
        assert long.n_steps == 4 * recipe.n_steps and long.stages[0].fresh == recipe.stages[0].fresh
        assert recipe.n_steps in long.checkpoint_steps
    stages = [(stage.splits, stage.epochs * 50) for stage in arms[str(SHORTEST_FIRST)][0].stages]
    assert stages == [(("train_1",), 2000), (("train_2",), 2000), (("train",), 4000)]
    assert [stage.splits for stage in arms[str(ALL_LENGTHS)][0].stages] == [("mixed",)]
    assert (SCARCE.n_layers, ONE_EACH.n_layers, TO_SPARE.n_layers) == (3, 4, 6)


def test_links_at_the_end_are_those_of_the_last_checkpoint(tmp_path):
    params = studies.load_params("stacked_heads", "smoke")
    run = RunStore(tmp_path, None).get_or_train(design.recipes(params)[str(SCARCE)][0])
    tables = {one.name: one.measure(run) for one in design.instruments(params, str(SCARCE))}
    assert set(tables) == {"measurements", "links", "circuit"}
    rows, task = tables["links"].astype({"site": str}), run.recipe.make_task()
    assert set(rows["step"]) == {run.steps[-1]} and len(rows) == 12 * len(task.links)
    net = Network(run.recipe.model, run.stack(run.steps[-1:]))
    looked = task.split("test").rows(slice(0, N_LOOKED))
    pattern = scores.patterns_of(net, looked)
    for link in task.links:
        own, _ = scores.link_attention(pattern, looked, link)
        assert rows[rows["site"] == ">".join(link)]["value"].tolist() == pytest.approx(own.flatten().tolist(), abs=1e-6)


def results(losses, looked=()):
    """Curves ``(cell, seed, place) -> values`` every 100 steps; attention at the end ``(cell, seed, link, layer)``."""
    rows = [
        {"arm": str(cell), "init_seed": seed, "run_id": f"{cell} {seed}", "metric": "partial_loss", "step": 100 * at,
         "variable": f"x_{place}", "value": value}
        for (cell, seed, place), values in losses.items()
        for at, value in enumerate(values)
    ]  # fmt: skip
    links = [
        {"arm": str(cell), "init_seed": seed, "site": ">".join(link), "layer": layer, "value": value}
        for (cell, seed, link, layer), value in dict(looked).items()
    ]
    return Results(pd.DataFrame(rows), pd.DataFrame(), "paper", {"links": pd.DataFrame(links)} if links else {})


def of_three(cell, first, second, third, seed=1):
    return {(cell, seed, place): values for place, values in enumerate((first, second, third), 1)}


def test_symbols_that_are_learnt_are_counted_at_the_end():
    found = results(of_three(SCARCE, EARLY, LATE, NEVER) | of_three(SCARCE, EARLY, NEVER, [0.9, 0.1, 0.1, 0.9], seed=2))
    assert symbols_learnt(SCARCE)(found).to_dict() == {1: 2, 2: 1}


def test_order_is_that_of_first_checkpoints_and_what_never_comes_is_last():
    others = {key: NEVER for cell in THREE for key in of_three(cell, NEVER, NEVER, NEVER)}
    for curves, wanted in (
        ((EARLY, MIDDLE, LATE), 1),
        ((EARLY, MIDDLE, NEVER), 1),
        ((EARLY, EARLY, LATE), 1),  # between two checkpoints nothing is known
        ((EARLY, LATE, MIDDLE), 0),
        ((MIDDLE, EARLY, NEVER), 0),
        ((EARLY, NEVER, LATE), 0),
    ):
        found = results(others | of_three(ONE_EACH, *curves))
        assert seen_in_order(found).to_dict() == {1: wanted}, curves
    assert seen_in_order(results(others | of_three(ONE_EACH, EARLY, NEVER, NEVER))).empty
    half = of_three(ONE_EACH, EARLY, LATE, MIDDLE) | of_three(TO_SPARE, EARLY, MIDDLE, LATE)
    assert seen_in_order(results(others | half)).to_dict() == {1: 0.5}


def test_a_link_is_read_off_the_head_and_the_link_with_most_of_it():
    one, two, other = ("value_0", "value_1"), ("value_1", "value_2"), ("queries", "value_2")
    looked = {
        (SCARCE, 1, one, 0): 0.2, (SCARCE, 1, one, 1): 0.4, (SCARCE, 1, two, 0): 0.7, (SCARCE, 1, other, 0): 0.9,
        (ONE_EACH, 1, one, 0): 0.1, (SCARCE, 2, one, 0): 0.3,
    }  # fmt: skip
    found = results(of_three(SCARCE, EARLY, LATE, NEVER), looked)
    assert looked_along(SCARCE, one, two)(found).to_dict() == {1: 0.7, 2: 0.3}
    assert looked_along(ONE_EACH, one, two)(found).to_dict() == {1: 0.1}
    last = results(of_three(SCARCE, EARLY, LATE, NEVER), {(SCARCE, 1, one, 1): 0.2, (SCARCE, 1, one, 2): 0.8})
    assert looked_along(SCARCE, one)(last).to_dict() == {1: 0.8}
    assert looked_along(SCARCE, one, before_the_last=True)(last).to_dict() == {1: 0.2}, "of layer 2 nothing is read"


def test_paths_that_look_ahead_are_counted_in_what_is_left():
    found = results(of_three(ONE_EACH, EARLY, LATE, LATE) | of_three(ONE_EACH, EARLY, LATE, LATE, seed=2))
    rows = [
        {"arm": str(ONE_EACH), "init_seed": 1, "metric": metric, "site": site, "layer": 1, "head": 0, "value": value,
         "edit": edit}
        for metric, site, value, edit in (
            ("path", "value_0>value_2", 0.9, ""), ("path", "value_0>value_0", 0.9, ""),
            ("path", "queries>value_0", 1, ""),
            ("candidate_path", "value_1>value_2", 0.9, ""), ("circuit_loss", "", 0.1, "none"),
            ("circuit_loss", "", 0.14, "paths"),
        )
    ]  # fmt: skip
    found = replace(found, tables={**found.tables, "circuit": pd.DataFrame(rows)})
    assert paths_ahead(ONE_EACH)(found).to_dict() == {1: 1, 2: 0}
    assert readings.cost_of("paths", ONE_EACH)(found).to_dict() == pytest.approx({1: 0.04})


def test_the_second_stage_ends_where_chains_of_three_begin():
    epochs = range(1, 9)  # a quarter, a quarter, a half
    rows = [{"arm": str(SHORTEST_FIRST), "init_seed": 1, "epoch": epoch, "loss": epoch / 10} for epoch in epochs]
    found = replace(results(of_three(SCARCE, EARLY, LATE, NEVER)), history=pd.DataFrame(rows))
    assert error_at_the_end_of(SHORTEST_FIRST, 2)(found).to_dict() == {1: 0.4}


def test_claims_on_rewards_read_the_arm_that_they_name_and_say_both_outcomes():
    said = {claim.id: claim for claim in CLAIMS}
    arms = {"SH44": THREE_LAST, "SH45": LAST_TWO, "SH46": ENDS, "SH47": SHORTEST_FIRST, "SH48": ALL_LENGTHS}
    for claim_id, arm in arms.items():
        claim = said[claim_id]
        assert claim.reading.arms == (str(arm),)
        negative, positive = claim.says.holds, claim.says.fails
        if claim_id in ("SH47", "SH48"):
            negative, positive = positive, negative
        assert "do not learn" in negative and "not learn" not in positive, claim_id


@pytest.fixture
def three_layers():
    """Seed 1 learnt all and doubles, 2 learnt all and hops, 3 looks ahead in its last layer and learnt two."""
    curves = {}
    for cell in (SCARCE, FRESH_SCARCE):
        curves |= of_three(cell, EARLY, MIDDLE, LATE) | of_three(cell, EARLY, MIDDLE, LATE, seed=2)
        curves |= of_three(cell, EARLY, MIDDLE, NEVER, seed=3)
    links = {link: 0.1 for link in figures.LOOKED.values()}
    looked = {
        (cell, seed, link, 1): value
        for cell in (SCARCE, FRESH_SCARCE)
        for seed in (1, 2, 3)
        for link, value in links.items()
    }
    looked |= {(FRESH_SCARCE, 1, AHEAD[-1], 1): 0.9, (FRESH_SCARCE, 3, AHEAD[-1], 2): 0.9}
    rows = [
        {
            "arm": str(cell),
            "init_seed": seed,
            "metric": "path",
            "site": site,
            "layer": 1,
            "head": 0,
            "value": 0.9,
            "edit": "",
        }
        for cell in (SCARCE, FRESH_SCARCE)
        for seed, sites in {
            1: ("value_1>value_2", "queries>value_1"),
            2: ("queries>value_1", "queries>value_2"),
        }.items()
        for site in sites
    ]
    found = results(curves, looked)
    rows += [
        {"arm": str(FRESH_SCARCE), "init_seed": 1, "metric": metric, "site": site, "layer": 1, "head": 0,
         "value": value, "edit": edit}
        for metric, site, value, edit in (
            ("circuit_loss", "", 0.1, "paths"), ("circuit_loss", "", 1.0, "uniform"),
            ("loss_without_path", "value_1>value_2", 0.4, ""), ("loss_without_path", "queries>value_1", 0.7, ""),
        )
    ]  # fmt: skip
    return replace(found, tables={**found.tables, "circuit": pd.DataFrame(rows)})


def test_learning_and_looking_go_together_where_both_are_or_neither(three_layers):
    assert learnt_with(FRESH_SCARCE, AHEAD[-1])(three_layers).to_dict() == {1: 1.0, 2: 0.0, 3: 1.0}


def test_who_doubles_is_read_off_what_is_left(three_layers):
    view = figures.ends(three_layers)
    table = view.table.set_index(["arm", "init_seed"])
    assert table["doubles"].tolist() == [True, False, False] * 2 and table["value"].tolist() == [True, True, False] * 2
    assert table["hops"].tolist() == [False, True, False] * 2
    said = figures.three_numbers(view)
    assert (said["n_scarce_learnt"], said["n_four_learnt"], said["n_doubling"]) == ("2 of 3", "0 of 0", "2 of 4")
    assert (said["doubling_error"], said["without_ahead"], said["n_six_hop"]) == ("0.10", "0.40", "0 of 0")


def test_networks_of_three_layers_are_shown_by_what_they_learnt(three_layers):
    table = figures.three_links(three_layers).table
    assert len(table) == 2 * 3 * len(figures.LOOKED)
    assert table.groupby("series")["init_seed"].agg(lambda seeds: sorted(set(seeds))).to_dict() == {
        "third symbol learnt": [1, 2],
        "not learnt": [3],
    }
    ahead = table[(table["group"] == "second answer to third") & (table["arm"] == str(FRESH_SCARCE))]
    assert ahead.set_index("init_seed")["value"].to_dict() == {1: 0.9, 2: 0.1, 3: 0.1}, "not in the last layer"


def test_the_table_of_layers_has_what_trained_networks_took(three_layers):
    cells = {
        key: NEVER for cell in (*ONE, *REWARDED) for key in [(cell, 1, place + 1) for place in range(cell.n_steps)]
    }
    cells |= {(cell, 1, 1): EARLY for cell in (*ONE[1:], *REWARDED[1:])}
    assert grid_figures.fewest_layers(results(cells)) == {1: "2", 2: "more than 6"}
