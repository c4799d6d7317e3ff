"""Labels of upright lines: each at its own line, nothing cut, nothing crossed, in the layout and as it is drawn."""

import re
from itertools import permutations

import pandas as pd
import pytest
from test_figures import layouts, svg_of, words_of

from livingpaper.claims.view import View
from livingpaper.figures import bars
from livingpaper.figures.level_labels import GAP, MARGIN, LevelLabel, nice, placed, rows_of_labels

PLATEAU = {"knows the step alone": 0.75, "one symbol of two lost": 0.375}
"""Two long names close to each other, as in a chapter."""
LINE = re.compile(r'<line transform="translate\(([\d.]+),(-?\d+)\)" x2="0" y2="(\d+)"[^>]*stroke-dasharray')
WORDS = re.compile(
    r'<text[^>]*text-anchor="(\w+)" transform="translate\(([-\d.]+),(-?[\d.]+)\)"[^>]*font-style="italic"[^>]*>([^<]+)'
)


def cases():
    names = ["a", "learnt below", "knows the step alone", "one symbol of two lost"]
    for places in ((0.1, 0.5), (0.5, 0.75), (0.02, 0.98), (0.4, 0.42), (0.3, 0.5, 0.769), (0.0, 0.5, 1.0)):
        for chosen in permutations(names, len(places)):
            yield dict(zip(chosen, places, strict=True))


@pytest.mark.parametrize(("width", "left"), [(416, 200), (200, 120), (560, 40), (120, 0)])
def test_labels_are_neither_cut_nor_crossed_and_stand_at_their_lines(width, left):
    for levels in cases():
        labels = placed(levels, (0.0, 1.0), width, left)
        assert {label.name: label.level for label in labels} == levels
        at = {name: level * width for name, level in levels.items()}
        for label in labels:
            start, end = label.ends(at[label.name])
            assert -left <= start and end <= width + MARGIN, (levels, label)
            assert pytest.approx(at[label.name]) in (start - GAP, end + GAP)
            for other in labels:
                if other is not label and other.row >= label.row:
                    assert not start <= at[other.name] <= end, (levels, "a line goes through another's words")
                if other is not label and other.row == label.row:
                    begin, stop = other.ends(at[other.name])
                    assert stop < start or end < begin, (levels, "words meet")


def test_names_stand_where_there_is_room_and_numbers_alone_where_there_is_none():
    wide = placed(PLATEAU, (0.0, 1.0), 416, 200)
    assert [label.words for label in wide] == ["knows the step alone 0.75", "one symbol of two lost 0.375"]
    narrow = placed(PLATEAU, (0.0, 1.0), 90, 20)
    assert [label.words for label in narrow] == ["0.75", "0.375"]
    assert placed({"half": 0.5}, (0.0, 1.0), 300, 0) == [LevelLabel("half", 0.5)], "right of its line, lowest"
    assert rows_of_labels(placed({"a": 0.1, "b": 0.6}, (0.0, 1.0), 300, 0)) == 1
    assert rows_of_labels([]) == 0 and placed({}, (0.0, 1.0), 300, 0) == []


def test_more_levels_than_are_tried_have_rows_of_their_own():
    labels = placed({str(n): n / 10 for n in range(6)}, (0.0, 1.0), 400, 0)
    assert [label.row for label in labels] == list(range(6)) and not any(label.named for label in labels)


@pytest.mark.parametrize(
    ("ends", "wanted"), [((0, 0.93), (0, 1)), ((0, 2.05), (0, 2.2)), ((-13, 87), (-20, 90)), ((3, 3), (3, 4))]
)
def test_an_axis_is_rounded_as_vega_rounds_it(ends, wanted):
    assert nice(*map(float, ends)) == pytest.approx(wanted)


@pytest.mark.parametrize(
    "levels", [PLATEAU, dict(reversed(PLATEAU.items())), {"the source's fit": 0.769, "half of it": 0.5}]
)
def test_drawn_each_label_begins_or_ends_at_its_own_line_which_comes_up_to_it(levels):
    rows = pd.DataFrame({"group": ["a long name of a row"] * 5 + ["b"] * 5, "init_seed": [*range(5)] * 2})
    rows["value"] = [0.05, 0.1, 0.2, 0.4, 0.9, 0.3, 0.5, 0.6, 1.1, 1.3]
    for layout in layouts(bars.seeds(View(rows, "squared error", "test", levels=levels))):
        svg = svg_of(layout)
        lines = [tuple(map(float, found)) for found in LINE.findall(svg)]
        words = [(side, float(x), float(y), text) for side, x, y, text in WORDS.findall(svg)]
        assert len(lines) == len(words) == len(levels)
        assert not any("\N{HORIZONTAL ELLIPSIS}" in text for text in words_of(svg))
        for side, x, y, text in words:
            gap = GAP if side == "start" else -GAP
            own = [top for place, top, _ in lines if abs(place + gap - x) < 0.6]
            assert len(own) == 1 and own[0] < y, "its line, and that goes up beside it"
            level = next(level for name, level in levels.items() if f"{level:.3g}" in text.split())
            assert text.split()[-1] == f"{level:.3g}"
            others = [place for place, top, _ in lines if top <= own[0] and abs(place + gap - x) >= 0.6]
            span = (x, x + 7.2 * len(text)) if side == "start" else (x - 7.2 * len(text), x)
            assert not any(span[0] <= place <= span[1] for place in others)
