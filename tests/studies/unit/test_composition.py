"""k-fold composition: what is read off the tables, that each number can come out wrong, and whose runs are drawn."""

import dataclasses
import itertools
import math

import pandas as pd
import pytest
import torch

from circuitcore.metrics.scores.groups import mean_by
from circuitcore.models import init_weights
from livingpaper.book import studies
from livingpaper.claims.results import Results
from retrieval_circuits.composition import design, figures, published, readings
from retrieval_circuits.composition.circuit import _by_layers
from retrieval_circuits.composition.claims.turns import some_way_answers
from retrieval_circuits.composition.design import ARMS, BY_DEPTH, FOLLOWED, LOOK_UPS
from retrieval_circuits.composition.measures import mixed, own_and_one, scores

STUDY = studies.load("composition")
PUBLISHED = studies.load_params("composition")
STACKED = studies.load("stacked_heads")


def row(arm, metric, value, step=200, **labels):
    rest = {"variable": "", "edit": "", "site": "", "family": "", "layer": 0, "head": 0, "split": "test", "n": 1}
    return (
        {"arm": str(arm), "init_seed": 1, "metric": metric, "value": value, "step": step, "tokens_seen": 0}
        | rest
        | labels
    )


def results(rows, exchanges=()):
    tables = [pd.DataFrame([{"init_seed": 1, **one} for one in part]) for part in (rows, exchanges or rows)]
    for table in tables:
        table["run_id"] = table["arm"] + table["init_seed"].astype(str)
    return Results(tables[0], pd.DataFrame(), "paper", tables={"exchanges": tables[1]})


def learning(arm, curves):
    """Rows of accuracy, measured every 100 steps from 0: hops -> values."""
    found = [
        row(arm, "accuracy", value, 100 * at, variable=f"hops_{hops}")
        for hops, values in curves.items()
        for at, value in enumerate(values)
    ]
    return found + [row(arm, "loss", 1.0, 100 * at) for at in range(len(curves[1]))]


MAPS_4 = "words of permutation 4"
CURVES = {1: [0.2, 1.0, 1.0], 2: [0.3, 0.6, 1.0], 3: [0.2, 0.3, 0.8], 4: [0.25, 0.25, 0.25]}


def test_scores_are_those_of_a_loop():
    logits = torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(0))
    targets = torch.tensor([0, 6, 3, 3, 1])
    right, loss = scores(logits, targets)
    for stack in range(2):
        best = [max(range(7), key=logits[stack, query].tolist().__getitem__) for query in range(5)]
        assert right[stack].tolist() == [float(a == b) for a, b in zip(best, targets.tolist(), strict=True)]
        each = [
            math.log(sum(math.exp(value) for value in logits[stack, query].tolist()))
            - logits[stack, query, wanted].item()
            for query, wanted in enumerate(targets.tolist())
        ]
        assert loss[stack].item() == pytest.approx(sum(each) / 5, abs=1e-5)


def test_permutations_of_another_row_stand_where_they_are_said_to_be_held():
    mine, other = torch.zeros(2, 4, 3, dtype=int), torch.ones(2, 4, 3, dtype=int)
    assert mixed(mine, other, 3, 2)[:, :, 0].tolist() == [[0, 1, 1, 0]] * 2
    assert mixed(mine, other, 4, 0).sum() == 0 and mine.sum() == 0


def test_times_are_crossings_and_what_is_not_answered_counts_as_if_at_the_end():
    found = results(learning(FOLLOWED, CURVES))
    times = readings.times(found, FOLLOWED).set_index("hops")["time"]
    assert (
        times[1] == pytest.approx(87.5) and times[2] == pytest.approx(175) and times[[3, 4]].tolist() == [math.inf] * 2
    )
    assert readings.time_between(FOLLOWED, 1, 2)(found).tolist() == [pytest.approx(87.5)]
    assert readings.time_between(FOLLOWED, 2, 3)(found).tolist() == [pytest.approx(25)]
    assert readings.time_between(FOLLOWED, 3, 4)(found).empty


def test_hops_answered_stop_at_the_first_number_that_is_not():
    gap = {**CURVES, 2: [0.3] * 3, 3: [0.9] * 3}
    found = results([*learning(BY_DEPTH[0], CURVES), *learning(BY_DEPTH[1], gap)])
    assert readings.hops_answered(found, *BY_DEPTH[:2])["value"].tolist() == [2, 1]


