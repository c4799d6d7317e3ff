"""Stacked heads, beside the grid: values that are exchanged, paths where there are none, and what is read off them."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch

from circuitcore.metrics.network import Network
from circuitcore.models import Head, ModelConfig, forward, init_weights
from circuitcore.tasks.chains import ChainRetrieval
from livingpaper.book import studies
from livingpaper.claims.reading import OfArms
from livingpaper.claims.results import Results
from livingpaper.claims.rules import OverPairs
from livingpaper.claims.units import STEPS, at_least
from livingpaper.claims.view import View
from retrieval_circuits.stacked_heads import design
from retrieval_circuits.stacked_heads.design import (
    EVERY_FOUR,
    FOLLOWED,
    FRESH,
    LAST,
    LONGER,
    MIXED,
    ONE,
    REWARDED,
    SCARCE,
    SHORT_FIRST,
    WITHOUT_THIRD,
)
from retrieval_circuits.stacked_heads.design.recipes import N_LOOKED
from retrieval_circuits.stacked_heads.figures import joining, prose
from retrieval_circuits.stacked_heads.figures import lessons as figures
from retrieval_circuits.stacked_heads.figures.grid import SET, SYMBOLS
from retrieval_circuits.stacked_heads.measures import scores, tries
from retrieval_circuits.stacked_heads.measures.circuit import Path
from retrieval_circuits.stacked_heads.readings import learnt_time
from retrieval_circuits.stacked_heads.readings import lessons as readings

TASK = ChainRetrieval(n_steps=2, n_test=12)
TEST = TASK.split("test")
PUBLISHED = studies.load_params("stacked_heads")
ALL = PUBLISHED.model_copy(update={"taught_seeds": (1, 2), "fresh_seeds": (11, 12)})


def fetching():
    """By hand: head 0 copies the symbol that it looks at, and nothing else is read out, as x_1."""
    config = ModelConfig(
        d_vocab=8, n_ctx=20, d_in=8, n_layers=1, n_heads=2, d_model=12, d_head=4, d_mlp=8, norm="none", mlp="none",
        positions="none", tied=False,
    )  # fmt: skip
    weights = {name: torch.zeros_like(value) for name, value in init_weights(config, 0).items()}
    weights["embed.W_in"][:8, :8] = torch.eye(8)
    weights["blocks.0.attn.W_V"][0, :4, :4] = torch.eye(4)
    weights["blocks.0.attn.W_O"][0, :4, 8:] = torch.eye(4)
    weights["unembed.W_U"][8:, :4] = torch.eye(4)
    return Network(config, {name: value[None] for name, value in weights.items()})


@pytest.mark.parametrize(("ends", "exchanged"), [(a, b) for a in ("value_0", "key_1") for b in ("value_0", "key_1")])
def test_the_answer_follows_what_stands_where_its_path_ends_and_nothing_else(ends, exchanged):
    """x_1 stands as the value of the first pair and as the key of the second; the head fetches one of them."""
    circuits = {"paths": (Path(Head(0, 0), "queries", ends),)}
    found = tries.exchange_errors(TASK, fetching(), TEST, (1, exchanged), circuits)
    symbols = TEST.tokens[torch.arange(12)[:, None], TEST.roles["value_0"], :4]
    apart = (symbols.roll(1, 0) - symbols)[:, :2].square().mean().item()
    assert found["paths", "new"].item() == pytest.approx(0 if ends == exchanged else apart, abs=1e-6)
    assert found["paths", "old"].item() == pytest.approx(apart if ends == exchanged else 0, abs=1e-6)
    assert found["paths", "others"].item() == pytest.approx(0, abs=1e-6)


def test_errors_after_an_exchange_are_those_of_a_loop():
    config = ModelConfig(
        d_vocab=8, n_ctx=20, d_in=8, n_layers=2, n_heads=2, d_model=8, d_mlp=8, positions="none", tied=False
    )
    weights = init_weights(config, 3)
    net = Network(config, {name: value[None] for name, value in weights.items()})
    found = tries.exchange_errors(TASK, net, TEST, (2, "value_1"), {"none": None})
    tokens = TEST.tokens.clone()
    for row in range(12):
        for chain in range(2):
            at = TEST.roles["value_1"]
            tokens[row, at[row, chain], :4] = TEST.tokens[row - 1, at[row - 1, chain], :4]
    said = forward(config, weights, tokens).logits
    errors = {"new": [], "old": [], "others": []}
    for row in range(12):
        for chain in range(4):
            answer = said[row, TEST.roles["queries"][row, chain], 4:]
            old, new = (TEST.tokens[r, TEST.roles["value_1"][r, chain], :4] for r in (row, row - 1))
            if chain < 2:
                errors["new"].append((answer - new).square().mean())
            errors["old" if chain < 2 else "others"].append((answer - old).square().mean())
    for family, values in errors.items():
        assert found["none", family].item() == pytest.approx(torch.stack(values).mean().item(), rel=1e-5)


def test_a_weight_is_permuted_within_itself():
    weights = {name: value[None] for name, value in init_weights(fetching().config, 1).items()}
    made, again, other = (tries.permuted(weights, seed) for seed in (1, 1, 2))
    for name, value in weights.items():
        assert made[name].shape == value.shape and torch.equal(
            made[name].flatten().sort()[0], value.flatten().sort()[0]
        )
        assert torch.equal(made[name], again[name])
    moved = [name for name, value in weights.items() if value.std() > 0]
    assert moved and all(not torch.equal(made[name], weights[name]) for name in moved)
    assert any(not torch.equal(made[name], other[name]) for name in moved)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    from circuitcore.training.store.run_store import RunStore

    params = studies.load_params("stacked_heads", "smoke").model_copy(update={"fresh_seeds": (11,)})
    run = RunStore(tmp_path_factory.mktemp("runs"), None).get_or_train(design.recipes(params)[str(FRESH)][0])
    return run, {one.name: one.measure(run) for one in design.instruments(params, str(FRESH))}


def test_a_smoke_run_of_the_fresh_seeds_is_measured(measured):
    run, tables = measured
    assert set(tables) == {"measurements", "circuit", "paths", "exchanges", "false_paths"}
    assert "attention" not in set(tables["measurements"]["metric"])
    assert len(tables["exchanges"]) == 3 * 2 * 3  # x_1 stands twice, x_2 once; free and set; new, old, others
    counts = tables["false_paths"].set_index(["metric", "edit"])["value"]
    assert (counts["n_left"] <= counts["n_candidates"]).all() and len(counts) == 6
    circuit = tables["circuit"].astype({"metric": str, "site": str})
    sites = circuit[circuit["metric"] == "candidate_path"]["site"]
    assert counts["n_candidates", "trained"] == sum(len(set(site.split(">"))) == 2 for site in sites)


def test_dated_paths_are_the_links_that_all_links_hold(measured):
    run, tables = measured
    task = run.recipe.make_task()
    looked = task.split("test").rows(slice(0, N_LOOKED))
    net = Network(run.recipe.model, run.stack(run.steps[-1:]))
    pattern = scores.patterns_of(net, looked)
    rows = tables["paths"][tables["paths"]["step"] == run.steps[-1]].astype({"site": str})
    for link in task.links:
        assert link in scores.links_of(task)
        own, _ = scores.link_attention(pattern, looked, link)
        assert rows[rows["site"] == ">".join(link)]["value"].tolist() == pytest.approx(own.flatten().tolist(), abs=1e-6)


def test_lessons_are_trained_on_what_they_say():
    arms = design.recipes(ALL)
    splits = {lesson: [stage.splits for stage in arms[str(lesson)][0].stages] for lesson in (LAST, SHORT_FIRST, MIXED)}
    assert splits == {LAST: [("train",)], SHORT_FIRST: [("train_1",), ("train",)], MIXED: [("mixed",)]}
    for lesson in (LAST, SHORT_FIRST, MIXED):
        recipe = arms[str(lesson)][0]
        assert recipe.make_task().asked == (2,) and recipe.model.n_layers == 3 and recipe.n_steps == PUBLISHED.steps
    assert arms[str(SHORT_FIRST)][0].stages[0].epochs * 50 == PUBLISHED.steps // 3
    assert [arms[str(lesson)][0].make_task().max_length for lesson in LONGER] == [24, 36]
    assert readings.LENGTHS == {str(ONE[1]): 12, str(LONGER[0]): 24, str(LONGER[1]): 36}


def test_arms_without_seeds_are_no_arms():
    arms = design.recipes(ALL.model_copy(update={"fresh_seeds": (), "taught_seeds": ()}))
    assert not {str(lesson) for lesson in (FRESH, LAST, MIXED, *LONGER)} & set(arms)


def curves(metric, arm, values, **label):
    """``{seed: values}`` at steps 0, 100, 200, ..."""
    return [
        {"arm": str(arm), "init_seed": seed, "run_id": f"{arm}{seed}", "step": 100 * at, "metric": metric,
         "value": value, "variable": "", "site": ""} | label
        for seed, of_seed in values.items()
        for at, value in enumerate(of_seed)
    ]  # fmt: skip


def crossing(at, n=10, high=1.0, low=0.0):
    """A curve that falls through one half at 100 * ``at``."""
    steps = np.arange(n)
    return list(np.where(steps < at, high, np.where(steps > at, low, 0.5)))


def test_a_path_that_tells_its_own_loss_is_nearer_to_it_than_to_the_others():
    losses = {seed: crossing(at) for seed, at in {1: 2, 2: 4, 3: 7}.items()}
    rising = {seed: [1 - value for value in of_seed] for seed, of_seed in losses.items()}
    same_for_all = {seed: [1 - value for value in crossing(4)] for seed in losses}
    for paths, wanted in ((rising, {1: 350.0, 2: 250.0, 3: 400.0}), (same_for_all, {1: 0.0, 2: 0.0, 3: 0.0})):
        table = pd.DataFrame(curves("partial_loss", FRESH, losses, variable="x_1"))
        looked = pd.DataFrame(curves("attention", FRESH, paths, site="queries>value_0"))
        results = Results(table, pd.DataFrame(), "paper", {"paths": looked})
        reading = readings.nearer_own(readings.FRESH_FIRST, learnt_time(1, FRESH))
        assert reading(results).to_dict() == pytest.approx(wanted, abs=5)


def test_how_near_networks_are_has_the_interval_of_a_jackknife_over_networks():
    """On a planted table, each network left out in turn and the mean over all ordered pairs taken again, in a loop."""
    rng = np.random.default_rng(5)
    n, index = 9, pd.Index(range(11, 20), name="init_seed")
    losses = pd.Series(rng.exponential(300, n).round(), index)
    paths = pd.Series(losses + rng.normal(0, 60, n).round(), index)

    def mean_over_pairs(kept):
        pairs = [(one, other) for one in kept for other in kept if one != other]
        return np.mean([abs(paths[one] - losses[other]) - abs(paths[one] - losses[one]) for one, other in pairs])

    none = Results(pd.DataFrame(curves("partial_loss", FRESH, {11: [1.0]})), pd.DataFrame(), "paper")
    found = readings.nearer_own(*(OfArms((str(FRESH),), lambda results, of=of: of) for of in (paths, losses)))(none)
    assert found.index.equals(index) and found.mean() == pytest.approx(mean_over_pairs(index))
    without = [mean_over_pairs(index.drop(seed)) for seed in index]
    error = np.sqrt((n - 1) / n * np.square(np.subtract(without, np.mean(without))).sum())
    said = OverPairs().estimate(found, at_least(25, "a bound"), STEPS)
    low, high = scipy.stats.t.interval(0.95, n - 1, loc=found.mean(), scale=error)
    assert (said.effect, said.low, said.high) == pytest.approx((found.mean(), low, high))
    assert error > 1.5 * found.std() / np.sqrt(n), "more than if the numbers were independent"


def test_the_second_look_up_is_the_earlier_of_its_two_paths_and_what_never_comes_stands_at_the_end():
    rows = curves("attention", FRESH, {1: [0, 0, 1, 1], 2: [0, 0, 0, 0]}, site="queries>value_1")
    rows += curves("attention", FRESH, {1: [0, 1, 1, 1], 2: [0, 0, 0, 0.4]}, site="value_0>value_1")
    table = pd.DataFrame(curves("partial_loss", FRESH, {1: [1], 2: [1]}))
    found = readings.SECOND_LOOK_UP(Results(table, pd.DataFrame(), "paper", {"paths": pd.DataFrame(rows)}))
    assert found.to_dict() == {1: 50.0, 2: 300.0}


def test_a_network_in_which_neither_path_nor_symbol_came_is_left_out_of_the_second_reading():
    """Falls at 200, 400 and 700 steps, and never: of the first three the distances are those by hand above."""
    losses = {seed: crossing(at) for seed, at in {1: 2, 2: 4, 3: 7, 4: 99}.items()}
    rising = {seed: [1 - value for value in of_seed] for seed, of_seed in losses.items()}
    table = pd.DataFrame(curves("partial_loss", FRESH, losses, variable="x_2"))
    looked = pd.DataFrame(curves("attention", FRESH, rising, site="queries>value_1"))
    results = Results(table, pd.DataFrame(), "paper", {"paths": looked})
    both = readings.SECOND_LOOK_UP, learnt_time(2, FRESH)
    assert readings.nearer_own(*both)(results)[4] > 400, "at the end both: it counts as a match"
    found = readings.nearer_own_where_it_came(*both)(results)
    assert found.to_dict() == pytest.approx({1: 350.0, 2: 250.0, 3: 400.0}, abs=5)
    shown = prose.PROSE_VIEWS["second_where_it_came"](results).table.set_index("init_seed")["value"]
    assert shown.isna().to_dict() == {1: False, 2: False, 3: False, 4: True}


def test_how_far_a_pair_is_joined_is_read_where_the_query_s_path_passes_one_half():
    """The query's path at 150 steps; then head 1.0 is halfway from 0.2 to 0.6, its neighbour from 0 to 0.5."""
    rows = curves("attention", FOLLOWED, {1: [0, 0, 1, 1]}, site="queries>value_0", layer=2, head=0)
    rows += curves("attention", FOLLOWED, {1: [0, 0.2, 0.6, 0.8]}, site="value_0>key_0", layer=1, head=0)
    rows += curves("attention", FOLLOWED, {1: [0, 0, 0.5, 0]}, site="value_0>key_0", layer=1, head=1)
    rows += curves("attention", FOLLOWED, {1: [0, 0.2, 0.3, 0]}, site="value_0>key_0", layer=0, head=1)
    rows += curves("partial_loss", FOLLOWED, {1: [1.0] * 4}, variable="x_1")
    found = joining.joining(Results(pd.DataFrame(rows), pd.DataFrame(), "paper")).table.loc[0]
    assert (found["value"], found["most"], found["second"]) == pytest.approx((25.0, 0.4, 0.25))


