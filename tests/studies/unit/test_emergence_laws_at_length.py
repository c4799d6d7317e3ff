"""Tables of the appendix on laws, on waits made up."""

import dataclasses

import pandas as pd
import pytest

from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.figures.tables import comparison
from retrieval_circuits.emergence_laws import design
from retrieval_circuits.emergence_laws.measures import Setting

VIEWS = studies.load("emergence_laws").VIEWS


def waits(change, *, seed, times, there=True):
    asked = dataclasses.replace(Setting(), **dict(change))
    return {**dataclasses.asdict(asked), "context": 2 * asked.n_pairs, "init_seed": seed, "time": times, "there": there}


@pytest.fixture
def results():
    """Waits go as the square of N, as the root of the batch down, and not with anything else; the widest give up."""
    tables = {}
    for shape in design.SHAPES:
        for axis, changes in {"middle": ((),), **design.AXES}.items():
            rows = []
            for seed in (1, 2):
                for change in changes:
                    asked = dataclasses.replace(Setting(), **dict(change))
                    times = 100 * seed * asked.n_pairs**2 / asked.batch**0.5
                    rows.append(waits(change, seed=seed, times=times, there=axis != design.WIDEST))
            name = design.name_of(shape, axis)
            tables[name] = pd.DataFrame(rows).assign(arm=name)
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    return Results(empty, pd.DataFrame(), "paper", tables, tuple(tables))


def test_every_setting_has_its_own_networks(results):
    table = VIEWS["every_setting"](results).table
    n_settings = sum(len(changes) for changes in design.AXES.values())
    assert len(table) == 2 * (n_settings + 1) - len(design.AXES[design.TIMES]), "a sequence is told once"
    table = table.set_index(["task", "setting"])
    assert not table.index.duplicated().any() and set(table["networks"]) == {2}
    assert dict(table["given up"][table["given up"] > 0]) == {
        (task, "width 512"): 2 for task in ("pairs", "a sequence")
    }
    twelve = table.loc["pairs", "N = 12"]
    assert [twelve[name] for name in ("shortest", "median", "longest")] == ["2,546", "3,818", "5,091"]


def test_powers_are_those_of_the_waits(results):
    table = comparison(VIEWS["numbers"](results)).set_index("quantity")
    ours = table.iloc[:, -2]
    assert table.columns[-2].endswith("mean of 2")
    for task in ("pairs", "a sequence"):
        assert ours[f"context, {task}"] == pytest.approx(2)
        assert ours[f"rows a batch, {task}"] == pytest.approx(-0.5)
        assert ours[f"channels a head, {task}"] == pytest.approx(0, abs=1e-9)
    assert table.loc["rows a batch, pairs", "source"].startswith("-0.5")
    drawn = VIEWS["seed_powers"](results).table
    assert len(drawn) == 2 * 9 and "times told" not in set(drawn["group"][drawn["series"] == "a sequence"])
    batch = drawn[(drawn["group"] == "rows a batch") & (drawn["series"] == "pairs")].set_index("init_seed")["value"]
    assert dict(batch) == pytest.approx({1: -0.5, 2: -0.5})
