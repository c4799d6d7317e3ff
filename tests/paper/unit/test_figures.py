import functools
import html
import io
import itertools
import json
import math
import re
from functools import partial
from urllib.parse import unquote
from urllib.request import urlopen

import altair as alt
import numpy as np
import pandas as pd
import pytest
import vl_convert
from bs4 import BeautifulSoup
from judged import control, judged

from circuitcore.emergence.seeds import mean_interval
from livingpaper.claims.claim import Says
from livingpaper.claims.rules import OnAverage
from livingpaper.claims.units import NUMBER, at_least
from livingpaper.claims.verdict import Status
from livingpaper.claims.view import View, joined, on_data_sets
from livingpaper.figures import (
    attention,
    bars,
    birth_rows,
    chart_html,
    counts,
    curves,
    maps,
    powers,
    ratios,
    removal,
    style,
    vega,
    wiring,
)
from livingpaper.figures.badges import ICONS, badge, status_class
from livingpaper.figures.bundle import Figure, source_of
from livingpaper.figures.caption import escape_markdown, facts, few_seeds
from livingpaper.figures.chart_html import STATIC, paper_html
from livingpaper.figures.compaction import compact
from livingpaper.figures.figure_files import NAMED, beside, inside
from livingpaper.figures.rows import ColumnsError, over_seeds, rounded, rows_of
from livingpaper.figures.tables import cell_text, comparison, table_markdown
from livingpaper.figures.verdict_text import anchor, claim_html, claim_markdown, claim_text

pytestmark = pytest.mark.slow

BAND = "95 % interval of the mean over seeds"
HEADS = ("L0H0", "L0H1", "L1H0", "L1H1")


def table(columns, *levels, value=None):
    """Every combination of the levels, with a value that differs in each row."""
    rows = pd.DataFrame(list(itertools.product(*levels)), columns=columns.split())
    rows["value"] = np.linspace(0.05, 0.95, len(rows)) if value is None else value
    return rows


def training(seeds=range(5)):
    return table("step series init_seed", [0, 100, 200], ["train", "test"], seeds)


def pattern(steps=(0, 100)):
    words = ["<bos>", "K3", "V4", "->"]
    places = [(q, k) for q in range(4) for k in range(q + 1)]
    rows = [(s, h, q, k, words[q], words[k], 1 / (q + 1)) for s in steps for h in HEADS for q, k in places]
    return pd.DataFrame(rows, columns="step head query key query_token key_token value".split())


def circuit_maps():
    qk = table("circuit head row column", ["QK"], HEADS, ["K0", "K1"], ["K0", "K1"]).assign(unit="score")
    ov = table("circuit head row column", ["OV"], HEADS, ["V0", "V1"], ["V0", "V1"]).assign(unit="logit")
    return pd.concat([qk, ov.assign(value=-ov["value"])], ignore_index=True)


def subsets():
    kept = [" ".join(chosen) for n in range(5) for chosen in itertools.combinations(HEADS, n)]
    return table("kept how init_seed", kept, ["zero", "mean"], range(5))


def interchange():
    rows = table("test site hypothesis init_seed", ["a", "b"], ["L0", "L1"], ["key", "slot", "other"], range(5))
    return rows.assign(value=rows["hypothesis"].map({"key": 0.7, "slot": 0.2, "other": 0.1}))


def mean_patterns():
    names = ["x1", "y1", "x2"]
    return table("head kind query key", HEADS[:2], ["again", "new"], names, names)


def lines():
    rows = table("panel series epoch init_seed", ["loss", "three pairs"], ["ours", "by torch"], range(3), range(5))
    rows["unit"] = rows["panel"].map({"loss": "nats", "three pairs": "accuracy"})
    rows["chance"] = rows["panel"].map({"three pairs": 0.25})
    source = pd.DataFrame({"panel": "three pairs", "series": "source", "epoch": [1, 2], "value": [0.2, 0.9]})
    return pd.concat([rows, source], ignore_index=True)


def pairs():
    ours = table("group init_seed", ["val", "test"], range(5)).assign(who="ours")
    theirs = pd.DataFrame({"group": ["val", "val", "routing"], "value": [0.98, 0.99, 0.5], "who": "source"})
    return pd.concat([ours, theirs], ignore_index=True)


def by_power():
    rows = table("panel x init_seed", ["pairs", "a sequence"], [4, 8, 16], range(5)).assign(
        axis="words", law=None, there=True
    )
    rows.loc[0, "there"] = False
    law = pd.DataFrame({"panel": "pairs", "x": [4, 16], "axis": "words", "law": "square", "value": [1.0, 16.0]})
    return pd.concat([rows, law], ignore_index=True)


def heat():
    rows = table("panel row column", ["zero", "mean"], [f"on {seed}" for seed in range(10)], HEADS)
    return rows.assign(value=rows["value"].where(rows.index != 5))


def wires():
    """Of five networks of four layers: three paths each, and none in the last."""
    rows = table("init_seed layer", range(5), [0, 1, 3]).assign(layers=4, head=1)
    ends = pd.CategoricalDtype(["k1", "a1", "q"])
    rows["source"] = pd.Series(["k1", "a1", "a1"] * 5, dtype=ends)
    rows["target"] = pd.Series(["a1", "q", "q"] * 5, dtype=ends)
    rows["series"] = rows["source"].map({"k1": "joins", "a1": "hops"}).astype(str)
    rows.loc[rows["init_seed"] == 4, ["layer", "head", "value", "source", "target", "series"]] = None
    return rows.assign(panel="seed " + rows["init_seed"].astype(str)).drop_duplicates(["panel", "layer"])


