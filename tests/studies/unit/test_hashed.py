"""A field that is added later renames nothing there is: no run, no table."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from packed_index import published_lines

import paper
from circuitcore.ground.hashed import canonical, later, may_lack
from circuitcore.training.store.run_store import RunStore
from livingpaper.book import studies

ROOT = Path(paper.__file__).resolve().parent


@dataclass(frozen=True)
class Before:
    size: int
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class After:
    size: int
    words: tuple[str, ...] = ()
    rate: float = later(0.5)
    kinds: tuple[str, ...] = later(())


def test_a_field_added_later_enters_only_where_it_says_something():
    assert canonical(After(3)) == canonical(Before(3)) == {"size": 3, "words": ()}
    assert canonical(After(3, rate=0.25)) == {"size": 3, "words": (), "rate": 0.25}
    assert canonical(After(3, kinds=("a",))) == {"size": 3, "words": (), "kinds": ("a",)}


def test_a_field_that_was_there_from_the_start_always_enters():
    """Else a changed default would give another value the old name."""
    assert canonical(Before(3, ())) != canonical(Before(3, ("a",))) and "words" in canonical(Before(3))


def test_what_may_be_missing_where_it_is_stored_is_what_was_added_later():
    assert may_lack(After) == ("rate", "kinds") and may_lack(Before) == ()
    assert After(**canonical(After(3))) == After(3)


@pytest.mark.parametrize("name", studies.names())
def test_published_runs_and_tables_have_the_names_that_their_study_gives_them(name):
    study, params = studies.load(name), studies.load_params(name)
    arms = study.recipes(params)
    lines = [json.loads(line) for line in published_lines(ROOT / "published")]  # of two studies' runs one pack has each
    packed = {line["run_id"]: line for line in lines}
    assert len(packed) == len(lines), "a run is in two packs"
    experiments = [one for each in studies.experiments(study, params) for one in each.by_seed]
    assert arms or experiments
    assert {one.run_id for one in experiments} <= packed.keys()
    for arm, recipes in arms.items():
        tables = {one.key for one in study.instruments(params, arm)}
        for recipe in recipes:
            line = packed[recipe.run_id]
            assert line["recipe"] == json.loads(recipe.to_json()), recipe.run_id
            assert tables <= line["tables"].keys(), (arm, recipe.run_id)


def test_another_value_is_another_name():
    recipe = studies.load("symbolic_kv").recipes(studies.load_params("symbolic_kv"))["trained"][0]
    longer = dataclasses.replace(recipe.model, norm_eps=1e-5)
    assert dataclasses.replace(recipe, model=longer, task_params=dict(recipe.task_params)).run_id != recipe.run_id


MAIN_ARMS = {
    "symbolic_kv": ("trained", "by torch"),
    "story_control": ("story, as published", "planted repeats"),
    "six_run_matrix": ("on", "off"),
    "sgd_formation": ("ours, fresh rows",),
    "sgd_selection": ("ten networks",),
    "permutation_recall": ("d 16, 1 head, FFN 32, normal", "d 32, 2 heads, FFN 64, repeats"),
    "emergence_laws": ("pairs",),
    "stacked_heads": ("D 2, every step, 4 layers",),
    "composition": ("one to four, mixed, 4 layers",),
}


@pytest.mark.parametrize(("name", "arm"), [(name, arm) for name, arms in MAIN_ARMS.items() for arm in arms])
def test_the_ends_of_ten_networks_are_shipped(name, arm):
    study, params = studies.load(name), studies.load_params(name)
    recipes = sorted(study.recipes(params)[arm], key=lambda recipe: recipe.init_seed)
    shipped = {recipe.run_id: study.published_epochs(params, arm, recipe.init_seed) for recipe in recipes}
    store = RunStore(ROOT / "published", None)
    steps = {run_id: store.get(run_id).steps for run_id in shipped}
    assert [run_id for run_id, epochs in shipped.items() if epochs] == [recipe.run_id for recipe in recipes[:10]]
    assert [run_id for run_id, kept in steps.items() if kept] == [recipe.run_id for recipe in recipes[:10]]
    assert all(steps[recipe.run_id][-1] == recipe.n_steps for recipe in recipes[:10])
