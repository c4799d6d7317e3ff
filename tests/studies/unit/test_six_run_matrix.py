"""The six-run matrix: what is trained, how births are dated, and what the source's own tables say."""

import math

import numpy as np
import pandas as pd
import pytest

from circuitcore.models import init_weights
from circuitcore.tasks import make_task
from circuitcore.tasks.textual_kv import LONGER, TRAIN
from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.claims.verdict import Status
from livingpaper.claims.view import View, joined
from retrieval_circuits.six_run_matrix import published
from retrieval_circuits.six_run_matrix.design import MATRIX, checkpoint_epochs, geometric_epochs, source_epochs
from retrieval_circuits.six_run_matrix.figures import inference, matrix, page_numbers, pilot
from retrieval_circuits.six_run_matrix.figures.matrix import AT_THE_END
from retrieval_circuits.six_run_matrix.figures.page_numbers import unborn_numbers
from retrieval_circuits.six_run_matrix.readings import curriculum, timing
from retrieval_circuits.six_run_matrix.readings.births import MOTIFS, SHOWN, on_source_grid, source_leaders

STUDY, PARAMS = studies.load("six_run_matrix"), studies.load_params("six_run_matrix")
NOTHING = Results(
    pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"]), pd.DataFrame(), "rerun"
)
LATE = (31, 33, 36, 38, 41, 44, 47, 50, 54, 57, 62, 66, 71, 76, 81, 87, 93, 99, 106, 114, 122, 131, 140, 150)


def test_checkpoints_are_the_sources_and_more():
    assert source_epochs(150) == (*range(31), *LATE)
    assert set(source_epochs(150)) <= set(checkpoint_epochs(150))
    assert set(range(61)) <= set(checkpoint_epochs(150))


def test_geometric_epochs_take_each_epoch_once():
    for last in range(5, 80, 7):
        found = geometric_epochs(3, last, min(24, last - 2))
        assert len(set(found)) == len(found) == min(24, last - 2)
        assert found[0] == 3 and (len(found) == 1 or found[-1] == last)


@pytest.mark.slow
def test_the_matrix_is_the_sources():
    recipes = STUDY.recipes(PARAMS)
    steps = {arm: {recipes[arm][place].n_steps for place in (0, -1)} for arm in MATRIX}  # of two data sets
    assert steps["off"] == {70_350} and steps["on"] == {84_420}
    weights = init_weights(recipes["on"][0].model, 0)
    assert sum(weight.numel() for weight in weights.values()) == 84_544
    lengths = [{batch.tokens.shape[1] for batch in recipes["on"][0].schedule.epoch(epoch)} for epoch in (0, 30, 149)]
    assert lengths == [{10}, {10, 13}, {13}]


def test_arms_keep_one_ingredient_each():
    recipes = STUDY.recipes(PARAMS)
    for arm in ("off, on's steps", "mixed", "two, then three"):
        assert {recipe.n_steps for recipe in recipes[arm]} == {84_420}
    rows = {"on": 0, "two, then three": 0}
    for arm in rows:
        stages = recipes[arm][0].stages
        rows[arm] = sum(stage.epochs for stage in stages if "train_2_pairs" in stage.splits)
    assert rows == {"on": 60, "two, then three": 60}
    assert {recipe.init_seed for recipe in recipes["mixed"]} <= {recipe.init_seed for recipe in recipes["off"]}


def test_one_run_of_each_curriculum_is_shipped_whole():
    for arm in MATRIX:
        whole = STUDY.published_epochs(PARAMS, arm, 0)
        assert len(whole) == 6 and set(whole) <= set(checkpoint_epochs(150)) and {0, 150} <= set(whole)
        assert STUDY.published_epochs(PARAMS, arm, 9) == (150,) and STUDY.published_epochs(PARAMS, arm, 10) == ()
    assert STUDY.published_epochs(PARAMS, "mixed", 0) == ()


def curve(values, metric="behaviour", arm="off", seed=0):
    """One row per epoch."""
    rows = {"arm": arm, "init_seed": seed, "step": range(len(values)), "epoch": range(len(values))}
    return pd.DataFrame({**rows, "metric": metric, "family": "", "value": values})


def test_the_sources_grid_holds_its_plan_and_every_new_best():
    values = np.full(151, 0.3)
    values[[10, 33, 35, 37, 39, 40]] = [0.5, 0.6, 0.6, 0.7, 0.7, 0.9]
    kept = on_source_grid(pd.concat([curve(values), curve(values, "routing")]))
    found = set(kept.loc[kept["metric"] == "routing", "epoch"])
    assert found == set(source_epochs(150)) | {37, 40}  # 35 and 39 only equal the best before


