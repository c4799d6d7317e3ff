"""Waits: against a training written out here, planted powers, and what one axis may change."""

import dataclasses
import math
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn.functional import cross_entropy

from circuitcore.models import forward, init_weights
from circuitcore.tasks.in_context_recall import InContextRecall
from circuitcore.training.engines.engine import TorchEngine
from livingpaper.book import studies
from livingpaper.claims.results import KEY_COLUMNS, Results
from livingpaper.explorer.material import Material
from livingpaper.explorer.shown_run import Curve
from retrieval_circuits.design import DATA_SEED_OFFSET
from retrieval_circuits.emergence_laws import design, measures, readings
from retrieval_circuits.emergence_laws.design import AXES, MIDDLE, PAIRS, SEQUENCE, SHAPES
from retrieval_circuits.emergence_laws.explorer import _shown
from retrieval_circuits.emergence_laws.figures import chapter as figures
from retrieval_circuits.emergence_laws.measures import Setting, crossed, waits

STUDY = studies.load("emergence_laws")
PUBLISHED = studies.load_params("emergence_laws")


def waiting(told=PAIRS, changes=((),), **given):
    (asked,) = (one for one in STUDY.experiments(PUBLISHED) if one.name == design.name_of(told))
    return dataclasses.replace(asked.params, changes=changes, **given)


def planted(axes, time, told=PAIRS, n_seeds=4):
    """Tables of the middle and of some axes, in which every network waits as ``time(setting, seed)`` says."""
    tables, axes = {}, (axes,) if isinstance(axes, str) else axes
    for name, changes in (("middle", ((),)), *((axis, AXES[axis]) for axis in axes)):
        rows = [
            {**dataclasses.asdict(setting), "init_seed": seed, "time": time(setting, seed), "there": True, "steps": 9,
             "context": 2 * setting.n_pairs, "arm": design.name_of(told, name)}
            for setting in (Setting(**dict(change)) for change in changes) for seed in range(n_seeds)
        ]  # fmt: skip
        tables[design.name_of(told, name)] = pd.DataFrame(rows)
    return Results(pd.DataFrame(columns=KEY_COLUMNS), pd.DataFrame(), "paper", tables, tuple(tables))


def joined(*results):
    tables = {name: table for one in results for name, table in one.tables.items() if name in one.experiments}
    return Results(results[0].measurements, pd.DataFrame(), "paper", tables, tuple(tables))


@pytest.mark.parametrize(
    ("curve", "time"),
    [
        ([(0, 4.0), (10, 3.0), (20, 1.0), (30, 2.5), (40, 0.1)], 15.0),
        ([(0, 4.0), (10, 2.0)], 10.0),
        ([(0, 4.0), (10, 2.1)], math.inf),
        ([(0, 1.0), (10, 0.5)], 0.0),
    ],
)
def test_a_curve_gets_to_a_level_the_first_time_it_does(curve, time):
    assert crossed(curve, 2.0) == pytest.approx(time)


