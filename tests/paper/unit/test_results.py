import pandas as pd
import pytest

from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.view import View


def measurements():
    rows = []
    for arm, seeds, steps in (("main", (1, 0), (0, 10, 20)), ("one_layer", (0,), (0, 5))):
        for seed in seeds:
            for step in steps:
                fixed = {"arm": arm, "init_seed": seed, "run_id": f"{arm}-{seed}", "step": step}
                rows += [
                    {**fixed, "metric": "accuracy", "split": split, "value": step + seed + offset}
                    for split, offset in (("test", 0.0), ("ood", 0.5))
                ]
                if step != 20:
                    rows.append({**fixed, "metric": "probe", "split": "test", "value": 0.1})
    return pd.DataFrame(rows).astype({"metric": "category", "split": "category"})


@pytest.fixture
def results():
    return Results(measurements(), pd.DataFrame(), "paper")


def test_final_rows_are_those_of_the_last_checkpoint_of_each_run(results):
    found = results.at_final("accuracy", split="test")
    assert found[["arm", "init_seed", "step"]].values.tolist() == [
        ["main", 0, 20],
        ["main", 1, 20],
        ["one_layer", 0, 5],
    ]
    assert len(results.at_final("accuracy", "main")) == 4
    assert len(results.at_final("accuracy", "main", split=["test", "ood"])) == 4


def test_one_value_per_seed(results):
    assert results.final_values("accuracy", "main", split="test").to_dict() == {0: 20.0, 1: 21.0}
    with pytest.raises(SelectionError, match=r"several rows per seed; still varying: \['split'\]"):
        results.final_values("accuracy", "main")


def test_curves_are_sorted(results):
    found = results.curve("accuracy", "main", split="test")
    assert found[["init_seed", "step"]].values.tolist() == [[0, 0], [0, 10], [0, 20], [1, 0], [1, 10], [1, 20]]


def test_arms_and_seeds(results):
    assert results.arms == ("main", "one_layer")
    assert results.seeds("main") == (0, 1)


@pytest.mark.parametrize(
    ("select", "words"),
    [
        (lambda results: results.curve("acuracy"), "unknown metric 'acuracy'; did you mean 'accuracy'"),
        (lambda results: results.curve("accuracy", "mian"), "unknown arm 'mian'; did you mean 'main'"),
        (lambda results: results.curve("accuracy", split="val"), "unknown split 'val'; known: ood, test"),
        (lambda results: results.curve("accuracy", spilt="test"), "unknown column 'spilt'; did you mean 'split'"),
        (lambda results: results.at_final("probe", "main"), "not measured at the last checkpoint"),
        (lambda results: results.seeds("two_layer"), "unknown arm 'two_layer'"),
    ],
)
def test_selections_that_find_nothing_say_what_exists(results, select, words):
    with pytest.raises(SelectionError, match=words):
        select(results)


def test_measurements_need_their_columns():
    with pytest.raises(ValueError, match=r"measurements lack \['arm'\]"):
        Results(measurements().drop(columns="arm"), pd.DataFrame(), "paper")


def test_a_view_counts_its_seeds():
    view = View(measurements(), "accuracy", "test", chance=1 / 3)
    assert (view.seeds, view.n_seeds) == ((0, 1), 2)
    plain = View(measurements().drop(columns=["init_seed"]), "rows", "train")
    assert plain.n_seeds == 0


def test_an_empty_or_unitless_view_is_refused():
    with pytest.raises(ValueError, match="this table has none"):
        View(measurements().iloc[:0], "accuracy", "test")
    with pytest.raises(ValueError, match="needs the unit"):
        View(measurements(), " ", "test")


@pytest.mark.parametrize("arm", [None, "main", "one_layer"])
def test_final_rows_are_chosen_from_again_and_again(results, arm):
    def plain(**where):
        rows = results.curve("accuracy", arm, **where)
        last = results.measurements.groupby("run_id", observed=True)["step"].max()
        return rows[rows["step"] == rows["run_id"].map(last)].reset_index(drop=True)

    for where in ({}, {"split": "test"}, {"init_seed": [0, 1]}, {}):
        pd.testing.assert_frame_equal(results.at_final("accuracy", arm, **where), plain(**where))