def test_exchanges_are_read_by_the_layers_that_have_passed():
    held = [
        row(FOLLOWED, "maps_hold", value, site=site, family="hops_3", variable="maps_2", edit="hops_2")
        for site, value in {"L0.resid_pre": 0.2, "L0.resid_post": 0.9, "L1.resid_post": 0.3}.items()
    ]
    found = results(learning(FOLLOWED, CURVES), held)
    asked = {"variable": "maps_2", "edit": "hops_2"}
    read = [readings.holds(FOLLOWED, readings.MAPS, 3, after, **asked)(found).item() for after in range(3)]
    assert read == [0.2, 0.9, 0.3]


def test_networks_of_stacked_heads_are_those_that_its_chapter_published():
    published = studies.load_params("stacked_heads")
    assert {name: getattr(published, name) for name in design.THEIRS} == design.THEIRS
    theirs, ours = STACKED.recipes(published), STUDY.recipes(PUBLISHED)
    for name in LOOK_UPS:
        assert {recipe.run_id for recipe in ours[name]} <= {recipe.run_id for recipe in theirs[name]}
        assert STUDY.instruments(PUBLISHED, name) == STACKED.instruments(published, name)
        kept = [
            {seed: of.published_epochs(given, name, seed) for seed in PUBLISHED.look_up_seeds}
            for of, given in ((STUDY, PUBLISHED), (STACKED, published))
        ]
        assert kept[0] == kept[1]
    none = PUBLISHED.model_copy(update={"look_up_seeds": ()})
    assert set(STUDY.recipes(none)) == set(map(str, ARMS))


def test_look_ups_are_counted_by_that_chapters_threshold():
    cell = LOOK_UPS["D 2, every step, 3 layers"]
    rows = learning(FOLLOWED, CURVES)
    rows += [row(cell, "partial_loss", value, variable=name) for name, value in {"x_1": 0.1, "x_2": 0.6}.items()]
    found = readings.look_ups_learnt(results(rows))
    assert found[["n_layers", "value"]].to_numpy().tolist() == [[3, 1]]
    assert readings.look_ups_learnt(results(learning(FOLLOWED, CURVES))).empty


def test_the_frontier_has_both_laws_and_every_study_at_its_layers_that_look_up():
    three = {**CURVES, 3: CURVES[2]}
    rows = [one for arm in BY_DEPTH for one in learning(arm, CURVES)] + learning(design.KEPT_TWO, three)
    table = figures.frontier(results(rows)).table.set_index(["row", "column"])["value"]
    assert [table["one hop a layer", str(n)] for n in range(1, 6)] == [1, 2, 3, 4, 5]
    assert [table["doubling", str(n)] for n in range(1, 6)] == [1, 3, 7, 15, 31]
    assert [table["k-hop heads", str(n)] for n in range(1, 6)] == [1, 3, 5, 8, 15]
    assert table["ours, mixed"].to_dict() == {"2": 2, "3": 2, "4": 2}
    assert table["ours, one more a turn"].to_dict() == {"2": 3}


def test_two_layers_are_read_between_them_one_network_at_a_time():
    held = {
        ("maps_hold", "maps_2", "hops_2"): 0.8, ("maps_hold", "maps_3", "hops_2"): 0.2,
        ("maps_hold", "maps_3", "hops_0"): 0.5, ("query_holds", "x_1", ""): 0.3, ("query_holds", "x_0", ""): 0.6,
    }  # fmt: skip
    rows = [
        row(design.KEPT_TWO, metric, value, site=site, family=family, variable=variable, edit=edit)
        for (metric, variable, edit), right in held.items()
        for site, family, value in (
            ("L0.resid_post", "hops_3", right), ("L0.resid_pre", "hops_3", 0.1), ("L0.resid_post", "hops_2", 0.15),
        )
    ]  # fmt: skip
    for end, words in ((0.95, "answers three hops"), (0.8, "does not")):
        view = figures.held_two(results(learning(design.KEPT_TWO, {**CURVES, 3: [0.2, 0.3, end]}), rows))
        assert view.table["value"].tolist() == list(held.values()) and set(view.table["series"]) == {words}
        assert view.table["group"].tolist() == list(figures.HELD_BETWEEN) and view.chance == 1 / 4