def test_the_sources_candidate_breaks_ties_as_it_does():
    heads = pd.DataFrame({"layer": [0, 0, 1, 1], "head": [0, 1, 0, 1], "site": ["L0H0", "L0H1", "L1H0", "L1H1"]})
    case = heads.assign(arm="on", init_seed=0, step=5)
    scores, worst = case.assign(value=[0.4, 0.9, 0.9, 0.9]), case.assign(value=[1.0, 0.2, 0.7, 0.7])
    assert source_leaders(scores, worst)["site"].tolist() == ["L1H0"]


def born(table):
    """The source's births as ``emergence.births`` gives them."""
    rows = [
        {"arm": arm, "init_seed": seed, "motif": motif, "after": pd.NA, "by": None if math.isnan(epoch) else int(epoch)}
        for motif, of_run in table.items() for (arm, seed), epoch in of_run.items()
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"after": "Int64", "by": "Int64"})


def test_claims_quote_the_sources_tables():
    """What the claims say of the source follows from its published births and outcomes."""
    table = born(published.BIRTHS)
    assert set(published.BIRTHS) == set(MOTIFS)
    spread = timing.spreads(table)["spread"]
    assert (spread.min(), spread.max()) == (16, 114) and round(spread.mean()) == 76
    wide = timing.wide(table)
    first = wide["copying"] < wide["routing"].fillna(np.inf)
    assert int(first.sum()) == 5
    assert timing.order_names(table).nunique() == 4
    in_first_layer = [row["its head"].startswith("L0") for row in published.FINALS.values()]
    assert sum(in_first_layer) == 5
    handoffs = {arm: sum(published.GROUPED[f"handoffs of {o}"][arm] for o in ("copying", "routing")) for arm in MATRIX}
    assert handoffs == {"on": 23, "off": 12}


def test_order_names_ties_and_births_that_never_come():
    table = born({
        "behaviour": {("on", 0): 5, ("on", 1): 3}, "copying": {("on", 0): 5, ("on", 1): math.nan},
        "routing": {("on", 0): 9, ("on", 1): math.nan},
    })  # fmt: skip
    assert timing.order_names(table).tolist() == ["behaviour = copying < routing", "behaviour < copying = routing"]


def test_runs_in_which_nothing_is_born_still_have_an_order():
    never = {("on", 7): math.nan, ("off", 7): math.nan}
    table = born({"behaviour": never, "copying": never, "routing": never})
    assert timing.order_names(table).tolist() == ["behaviour = copying = routing"] * 2


def test_unmeasured_arms_leave_their_claims_unchecked():
    """A reader who trains the matrix alone gets verdicts on it, and none on the rest."""
    for claim in STUDY.CLAIMS:
        assert claim.verdict(NOTHING).status == (Status.VOID if claim.void else Status.NOT_CHECKED), claim.id


def test_claims_name_the_arms_they_read():
    """So that a claim is unchecked, and does not fail, where an arm is missing."""
    arms = {claim.id: set(claim.arms) for claim in STUDY.CLAIMS}
    apart = {name: read for name, read in arms.items() if not read <= set(MATRIX)}
    assert apart == {
        "SR14": {"off", "mixed"}, "SR18": {"query, 1 x 2", "query, 2 x 2"}, "SR19": {"query, 2 x 2"},
        "SR20": {"off", "query, 2 x 2"}, "SR21": {"arrow, 3 x 2", "query, 3 x 2"},
        "SR26": {"arrow, 3 x 2", "query, 3 x 2"}, "SR22": {"off", "arrow, 2 x 8"}, "SR25": {"query, 2 x 2"},
    }  # fmt: skip
    assert all(arms.values()) and set().union(*arms.values()) <= set(STUDY.recipes(PARAMS))


def looked(layer_0, layer_1):
    """What the looks instrument gives of networks read out at the query: by seed, the best head of each layer."""
    common = {"arm": "query, 2 x 2", "run_id": "r", "step": 9, "metric": "routing"}
    rows = [
        {**common, "init_seed": seed, "variable": look, "layer": layer, "head": head, "value": value}
        for layer, best in ((0, layer_0), (1, layer_1)) for seed, top in enumerate(best)
        for look, head, value in (("routing_behind", 0, top), ("routing_behind", 1, 0.1), ("routing", 1, 1.0))
    ]  # fmt: skip
    measured = pd.DataFrame(rows)
    battery = measured.assign(metric="accuracy")
    return Results(battery, pd.DataFrame(), "paper", {"looks": measured})