PICTURES = {
    "training": (curves.training, training()),
    "training one seed": (curves.training, training([3])),
    "training panels": (curves.training, pd.concat([training().assign(panel=name) for name in ("first", "second")])),
    "training epochs": (curves.training, training().rename(columns={"step": "epoch"})),
    "birth rows": (birth_rows.birth_rows, table("panel init_seed series", "ab", range(5), ["routing", "copying"])),
    "lines": (curves.lines, lines()),
    "lines one panel": (curves.lines, training().assign(panel="accuracy")),
    "powers": (powers.powers, by_power()),
    "powers without a law": (powers.powers, by_power().query("init_seed.notna()")),
    "heat": (maps.heat, heat()),
    "heat one panel": (maps.heat, heat().query("panel == 'mean'").drop(columns="panel")),
    "pairs": (bars.pairs, pairs()),
    "pattern": (attention.pattern, pattern()),
    "pattern one step": (attention.pattern, pattern([5]).drop(columns="step")),
    "circuit maps": (maps.circuit_maps, circuit_maps()),
    "edges": (maps.edges, table("sender receiver counterfactual init_seed", HEADS[:2], "qk", "ab", range(5))),
    "seeds": (bars.seeds, table("group init_seed", ["train", "test"], range(5))),
    "seeds series": (bars.seeds, table("group series init_seed", ["train", "test"], ["a", "b"], range(5))),
    "counts": (counts.counts, table("group series draw", ["val", "test"], ["ours", "theirs"], range(3))),
    "ratios": (ratios.ratios, table("group series", ["a step", "a battery"], ["ours", "theirs"]).assign(
        low=0.5, high=[1.0, 2.0, 4.0, 40.0], goal=[4.0, 4.0, None, None])),
    "attribution": (bars.attribution, table("component init_seed", ["embedding", "L0H0"], range(5))),
    "subsets": (bars.subsets, subsets()),
    "interchange": (bars.interchange, interchange()),
    "mean patterns": (attention.mean_patterns, mean_patterns()),
    "wiring": (wiring.paths, wires()),
    "wiring of nothing": (wiring.paths, wires().drop_duplicates("panel").assign(layer=np.nan, series=None)),
    "removal": (removal.removal, table("removed init_seed", [0, 1, 2], range(5)).assign(parts="neurons")),
}  # fmt: skip
OVER_SEEDS = [name for name, (_, rows) in PICTURES.items() if "init_seed" in rows]


def view_of(rows, **changes):
    return View(rows, **{"unit": "accuracy", "split": "test", "band": BAND, "chance": 1 / 3, **changes})


def with_rerun(rows):
    """The same rows as published runs, and some of them again as a reader's."""
    if "init_seed" not in rows:
        return pd.concat([rows.assign(origin="paper"), rows.assign(origin="rerun")], ignore_index=True)
    reader = rows[rows["init_seed"] < 2].assign(origin="rerun")
    return pd.concat(
        [rows.assign(origin="paper"), reader.assign(init_seed=reader["init_seed"] + 11)], ignore_index=True
    )


def layouts(chart):
    """The wide and the narrow specification that a page carries, as it carries them."""
    spec = compact(style.specification(chart))
    usermeta = spec.pop("usermeta")
    yield spec
    yield {**usermeta["narrow"], "datasets": spec["datasets"]}
    yield {**spec, "config": usermeta["dark"]}


def svg_of(spec):
    return drawn(json.dumps(spec))


@functools.cache
def drawn(text):
    """Several tests look at one picture."""
    return vl_convert.vegalite_to_svg(text, vl_version=vega.version())


