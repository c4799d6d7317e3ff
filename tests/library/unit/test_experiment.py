"""An experiment as a value: what names it, what it refuses, what its table must be."""

import dataclasses
import json
import pickle
from dataclasses import dataclass

import pandas as pd
import pytest
from toy import throws
from toy.throws import Throws

from circuitcore.training import Experiment

DRAWN = Experiment(name="longest", version=1, function=throws.longest, params=Throws(), seeds=(0, 1, 2))
COUNTED = Experiment(name="halvings", version=1, function=throws.halvings, params=Throws())


def test_its_text_and_its_name_are_these():
    """Whatever else changes: tables are kept under this name."""
    (one, *_), (counted,) = DRAWN.by_seed, COUNTED.by_seed
    assert json.loads(one.to_json()) == {
        "experiment": "longest",
        "version": 1,
        "function": "toy.throws:longest",
        "params": {"n_throws": 64, "notes": ""},  # the younger field says nothing
        "seeds": [0],
    }
    assert one.run_id == "longest-6d2757134ec8" and counted.run_id == "halvings-2c1f78ad8c0e" and counted == COUNTED


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"version": 2},
        {"function": throws.refused_at_1},
        {"params": Throws(65)},
        {"params": Throws(seconds=1.0)},
        {"params": None},
        {"seeds": (0, 1)},
        {"seeds": (1, 0, 2)},
    ],
)
def test_whatever_changes_another_one_it_is(changes):
    other = dataclasses.replace(DRAWN, **changes)
    assert other != DRAWN and other.sha256 != DRAWN.sha256


def test_equal_ones_are_one_and_travel_between_processes():
    again = dataclasses.replace(DRAWN, params=Throws(64))
    assert again == DRAWN and len({again, DRAWN}) == 1
    there = pickle.loads(pickle.dumps(DRAWN))
    assert there == DRAWN and there.function is throws.longest


def test_one_of_a_seed_is_the_same_whichever_others_there_are():
    fewer = dataclasses.replace(DRAWN, seeds=(2, 7))
    assert [one.init_seed for one in DRAWN.by_seed] == [0, 1, 2] and COUNTED.init_seed is None
    assert fewer.by_seed[0] == DRAWN.by_seed[2] and len({*fewer.by_seed, *DRAWN.by_seed}) == 4


def test_what_all_seeds_share_is_told_apart_by_params_and_version_not_by_seeds():
    assert DRAWN.by_seed[2].key == DRAWN.key and DRAWN.key.startswith("longest-v1-")
    others = (dataclasses.replace(DRAWN, **changes).key for changes in ({"version": 2}, {"params": Throws(65)}))
    assert len({DRAWN.key, *others}) == 3


def inner():
    def function(params, seed):
        return []

    return function


@dataclass
class NotFrozen:
    n: int = 1


@dataclass(frozen=True)
class Held:
    value: object


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"name": "My throws"}, "called 'My throws'; allowed: small letters, digits, '_', a letter first"),
        ({"version": 0}, r"longest: version = 0; allowed: 1, 2, \.\.\."),
        ({"version": True}, "version = True"),
        ({"function": lambda params, seed: []}, "function = '<lambda>'; allowed: a function at the top of a module"),
        ({"function": inner()}, "<locals>.function'; allowed"),
        ({"function": throws.halvings}, r"function = 'halvings'; allowed: one that takes \(params, seed\)"),
        ({"seeds": ()}, r"function = 'longest'; allowed: one that takes \(params\), as there are no seeds"),
        ({"seeds": (0, 0)}, r"seeds = \(0, 0\); allowed: a tuple of different whole numbers from 0 to 4294967295"),
        ({"seeds": (0, True)}, "different whole numbers"),
        ({"seeds": (-1,)}, "different whole numbers"),
        ({"params": {"n_throws": 64}}, "params = {'n_throws': 64}; allowed: None, or a frozen dataclass"),
        ({"params": NotFrozen()}, "params = NotFrozen.* allowed: None, or a frozen dataclass"),
        ({"params": Held([1])}, "allowed: None, or a frozen dataclass of finite numbers"),
        ({"params": Held(Held(1))}, "allowed: None, or a frozen dataclass of finite numbers"),
        ({"params": Held(float("nan"))}, "allowed: None, or a frozen dataclass of finite numbers"),
    ],
)
def test_one_that_cannot_be_is_refused_by_what_is_wrong(changes, told):
    with pytest.raises(ValueError, match=told):
        dataclasses.replace(DRAWN, **changes)


def test_its_table_has_the_rows_of_the_function_and_says_whose_they_are():
    table = DRAWN.by_seed[1].compute()
    assert table["side"].tolist() == ["tails", "heads"] and table["value"].tolist() == [5, 5]
    assert set(table["run_id"]) == {DRAWN.by_seed[1].run_id}
    (counted,) = COUNTED.compute().to_dict("records")
    assert counted == {"value": 6.0, "run_id": COUNTED.run_id}


REFUSED = (
    ((), "0 rows of columns ..; allowed: at least one row"),
    (None, "'NoneType' object is not iterable"),
    (
        ({"value": 1, "run_id": "mine"},),
        "1 rows of columns .*; allowed: .* columns each with a name of its own, not run_id, arm, init_seed",
    ),
    (({"value": 1, "init_seed": 0},), "not run_id, arm, init_seed"),
    (({1: 2},), "1 rows of columns .1.; allowed"),
    (({"value": [1, 2]},), "unhashable type: 'list'; allowed: at least one row of words, numbers and truths"),
    (({"value": 1j},), "column 'value' holds complex128"),
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "1 rows of columns .'a', 'a'.; allowed"),
)


def gives(params):
    return REFUSED[params.value][0]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_a_table_that_cannot_be_kept_is_refused(place):
    told = f"experiment holder: made a table that cannot be kept: .*{REFUSED[place][1]}"
    with pytest.raises(ValueError, match=told):
        Experiment(name="holder", version=1, function=gives, params=Held(place)).compute()


def test_several_seeds_are_computed_one_at_a_time():
    with pytest.raises(ValueError, match=r"seeds = \(0, 1, 2\); allowed: one at a time"):
        DRAWN.compute()
