"""The study of permutation recall: readings of made-up results whose answer is known."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from circuitcore.models.transformer import init_weights, weight_shapes
from circuitcore.tasks.permutation import PermutationRecall
from livingpaper.book import studies
from livingpaper.claims.claim import Claim
from livingpaper.claims.reading import at_end
from livingpaper.claims.results import Results
from livingpaper.claims.rules import Estimate, Outcome
from livingpaper.claims.verdict import Status
from livingpaper.claims.view import View
from retrieval_circuits.permutation_recall.claims import CLAIMS
from retrieval_circuits.permutation_recall.design import (
    CELLS,
    CROSSED,
    NORMAL,
    REPEATED,
    TASK_1,
    TASK_2,
    WIDTHS,
    every_epoch,
    model,
    recipes,
    split_of,
)
from retrieval_circuits.permutation_recall.figures import dissection, factorial, replication
from retrieval_circuits.permutation_recall.figures.weights import AGAIN, NEW, patterns
from retrieval_circuits.permutation_recall.published import PUBLISHED_LOSS, PUBLISHED_STEPS
from retrieval_circuits.permutation_recall.readings import parts, sizes, steps
from retrieval_circuits.permutation_recall.readings.models import on_splits

EPOCHS = (0, 1, 2, 4, 8)


def results(rows: list[dict]) -> Results:
    """Results of rows that leave out what is the same everywhere; a step is an epoch."""
    table = pd.DataFrame(rows)
    blank = {"variable": "", "site": "", "edit": "", "split": "", "family": "", "step": max(EPOCHS)}
    for column, value in blank.items():
        table[column] = table[column].fillna(value) if column in table else value
    table["run_id"] = table["arm"] + "-" + table["init_seed"].astype(str)
    runs = table[["arm", "init_seed", "run_id"]].drop_duplicates()
    history = runs.merge(pd.DataFrame({"epoch": EPOCHS[1:], "step": EPOCHS[1:], "loss": 1.0}), how="cross")
    return Results(table, history, "paper")


def recall_curves(by_arm: dict[str, dict[int, int | None]]) -> Results:
    """Networks that recall all probes from an epoch on (None: never), and a quarter before."""
    return results([
        {"arm": arm, "init_seed": seed, "metric": "recall", "step": epoch,
         "value": 1.0 if came is not None and epoch >= came else 0.25}
        for arm, seeds in by_arm.items() for seed, came in seeds.items() for epoch in EPOCHS
    ])  # fmt: skip


def claim(name: str) -> Claim:
    return next(one for one in CLAIMS if one.id == name)


def estimate(name: str, found: Results) -> Estimate:
    held = claim(name).held(found)
    assert held is not None
    return held.estimate


def test_models_have_the_source_s_numbers_of_parameters():
    def count(cell):
        shapes = weight_shapes(model(5, cell.d_model, cell.n_heads, cell.d_mlp))
        return sum(int(np.prod(shape)) for shape, _ in shapes.values())

    assert (count(TASK_1), count(TASK_2)) == (2566, 9222)


def test_each_cell_is_trained_alike_on_three_splits():
    params = studies.load_params("permutation_recall")
    arms = recipes(params)
    for cell in CELLS:
        made = arms[str(cell)][: len(params.seeds)]
        assert {recipe.task_params["split_seed"] for recipe in made} == {42, 43, 44}
        assert {recipe.n_steps for recipe in made} == {391 * params.epochs}
    assert len({recipe for made in arms.values() for recipe in made}) == sum(map(len, arms.values()))


def test_checkpoints_hold_the_epochs_at_which_the_source_stopped():
    assert {0, 20, 50, 120} <= set(every_epoch(120))
    assert every_epoch(4) == (0, 1, 2, 3, 4)


def test_published_tables_are_whole():
    assert [len(losses) for losses in PUBLISHED_LOSS.values()] == [20, 50]
    assert {len(values) for kind in PUBLISHED_STEPS.values() for values in kind.values()} == {5}


def test_what_the_split_predicts_is_what_plain_counting_finds():
    """Step 1: the y that is held out with x, over all permutations held out, when the commonest one is said."""
    import itertools
    import random

    every = list(itertools.permutations(range(1, 6)))
    random.Random(42).shuffle(every)
    train, test = every[:96], every[96:]
    right = 0.0
    for x in range(5):
        counts = {y: sum(one[x] == y for one in train) for y in range(1, 6)}
        best = [y for y in counts if counts[y] == max(counts.values())]
        right += sum(one[x] in best for one in test) / len(best) / len(test) / 5
    assert steps.predicted_accuracy(42, "shuffled", "marginal")["step 1"] == pytest.approx(right)
    assert (
        steps.predicted_accuracy(42, "shuffled", "train") <= steps.predicted_accuracy(42, "shuffled", "marginal") + 1e-9
    ).all()


def test_recall_comes_between_two_checkpoints_or_not_at_all():
    found = sizes.recall_times(recall_curves({str(TASK_2): {1: 4, 2: None}})).set_index("init_seed")
    assert found.loc[1, ["after", "by", "end"]].tolist() == [2, 4, 8]
    assert found.loc[2, ["after", "end"]].tolist() == [8, 8]
    assert np.isnan(found.loc[2, "by"])


def test_width_that_halves_the_time_saves_one_doubling_and_heads_none():
    cells = sizes.cells_of(REPEATED)
    came = {str(cell): dict.fromkeys(range(6), 2 if cell.d_model == 32 else 4) for cell in cells}
    assert estimate("PR6", recall_curves(came)).effect == pytest.approx(1.0)
    assert claim("PR6").verdict(recall_curves(came)).status is Status.SUPPORTED
    table = factorial.effects(recall_curves(came)).table.groupby("group")["value"].mean()
    assert table["width 32, not 16"] == pytest.approx(1.0)
    assert table["two heads, not one"] == pytest.approx(0.0)
    assert table["width 32, not 16 x two heads, not one"] == pytest.approx(0.0)


def test_width_less_heads_takes_each_width_with_each_number_of_heads_and_each_ffn():
    """Width 32 halves the time in seed 0, and a wide FFN, which is no width, quarters it; in seed 1 heads halve it."""
    cells = sizes.cells_of(REPEATED)
    first = {cell: 8 // (cell.d_model // 16) // (4 if cell.d_mlp == 64 else 1) for cell in cells}
    second = {cell: 8 // (cell.d_model // 16) // cell.n_heads for cell in cells}
    came = {str(cell): {0: first[cell], 1: second[cell]} for cell in cells}
    wide = sizes.doublings(recall_curves(came), cells)

    def mean(**fixed):
        return wide[[str(cell) for cell in cells if cell._asdict().items() >= fixed.items()]].mean(axis=1)

    width, heads = mean(d_model=16) - mean(d_model=32), mean(n_heads=1) - mean(n_heads=2)
    assert sizes.width_less_heads(recall_curves(came)).tolist() == pytest.approx((width - heads).tolist()) == [1.0, 0.0]


def test_one_network_that_recalls_refutes_cannot_and_no_size_and_none_does_not_prove_them():
    seeds = range(1, 21)
    never = {str(cell): dict.fromkeys(seeds) for cell in CELLS if cell.data == NORMAL}
    able = {str(cell): dict.fromkeys(seeds, 2) for cell in CELLS if cell.data == REPEATED}
    small = str(TASK_1._replace(data=REPEATED))
    for name, arm in (("PR3", str(TASK_2._replace(data=NORMAL))), ("PR4", small)):
        by_arm = {**never, **able, small: dict.fromkeys(seeds)}
        none = claim(name).verdict(recall_curves(by_arm))
        assert (none.status, none.estimate.effect, none.estimate.n_sets) == (Status.UNDECIDED, 1.0, 3)
        one = claim(name).verdict(recall_curves({**by_arm, arm: {**by_arm[arm], 7: 8}}))
        assert (one.status, one.estimate.effect, one.estimate.against) == (Status.REFUTED, 0.95, 1)


def test_networks_that_recall_from_no_data_fail_the_control_of_no_size():
    seeds = range(1, 21)
    control = claim("PR3").controls[0]
    found = control.held(recall_curves({str(cell): dict.fromkeys(seeds) for cell in CELLS}))
    assert found is not None and found.outcome is Outcome.NO


def test_seeds_are_read_within_the_splits_that_they_have():
    found = recall_curves({str(TASK_2): {seed: 4 if split_of(seed) == 42 else None for seed in range(1, 7)}})
    values = on_splits(at_end("recall", str(TASK_2), variable=""))(found)
    assert values.index.names == ["data_set", "init_seed"]
    assert values.groupby("data_set").mean().to_dict() == {42: 1.0, 43: 0.25, 44: 0.25}
    assert (
        estimate("PR5", recall_curves({str(TASK_1._replace(d_model=32, d_mlp=64, data=REPEATED)): {1: 4, 2: 4}})).n_sets
    ) == 2


def test_recall_that_is_lost_again_is_counted_by_size():
    arm, values = str(factorial.LOSES), {1: [0.2, 0.9, 0.9], 2: [0.2, 0.9, 0.2], 3: [0.9, 0.2, 0.9], 4: [0.2] * 3}
    found = results([
        {"arm": arm, "init_seed": seed, "metric": "recall", "step": epoch, "value": value}
        for seed, curve in values.items() for epoch, value in zip(EPOCHS[-3:], curve, strict=True)
    ])  # fmt: skip
    kept = factorial.kept(found).table.set_index("init_seed")
    assert kept["came"].tolist() == [True, True, True, False] and kept["lost"].tolist() == [False, True, True, False]
    numbers = factorial.size_numbers(factorial.success(found), factorial.kept(found))
    assert numbers == {"ends_32_1_32": "2 of 4", "recall_came": "3 of 4", "recall_lost": "2", "recall_ended": "1"}


def test_half_way_is_the_first_epoch_below_the_middle_of_two_levels():
    def line(series, seed, losses):
        return [{"series": series, "init_seed": seed, "epoch": at, "value": loss} for at, loss in enumerate(losses, 2)]

    lines = [*line("source", None, [5, 5, 2]), *line("ours", 1, [5, 2, 5]), *line("ours", 2, [5, 5, 5, 1])]
    for level, value in zip(replication.LEVELS[REPEATED][1:3], (4, 2), strict=True):
        lines += line(level, None, [value] * 4)
    loss = View(pd.DataFrame(lines).assign(panel=replication.PANELS[str(TASK_2)]), "loss", "train")
    still = pd.DataFrame({"epoch": [0, 1, 2], "init_seed": 1, "value": [0.2, 0.9, 0.8]})
    wanted = {"half_way_source": "4", "half_way_median": "4", "half_way_first": "3", "half_way_last": "5"}
    assert replication.skill_numbers(loss, View(still, "share", "rows")) == {**wanted, "eliminated_least": "80 %"}


def test_survival_starts_at_one_and_falls_when_recall_comes():
    view = factorial.survival(recall_curves({str(TASK_2): {1: 4, 2: 8, 3: None, 4: None}}))
    waiting = view.table.set_index("epoch")["value"]
    assert waiting[0] == 1.0
    assert waiting[4] == 0.75
    assert waiting[8] == 0.5


def test_crossed_cells_are_counted_and_their_survival_stands_apart_by_ffn():
    cells = [cell for cell in (*CELLS, *CROSSED) if cell.data == REPEATED]
    found = recall_curves({str(cell): {1: 4, 2: 8} for cell in cells})
    assert factorial.n_crossed(factorial.success(found)) == 2 * 4
    table = factorial.survival(found).table
    assert table.groupby("panel", sort=False)["series"].nunique().to_dict() == {"FFN 32": 4, "FFN 64": 4}
    assert factorial.effects(found).table["group"].nunique() == 7
    plain = recall_curves({str(cell): {1: 4} for cell in CELLS})
    assert factorial.n_crossed(factorial.success(plain)) == 0
    assert factorial.survival(plain).table["panel"].unique().tolist() == ["trained with repeats"]


def test_what_is_left_without_neurons_begins_with_the_whole_network():
    rows = [{"metric": "recall", "arm": str(TASK_2), "init_seed": seed, "value": 1.0} for seed in (1, 2)]
    for seed in (1, 2):
        part = {"arm": str(TASK_2), "init_seed": seed, "site": "L0MLP"}
        rows += [{**part, "metric": "recall_without_top", "variable": str(k), "value": 1 / (k + seed)} for k in (16, 2)]
        rows += [{**part, "metric": "neurons_needed", "value": 10 * seed}]
        rows += [{**part, "metric": "largest_neuron_drop", "value": seed / 4}]
    table = dissection.neurons(results(rows)).table.pivot(index="init_seed", columns="removed", values="value")
    assert table.columns.tolist() == [0, 2, 16]
    assert table.loc[2].tolist() == pytest.approx([1.0, 1 / 4, 1 / 18])
    needed = dissection.needed(results(rows))
    assert needed.table["value"].tolist() == [10, 20] and "Median: 15 of 64, from 10 to 20" in needed.note
    assert "costs 0.38 in the median network, from 0.25 to 0.50" in needed.note


def test_mean_attention_is_what_each_row_shows_on_average():
    task = PermutationRecall()
    weights = init_weights(model(5, 32, 2, 64), 3)
    run = SimpleNamespace(
        recipe=SimpleNamespace(
            model=model(5, 32, 2, 64), init_seed=3, make_task=lambda: task,
            schedule=SimpleNamespace(epoch_ends=(0, 391)),
        ),
        steps=(0, 391), weights=lambda step: weights,
    )  # fmt: skip
    view = patterns(lambda arm: run)
    table = view.table.set_index(["head", "kind", "query", "key"])["value"]
    assert table.groupby(["head", "kind", "query"]).sum().to_numpy() == pytest.approx(1.0)
    again, new = table.unstack("kind")[AGAIN], table.unstack("kind")[NEW]
    before = again.index.get_level_values("query") != "x5"
    assert again[before].to_numpy() == pytest.approx(new[before].to_numpy(), abs=1e-6)
    assert np.abs(again - new)[~before].max() > 1e-3 and "2,880 rows" in view.note and "epoch 1" in view.note


def roles(first: list[tuple[float, float]], second: list[tuple[float, float]]) -> Results:
    """Networks whose heads cost these shares of elimination and recall."""
    rows = []
    for seed, costs in enumerate(zip(first, second, strict=True)):
        base = {"arm": str(TASK_2), "init_seed": seed}
        rows += [{**base, "metric": "recall", "value": 1.0}]
        whole = {**base, "site": "none", "edit": "none", "value": 1.0}
        rows += [{**whole, "metric": metric} for metric in ("recall_under", "elimination_under")]
        for head, (elimination, recall) in zip(parts.HEADS, costs, strict=True):
            lost = {"elimination_under": elimination, "recall_under": recall}
            rows += [
                {**base, "metric": metric, "site": head, "edit": "mean", "value": 1 - value}
                for metric, value in lost.items()
            ]
    return results(rows)


def test_heads_with_roles_of_their_own_are_apart_and_heads_alike_are_not():
    apart = roles([(0.9, 0.0)] * 40, [(0.0, 0.9)] * 40)
    assert parts.role_separation(apart).tolist() == pytest.approx([1.8] * 40)
    assert (estimate("PR20", apart).effect, estimate("PR20", apart).n) == (1.0, 40)
    alike = claim("PR20").verdict(roles([(0.5, 0.5)] * 40, [(0.5, 0.5)] * 40))
    assert (alike.status, alike.estimate.effect) == (Status.REFUTED, 0.0)


def test_heads_are_drawn_by_their_roles_with_what_they_cost():
    drawn = dissection.roles(roles([(0.9, 0.5), (0.0, 0.8)], [(0.1, 0.9), (0.7, 0.6)])).table
    shown = drawn.set_index(["group", "series", "init_seed"])["value"].sort_index()
    recalls, eliminates = dissection.HEADS_BY_ROLE
    assert shown[recalls, "recall"].tolist() == pytest.approx([0.9, 0.8])
    assert shown[recalls, "elimination"].tolist() == pytest.approx([0.1, 0.0])
    assert shown[eliminates, "recall"].tolist() == pytest.approx([0.5, 0.6])
    assert shown[eliminates, "elimination"].tolist() == pytest.approx([0.9, 0.7])
    assert shown["the two apart"].tolist() == pytest.approx([1.2, 0.9])


def test_which_head_eliminates_is_even_when_it_is_half_and_not_when_it_is_always_the_first():
    one, other = (0.9, 0.0), (0.0, 0.9)
    half = estimate("PR21", roles([one, other] * 20, [other, one] * 20))
    assert (half.effect, half.low) == (0.0, 0.0)
    always = estimate("PR21", roles([one] * 40, [other] * 40))
    assert (always.effect, always.high) == (0.5, 0.5) and always.low > 0


def test_null_of_roles_finds_pairs_and_finds_none_where_heads_are_dealt_out():
    paired = roles([(0.9, 0.0)] * 20, [(0.0, 0.9)] * 20)
    own, dealt, p = parts.separation_null(paired, rounds=500)
    assert own == pytest.approx(1.8)
    assert dealt < own
    assert p < 0.01
    draw = np.random.default_rng(1)
    loose = roles(*([tuple(pair) for pair in draw.random((20, 2))] for _ in range(2)))
    assert parts.separation_null(loose, rounds=500)[2] > 0.01


def test_smallest_widths_grow_with_one_layer_and_not_with_two():
    rows = []
    for width in WIDTHS:
        needed = 8 if width.n_layers == 2 else {4: 8, 5: 16, 6: 32, 7: 64}[width.n_symbols]
        rows += [
            {"arm": str(width), "init_seed": seed, "metric": "recall", "value": 1.0 if width.d_model >= needed else 0.2}
            for seed in range(5)
        ]
    found = results(rows)
    assert sizes.smallest_widths(found).loc[(0, 1)].tolist() == [8, 16, 32, sizes.NO_WIDTH]
    assert sizes.width_growth(found, 1).tolist() == [3.0] * 5
    assert sizes.width_growth(found, 2).tolist() == [0.0] * 5
    assert claim("PR24").verdict(found).status is Status.SUPPORTED
    lost = results([{**row, "value": 0.2} if row["arm"].startswith("V 6") else row for row in rows])
    assert claim("PR24").verdict(lost).status is Status.CONTROL_FAILED


def test_nothing_scanned_is_not_checked():
    assert claim("PR24").finding(recall_curves({str(TASK_2): {1: 4}})) is None


def test_split_of_a_seed_goes_round_three_and_begins_with_the_source_s():
    assert [split_of(seed) for seed in (1, 2, 3, 4)] == [42, 43, 44, 42]


def test_crossed_cells_have_the_other_width_s_ffn():
    assert {(cell.d_model, cell.d_mlp) for cell in CROSSED} == {(16, 64), (32, 32)}
    assert {(cell.d_model, cell.d_mlp) for cell in CELLS} == {(16, 32), (32, 64)}