def size(svg):
    return [float(found) for found in re.match(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"', svg).groups()]


def words_of(svg):
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_draws_wide_narrow_and_dark(name):
    draw, rows = PICTURES[name]
    wide, narrow, dark = map(svg_of, layouts(draw(view_of(rows))))
    assert size(wide)[0] <= 700
    assert size(narrow)[0] <= 360, "wider than a phone"
    assert size(narrow)[0] < size(wide)[0]
    sizes = [float(found) for found in re.findall(r'font-size="([\d.]+)px"', narrow)]
    assert sizes and min(sizes) >= 10, "smaller than can be read"
    assert "#e6e9ed" in dark and "#e6e9ed" not in wide  # the dark theme's ink


@pytest.mark.parametrize("name", [*OVER_SEEDS, "pattern", "circuit maps"])
def test_every_picture_of_runs_shows_the_readers_beside_the_published(name):
    draw, rows = PICTURES[name]
    rows = with_rerun(rows)
    chart = draw(view_of(rows))
    spec = style.specification(chart)
    wide, narrow, _ = layouts(chart)
    assert size(svg_of(narrow))[0] <= 360
    said = " ".join(words_of(svg_of(wide))) + json.dumps(spec["params"] if "params" in spec else "")
    if rows[rows["origin"] == "rerun"].empty:
        return
    assert "your runs" in said and "published runs" in said


@pytest.mark.parametrize("name", PICTURES)
def test_a_missing_column_is_named_with_what_is_there(name):
    draw, rows = PICTURES[name]
    needed = [
        column
        for column in rows
        if column not in ("panel", "how", "series", "test", "end", "arm", "unit", "step", "chance", "there")
    ]
    if draw in (curves.training, counts.counts):
        needed.append("series")
    for column in [*needed]:
        with pytest.raises(ColumnsError, match=re.escape(repr(column)) if column != "epoch" else "'step'") as error:
            draw(view_of(rows.drop(columns=column)))
        assert all(other in str(error.value) for other in rows if other != column)


def test_a_misspelt_column_is_guessed():
    with pytest.raises(ColumnsError, match="is 'init_sed' meant"):
        bars.seeds(view_of(training().rename(columns={"init_seed": "init_sed", "series": "group"})))


@pytest.mark.parametrize(("column", "value", "word"), [("origin", "theirs", "theirs"), ("value", "high", "numbers")])
def test_values_that_cannot_be_drawn_are_refused(column, value, word):
    with pytest.raises(ColumnsError, match=word):
        curves.training(view_of(training().assign(**{column: value})))


def test_two_values_for_one_seed_are_refused_with_the_group():
    rows = pd.concat([training(), training().head(1)])
    with pytest.raises(ColumnsError, match="series=train.*step=0.*init_seed=0"):
        curves.training(view_of(rows))


def test_stacked_shares_draw_no_interval_and_promise_none():
    """A touched segment says it, whether or not the view has words for a drawn one."""
    view = view_of(interchange(), band="")
    assert not any("Interval" in sentence for sentence in facts(view))
    for spec in layouts(bars.interchange(view)):
        marks = {layer["mark"]["type"] for plot in spec["vconcat"] for layer in plot["layer"] if "mark" in layer}
        assert marks <= {"bar", "text"} and "interval from" in json.dumps(spec)
        assert all(row["low"] is not None for rows in spec["datasets"].values() for row in rows if "low" in row)


def test_shares_that_do_not_add_up_are_refused_with_their_sum():
    rows = interchange().query("hypothesis != 'other'")
    with pytest.raises(ColumnsError, match=r"site 'L0', test 'a', seed 0 they add up to 0\.900"):
        bars.interchange(view_of(rows))


def test_roles_without_an_order_are_refused():
    with pytest.raises(ColumnsError, match="categorical, with one order of roles"):
        wiring.paths(view_of(wires().astype({"source": str})))


def test_a_path_is_drawn_from_what_is_looked_at_to_what_looks_and_a_network_without_one_keeps_its_place():
    spec = style.specification(wiring.paths(view_of(wires())))
    assert spec["facet"]["sort"] == [f"seed {seed}" for seed in range(5)]
    (rows,) = spec["datasets"].values()
    joins, empty = rows[0], rows[-1]
    assert [joins[name] for name in ("start", "end", "layer", "top")] == [0, 1, 0, 1]
    assert empty["panel"] == "seed 4" and empty["layer"] is None
    svg = svg_of(next(layouts(wiring.paths(view_of(wires())))))
    assert svg.count('aria-roledescription="rule mark"') == svg.count('aria-roledescription="point"') == 4 * 3
    assert words_of(svg).count("no path is left") == 1


def test_a_still_is_set_in_the_face_whose_widths_made_its_room():
    svg = chart_html.still(style.specification(curves.training(view_of(training())))).content
    faces = set(re.findall(r'font-family="([^"]*)"', svg))
    assert faces == {chart_html.STILL_FONT}


def test_a_still_says_numbers_in_full():
    """Places are rounded, words are not: 0.0427 is no 0.04."""
    rows = table("group init_seed", ["a"], range(5))
    svg = chart_html.still(style.specification(bars.seeds(view_of(rows, levels={"by theory": 0.0427})))).content
    assert "by theory 0.0427" in words_of(svg) and not re.search(r'(?:width|x2)="\d+\.\d{3}', svg)


def test_a_column_that_is_called_layer_is_no_layer_of_a_chart():
    assert 'class="vl-still" alt="Paths of five networks."' in paper_html(
        wiring.paths(view_of(wires())), "Paths of five networks."
    )


def test_two_prompts_in_one_attention_map_are_refused():
    rows = pd.concat([pattern(), pattern().assign(key_token="K9")])
    with pytest.raises(ColumnsError, match="one prompt"):
        attention.pattern(view_of(rows))


@pytest.mark.parametrize(("n", "band", "drawn"), [(5, BAND, True), (4, BAND, False), (1, BAND, False), (9, "", False)])
def test_an_interval_is_drawn_only_from_five_seeds_and_only_if_the_caption_names_it(n, band, drawn):
    rows = table("group init_seed", ["a", "b"], range(n))
    found = over_seeds(rows_of(view_of(rows), ["group", "init_seed", "value"]), ["group"], intervals=bool(band))
    assert found["n"].tolist() == [n, n]
    assert found["low"].notna().all() == found["high"].notna().all() == drawn
    for name, part in rows.groupby("group"):
        row = found.set_index("group").loc[name]
        assert row["mean"] == pytest.approx(part["value"].mean(), rel=1e-4)
        if drawn:
            by_hand = mean_interval(part["value"])
            assert (row["low"], row["high"]) == pytest.approx((by_hand.low, by_hand.high), rel=1e-4)


@pytest.mark.parametrize(("sets", "drawn"), [([0] * 5 + [1, 2, 3], True), ([0] * 7 + [1], False), ([0] * 8, True)])
def test_where_seeds_share_data_sets_a_picture_has_the_mean_and_interval_of_a_claim(sets, drawn):
    rows = table("group init_seed", ["a"], range(8))
    view = on_data_sets(view_of(rows, band="interval over seeds"), lambda seed: sets[seed])
    found = over_seeds(rows_of(view, ["group", "init_seed", "value"], ["data_set"]), ["group"], intervals=True).iloc[0]
    values = rows.set_index("init_seed")["value"]
    index = pd.MultiIndex.from_arrays([sets, values.index], names=["data_set", "init_seed"])
    claimed = OnAverage().estimate(values.set_axis(index), at_least(0.5, "half"), NUMBER)
    assert found["mean"] == pytest.approx(claimed.effect, rel=1e-4) and found["n"] == 8
    if drawn:
        assert (found["low"], found["high"]) == pytest.approx((claimed.low, claimed.high), rel=1e-4)
    assert np.isfinite(found["low"]) == math.isfinite(claimed.low) == drawn
    said = "Intervals: interval over data sets (over seeds that all share one)." in facts(view)
    assert said == (drawn and len(set(sets)) > 1)
    assert any("no interval is drawn" in sentence for sentence in facts(view)) != drawn


def test_the_line_of_chance_is_drawn_at_its_level_and_named():
    svg = svg_of(next(layouts(curves.training(view_of(training())))))
    assert "chance 0.333" in words_of(svg)
    assert "chance" not in " ".join(words_of(svg_of(next(layouts(curves.training(view_of(training(), chance=None)))))))


def test_a_panels_chance_is_the_published_one_where_a_readers_runs_have_another():
    rows = pd.concat([training().assign(origin=origin, panel="p", chance=level)
                      for origin, level in (("paper", 0.25), ("rerun", 0.3))])  # fmt: skip
    svg = svg_of(next(layouts(curves.training(view_of(rows, chance=None)))))
    assert "chance 0.25" in words_of(svg) and "chance 0.3" not in words_of(svg)


def test_levels_of_theory_are_drawn_where_they_are_named_and_said():
    rows = table("group init_seed", ["a", "b"], range(5), value=[0.0, 1.0] * 5)
    view = view_of(rows, levels={"by theory": 0.25, "the fit": 0.5})
    spec = next(layouts(bars.seeds(view)))
    assert {"chance 0.333", "by theory 0.25", "the fit 0.5"} <= set(words_of(svg_of(spec)))
    dashed = re.findall(r'<line transform="translate\(([\d.]+),-?\d+\)"[^>]*stroke-dasharray', svg_of(spec))
    tick = re.search(r'mean: 0.4;[^>]*aria-roledescription="tick" d="M([\d.]+),[\d.]+h([\d.]+)', svg_of(spec))
    of_one = (float(tick[1]) + float(tick[2]) / 2) / 0.4
    assert sorted(round(float(place) / of_one, 2) for place in dashed) == [0.25, 0.33, 0.5]
    assert "Lines: by theory 0.25; the fit 0.5." in facts(view)
    assert not any("Lines:" in sentence for sentence in facts(view_of(rows)))


def test_what_a_view_says_is_said_of_both_origins():
    asked = {"chance": 0.1, "levels": {"the fit": 0.5}, "note": "A note."}
    view, mine = (view_of(table("group init_seed", ["a", "b"], seeds), **asked) for seeds in (range(5), range(5, 7)))
    for parts in ({"paper": view}, {"paper": view, "rerun": mine}):
        both = joined(parts, {})
        assert facts(both)[-3:] == facts(view)[-3:] and "Lines: the fit 0.5." in facts(both)
        assert set(both.table["origin"]) == set(parts)


def test_published_runs_that_stand_for_a_reader_s_own_are_drawn_once():
    view = view_of(table("group init_seed", ["a", "b"], range(5)))
    both = joined({"paper": view, "rerun": view_of(view.table.copy())}, {})
    assert set(both.table["origin"]) == {"paper"} and len(both.table) == len(view.table)
    assert facts(both)[0] == "Published runs: n = 5 seeds (0 to 4)."


def test_small_multiples_have_their_own_scale_unit_and_chance():
    spec = style.specification(curves.lines(view_of(lines())))
    loss, three = spec["concat"]
    assert [plot["title"] for plot in (loss, three)] == ["loss", "three pairs"]
    titles = [plot["layer"][0]["encoding"]["y"]["title"] for plot in (loss, three)]
    assert titles == [["nats"], ["accuracy"]] and spec["resolve"]["scale"] == {"x": "shared"}
    words = words_of(svg_of(next(layouts(curves.lines(view_of(lines()))))))
    assert words.count("chance 0.25") == 1 and {"ours", "by torch", "source"} <= set(words)
    with pytest.raises(ColumnsError, match="panel 'three pairs' has 2 values of 'chance'"):
        curves.lines(view_of(pd.concat([lines(), lines().tail(1).assign(epoch=9, chance=0.5)])))
    with pytest.raises(ColumnsError, match="needs column 'panel'"):
        curves.lines(view_of(lines().drop(columns="panel")))


def test_panels_of_training_may_differ_in_unit_and_chance_and_share_a_scale():
    rows = pd.concat([training().assign(panel=name, unit=f"share of {name}") for name in ("rows", "answers")])
    rows["chance"] = rows["panel"].map({"answers": 0.1})
    spec = style.specification(curves.training(view_of(rows, chance=None)))
    titles = [plot["layer"][0]["encoding"]["y"]["title"] for plot in spec["concat"]]
    assert titles == [["share of rows"], ["share of answers"]] and spec["resolve"]["scale"]["y"] == "shared"
    words = words_of(svg_of(next(layouts(curves.training(view_of(rows, chance=None))))))
    assert [word for word in words if word.startswith("chance")] == ["chance 0.1"]


@pytest.mark.parametrize("n", [1, 5])
def test_stripes_fill_their_rows_with_and_without_intervals(n):
    svg = svg_of(next(layouts(bars.seeds(view_of(table("group init_seed", ["a", "b", "c"], range(n)))))))
    stripes = [float(h) for h in re.findall(r'aria-roledescription="bar"[^>]*d="M[^h]*h[^v]*v([\d.]+)', svg)]
    assert len(stripes) == 2 and min(stripes) > 18


def test_what_is_left_is_drawn_with_its_median_and_chance():
    words = words_of(svg_of(next(layouts(removal.removal(view_of(PICTURES["removal"][1]))))))
    assert "median" in words and "chance 0.333" in words and "neurons taken away" in words


def test_a_map_writes_every_number_and_says_where_one_is_missing():
    rows = heat()
    words = words_of(svg_of(next(layouts(maps.heat(view_of(rows))))))
    assert sorted(word for word in words if re.fullmatch(r"0\.\d\d", word) and word not in ("0.00",)) == sorted(
        f"{value:.2f}" for value in rows["value"].dropna()
    )
    assert words.count("–") == 1 and {"zero", "mean", "on 9", *HEADS} <= set(words)
    with pytest.raises(ColumnsError, match="two values for one cell.*row=on 0, column=L0H0"):
        maps.heat(view_of(pd.concat([rows, rows.head(1)])))


def test_a_line_of_a_map_lies_below_the_row_that_has_its_words():
    rows = table("row column", ["first", "second", "third"], ["x", "y"])
    marked = rows.assign(line=rows["row"].map({"second": "a law ends"}))
    svg = svg_of(next(layouts(maps.heat(view_of(marked)))))
    assert svg.count("a law ends") == 1 and "a law ends" not in svg_of(next(layouts(maps.heat(view_of(rows)))))
    below = [
        float(y) for y in re.findall(r'aria-roledescription="rule mark" transform="translate\([\d.]+,([\d.]+)\)', svg)
    ]
    tops = [float(y) for y in re.findall(r'aria-roledescription="rect mark" d="M[\d.]+,([\d.]+)', svg)]
    assert len(below) == 2 and sorted(set(tops))[1] < below[0] == below[1] <= sorted(set(tops))[2]
    both = joined(
        {"paper": view_of(marked), "rerun": view_of(rows.assign(line=rows["row"].map({"first": "mine"})))}, {}
    )
    spec = style.specification(maps.heat(both))
    assert all({"filter": style.CHOSEN} in layer["transform"] for layer in spec["concat"][0]["layer"][-2:])
    with pytest.raises(ColumnsError, match=r"no axis for levels \(a law\)"):
        maps.heat(view_of(rows, levels={"a law": 0.5}))


def test_a_map_of_large_numbers_has_no_decimals_and_keeps_zero_dark():
    rows = table("row column", ["a"], ["x", "y", "z"], value=[0.0, 1234.5, 20.0])
    words = words_of(svg_of(next(layouts(maps.heat(view_of(rows))))))
    assert {"0", "1,235", "20"} <= set(words) or {"0", "1,234", "20"} <= set(words)
    spec = style.specification(maps.heat(view_of(rows.assign(value=[-0.1, 0.2, 0.7]))))
    assert spec["concat"][0]["layer"][0]["encoding"]["color"]["scale"]["domain"] == [-0.1, 0.7]


def test_the_sources_numbers_are_diamonds_beside_our_points():
    spec = style.specification(bars.pairs(view_of(pairs())))
    svg = svg_of({key: part for key, part in spec.items() if key != "usermeta"})
    drawn = re.findall(r'"value: ([\d.]+); group: (\w+); who: the source \(points: ours\);', svg)
    assert sorted(drawn) == [("0.5", "routing"), ("0.98", "val"), ("0.99", "val")]
    assert bars.DIAMONDS in words_of(svg) and "routing" in words_of(svg)
    alone = bars.pairs(view_of(pairs().query("who == 'ours'")))
    assert bars.DIAMONDS not in words_of(svg_of(next(layouts(alone))))
    for strange in ("theirs", "source"):
        with pytest.raises(ColumnsError, match=f"'ours' somewhere.*{strange}"):
            bars.pairs(view_of(pairs().assign(who=strange)))


def test_heads_kept_may_have_names_with_spaces_that_do_not_part_them():
    rows = table("kept init_seed", ["L0\u00a0carrier L1\u00a0router", "L0\u00a0carrier", ""], range(5))
    words = words_of(svg_of(next(layouts(bars.subsets(view_of(rows))))))
    assert {"L0\u00a0carrier", "L1\u00a0router"} <= set(words)


def test_a_bar_spans_the_births_of_a_seed_and_the_readers_seeds_come_last():
    born = pd.DataFrame([(0, "routing", 10.0), (0, "copying", 4.0), (1, "routing", 7.0)])
    born.columns = ["init_seed", "series", "value"]
    born["panel"] = "ours"
    both = [born.assign(origin="paper"), born.assign(origin="rerun")]
    spec = style.specification(birth_rows.birth_rows(view_of(pd.concat(both, ignore_index=True))))
    (spans,) = (rows for rows in spec["datasets"].values() if rows and "first" in rows[0])
    assert [(row["seed"], row["first"], row["last"]) for row in spans] == [
        ("0", 4, 10), ("1", 7, 7), ("yours 0", 4, 10), ("yours 1", 7, 7),
    ]  # fmt: skip
    y = spec["hconcat"][0]["layer"][0]["encoding"]["y"]
    assert y["sort"] == ["0", "1", "yours 0", "yours 1"]


def birth_rows_of(born, origins):
    rows = pd.DataFrame(born, columns=["panel", "init_seed", "series", "value"])
    both = pd.concat([rows.assign(origin=origin) for origin in origins], ignore_index=True)
    return style.specification(birth_rows.birth_rows(view_of(both)))


def test_published_births_and_the_readers_are_told_apart_in_every_panel_alike():
    born = [("ours", 0, "routing", 10.0), ("theirs", 0, "routing", 30.0)]
    rows = pd.DataFrame(born, columns=["panel", "init_seed", "series", "value"])
    both = pd.concat([rows.assign(origin="paper"), rows[:1].assign(origin="rerun")], ignore_index=True)
    spec = style.specification(birth_rows.birth_rows(view_of(both)))
    strength = [panel["layer"][1]["encoding"]["opacity"] for panel in spec["hconcat"]]
    assert strength[0] == strength[1] and len(strength[0]["scale"]["domain"]) == 2


def test_a_seed_without_births_keeps_its_row():
    spec = birth_rows_of([("ours", 0, "routing", 10.0), ("ours", 1, "routing", np.nan)], ["paper"])
    assert spec["hconcat"][0]["layer"][0]["encoding"]["y"]["sort"] == ["0", "1"]
    (births,) = (rows for rows in spec["datasets"].values() if rows and "series" in rows[0])
    assert [row["seed"] for row in births] == ["0"]


def test_where_nothing_is_born_the_rows_are_empty():
    spec = birth_rows_of([("ours", seed, "routing", np.nan) for seed in range(3)], ["paper"])
    assert spec["hconcat"][0]["layer"][1]["encoding"]["x"]["scale"]["domain"] == [0, 1]
    assert {"0", "1", "2", "seed"} <= set(words_of(svg_of(spec)))


def test_a_slider_steps_through_checkpoints_and_starts_at_the_last():
    spec = style.specification(attention.pattern(view_of(pattern([0, 7, 90]))))
    (slider,) = (param for param in spec["params"] if param["name"] == "frame")
    assert slider["value"] == 2 and slider["bind"]["max"] == 2
    assert "after training step 90" in words_of(svg_of(next(layouts(attention.pattern(view_of(pattern([0, 7, 90])))))))


def test_compact_tables_draw_the_same_picture_to_the_last_digit():
    for draw, rows in PICTURES.values():
        spec = style.specification(draw(view_of(rows)))
        spec.pop("usermeta")
        small, whole = (re.sub(r"(clip|gradient_)\d+", r"\1", svg_of(found)) for found in (compact(spec), spec))
        assert hash(small) == hash(whole)  # a difference of two pictures in text would take minutes to print


def test_chart_html_needs_no_network_and_cannot_be_broken_out_of():
    rows = table("group init_seed", ["</script><b>", '"quoted" & <i>'], range(5))
    code = paper_html(bars.seeds(view_of(rows)), 'Two groups, "a" < b')
    assert 'alt="Two groups, &quot;a&quot; &lt; b"' in code
    assert code.count("</script>") == 1 and code.endswith("</script></div>")
    assert "http" not in re.sub(r"https?://(vega\.github\.io/schema|www\.w3\.org)[^\"' ]*", "", code)
    spec = json.loads(re.search(r'class="vl-spec">(.*)</script>', code)[1])
    assert spec["description"] == 'Two groups, "a" < b'
    assert "</script><b>" in json.dumps(spec)


def kept_in(files, name, _, content):
    files[name] = content
    return f"kept/{name}"


def test_a_chart_is_the_same_bytes_after_others_have_been_drawn():
    clipped = alt.Chart(training()).mark_line(clip=True).encode(x="step", y="value")
    first, then = (paper_html(clipped | clipped, "Two lines.") for _ in range(2))
    assert then == first and "clip2" in first


def test_a_chart_keeps_room_for_what_will_be_drawn():
    kept = {}
    code = paper_html(
        attention.pattern(view_of(pattern())), "Maps of attention.", "fig-pattern", keep=partial(kept_in, kept)
    )
    phone, page = BeautifulSoup(code, "html.parser").picture.find_all(["source", "img"])
    wide, narrow, _ = (size(svg_of(spec)) for spec in layouts(attention.pattern(view_of(pattern()))))
    assert [[float(still[side]) for side in ("width", "height")] for still in (page, phone)] == [wide, narrow]
    assert [page["src"], phone["srcset"]] == ["kept/fig-pattern.svg", "kept/fig-pattern.narrow.svg"]
    assert all(content.startswith("<svg") for content in kept.values()) and len(kept) == 2
    assert 'style="--controls: 1"' in code, "the slider of the checkpoints"
    inline = paper_html(attention.pattern(view_of(pattern())), "Maps of attention.", "fig-pattern")
    address = BeautifulSoup(inline, "html.parser").source["srcset"]
    assert address.startswith("data:image/svg+xml") and " " not in address and address[-1] != ","
    alone = paper_html(alt.Chart(training()).mark_point().encode(x="step", y="value"), "Points.")
    assert "<source" not in alone and "has-one-theme" in alone


def test_what_an_address_in_a_page_holds_is_what_was_put_there():
    for text in ('a,b\n"50 %, ü",<svg d="M0,0"/>\n', "{}&'#"):
        address = html.unescape(html.escape(inside("a.csv", "text/csv", text)))
        assert urlopen(address.replace(" ", "%20")).read().decode() == text
    assert urlopen(inside("a.png", "image/png", b"\x89PN")).read() == b"\x89PN"


def test_a_figure_of_a_book_has_its_files_beside_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PAPER_RESULTS", str(tmp_path / "results"))
    view = view_of(table("group init_seed", ["a"], range(5)))
    figure = Figure(
        name="fig-a", chart=bars.seeds(view), view=view, takeaway="A is high.", alt_text="Points.", number=1, runs={},
        keep=beside,
    )  # fmt: skip
    shown = figure.markdown() + figure.chart_html
    assert "data:" not in shown
    named = set(re.findall(r'(?:src|srcset|href)="figure-files/([^"]*)"', shown))
    assert named == {*NAMED.findall(shown)} == {*NAMED.findall(json.dumps(shown))}
    assert named == {path.name for path in (tmp_path / "figures").iterdir()}
    assert named == {"fig-a.svg", "fig-a.narrow.svg", "fig-a.csv"}
    rows = pd.read_csv(tmp_path / "figures/fig-a.csv")
    pd.testing.assert_frame_equal(rows, rounded(view.table), check_dtype=False)


def test_a_still_that_would_be_huge_is_a_png(monkeypatch):
    monkeypatch.setattr(chart_html, "MAX_SVG", 1000)
    kept = {}
    paper_html(
        bars.seeds(view_of(table("group init_seed", ["a"], range(5)))), "Points.", "fig-a", partial(kept_in, kept)
    )
    assert {*kept} == {"fig-a.png", "fig-a.narrow.png"} and all(png.startswith(b"\x89PNG") for png in kept.values())


def test_a_chart_without_alt_text_is_refused():
    with pytest.raises(ValueError, match="alt text"):
        paper_html(bars.seeds(view_of(table("group init_seed", ["a"], range(5)))), " ")


def test_a_sentence_takes_its_numbers_from_the_published_runs_where_there_are_some():
    rows = training()
    both = view_of(with_rerun(rows))
    assert both.published["origin"].eq("paper").all() and len(both.published) == len(rows)
    for alone in (rows, rows.assign(origin="rerun")):
        assert view_of(alone).published.equals(alone)


def test_a_huge_table_is_refused():
    rows = table("step series init_seed", range(style.MAX_ROWS // 5 + 1), ["a"], range(5))
    with pytest.raises(alt.MaxRowsError):
        style.specification(alt.Chart(rows).mark_point().encode(x="step"))


def test_rounding_keeps_digits_missing_values_and_the_input():
    rows = pd.DataFrame({"x": [1.234567e-7, 123456.789, 0.0, np.nan, -np.inf], "n": range(5)})
    found = rounded(rows)["x"].tolist()
    assert found[:3] == [1.2346e-7, 123460.0, 0.0] and np.isnan(found[3]) and found[4] == -np.inf
    assert rows["x"][0] == 1.234567e-7


def figure(**changes):
    view = view_of(training().assign(origin="paper"))
    made = {
        "name": "fig-kv-training",
        "chart": curves.training(view),
        "view": view,
        "takeaway": "It *rises*, `->` too.",
    }
    return Figure(
        **{**made, "alt_text": "Two lines rise.", "number": 2, "runs": {"trained": ("kv-1", "kv-2")}, **changes}
    )


def test_a_figure_carries_caption_facts_data_code_and_runs():
    shown = figure(made_by=(training,))
    bundle = shown.mimebundle()
    markdown = bundle["text/markdown"]
    assert ":name: fig-kv-training" in markdown and shown.glue_name in markdown
    caption = markdown.split("\n\n")[1]
    assert caption.startswith("It *rises*, `->` too. Published runs: n = 5 seeds (0 to 4).")
    assert BAND in caption and "Chance level: 0.333" in caption and "accuracy, on test" in caption
    assert "Two lines rise." in bundle["text/plain"] and "Figure 2." in bundle["text/html"]
    links = shown.links
    assert "\n" not in links, "a blank line in the code would end the HTML block"
    assert "kv-1" in links and "def _lines" in links and "def training" in links
    data = html.unescape(re.search(r'href="data:text/csv;charset=utf-8,([^"]*)"', links)[1])
    read = pd.read_csv(io.StringIO(unquote(data)))
    assert len(read) == len(shown.view.table) and list(read) == list(shown.view.table)


@pytest.mark.parametrize(
    "changes",
    [{"name": "Training"}, {"name": "fig-Training"}, {"takeaway": " "}, {"alt_text": ""}],
)
def test_a_figure_that_cannot_be_shown_is_refused(changes):
    with pytest.raises(ValueError, match="figure"):
        figure(**changes)


def test_a_chart_of_an_authors_own_is_shown_too():
    chart = alt.Chart(training()).mark_point().encode(x="step", y="value")
    assert "vl-spec" in figure(chart=chart).chart_html
    assert "<summary>code" not in figure(chart=chart).links


def test_code_without_a_file_is_left_out():
    assert source_of(eval("lambda view: view")) == ""
    assert source_of(curves.training).startswith("# livingpaper.figures.curves")


@pytest.mark.parametrize(
    ("n", "share"),
    [(1, 5), (2, 22), (3, 37), (4, 47)],  # 0.05 ** (1 / n), by hand
)
def test_few_seeds_say_what_they_cannot_show(n, share):
    assert f"n = {n}" in few_seeds(n) and f"{share} % of seeds" in few_seeds(n)
    text = " ".join(facts(view_of(training(range(n)).assign(origin="rerun"))))
    assert few_seeds(n) in text and BAND not in text


def test_facts_count_each_origin_and_each_uneven_arm():
    text = " ".join(facts(view_of(with_rerun(training()))))
    assert "Published runs: n = 5 seeds (0 to 4); your runs: n = 2 seeds (11, 12)." in text
    assert f"{few_seeds(2)} This is about your runs." in text and BAND in text
    uneven = pd.concat([training().assign(arm="trained"), training([0, 4]).assign(arm="control")])
    assert "(0 to 4; trained: 5; control: 2)" in " ".join(facts(view_of(uneven)))
    many = pd.concat([training().assign(arm=arm) for arm in "abc"] + [training([1]).assign(arm="d")])
    assert "(0 to 4; d: 1; each other arm: 5)" in " ".join(facts(view_of(many)))
    assert not any("seed" in sentence for sentence in facts(view_of(pattern(), band="", note="One prompt")))
    assert not any("seed" in sentence for sentence in facts(view_of(training().assign(init_seed=None))))
    assert facts(view_of(pattern(), band="", note="One prompt"))[-1] == "One prompt."


def test_plain_text_stays_plain_in_markdown():
    assert escape_markdown("a_b -> <bos> $x$ *c* [d]") == r"a\_b -\> \<bos\> \$x\$ \*c\* \[d\]"


def test_badges_differ_in_word_icon_and_colour():
    assert len(set(ICONS.values())) == len(Status) == len(set(map(badge, Status)))
    css = (STATIC / "figures.css").read_text()
    colours = {}
    for status in Status:
        assert str(status) in badge(status) and ICONS[str(status)] in badge(status)
        assert f'class="status-badge {status_class(status)}"' in badge(status)
        rule = re.search(rf"\.{status_class(status)}\b[^{{}}]*{{[^}}]*?(#[0-9a-fA-F]{{6}})", css)
        colours[status] = rule.group(1).lower()
    assert len(set(colours.values())) == len(Status)


SAYS = Says(holds="Heads *route*.", fails="Heads do not *route*.", whether="whether heads *route*")
ROUTED = (0.7, 0.75, 0.8, 0.85, 0.9)  # mean 0.8, from 0.7 to 0.9


def verdict(values, origin="paper", untrained=(0.1,) * 5):
    return judged(
        values, "KV2.published", origin, says=SAYS, controls=(control(untrained),), source="source",
        source_verdict="Supported: 0.9",
    )  # fmt: skip


def test_a_claim_shows_both_verdicts_and_the_numbers_they_rest_on():
    both = [verdict(ROUTED), verdict(ROUTED[:2], "rerun")]
    for shown in (claim_markdown(both), claim_html(both), claim_text(both)):
        assert "Supported" in shown and "Undecided" in shown and "your seeds" in shown
        for number in ("80 %", "[70, 90]", "5 seeds", "at least 50 %", "10 %", "Too few"):
            assert number in shown.replace("\\", ""), number
    assert ":name: claim-kv2-published" in claim_markdown(both)
    assert anchor(both[0].claim) == "claim-kv2-published"


def test_a_claim_says_when_nothing_was_checked_or_a_control_failed():
    assert "Not checked" in claim_text([verdict(None, "rerun")])
    failed = verdict(ROUTED, untrained=ROUTED)
    assert "FAILED" in claim_markdown([failed]) and "Control failed" in claim_markdown([failed])
    assert "inf" not in claim_text([verdict([0.8], "rerun")])


def test_tables_print_numbers_as_read():
    assert [cell_text(cell, 3) for cell in (0.123456, 2.0, 12345, None, float("nan"), "a", True, pd.NA)] == [
        "0.123", "2", "12,345", "–", "–", "a", "True", "–",
    ]  # fmt: skip
    lines = table_markdown(pd.DataFrame({"a|b": ["x_y"], "n": [0.5]}), 3).splitlines()
    assert lines == [r"| a\|b | n |", "| :-- | --: |", r"| x\_y | 0.5 |"]
    assert table_markdown(pd.DataFrame({"n": [1]}), 3, "of <bos>.").splitlines()[3:] == ["", r"of \<bos\>."]


def test_the_sources_numbers_stand_beside_ours_in_the_order_given():
    rows = table("quantity init_seed", ["b", "a"], range(5)).assign(source=0.5)
    found = comparison(view_of(with_rerun(rows)))
    assert found["quantity"].tolist() == ["b", "a"] and found["source"].tolist() == [0.5, 0.5]
    assert list(found)[2:] == ["published runs, mean of 5", "range", "your runs, mean of 2", "your range"]
    assert found["published runs, mean of 5"][0] == pytest.approx(rows["value"][:5].mean(), rel=1e-4)


def test_a_quantity_of_one_seed_has_no_range_and_one_that_a_rerun_lacks_none_of_its_own():
    rows = table("quantity init_seed", ["b"], range(5)).assign(source=0.5)
    alone = table("quantity init_seed", ["a"], [3]).assign(source=0.5)
    found = comparison(view_of(pd.concat([with_rerun(rows), alone.assign(origin="paper")])))
    found = found.set_index("quantity")
    assert found.loc["a", "range"] == "one seed" and " to " in found.loc["b", "range"]
    assert pd.isna(found.loc["a", "your range"]) and pd.isna(found.loc["a", "your runs, mean of 2"])


@pytest.mark.parametrize("draw", [curves.lines, curves.training])
def test_panels_of_different_size_share_one_legend_of_whose_runs_they_are(draw):
    """Two domains for one scale make Vega complain in the reader's console."""
    rows = [
        {"panel": panel, "series": "a", "epoch": epoch, "init_seed": seed, "value": 1.0 + seed, "origin": origin}
        for panel, n_seeds in (("one", 6), ("other", 9))
        for origin, n in (("paper", n_seeds), ("rerun", 1))
        for seed in range(n)
        for epoch in (0, 1)
    ]
    words = json.dumps(draw(View(pd.DataFrame(rows), "nats", "test", "band")).to_dict())
    assert set(re.findall(r"published runs \(n = \d+\)", words)) == {"published runs (n = 9)"}


def test_values_far_from_zero_are_not_drawn_down_to_it():
    assert style.value_scale(pd.Series([1.5, 1.6])).to_dict() == {"zero": False}
    assert style.value_scale(pd.Series([0.1, 0.9])).to_dict() == {"domain": [0, 1]}
    assert style.value_scale(pd.Series([0.2, 3.0])).to_dict() == {}


def test_colours_markers_and_dashes_name_series_alike_so_that_they_share_a_legend(monkeypatch):
    """Whatever colours are kept, and blanks where nobody has one; markers and dashes are taken in turn."""
    monkeypatch.setattr(style, "lasting_colours", lambda: {"value": 1, "late": 5})
    order = ["late", "ours", "value"]
    color, shape, dash = (
        make(order=order).to_dict()["scale"] for make in (style.series_color, style.series_shape, style.series_dash)
    )
    assert color["domain"] == shape["domain"] == dash["domain"]
    looks = dict(zip(shape["domain"], zip(shape["range"], dash["range"], strict=True), strict=True))
    assert [looks[name] for name in order] == list(zip(style.MARKERS[:3], style.DASHES[:3], strict=True))
    assert [color["domain"].index(name) for name in order] == [5, 0, 1] and len(color["domain"]) == 6
