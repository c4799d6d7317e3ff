"""What a picture says beside its points: what is only known to be larger, levels, turns, counts, and its words."""

import itertools

import numpy as np
import pandas as pd
import pytest

from livingpaper.claims.view import View
from livingpaper.figures import bars, curves, maps, powers, rates, style
from livingpaper.figures.caption import facts
from livingpaper.figures.rows import ColumnsError

BAND = "95 % t interval of the mean over seeds"


def rows_of(columns, *levels):
    rows = pd.DataFrame(list(itertools.product(*levels)), columns=columns.split())
    return rows.assign(value=np.linspace(0.1, 0.9, len(rows)))


def marks(spec, kind):
    """The layers of a plot that draw one kind of mark, with the rows of each."""
    return [
        (layer, pd.DataFrame(spec["datasets"][layer["data"]["name"]]))
        for layer in spec["layer"]
        if "name" in layer.get("data", {}) and layer["mark"].get("type") == kind
    ]


def test_what_is_only_known_to_be_larger_is_open_and_has_no_mean():
    rows = rows_of("group init_seed", ["reached", "not by all"], range(6))
    rows["there"] = rows.index != 11
    view = View(rows, "steps", "test", BAND)
    spec = style.specification(bars.seeds(view))
    (known, filled), (unknown, hollow) = marks(spec, "point")
    assert known["mark"]["filled"] and not unknown["mark"]["filled"]
    assert len(filled) == 11 and hollow["value"].tolist() == [0.9] and hollow["group"].tolist() == ["not by all"]
    for kind in ("tick", "rule"):
        ((_, means),) = marks(spec, kind)
        assert set(means["group"]) == {"reached"}
    assert f"Intervals: {BAND}." in facts(view)
    nowhere = rows.assign(there=rows["init_seed"] != 2)
    without = View(nowhere, "steps", "test", BAND)
    assert f"Intervals: {BAND}." not in facts(without)
    assert not marks(style.specification(bars.seeds(without)), "tick")
    whole = style.specification(bars.seeds(View(rows.drop(columns="there"), "steps", "test", BAND)))
    assert len(marks(whole, "point")) == 1
    assert {group for _, means in marks(whole, "tick") for group in means["group"]} == {"reached", "not by all"}


def test_no_line_goes_through_a_mean_of_what_was_given_up():
    rows = rows_of("x init_seed", [4, 8, 16], range(5)).assign(panel="pairs", axis="words", law=None, there=True)
    rows.loc[rows["x"].eq(8) & rows["init_seed"].eq(2), "there"] = False
    spec = style.specification(powers.powers(View(rows, "steps", "test", BAND)))
    (plot,) = spec["concat"] if "concat" in spec else (spec,)
    (line,) = [layer for layer in plot["layer"] if layer["mark"].get("type") == "line"]
    means = {row["x"]: row["value"] for row in spec["datasets"][line["data"]["name"]]}
    assert set(means) == {4, 8, 16} and [x for x, value in means.items() if value is None] == [8], "the line breaks"


def test_levels_of_a_view_are_drawn_beside_curves_and_named_once():
    rows = rows_of("panel series step init_seed", ["one", "other"], ["a"], [0, 1], range(5))
    view = View(rows, "squared error", "test", BAND, levels={"learnt below": 0.5})
    text = str({name: part for name, part in style.specification(curves.training(view)).items() if name != "usermeta"})
    assert text.count("'datum': 0.5") == 2 and text.count("'style': 'chance-label'") == 1
    assert "Lines: learnt below 0.5." in facts(view)


def test_turns_are_upright_lines_in_their_own_panel_alone():
    rows = rows_of("panel series step init_seed", ["in turn", "mixed"], ["a"], [0, 10], range(5))
    view = View(rows, "accuracy", "test", BAND, turns={"in turn": (3, 7)})
    assert "Upright lines: training asks for something else from there on." in facts(view)
    spec = style.specification(curves.training(view))
    drawn = {
        plot["title"]: [row["turn"] for layer in plot["layer"] if layer.get("mark", {}).get("style") == "turn"
                        for row in layer["data"]["values"]]
        for plot in spec["concat"]
    }  # fmt: skip
    assert drawn == {"in turn": [3, 7], "mixed": []}


def test_a_picture_without_a_line_for_what_its_caption_says_is_refused():
    rows = rows_of("panel series step init_seed", ["one", "other"], ["a"], [0, 1], range(5))
    with pytest.raises(ColumnsError, match=r"no line for level 'a law'"):
        curves.lines(View(rows, "accuracy", "test", BAND, levels={"a law": 0.5}))
    with pytest.raises(ColumnsError, match=r"no line for turns of 'one'"):
        curves.lines(View(rows, "accuracy", "test", BAND, turns={"one": (1,)}))
    with pytest.raises(ColumnsError, match=r"turns are told of panels \['ohter'\]; the table has \['one', 'other'\]"):
        curves.training(View(rows, "accuracy", "test", BAND, turns={"one": (1,), "ohter": (1,)}))
    curves.training(View(rows, "accuracy", "test", BAND, levels={'a reader\'s "law"': 0.5}))


def stacks(values, **changes):
    """Rows of seeds with the values of each group."""
    rows = [
        {"group": group, "init_seed": seed, "value": float(value)}
        for group, of_group in values.items()
        for seed, value in enumerate(of_group)
    ]
    return pd.DataFrame(rows).assign(**changes)