@pytest.mark.parametrize("told", SHAPES)
def test_a_wait_is_that_of_a_training_written_out_by_torch(told):
    sizes = (("n_pairs", 3), ("width", 32), ("d_head", 8))
    asked = waiting(told, changes=(sizes,), every=20, cap=3000, n_test=64, rate=2e-3)
    (row,), (setting,) = waits(asked, 7), asked.settings
    task, weights = asked.task(setting), init_weights(asked.model(setting), 7)
    weights = {name: value.requires_grad_() for name, value in weights.items()}
    rule, losses = torch.optim.Adam(weights.values(), lr=asked.rate), []
    test = task.draw("test", 64, DATA_SEED_OFFSET + 7)

    def loss(batch):
        logits = forward(asked.model(setting), weights, batch.tokens).logits[:, -asked.n_queries :]
        return cross_entropy(logits.flatten(0, 1), batch.targets[:, -asked.n_queries :].flatten())

    for part in range(row["steps"] // 20 + 1):
        losses.append(loss(test).item())
        new = task.draw("train", 20 * 32, (DATA_SEED_OFFSET + 7) * 2**16 + part)
        for step in range(20):
            rule.zero_grad()
            loss(new.rows(slice(32 * step, 32 * step + 32))).backward()
            rule.step()
    level = math.log(3) / 2
    last = next(place for place, value in enumerate(losses) if value <= level)
    assert row["there"] and 20 * (last - 1) - 20 <= row["time"] <= 20 * last + 20
    assert row["time"] > 100


def test_a_network_that_is_given_up_counts_as_if_it_had_got_there_then():
    (row,) = waits(waiting(cap=20), 1)
    assert (row["there"], row["time"], row["steps"], row["context"]) == (False, 20.0, 20, 16)


@pytest.mark.parametrize(
    ("twin", "weights", "rows"), [({}, 0, 0), ({"other_init": 1}, 1, 0), ({"other_rows": 2}, 0, 2)]
)
def test_twins_differ_in_weights_or_in_rows_alone(monkeypatch, twin, weights, rows):
    seeds = {"weights": set(), "rows": set()}

    def engine(model, optimizer, seed):
        seeds["weights"].add(seed)
        return TorchEngine(model, optimizer, seed)

    def draw(task, split, n_rows, seed):
        seeds["rows"].add(seed // 2**16 if split == "train" else seed)
        return drawn(task, split, n_rows, seed)

    drawn = InContextRecall.draw
    monkeypatch.setattr(measures, "ENGINES", dict.fromkeys(("native", "torch"), engine))
    monkeypatch.setattr(InContextRecall, "draw", draw)
    (row,) = waits(waiting(changes=(tuple(twin.items()),), cap=10), 3)
    assert row["steps"] == 10
    assert seeds["weights"] == {3 + weights * measures.OTHER}
    assert seeds["rows"] == {DATA_SEED_OFFSET + 3 + rows * measures.OTHER}


def test_a_curve_that_dips_has_got_there():
    assert crossed([(0, 3.0), (10, 1.0), (20, 3.0), (30, 0.1)], 2.0) == 5.0


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_so_many_rows_of_a_batch_are_of_the_pool(share):
    asked = waiting(pool=16)
    feed = measures._Feed(asked, Setting(repeated=share), 5)
    pool = {tuple(row) for row in feed._pool.tokens[:, :16].tolist()}
    counts = [
        sum(tuple(row) in pool for row in batch.tokens[:, :16].tolist())
        for part in range(3) for batch in feed.batches(part)
    ]  # fmt: skip
    assert set(counts) == {round(share * 32)}
    seen = {tuple(row) for batch in feed.batches(0) for row in batch.tokens[: round(share * 32), :16].tolist()}
    assert seen == pool


def test_an_axis_changes_what_it_is_called_and_nothing_else():
    also = {
        design.WIDTH: {"d_head"}, design.WIDEST: {"width", "d_head"}, design.CONTEXT: {"n_pairs"},
        design.TWINS: {"other_init", "other_rows"},
    }  # fmt: skip
    for axis, changes in AXES.items():
        for change in changes:
            moved = dataclasses.asdict(Setting(**dict(change))).items() - dataclasses.asdict(MIDDLE).items()
            assert {name for name, _ in moved} <= {axis, *also.get(axis, ())} and moved, axis
    for change in (*AXES[design.WIDTH], *AXES[design.WIDEST]):
        assert dict(change)["width"] == MIDDLE.heads * dict(change)["d_head"]


def test_all_networks_and_the_followed_ones_are_the_same_network():
    followed = STUDY.recipes(PUBLISHED)
    for told, recipes in ((told, followed[told]) for told in SHAPES):
        asked = waiting(told)
        assert {recipe.model for recipe in recipes} == {asked.model(MIDDLE)}
        assert {recipe.batch_size for recipe in recipes} == {MIDDLE.batch}
        assert {recipe.optimizer.lr for recipe in recipes} == {asked.rate}


@pytest.mark.parametrize(("axis", "power"), [("context", 2.0), ("batch", -0.5), ("heads", 0.0)])
def test_a_planted_power_is_read_and_its_law_is_near(axis, power):
    def time(setting, seed):
        return (seed + 1) * {"context": 2 * setting.n_pairs, "batch": setting.batch, "heads": setting.heads}[
            axis
        ] ** power

    results = planted(axis, time)
    assert np.allclose(readings.exponent(PAIRS, axis)(results), power)
    assert np.allclose(readings.off(PAIRS, axis, 1.0)(results), abs(power - 1))
    assert (readings.arrived(PAIRS, axis)(results) == 1).all()


def test_a_width_is_just_right_only_where_both_ends_wait_longer():
    falling = planted(("width", "widest"), lambda setting, seed: 1000 / setting.width)
    assert np.allclose(readings.just_right(PAIRS)(falling), -1)
    best = planted(("width", "widest"), lambda setting, seed: 100 * (1 + abs(math.log2(setting.width / 128))))
    assert np.allclose(readings.just_right(PAIRS)(best), math.log2(3))


def test_what_decides_the_wait_is_told_by_twins():
    weights = planted("twins", lambda setting, seed: math.exp(setting.other_init + 0.1 * setting.other_rows), SEQUENCE)
    assert np.allclose(readings.by_weights(SEQUENCE)(weights), 0.9)
    rows = planted("twins", lambda setting, seed: math.exp(setting.other_rows), SEQUENCE)
    assert np.allclose(readings.by_weights(SEQUENCE)(rows), -1)


def test_two_seeds_are_apart_by_doublings_of_their_waits_and_none_counts_twice():
    results = planted("tied", lambda setting, seed: (2.0 if setting.tied else 1.0) * 2.0 ** (seed**2), n_seeds=5)
    assert readings.apart(PAIRS)(results).to_dict() == pytest.approx({0: 1.0, 2: 5.0})
    assert np.allclose(readings.longer(PAIRS, "tied", 1)(results), 1)


def test_the_part_that_forms_first_is_told_and_by_how_much():
    parts = {readings.ANSWER: 100, readings.MATCH: 300, readings.BEFORE: 450}
    rows = [
        {"arm": PAIRS, "init_seed": seed, "run_id": f"r{seed}", "step": step, "metric": metric, "variable": look,
         "site": f"L{layer}H{head}", "value": (0.1 if step < time else 0.9) * (head == 1)}
        for (metric, look, layer), time in parts.items()
        for seed in (1, 2) for step in range(0, 650, 50) for head in (0, 1)
    ]  # fmt: skip
    rows += [
        {**row, "metric": f"{metric}_chance", "site": "", "value": 0.1}
        for (metric, look, _), _ in parts.items() for row in rows[:1] for row in [{**row, "variable": look}]
    ]  # fmt: skip
    measured = pd.DataFrame(rows)
    results = Results(measured, pd.DataFrame(), "paper", {"looks": measured})
    assert np.allclose(readings.answers_first(PAIRS)(results), 200)
    assert np.allclose(readings.before_last(PAIRS)(results), 150)


AGAIN = design.PERMUTATION_AGAIN


def permutation_rows(told, recall, picks, attends):
    """Curves of two networks: metric by what it is at a step of a seed; of a second head nothing."""
    rows, curves = [], {"told": told, "recall": recall}
    looks = {"routing": (picks, 1 / 4), "mass": (attends, 1 / 9)}
    for seed in (1, 2):
        for step in range(0, 8000, 250):
            common = {"arm": AGAIN, "init_seed": seed, "run_id": f"r{seed}", "step": step}
            rows += [{**common, "metric": metric, "value": curve(step, seed)} for metric, curve in curves.items()]
            for metric, (curve, chance) in looks.items():
                of_look = {**common, "variable": "read_out>x"}
                rows += [
                    {**of_look, "metric": metric, "site": "L0H0", "value": 0.0},
                    {**of_look, "metric": metric, "site": "L0H1", "value": curve(step, seed)},
                    {**of_look, "metric": f"{metric}_chance", "site": "", "value": chance},
                ]
    measured = pd.DataFrame(rows)
    return Results(measured, pd.DataFrame(), "paper", {"looks": measured})


def test_permutation_recall_s_order_is_told_from_planted_times():
    """Also where attention falls back while recall forms: then the first reading says when it first came."""
    results = permutation_rows(
        told=lambda step, seed: 1.0 if step >= 1000 * seed else 0.2,
        recall=lambda step, seed: 1.0 if step >= 6000 else 0.25,
        picks=lambda step, seed: 0.9 if step >= 3000 else 0.25,
        attends=lambda step, seed: 0.5 if 2500 <= step < 5000 or step >= 7000 else 0.05,
    )
    first, last = readings.told_first(AGAIN, readings.PICKS), readings.recalled_last(AGAIN, readings.PICKS)
    assert first(results).to_dict() == pytest.approx({1: 2000, 2: 1000}, abs=125)
    assert np.allclose(last(results), 3000, atol=125)
    assert np.allclose(readings.recalled_last(AGAIN, readings.FINDS)(results), 3500, atol=125)
    assert np.allclose(readings.looks_at_end(AGAIN, readings.PICKS)(results), 0.9)
    table = figures.permutation_order(results).table
    assert set(table["series"]) == {*figures.RECALLING, figures.PICKING, figures.ATTENDING}


def test_a_followed_network_answers_when_its_loss_is_half_of_a_guess():
    level = math.log(8) / 2
    losses = {1: (2 * level, 1.5 * level, level / 2), 2: (2 * level, 1.1 * level, 1.01 * level)}
    rows = [
        {"metric": "loss", "arm": PAIRS, "init_seed": seed, "run_id": f"r{seed}", "step": 50 * place, "value": value}
        for seed, values in losses.items()
        for place, value in enumerate(values)
    ]
    found = readings.answered(Results(pd.DataFrame(rows), pd.DataFrame(), "paper"), PAIRS)
    assert found.to_dict() == pytest.approx({1: 75.0, 2: math.inf})


def test_networks_of_permutation_recall_are_the_chapter_s_larger_model_on_rows_of_their_own():
    followed = STUDY.recipes(PUBLISHED)
    recipes = (*followed[design.PERMUTATION], *followed[AGAIN])
    other = studies.load("permutation_recall").recipes(studies.load_params("permutation_recall"))
    (model,) = {recipe.model for recipe in recipes}
    assert model == other["d 32, 2 heads, FFN 64, repeats"][0].model
    assert len({recipe.task_params["split_seed"] for recipe in recipes}) == len(recipes)
    for recipe in recipes:
        theirs = other["d 32, 2 heads, FFN 64, repeats"][0]
        assert (recipe.batch_size, recipe.optimizer) == (theirs.batch_size, theirs.optimizer)
        assert {**recipe.task_params, "split_seed": 0} == {**theirs.task_params, "split_seed": 0}


def test_a_table_older_than_a_word_of_a_setting_has_its_default():
    results = planted("times", lambda setting, seed: 100.0 / setting.times)
    name = design.name_of(PAIRS)
    old = results.tables[name].drop(columns="times")
    older = Results(results.measurements, pd.DataFrame(), "paper", {**results.tables, name: old}, results.experiments)
    assert np.allclose(readings.exponent(PAIRS, "times")(older), -1)
    assert figures.powers_in_words(figures.tellings(older)) == {"laws_powers_pairs": "−1.0 and −1.0"}
    apart = planted("times", lambda setting, seed: 100.0 * (1 + seed) ** (setting.times - 1))
    assert figures.spread_in_words(figures.tellings(apart), 2, 4) == {"laws_spread_pairs": "4.0 and 64.0"}


def test_words_of_figures_say_powers_spread_and_who_is_given_up():
    axes = ("batch", "width", "widest")
    by_batch = planted(axes, lambda setting, seed: 100.0 / setting.batch ** (0.5 if setting.batch <= 32 else 0.25))
    both = joined(by_batch, planted(axes, lambda setting, seed: 10.0 * (1 + seed), SEQUENCE))
    words = figures.powers_in_words(figures.rows_a_batch(both))
    assert words["laws_powers_pairs"].startswith("−0.5, −0.5, ") and words["laws_powers_sequence"].endswith(
        "0.0 and 0.0"
    )
    assert figures.spread_in_words(figures.widths(both))["laws_spread_sequence"] == "4.0"
    rows = pd.DataFrame({"there": [True, False, False, False], "value": [5.0, 10.0, 10.0, 2000.0]})
    assert figures._cut(rows).startswith("3 of 4 networks are given up (triangles), 2 at 10 and 1 at 2,000 steps")
    assert figures._cut(rows[:1]) == "All networks get there"


def test_words_say_fitted_powers_and_what_a_quarter_of_repeats_does():
    def time(setting, seed):
        part = 0.9 if setting.repeated == figures.QUARTER and seed else 1.0
        return (1 + seed) * part / setting.batch**0.5 / setting.d_head

    axes = ("batch", "repeated", "heads", "d_head")
    both = joined(planted(axes, time), planted(axes, lambda setting, seed: 1.0 + seed, SEQUENCE))
    words = figures.fitted_in_words(figures.rows_a_batch(both))
    assert words["laws_fitted_pairs"].startswith("−0.50") and words["laws_fitted_sequence"].startswith("0.00")
    words = figures.change_in_words(figures.repeats(both))
    assert words["laws_change_pairs"].startswith("8 % less [") and words["laws_shorter_pairs"] == "3 of 4"
    assert words["laws_change_sequence"].startswith("0 % longer") and words["laws_shorter_sequence"] == "0 of 4"
    words = figures.channel_powers_in_words(figures.heads(both))["laws_channel_powers_pairs"]
    assert words == "−1.0, −1.0, −1.0 and −1.0"


def test_laws_start_where_the_mean_does_and_have_their_slope():
    pairs = planted("context", lambda setting, seed: 10.0 * setting.n_pairs * (1 + seed))
    both = joined(pairs, planted("context", lambda setting, seed: 5.0, SEQUENCE))
    rows = figures.lengths(both).table
    square = rows[(rows["law"] == figures.SQUARED) & (rows["panel"] == "pairs")].sort_values("x")
    first = 10 * 3 * math.exp(np.log([1, 2, 3, 4]).mean())
    assert np.allclose(square["value"], first * (square["x"] / 6) ** 2)


class Given(Material):
    """Runs with nothing measured on them."""

    def runs(self, arm):
        return self.runs_of(arm)

    def curve(self, run, label, metric, **where):
        return Curve(label=label, steps=(), values=())

    def crossings(self, run, times):
        return ()


def test_a_network_of_other_words_is_not_shown_beside(monkeypatch):
    explorer = sys.modules[_shown.__module__]
    monkeypatch.setattr(explorer, "ShownRun", SimpleNamespace)  # these have no weights to show
    for measured in ("born", "_curves", "link_tests"):
        monkeypatch.setattr(explorer, measured, lambda _: {})
    recipes = [STUDY.recipes(PUBLISHED.model_copy(update={"n_words": n}))[PAIRS][0] for n in (32, 25, 32)]
    runs = [SimpleNamespace(recipe=recipe, run_id=f"r{place}") for place, recipe in enumerate(recipes)]
    nothing = Results(pd.DataFrame(columns=KEY_COLUMNS), pd.DataFrame(), "paper")
    shown = _shown(Given(results=nothing, runs_of=lambda arm: runs), recipes[0].make_task())
    assert [one.run.run_id for one in shown] == ["r0", "r2"]