def test_a_layer_0_head_that_looks_behind_the_value_refutes_and_one_that_nobody_has_proves_nothing():
    (claim,) = (claim for claim in STUDY.CLAIMS if claim.id == "SR25")
    guesses, sure = np.linspace(0.30, 0.36, 40).tolist(), np.linspace(0.95, 1, 40).tolist()
    assert claim.verdict(looked(guesses, sure)).status is Status.SUPPORTED
    assert claim.verdict(looked([*guesses[1:], 0.9], sure)).status is Status.REFUTED
    assert claim.verdict(looked(guesses, guesses)).status is Status.CONTROL_FAILED


def test_what_is_void_follows_from_the_prompts():
    """SR9.published: a slot is asked for that was never shown. SR17.published: at the arrow nothing tells prompts."""
    task = make_task("textual_kv", {})
    slots = {split: set(task.split(split).variables["matching_slot"].tolist()) for split in (TRAIN, LONGER)}
    assert slots[LONGER] - slots[TRAIN] == {3}
    assert task.split(TRAIN).tokens.shape[1] != task.split(LONGER).tokens.shape[1]
    assert all(len(task.split(split).tokens[:, -1].unique()) == 1 for split in (TRAIN, LONGER))
    assert {claim.id for claim in STUDY.CLAIMS if claim.void} == {"SR9.published", "SR17.published"}


def test_runs_of_a_seed_count_in_part():
    """One of two runs is half a seed; a run that does not decide leaves the other to speak for its seed."""
    table = {
        "behaviour": {("on", 0): 5, ("off", 0): 5, ("on", 1): 5, ("off", 1): 5},
        "copying": {("on", 0): 2, ("off", 0): 9, ("on", 1): 2, ("off", 1): 5},
        "routing": {("on", 0): 7, ("off", 0): 3, ("on", 1): 7, ("off", 1): 5},
        "slot, patch": {("on", 0): 30, ("off", 0): math.nan, ("on", 1): math.nan, ("off", 1): math.nan},
    }
    by = born(table)
    dated = by.assign(after=by["by"] - 1)

    def under(_):
        return dated

    assert timing.copying_first(NOTHING, under).to_dict() == {0: 0.5, 1: 1.0}
    assert timing.in_commonest_order(NOTHING, under).to_dict() == {0: 0.5, 1: 0.5}
    assert timing.apart(NOTHING, under).to_dict() == {0: (28 + 6) / 2, 1: 2.5}
    assert timing.three_born(NOTHING, under).to_dict() == {0: 1.0, 1: 1.0}
    assert timing.born_at_start(NOTHING, under).to_dict() == {0: 0, 1: 0}


@pytest.mark.parametrize(
    ("change", "named"), [({"epochs": 151}, "epochs"), ({"seeds": []}, "seeds"), ({"n_bases": 200}, "n_bases")]
)
def test_unusable_parameters_are_named(change, named):
    values = studies.read_params("six_run_matrix") | change
    with pytest.raises(studies.ParameterError, match=named):
        studies.validate("six_run_matrix", values)


def test_the_page_prints_the_published_distances_where_the_readers_stand_under_them():
    def unborn(*at_the_end):
        left_out = {matrix.LEFT_OUT: ["5", "4", "3"], matrix.NO_SLOT: ["3", "2", "1"]}
        table = pd.DataFrame({"definition": [*matrix.DATED], AT_THE_END: at_the_end, **left_out})
        return View(table, "e", "a")

    both = joined({"paper": unborn("118", "60", "17"), "rerun": unborn("90", "50", "12")}, {})
    assert len(both.table) == 6 and unborn_numbers(both) == {
        "apart_source": "5", "ungated": "4", "at_end_source": "118", "at_end_ours": "17",
        "no_slot_source": "3", "no_slot_ungated": "2", "no_slot_ours": "1",
    }  # fmt: skip


def test_a_seed_without_births_stays_in_the_view_of_rows(monkeypatch):
    never = {("off", 7): math.nan, ("off", 8): math.nan, ("on", 7): 3}
    table = born(dict.fromkeys(SHOWN, never))
    for name in ("published_births", "corrected_births"):
        monkeypatch.setattr(matrix, name, lambda results: table)
    view = matrix.birth_rows(NOTHING)
    assert view.table.groupby("panel", sort=False)["init_seed"].unique().map(list).tolist() == [[7, 8]] * 2
    assert view.table["series"].drop_duplicates().tolist() == [*SHOWN[:3], "the slot"]
    assert view.table["value"].isna().all()
    assert "8 of 8 as this book dates births and 8 of 8 as the source dates them" in view.note