def counts(rows, layout="wide"):
    """What counts say in a picture of such rows: group, value, words, and how they stand to their points."""
    spec = style.specification(bars.seeds(View(rows, "share", "test", BAND)))
    drawn = spec if layout == "wide" else {**spec["usermeta"]["narrow"], "datasets": spec["datasets"]}
    return [
        (row["group"], row["value"], row["words"], layer["mark"]["align"], layer["mark"]["dy"])
        for layer, part in marks(drawn, "text")
        if "words" in part
        for _, row in part.iterrows()
    ]


FEW = {"two values": [0, 0, 0, 1, 1, 1, 1], "one value": [1] * 7}


def test_every_point_that_is_several_seeds_is_counted_where_no_row_has_many_values():
    rows = stacks({**FEW, "six": [0, 0, 0, 0.2, 0.4, 0.6, 0.6, 0.8, 1], "close": [0.97] * 3 + [1] * 4})
    wide = {
        ("two values", 0, "×3", "center", -9), ("two values", 1, "×4", "center", -9),
        ("one value", 1, "×7", "center", -9), ("six", 0, "×3", "center", -9), ("six", 0.6, "×2", "center", -9),
        ("close", 0.97, "×3", "center", -9), ("close", 1, "×4", "center", 9),
    }  # fmt: skip
    assert set(counts(rows)) == set(counts(rows, "narrow")) == wide, "counts that would meet stand on two sides"
    open_ones = rows.assign(there=(rows["group"] != "two values") | (rows["init_seed"] < 5))
    told = sorted(told[1:3] + told[4:] for told in counts(open_ones) if told[0] == "two values")
    assert told == [(0, "×3", -9), (1, "×2", -9), (1, "×2", 9)], "there, and beyond the end, are not four"
    whole = rows[rows["group"].isin(FEW)].astype({"value": int})
    assert len(counts(whole)) == 3, "whole numbers, too"
    assert counts(rows[rows["group"] == "one value"]) == [], "a row of one point that is all seeds says so itself"


def test_where_a_row_has_many_values_rows_of_few_are_counted():
    values = {**FEW, "many": [0, 0, *np.linspace(0.1, 1, 10)], "close": [0.97] * 3 + [1] * 4}
    beside = {
        ("two values", 0, "×3", "left", -5), ("two values", 1, "×4", "right", -5), ("one value", 1, "×7", "right", -5),
    }  # fmt: skip
    assert set(counts(stacks(values))) == beside
    crowded = {**FEW, "three close": [0.96] * 3 + [0.98] * 4 + [1] * 3}
    assert set(counts(stacks(crowded))) == beside, "a third count has room on no side"
    two = pd.concat([stacks(FEW, series="a"), stacks(FEW, series="b")])
    assert len(counts(two)) == 6 and {told[3] for told in counts(two)} == {"left", "right"}, "two lanes share a row"


def test_zero_is_a_line_where_values_lie_on_both_sides_of_it():
    rows = rows_of("group init_seed", ["a", "b"], range(5))
    for shift, wanted in ((0.5, 1), (0, 0), (1, 0)):
        spec = style.specification(bars.seeds(View(rows.assign(value=rows["value"] - shift), "gap", "test", BAND)))
        assert sum(layer.get("mark", {}).get("style") == "zero" for layer in spec["layer"]) == wanted


def test_a_map_of_a_circuit_says_what_its_rows_and_columns_are():
    rows = rows_of("circuit head row column", ["QK"], ["L0H0"], ["K0", "K1"], ["K0", "K1"])
    titles = {}
    for name, table in {"tokens": rows, "told": rows.assign(down="key asked for", across="key of the value")}.items():
        spec = style.specification(maps.circuit_maps(View(table, "logit", "test"), width=style.WIDE))
        (axes,) = {tuple(one[axis]["title"] for axis in "yx") for one in _with_encoding(spec)}
        titles[name] = axes
    assert titles == {"tokens": ("query token", "key token"), "told": ("key asked for", "key of the value")}


def _with_encoding(spec):
    """The encodings of a specification, wherever they stand."""
    if "encoding" in spec:
        yield spec["encoding"]
    for name in ("concat", "vconcat", "hconcat", "layer"):
        for inner in spec.get(name, ()):
            yield from _with_encoding(inner)


def test_a_caption_calls_arms_what_the_picture_calls_them_where_it_has_a_name_for_each():
    rows = pd.concat([
        rows_of("init_seed", range(5)).assign(series="frozen", arm="frozen, from point 2"),
        rows_of("init_seed", range(3)).assign(series="nothing frozen", arm="another order, point 4"),
    ])  # fmt: skip
    assert "frozen: 5; nothing frozen: 3" in " ".join(facts(View(rows, "share", "test", BAND)))
    panels = rows.rename(columns={"series": "panel"}).assign(series="accuracy")
    assert "frozen: 5; nothing frozen: 3" in " ".join(facts(View(panels, "share", "test", BAND)))
    both = pd.concat([rows, rows.assign(series="again")]).drop_duplicates(["init_seed", "arm", "series"])
    assert "frozen, from point 2: 5" in " ".join(facts(View(both, "share", "test", BAND)))


@pytest.mark.parametrize("panels", [["from step 400"], ["from step 400", "from step 1,200"]])
def test_panels_of_rates_are_titles_in_their_order(panels):
    rows = rows_of("panel group series init_seed", panels, ["head 0 wins"], ["boosted"], range(5)).assign(value=1)
    spec = style.specification(rates.rates(View(rows, "share of forks", "test", BAND)))
    plots = spec.get("vconcat", [spec])
    assert [plot["title"] for plot in plots] == panels
    axes = [layer["encoding"]["x"] for plot in plots for layer in plot["layer"] if layer["mark"].get("type") == "point"]
    assert all("share of forks" in str(axis["title"]) for axis in axes)