def test_the_first_stage_ends_with_its_last_epoch():
    epochs = range(1, 7)
    rows = [
        {"arm": str(arm), "init_seed": 1, "epoch": epoch, "loss": epoch + 10 * half + 100 * (arm == LAST)}
        for arm in (LAST, SHORT_FIRST)
        for epoch in epochs
        for half in (0, 1)
    ]
    table = pd.DataFrame(curves("partial_loss", SHORT_FIRST, {1: [1.0]}))
    results = Results(table, pd.DataFrame(rows), "paper")
    assert prose.first_stage(results).table["value"].tolist() == [7.0], "a third of six epochs: the mean of 2 and 12"


def numbers(views):
    return prose.numbers(PUBLISHED, dict(zip(prose.NEEDED, views, strict=True)))


def test_the_prose_s_numbers_are_counted_by_hand():
    taught = pd.DataFrame(
        {"group": [figures.LESSONS[str(MIXED)]] * 3, "value": [0.7, 0.2, 0.1], "init_seed": [1, 2, 3]}
    )
    stage, start = (pd.DataFrame({"init_seed": [1, 2], "value": values}) for values in ([0.01, 0.034], [0.1, 0.25]))
    second = pd.DataFrame({"init_seed": range(1, 7), "value": [100.0] * 5 + [np.nan]})
    first = second.assign(value=30.0)
    worth = pd.DataFrame({"group": ["the block", "left", "right", "both"], "value": [0.75, 0.52, 0.5, 0.0]})
    networks = pd.DataFrame(
        {"arm": [str(SCARCE)] * 2, "init_seed": [1, 2], "value": [True, False], "doubles": True, "hops": False}
    ).assign(error=[0.1, 0.2], without=[0.4, 0.3])
    four = pd.DataFrame(
        {"arm": [str(EVERY_FOUR), str(WITHOUT_THIRD)], "place": 4, "init_seed": 1, "value": [1.0, np.nan]}
    )
    looks = pd.DataFrame(
        {"arm": str(EVERY_FOUR), "init_seed": [1, 2], "value": [True, False], "ahead": 0.9, "query": 0.1}
    )
    none, candidates = SET["none"], SET["candidates"]
    setting = pd.DataFrame(
        {"arm": [str(FRESH)] * 6 + [str(FOLLOWED)] * 2, "init_seed": [1, 2, 3] * 2 + [1] * 2,
         "group": [none] * 3 + [candidates] * 3 + [none, candidates],
         "value": [0.1, 0.2, 0.3, 0.12, 0.24, 0.74, 0.0, 9.0]}
    )  # fmt: skip
    depths = pd.DataFrame(
        {"arm": str(REWARDED[-1]), "series": SYMBOLS[2], "init_seed": [1, 2, 3], "value": [0.1, 0.2, 0.7]}
    )
    times = pd.DataFrame(
        {"arm": [str(FRESH)] * 3 + [str(FOLLOWED)], "group": f"error of the {SYMBOLS[2]} falls",
         "init_seed": [1, 2, 3, 1], "value": 100.0, "there": [True, True, False, True]}
    )  # fmt: skip
    joined = pd.DataFrame(
        {"init_seed": [1, 2, 3], "value": [-5.0, 10.0, 20.0], "most": [0.9, 0.45, 0.4], "second": [0.8, 0.3, 0.2]}
    )
    longer = pd.DataFrame({"init_seed": [1, 2], "value": True, "before": [True, False], "step": 90.0, "hops": False})
    tables = (taught, stage, first, second, start, worth, networks, stage, four, looks, setting, depths, times, joined)
    tables += (longer,)
    views = [View(table, "any", "test") for table in tables]
    found = numbers(views)
    assert (found["n_mixed_learnt"], found["mixed_error"], found["first_stage_error"]) == ("2 of 3", "0.20", "0.03")
    assert (found["n_scarce_learnt"], found["n_doubling"]) == ("1 of 2", "1 of 1")
    assert (found["doubling_error"], found["without_ahead"], found["second_stage_error"]) == ("0.10", "0.40", "0.01")
    assert (found["n_never"], found["n_never_first"]) == ("1 of 6", "0 of 6")
    assert (found["n_deepest_second"], found["n_fresh_second"]) == ("2 of 3", "2 of 3")
    assert (found["n_query_first"], found["joined_most"], found["n_joined_by_two"]) == (
        "2 of 3",
        "40 to 45 %",
        "1 of 2",
    )
    assert found["attention_at_start"] == "25 %"
    assert (found["n_fourth_every"], found["n_fourth_without_third"]) == ("1 of 1", "0 of 1")
    assert (found["n_ahead_learnt"], found["n_ahead_not"], found["query_at_fourth"]) == ("1 of 1", "1 of 1", "0.10")
    assert (found["n_fresh_set"], found["most_fresh_set"]) == ("2 of 3", "0.4")
    assert (found["knows_the_block"], found["knows_one_of_two"]) == ("0.75", "0.51")
    assert found["nearer_where_it_came"].startswith("100 steps [100")
    assert found["nearer_first_where_it_came"].startswith("30 steps [30")
    assert found["n_steps_short"] == f"{PUBLISHED.steps // 3:,}"
    more = [View(pd.concat([v.table.assign(origin="paper"), v.table.assign(value=9.0, origin="rerun")]), "any", "test")
            for v in views]  # fmt: skip
    assert numbers(more) == found, "a reader's runs beside change nothing"
    few = [View(v.table.assign(value=np.nan if v is views[3] else 1.0), "any", "test") for v in views]
    said = numbers(few)
    assert said["mixed_error"] == said["nearer_where_it_came"] == "(not measured)"


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_the_power_of_growth_is_read_off_times(power):
    rows = []
    for arm, length in readings.LENGTHS.items():
        at = (length / 12) ** power
        steps = np.arange(0, 20, 0.01)  # a fine grid: curves() counts steps in hundreds
        rows += [
            {"arm": arm, "init_seed": 1, "run_id": arm, "step": step, "metric": "partial_loss", "variable": "x_1",
             "value": float(step < at)} for step in steps
        ]  # fmt: skip
    table = pd.DataFrame(rows)
    table["step"] *= 100
    results = Results(table, pd.DataFrame(), "paper")
    assert readings.growth(results)[1] == pytest.approx(power, abs=0.02)