def test_the_page_says_how_far_apart_the_drawn_births_lie_and_how_many_are_not_drawn():
    """Of the published networks; one without births is among the drawn and has no distance."""
    epochs = {
        matrix.OURS: [(10, 12), (20, math.nan), (math.nan, math.nan)],
        matrix.THEIRS: [(10, 60), (20, 50), (5, 5)],
    }
    rows = [
        {"panel": panel, "init_seed": seed, "series": series, "value": value, "origin": "paper"}
        for panel, of_seeds in epochs.items() for seed, values in enumerate(of_seeds)
        for series, value in zip(("copying", "routing"), values, strict=True)
    ]  # fmt: skip
    yours = {"panel": matrix.OURS, "init_seed": 0, "series": "copying", "value": 900.0, "origin": "rerun"}
    assert page_numbers.drawn_numbers(View(pd.DataFrame([*rows, yours]), "epoch", "val")) == {
        "drawn_ours": "1", "never_ours": "3 of 6", "drawn_source": "27", "never_source": "0 of 6", "n_drawn": "3",
    }  # fmt: skip


def test_transitions_are_counted_in_epochs_and_those_that_never_come_are_gradual():
    reached = {0: (0.5, 0.7, 0.95), 1: (0.5, 0.95, 0.95), 2: (0.61, 0.7, 0.8), 3: (0.7, 0.8, 0.8, 0.9), 4: (0.5, 0.5)}
    rows = pd.DataFrame(
        [
            {"panel": pilot.TRAINED_ON, "series": pilot.OURS, "init_seed": seed, "epoch": epoch, "value": value}
            for seed, values in reached.items() for epoch, value in enumerate(values)
        ]
    )  # fmt: skip
    beside = rows.assign(series=pilot.TORCH, init_seed=9)
    view = View(pd.concat([rows, beside], ignore_index=True), "share", "train")
    assert page_numbers.transition_numbers(view) == {"abrupt": "2 of 5", "gradual": "3 of 5"}


def test_the_page_says_what_was_trained():
    found = page_numbers.numbers_of_the_design(PARAMS)
    assert [found[name] for name in ("d_model", "n_train", "rate", "n_data_sets")] == [64, "30,000", "0.001", 26]


def test_a_sentence_has_plain_words_for_what_differs():
    rows = {"handoffs beyond noise": "0.01", "accuracy on four pairs": "0.2", "largest single loss in layer 0": "0.03"}
    table = pd.DataFrame({"quantity": rows.keys(), "p, Holm": rows.values()})
    assert inference.differing(View(table, "as named", "as named")) == (
        "how often it changes by more than noise, counted in time; largest single loss in layer 0"
    )
    assert inference.IN_PROSE.keys() <= curriculum.COMPARED.keys()


def test_agreement_stands_beside_both_ways_of_shuffling_and_ours_comes_first(monkeypatch):
    levels = {"value": 0.9, "chance_within_layers": 0.8, "chance_all_heads": 0.7}
    measured = [("same_identity", "routing"), ("profile_cosine", "copying"), ("matched", "all"), ("matched", "other")]
    pairs = [
        {"measure": measure, "metric": metric, "arm": arm, "init_seed_a": 0, "init_seed_b": 1, **levels}
        for measure, metric in measured for arm in MATRIX
    ]  # fmt: skip
    monkeypatch.setattr(inference.roles, "agreements", lambda results: pd.DataFrame(pairs))
    tables = pd.DataFrame(
        [
            {"arm": arm, "init_seed": seed, "run_id": f"{arm}{seed}", "step": 0, "metric": "accuracy", "value": 1.0}
            for arm in MATRIX for seed in (0, 1)
        ]
    )  # fmt: skip
    table = inference.stability(Results(tables, pd.DataFrame(), "paper")).table
    assert table["group"].iloc[0] == "ours: heads matched within layers (off)" and table["group"].nunique() == 6
    assert table.groupby("series", sort=False)["value"].unique().map(list).to_dict() == {
        "seeds": [0.9], "shuffled within layers": [0.8], "shuffled over both layers": [0.7],
    }  # fmt: skip


def test_four_births_are_shown():
    assert len(SHOWN) == 4 and set(SHOWN) <= set(MOTIFS)


def test_delays_are_of_pairs_and_of_the_published_ones_where_a_reader_has_the_same_seeds():
    rows = [
        ("off", 0, 100.0, "paper"), ("on", 0, 130.0, "paper"), ("off", 1, 100.0, "paper"), ("on", 1, 2100.0, "paper"),
        ("off", 2, 50.0, "paper"), ("on", 2, 40.0, "paper"), ("mixed", 0, 900.0, "paper"), ("on", 0, 9000.0, "rerun"),
    ]  # fmt: skip
    apart = View(pd.DataFrame(rows, columns=["arm", "init_seed", "value", "origin"]), "optimizer steps", "val", "")
    assert page_numbers.delays(apart) == {
        "n_delayed": "2 of 3", "median_delay": "30", "largest_delay": "2,000", "delay_without": "10 [-244, 264]",
    }  # fmt: skip