def test_networks_that_answer_are_counted_by_the_threshold_at_the_end():
    three = {**CURVES, 3: [0.2, 0.95, 0.91]}
    rows = [*learning(design.KEPT_THREE, three), *learning(design.STEPWISE_THREE, CURVES)]
    view = figures.shallow(results(rows))
    assert figures.answering(view, 3, design.KEPT_THREE) == "1 of 1"
    assert figures.answering(view, 3, design.KEPT_THREE, design.STEPWISE_THREE) == "1 of 2"
    assert (figures.right_at_end(view, 3, design.KEPT_THREE), figures.answering(view, 4, design.KEPT_THREE)) == (
        "91%", "0 of 1",
    )  # fmt: skip


def test_turns_have_parts_of_the_steps_and_a_mixture_has_all():
    arms = STUDY.recipes(PUBLISHED)
    for arm in ARMS:
        (recipe, *_), wanted = arms[str(arm)], arm.way.in_turn
        seldom = design.SELDOM if arm in design.BY_WIDTH else 1
        assert recipe.n_steps == PUBLISHED.steps * arm.times and len(recipe.checkpoint_epochs) == 72 // seldom + 1
        assert [12 * stage.epochs // (72 * arm.times) for stage in recipe.stages] == list(arm.way.parts or [12])
        task = recipe.make_task()
        assert task.mixed == (arm.way.mixed or tuple(sorted(wanted)))
        asked = [{*task.read(task.split(stage.splits[0]))[2].unique().tolist()} for stage in recipe.stages]
        so_far = [{*wanted[: turn + 1]} if arm.way.kept else {hops} for turn, hops in enumerate(wanted)]
        assert asked == (so_far or [{*arm.way.mixed}])


def test_in_reverse_each_number_of_hops_has_as_many_rows():
    there, back = (
        {stage.splits: stage.epochs for stage in STUDY.recipes(PUBLISHED)[str(arm)][0].stages}
        for arm in (design.FORWARD, design.BACKWARDS)
    )
    assert there == back and list(there) == list(back)[::-1]


def test_main_arms_have_more_seeds_and_the_pilots_seed_is_in_none():
    seeds = {arm: design.seeds_of(PUBLISHED, arm) for arm in ARMS}
    assert {len(seeds[arm]) for arm in design.MORE_SEEDED} == {32}
    others = [arm for arm in ARMS if arm not in (*design.MORE_SEEDED, *design.SHALLOW) and arm.times == 1]
    assert {len(seeds[arm]) for arm in others} == {17}
    assert {seeds[arm] for arm in design.BY_HEADS} == {tuple(range(11, 23))}, "those of as long ones of four heads"
    assert {seeds[arm] for arm in design.SHALLOW} == {tuple(range(11, 33))}, "each with permutations of its own"
    assert not any(900 in of_arm for of_arm in seeds.values())


def test_layers_of_fewer_and_of_more_heads_have_as_many_weights_and_are_trained_alike():
    arms = STUDY.recipes(PUBLISHED)
    assert [(arm.n_layers, arm.n_heads) for arm in design.BY_HEADS] == [(2, 2), (2, 8), (3, 2)]
    for arm in design.BY_HEADS:
        recipe, four = (arms[str(one)][0] for one in (arm, arm._replace(n_heads=4)))
        assert recipe.model.d_head * recipe.model.n_heads == four.model.d_model == 64
        n_weights = [sum(w.numel() for w in init_weights(one.model, 0).values()) for one in (recipe, four)]
        assert n_weights[0] == n_weights[1]
        assert dataclasses.replace(recipe, model=four.model) == four, "but for heads the same recipe"


def test_number_and_width_of_heads_are_crossed_on_seeds_of_their_own():
    arms = STUDY.recipes(PUBLISHED)
    crossed = {(arm.n_heads, arm.width): arms[str(arm)] for arm in design.BY_WIDTH}
    assert {of: made[0].model.d_head for of, made in crossed.items()} == {
        (4, "narrow"): 8, (4, "wide"): 16, (8, "narrow"): 8, (8, "wide"): 16,
    }  # fmt: skip
    n_weights = {of: sum(w.numel() for w in init_weights(made[0].model, 0).values()) for of, made in crossed.items()}
    assert n_weights[4, "wide"] == n_weights[8, "narrow"] and len(set(n_weights.values())) == 3
    assert dataclasses.replace(crossed[4, "wide"][0].model, n_heads=8, d_head=8) == crossed[8, "narrow"][0].model
    seeds = {tuple(recipe.init_seed for recipe in made) for made in crossed.values()}
    others = {seed for arm in ARMS if arm not in design.BY_WIDTH for seed in design.seeds_of(PUBLISHED, arm)}
    assert seeds == {PUBLISHED.width_seeds} and not others & set(PUBLISHED.width_seeds)
    assert len({recipe.task_params["hidden_seed"] for recipe in crossed[8, "wide"]}) == len(PUBLISHED.width_seeds)


def test_networks_trained_for_much_longer_are_others_trained_on():
    arms = STUDY.recipes(PUBLISHED)
    assert not set(PUBLISHED.long_seeds) & set(PUBLISHED.fresh_seeds)
    for long, short in zip((*design.LONG, design.FRESH_TWO), (*BY_DEPTH, design.TWO), strict=True):
        before = {recipe.init_seed: recipe for recipe in arms[str(short)]}
        for recipe in arms[str(long)]:
            same = before[recipe.init_seed]
            assert recipe.n_steps == 8 * same.n_steps and recipe.stages[0].fresh == same.stages[0].fresh
            fields = ("task", "task_params", "model", "optimizer", "batch_size", "data_seed", "engine")
            assert all(getattr(recipe, name) == getattr(same, name) for name in fields)
            ends = recipe.schedule.epoch_ends
            assert same.n_steps in [ends[epoch] for epoch in recipe.checkpoint_epochs], "measured there, too"


def test_only_networks_that_answer_are_read_where_that_is_said():
    arm = design.LONG_THREE
    curves = {1: CURVES, 2: {**CURVES, 4: [0.2, 0.5, 0.9]}, 3: {**CURVES, 4: [0.2, 0.95, 0.5]}}
    rows = [{**one, "init_seed": seed} for seed, of_seed in curves.items() for one in learning(arm, of_seed)]
    where = {"site": "L0.resid_post", "family": "hops_4", "variable": "maps_4", "edit": "hops_2"}
    held = [
        {**row(arm, "maps_hold", value, **where), "init_seed": seed} for seed, value in {1: 0.3, 2: 0.8, 3: 0.4}.items()
    ]
    query = {"site": "L0.resid_post", "family": "hops_4", "variable": "x_0"}
    held += [{**row(arm, "query_holds", seed**2 / 10, **query), "init_seed": seed} for seed in curves]
    found = results(rows, held)
    values = readings.holds(arm, readings.MAPS, 4, 1, variable="maps_4", edit="hops_2")
    assert values(found).to_dict() == {1: 0.3, 2: 0.8, 3: 0.4}
    assert readings.where_answered(values, arm, 4)(found).to_dict() == {2: 0.8}
    assert readings.where_answered(values, arm, 3)(found).empty
    for shown, maps, ask in ((found, 0.8, 0.4), (results(rows[: len(rows) // 3], held), 0.5, 1.4 / 3)):
        drawn = figures.VIEWS["held_longer"](shown).table.set_index(["panel", "row"])["value"]
        assert drawn.to_dict() == pytest.approx({(MAPS_4, "two hops"): maps, ("the query", "no hop"): ask})


def test_sooner_pairs_seeds_and_takes_what_never_comes_as_the_end():
    late, never = {**CURVES, 4: [0.2, 0.2, 1.0]}, CURVES
    found = results([*learning(design.FORWARD, late), *learning(design.FOUR, never)])
    assert readings.sooner(design.FORWARD, design.FOUR, 4)(found).tolist() == [pytest.approx(12.5)]
    assert readings.sooner(design.FOUR, design.FORWARD, 4)(found).tolist() == [pytest.approx(-12.5)]
    assert readings.sooner(design.FORWARD, design.FOUR, 3)(found).tolist() == [0]


def test_the_best_accuracy_is_of_any_checkpoint_and_the_final_one_of_the_last():
    found = results(learning(design.FORWARD, {**CURVES, 1: [0.2, 1.0, 0.3]}))
    assert readings.best_accuracy(design.FORWARD, 1)(found).tolist() == [1.0]
    assert readings.final_accuracy(design.FORWARD, 1)(found).tolist() == [0.3]


def test_arrivals_are_of_three_and_four_hops_and_at_the_end_where_they_never_come():
    late, arms = {**CURVES, 4: [0.2, 0.2, 1.0]}, design.TAUGHT
    rows = [one for arm in arms for one in learning(arm, late if arm == design.FORWARD else CURVES)]
    table = figures.arrivals(results(rows)).table
    assert set(table["series"]) == {"three hops", "four hops"} and set(table["value"]) == {187.5, 200}
    table = table[table["series"] == "four hops"].set_index("arm")["value"]
    assert table.pop(str(design.FORWARD)) == pytest.approx(187.5)
    assert table.to_dict() == dict.fromkeys((str(arm) for arm in arms if arm != design.FORWARD), 200)
    assert set(figures.turns(results(rows)).table["arm"]) == set(map(str, arms)) - {str(design.FOUR)}


def test_ways_to_four_hops_race_only_where_one_of_them_gets_there():
    never = {hops: [*values, *values[-1:] * 2] for hops, values in CURVES.items()}
    soon, late = {**never, 4: [0.2, 1.0, 1.0, 1.0, 1.0]}, {**never, 4: [0.2, 0.2, 0.2, 0.2, 1.0]}
    seeds = {1: (never, never), 2: (soon, never), 3: (soon, late), 4: (never, soon)}
    others = [arm for arm in design.TAUGHT if arm not in (design.ADDING, design.FOUR)]
    rows = [
        {**one, "init_seed": seed}
        for seed, both in seeds.items()
        for arm, curves in (*zip((design.ADDING, design.FOUR), both, strict=True), *((arm, never) for arm in others))
        for one in learning(arm, curves)
    ]
    found = results(rows)
    assert figures.raced(figures.arrivals(found), design.ADDING) == {
        "neither": "1 of 4", "either": "3", "sooner": "2", "later": "1",
    }  # fmt: skip
    control = some_way_answers(design.ADDING)
    assert control.held(found).estimate.effect == 0.75 and control.spoils == "no"


def test_what_the_query_holds_is_told_once_for_layers_that_agree():
    assert _by_layers(["two hops"] * 3) == "two hops after any layer"
    told = "its start after the first layer, three hops after the second and third layer"
    assert _by_layers(["its start", "three hops", "three hops"]) == told


def test_turns_in_words_are_those_of_the_recipes():
    stages = STUDY.recipes(PUBLISHED)[str(design.FORWARD)][0].stages
    steps = [f"{stage.epochs * design.STEPS_AN_EPOCH:,}" for stage in stages]
    assert figures.turn_lengths(PUBLISHED.steps).replace(" and ", ", ").split(", ") == steps


def test_the_lines_of_turns_are_where_the_recipes_stages_end():
    for arm in design.IN_TURN:
        recipe = STUDY.recipes(PUBLISHED)[str(arm)][0]
        lasts = [stage.epochs * design.STEPS_AN_EPOCH for stage in recipe.stages]
        assert figures.begin_at(arm.way, recipe.n_steps) == tuple(itertools.accumulate(lasts))[:-1] != ()


def test_networks_beyond_one_hop_a_layer_are_counted_at_the_end_and_once():
    answered = {**CURVES, 3: [0.2, 0.3, 0.95], 4: [0.2, 0.2, 0.95]}
    lost = {**CURVES, 3: [0.2, 0.95, 0.3]}
    two, three, four = BY_DEPTH
    for of_two, of_three, wanted in (
        (answered, CURVES, "1 of 2"),
        (lost, answered, "1 of 2"),
        (lost, CURVES, "0 of 2"),
    ):
        rows = [
            one for arm, curves in ((two, of_two), (three, of_three), (four, answered)) for one in learning(arm, curves)
        ]
        assert figures.beyond(figures.depths(results(rows))) == wanted


def test_errors_are_those_published_and_ours_at_the_end():
    later = [{**one, "init_seed": 2} for one in learning(FOLLOWED, {**CURVES, 3: [0.2, 0.3, 0.6]})]
    table = figures.errors(results([*learning(FOLLOWED, CURVES), *later])).table.set_index(["panel", "row", "column"])
    assert table["value"]["k-hop heads, 4 heads", "2 layers", "2"] == 0.14
    assert table["value"]["k-hop heads, 8 heads", "5 layers", "16"] == 0.027
    ours = table["value"]["these networks, 4 heads"]
    assert ours.to_dict() == pytest.approx(
        {("3 layers", str(n)): wrong for n, wrong in enumerate((0, 0, 0.3, 0.75), 1)}
    )
    assert len(table) == 2 * 5 * 8 + 4


@pytest.mark.parametrize(("wrong", "hops"), [((0.06, 0.01), 0), ((0.05, 0.01, 0.06, 0.01), 2), ((0.01, 0.02), 2)])
def test_hops_count_as_learnt_up_to_the_first_error_that_is_too_large(wrong, hops):
    assert published.most_hops(wrong) == hops


def test_arms_are_counted_at_the_end_and_have_the_step_of_their_median():
    rows = [*learning(FOLLOWED, CURVES), *({**one, "init_seed": 2} for one in learning(FOLLOWED, CURVES))]
    rows += [{**one, "init_seed": 3} for one in learning(FOLLOWED, {**CURVES, 2: [0.3, 0.4, 0.5]})]
    lost = {**CURVES, 1: [0.2, 1.0, 0.3]}
    table = figures.every_arm(results([*rows, *learning(design.FORWARD, lost)])).table.set_index("arm")
    of_three, in_turn = table.loc[str(FOLLOWED)], table.loc[str(design.FORWARD)]
    assert of_three["networks (draws)"] == "3 (1)"
    assert [of_three[words] for words in design.WORDS.values()] == ["3 (87)", "2 (175)", "0 (never)", "0 (never)"]
    assert in_turn["one hop"] == "0 (87)"
    doubled = figures.every_arm(results(learning(design.BY_POWERS, CURVES))).table.iloc[0]
    assert doubled["three hops"] == "0 (–)", "nobody asks for three"


CHOOSES = torch.tensor([True, False] * 4)


def test_the_own_head_of_a_kind_is_chosen_on_other_queries_than_it_is_measured_on():
    kinds = torch.tensor([0, 0, 1, 1, 0, 0, 1, 1])
    cost = torch.tensor([[1.0, 1, 0, 0, 1, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 1], [0, 1, 0, 0, 0, 1, 0, 0]])
    assert mean_by(cost, kinds, 2).tolist() == [[0.75, 0], [0, 0.75], [0.5, 0]]
    own, one = own_and_one(cost, kinds, CHOOSES)
    # Chosen: head 0 for kind 0 (head 2 would be luckier where it is measured), head 1 for kind 1, head 0 for both.
    assert (own.item(), one.item()) == (0.75, 0.25)


def test_kinds_that_no_query_chooses_for_or_is_measured_on_count_for_nothing():
    kinds, cost = (
        torch.tensor([0, 0, 2, 3, 2, 3, 2, 3]),
        torch.tensor([[1.0, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1, 1]]),
    )
    assert [value.item() for value in own_and_one(cost, kinds, CHOOSES)] == [1, 1]


@pytest.mark.parametrize("heads", [[0], [0, 1], range(8)], ids=["one", "two", "all"])
def test_heads_that_all_queries_need_alike_are_read_as_shared_out_by_nothing(heads):
    drawn = torch.Generator().manual_seed(0)
    cost = torch.zeros(8, 4000)
    cost[list(heads)] = (torch.rand(len(heads), 4000, generator=drawn) < 0.6).float()
    own, one = own_and_one(cost, torch.randint(16, (4000,), generator=drawn), torch.arange(4000) % 2 == 0)
    assert own > 0.5 and abs(own - one) < 0.03


def test_kinds_that_need_a_head_each_are_read_so():
    drawn = torch.Generator().manual_seed(0)
    kinds = torch.randint(16, (4000,), generator=drawn)
    cost = torch.nn.functional.one_hot(kinds // 2, 8).T.float()
    own, one = own_and_one(cost, kinds, torch.arange(4000) % 2 == 0)
    assert own == 1 and one == pytest.approx(1 / 8)
