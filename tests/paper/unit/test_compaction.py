"""What a page decodes of a compact table is the table; lines of many seeds are short, and drawn as they were."""

import csv
import io
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livingpaper.claims.view import View
from livingpaper.figures import curves, style
from livingpaper.figures.compaction import compact

READ = {"string": str, "number": float, "boolean": "true".__eq__}
CELLS = {
    "t": st.none() | st.sampled_from(["a", 'b "c", d\ne', "", "–"]),
    "n": st.none() | st.integers(-3, 3) | st.floats(),
    "b": st.none() | st.booleans(),
    "l": st.sampled_from(
        [[1, 2.0, None], [math.nan, 1], ["a"], [], [0.0, 100, 200, 300], [3, 2, 1, 0], [2, 2, 2, 2], [0, 1, 2, 4]]
    ),
}


def calculated(expression):
    """What Vega makes of a constant; its ``sequence`` is Python's ``range``."""
    spaced = re.fullmatch(r"sequence\((-?\d+),(-?\d+),(-?\d+)\)", expression)
    return list(range(*map(int, spaced.groups()))) if spaced else json.loads(expression)


def decoded(spec, node):
    """The rows that a node of a compact specification draws: formats and transforms applied as Vega does."""
    rows = spec["datasets"][node["data"]["name"]]
    if isinstance(rows, str):
        kinds = node["data"]["format"]["parse"]
        lines = csv.DictReader(io.StringIO(rows))
        rows = [{name: READ[kinds[name]](cell) if cell else None for name, cell in line.items()} for line in lines]
    for step in node.get("transform", []):
        if "calculate" in step:
            rows = [{**row, step["as"]: calculated(step["calculate"])} for row in rows]
        else:
            long = [(row, zip(*(row[name] for name in step["flatten"]), strict=True)) for row in rows]
            rows = [{**row, **dict(zip(step["flatten"], cells, strict=True))} for row, all_ in long for cells in all_]
    return rows


@st.composite
def tables(draw):
    """Records of the same columns in some order; each stands there several times, so that words repeat."""
    columns = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, unique=True))
    rows = draw(st.lists(st.fixed_dictionaries({name: CELLS[name] for name in columns}), max_size=6))
    return [dict(row) for row in rows for _ in range(draw(st.integers(1, 9)))]


@given(tables())
def test_what_a_page_decodes_is_the_table(rows):
    spec = {"layer": [{"data": {"name": "r"}}], "datasets": {"r": rows}}
    before = repr(spec)
    found = compact(spec)
    json.dumps(found, allow_nan=False)
    assert decoded(found, found["layer"][0]) == [{name: known(cell) for name, cell in row.items()} for row in rows]
    assert repr(spec) == before, "the input is left as it was"


def known(cell):
    """A number that is none is missing."""
    if isinstance(cell, list):
        return [known(one) for one in cell]
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def test_each_form_is_used_where_it_is_shortest():
    words, numbers = [f"word {n}" for n in range(12)], [n / 7 for n in range(12)]
    forms = {
        "one row": [{"t": "a", "n": 1}],
        "csv": [{"t": t, "n": n, "b": t[-1] in "13579"} for t, n in zip(words, numbers, strict=True)],
        "stretches": [{"of": "a" if n < 1 else "b", "all": "the same", "n": n} for n in numbers],
        "shared": [{"of": t, "times": [0, 1, 3], "value": [n, 1.0]} for t, n in zip(words, numbers, strict=True)],
    }
    found = compact({"layer": [{"data": {"name": name}, "transform": ["own"]} for name in forms], "datasets": forms})
    one, flat, stretches, shared = found["layer"]
    assert one == {"data": {"name": "one row"}, "transform": ["own"]}
    assert found["datasets"]["one row"] == forms["one row"]
    assert flat["data"]["format"]["parse"] == {"t": "string", "n": "number", "b": "boolean"}
    assert [row["of"] for row in found["datasets"]["stretches"]] == ["a", "b"]
    assert stretches["transform"] == [{"calculate": '"the same"', "as": "all"}, {"flatten": ["n"]}, "own"]
    assert shared["transform"] == [{"calculate": "[0,1,3]", "as": "times"}, "own"]
    assert json.dumps(found["datasets"]["shared"][1]) == json.dumps({"of": "word 1", "value": [1 / 7, 1]})


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([0, 100.0, 200, 300], "sequence(0,400,100)"),
        ([-1, -2, -3, -4], "sequence(-1,-5,-1)"),
        ([1, 2, 3, 5], "[1,2,3,5]"),
        ([0.5, 1.5, 2.5, 3.5], "[0.5,1.5,2.5,3.5]"),
        ([2, 2, 2, 2], "[2,2,2,2]"),
        ([True, 2, 3, 4], "[true,2,3,4]"),
        ([0, 1], "[0,1]"),
    ],
)
def test_evenly_spaced_steps_are_told_by_their_ends(steps, told):
    spec = {"data": {"name": "r"}, "datasets": {"r": [{"of": f"line {n}", "step": steps} for n in range(30)]}}
    assert compact(spec)["transform"] == [{"calculate": told, "as": "step"}]


def test_what_is_no_table_of_one_kind_of_cell_stays():
    keep = [[{"a": ""}], [{"a": 1}, {"b": 2}], [{"a": "x"}, {"a": 1}], [{"a": [1]}], []]
    spec = {"data": {"name": "0"}, "datasets": {str(number): rows for number, rows in enumerate(keep)}}
    assert compact(spec) == spec


@pytest.fixture
def drawn():
    """Accuracy of 32 seeds over 73 steps, in noise; one value is missing."""
    at = pd.MultiIndex.from_product([["a", "b"], range(32), range(0, 7300, 100)], names=["series", "init_seed", "step"])
    rows = pd.DataFrame(index=at).reset_index()
    rows["value"] = np.random.default_rng(0).uniform(size=len(rows))
    rows.loc[5, "value"] = None
    return rows, curves.training(View(rows, "accuracy", "test", ""), width=640)


def test_lines_of_many_seeds_are_short(drawn):
    rows, chart = drawn
    tables = compact(style.specification(chart, validate=False))["datasets"]
    assert len(json.dumps(tables, separators=(",", ":"))) < 4.5 * len(rows) + 5_000


def test_lines_are_drawn_as_the_values_are_to_a_quarter_of_a_pixel(drawn):
    rows, chart = drawn
    found = compact(style.specification(chart, validate=False))
    seeds = next(layer for layer in found["layer"] if layer["mark"].get("strokeWidth") == 1)
    *told, value = seeds["transform"]
    units = int(value["calculate"].split("/ ")[1].split(" ")[0])
    assert value == {"calculate": f"isValid(datum.value) ? datum.value / {units} : null", "as": "value"}
    shown = pd.DataFrame(decoded(found, {**seeds, "transform": told}))
    assert list(shown["step"]) == list(rows["step"]) and list(shown["init_seed"]) == list(rows["init_seed"])
    off = (shown["value"].astype(float) / units - rows["value"]).abs()
    assert off.max() * found["height"] <= 0.25 and list(off.index[off.isna()]) == [5]


@pytest.mark.parametrize("values", [[2.4, 2.6], [1e-7, 3e-7], [-4000.0, 9000.0], [0.3], [0.0, 0.0], [math.nan], []])
def test_units_are_fine_enough_whatever_the_values(values):
    values = pd.Series(values, dtype=float)
    units = curves._units(values)
    off = ((values * units).round() / units - values).abs().max()
    assert isinstance(units, int) and not off > 0.501 / curves.SEEN * (
        (values.max() - values.min()) or abs(values.max())
    )