def test_views_of_the_lessons_have_a_point_for_each_network(measured):
    learnt = {1: [1.0, 0.9, 0.1], 2: [1.0, 0.2, 0.1]}
    rows = [row for arm in figures.LESSONS for row in curves("partial_loss", arm, learnt, variable="x_2")]
    rows += [row for arm in readings.LENGTHS for row in curves("partial_loss", arm, learnt, variable="x_1")]
    tables = {
        name: measured[1][name].assign(arm=str(FRESH), init_seed=11) for name in ("exchanges", "false_paths", "paths")
    }
    results = Results(pd.DataFrame(rows), pd.DataFrame(), "paper", tables)
    taught, training, length = (
        figures.LESSON_VIEWS[name](results) for name in ("taught", "taught_training", "by_length")
    )
    assert taught.table.groupby("group", sort=False)["value"].max().to_dict() == dict.fromkeys(
        figures.LESSONS.values(), 0.1
    )
    assert len(training.table) == 4 * 2 * 3 and set(training.table["panel"]) == set(figures.LESSONS.values())
    assert list(length.table["group"].unique()) == ["12 positions", "24 positions", "36 positions"]
    assert length.table["value"].tolist() == pytest.approx([150.0, 62.5] * 3)
    exchanges, found = (figures.LESSON_VIEWS[name](results).table for name in ("exchanges", "found_paths"))
    assert list(found["group"]) == list(figures.NETWORKS.values())
    assert len(exchanges) == len(figures.EXCHANGES) * len(figures.FREE)
    asked = tables["exchanges"].astype({"site": str, "edit": str, "family": str})
    worst = asked[asked["site"].str.startswith("value") & (asked["edit"] == "paths") & (asked["family"] == "new")]
    shown = exchanges[
        (exchanges["group"] == figures.EXCHANGES["value", "new"]) & (exchanges["series"] == figures.FREE["paths"])
    ]
    assert shown["value"].item() == worst["value"].max() == readings.exchanged("value", "paths", "new")(results)[11]


def test_how_many_networks_may_have_a_path_where_none_is_found():
    """With none in n the interval ends where n failures have a chance of one in forty; one with a path is one more."""
    rows = [
        {"group": group, "init_seed": seed, "value": float(group == "trained, weights shuffled" and seed == 1)}
        for group in ("trained", "never trained", "trained, weights shuffled")
        for seed in range(20)
    ]
    words = figures.found_in_words(View(pd.DataFrame(rows), "candidate paths", "planted"))
    none, one = (100 * (1 - 0.025 ** (1 / 20)), 100 * scipy.stats.beta.ppf(0.975, 2, 19))
    assert words == {
        "found_untrained": f"0 of 20 (up to {none:.0f} % by the interval)",
        "found_permuted": f"1 of 20 (up to {one:.0f} % by the interval)",
    }
