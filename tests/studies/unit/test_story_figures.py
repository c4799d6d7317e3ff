"""The tables behind the story's figures, of made-up networks, counted by hand."""

import itertools

import pandas as pd
import pytest

from circuitcore.tasks import make_task
from livingpaper.claims.results import Results
from retrieval_circuits.story_control import figures
from retrieval_circuits.story_control.design import PHRASES, PLANTED, STORY


def test_the_best_epoch_of_other_rows_is_the_first_best_one_and_is_held_against_the_commonest_word():
    val, test = {0: [0.1, 0.3, 0.3], 1: [0.2, 0.1, 0.0]}, {0: [0.5, 0.2, 0.9], 1: [0.4, 0.6, 0.1]}
    rows = [
        {"arm": STORY, "init_seed": seed, "run_id": f"s{seed}", "step": 10 * place, "n": 9, "metric": "accuracy",
         "split": split, "value": value}
        for split, of in (("val", val), ("test", test)) for seed, values in of.items()
        for place, value in enumerate(values)
    ]  # fmt: skip
    view = figures.chosen_elsewhere(Results(pd.DataFrame(rows).assign(family="", edit=""), pd.DataFrame(), "paper"))
    chance = make_task("story", {}).chance
    on_test, on_val = (0.2 + 0.4) / 2 - chance["test"], (0.3 + 0.1) / 2 - chance["val"]
    assert view.table.groupby("split")["value"].mean().to_dict() == pytest.approx({"test": on_test, "val": on_val})
    said = figures.chosen_numbers(view)
    assert said == {"val_elsewhere": f"{100 * on_val:.0f} points", "test_elsewhere": f"{100 * on_test:.0f} points"}


def test_each_network_looks_in_one_of_four_ways():
    looks = {0: (0.9, 0.1), 1: (0.2, 0.8), 2: (0.6, 0.7), 3: (0.5, 0.5)}  # at the word, one past it
    rows = [
        {"arm": arm, "init_seed": seed, "run_id": f"{arm}{seed}", "step": 0, "n": 9, "metric": metric, "layer": layer,
         "head": head, "family": "full", "value": value if (layer, head) == (1, place) else 0.3 * (1 + layer) / 2}
        for arm in (PLANTED, PHRASES) for seed, of in looks.items()
        for place, (metric, value) in enumerate(zip(("routing", "routing_after"), of, strict=True))
        for layer, head in itertools.product((0, 1), (0, 1))
    ]  # fmt: skip
    view = figures.where(Results(pd.DataFrame(rows).assign(split="", edit=""), pd.DataFrame(), "paper"))
    found = view.table[view.table["arm"] == PLANTED].pivot(index="init_seed", columns="group", values="value")
    assert found.columns[found.to_numpy().argmax(1)].tolist() == [
        "the word to be copied", "one past it", "both, by a head each", "neither",
    ]  # fmt: skip
    assert (found.sum(axis=1) == 1).all() and view.table["panel"].nunique() == 2
