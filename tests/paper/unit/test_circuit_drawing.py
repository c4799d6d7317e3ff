import itertools
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from drawn import drawn_circuit, looking_circuit, one_layer_circuit

from livingpaper.figures.circuit import (
    Answer,
    Arrow,
    Token,
    in_short,
    in_words,
    likely,
    percent,
    takeaway,
    takeaway_of_many,
)
from livingpaper.figures.circuit_drawing import draw, drawing_html, small_drawings_html
from livingpaper.figures.circuit_layout import Layout
from livingpaper.figures.circuit_names import names

FORMS = ("wide", "tall", "small")
STATUS = {True: "is-supported", False: "is-unsupported"}


def parsed(circuit, form):
    return ElementTree.fromstring(draw(circuit, form))


def of_class(svg, name):
    return [part for part in svg.iter() if name in part.get("class", "").split()]


def numbers(text):
    return [float(number) for number in re.findall(r"-?[\d.]+", text)]


def middle_of(part):
    """Of a box."""
    x, y, width, height = (float(part.get(name)) for name in ("x", "y", "width", "height"))
    return x + width / 2, y + height / 2


def token_places(svg, form):
    """Where each token stands among the others: its x, in the tall form its y."""
    axis = "y" if form == "tall" else "x"
    lift = 5 if form == "tall" else 0  # of a word's baseline under its middle
    if form == "small":
        return [middle_of(tick)[0] for tick in of_class(svg, "tick") if tick.tag == "rect"]
    return [float(token.find("text").get(axis)) - lift for token in of_class(svg, "token")]


@pytest.mark.parametrize("form", FORMS)
def test_every_arrow_starts_and_ends_at_its_tokens(form):
    circuit = drawn_circuit()
    svg = parsed(circuit, form)
    places, axis = token_places(svg, form), 1 if form == "tall" else 0
    groups = of_class(svg, "link")  # supported ones alone keep their order
    assert len(places) == len(circuit.tokens) and len(groups) == len(circuit.links)
    for link, group in zip(circuit.links, groups, strict=True):
        lines = of_class(group, "line")
        assert len(lines) == len(link.arrows)
        for arrow, line in zip(link.arrows, lines, strict=True):
            points = numbers(line.get("d"))
            begins, ends = points[axis], points[-2:][axis]
            if arrow.target is None and form == "tall":
                assert begins == places[arrow.source] + 4 and points[-2] == points[0]  # down the page
                continue
            assert begins == pytest.approx(places[arrow.source], abs=0.06)
            target = len(places) - 1 if arrow.target is None else arrow.target
            assert ends == pytest.approx(places[target], abs=0.06)


@pytest.mark.parametrize("form", ["wide", "tall"])
def test_heads_point_away_from_the_tokens_and_touch_what_they_reach(form):
    circuit = drawn_circuit()
    svg = parsed(circuit, form)
    tags, carries, matches, copies = ([numbers(head.get("d")) for head in of_class(group, "head")]
                                      for group in of_class(svg, "link"))  # fmt: skip
    depth = 0 if form == "tall" else 1
    sign = 1 if form == "tall" else -1
    for corner_x, corner_y, tip_x, tip_y, *_ in [*tags, *carries, *matches]:
        tip, corner = (tip_x, corner_x) if depth == 0 else (tip_y, corner_y)
        assert sign * (tip - corner) > 0
    marks = [part.find("rect") for part in of_class(svg, "brought") if "tone-1" in part.get("class")]
    near = "x" if form == "tall" else "y"
    for mark, head in zip(marks, [*tags, *carries], strict=True):
        edge = float(mark.get(near)) + (0 if form == "tall" else float(mark.get("height")))
        assert head[2:4][depth] == pytest.approx(edge, abs=0.06)
    (answer,) = of_class(svg, "answer")
    assert copies[0][2] == pytest.approx(middle_of(answer.find("rect"))[0], abs=0.06)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_an_arrow_is_as_wide_as_attention_makes_it(form, weight):
    def width(of):
        return float(of_class(parsed(drawn_circuit(weight=of), form), "line")[0].get("stroke-width"))

    thin, thick = width(0.0), width(1.0)
    assert 0 < thin < thick
    assert width(weight) == pytest.approx(thin + weight * (thick - thin), abs=0.06)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("supported", [(True, False, True, True), (False,) * 4, (True,) * 4])
def test_a_link_is_solid_only_where_its_test_supports_it(form, supported):
    svg = parsed(drawn_circuit(supported=supported), form)
    groups = of_class(svg, "link")
    assert sorted(group.get("class").split()[-1] for group in groups) == sorted(STATUS[one] for one in supported)
    for group in groups:
        is_dashed = [line.get("stroke-dasharray") is not None for line in of_class(group, "line")]
        assert set(is_dashed) == {"is-unsupported" in group.get("class").split()}
    # Solid ones lie on top.
    order = ["is-supported" in group.get("class").split() for group in groups]
    assert order == sorted(order)
    if form != "small":
        named = {part.find("text").text: part.get("class").split()[-1] for part in of_class(svg, "name")}
        assert named == {str(number): STATUS[one] for number, one in enumerate(supported, 1)}


def test_marks_are_filled_where_a_later_link_finds_their_like():
    def filled(circuit):
        return [part.find("text").text for part in of_class(parsed(circuit, "wide"), "is-alike")]

    assert filled(drawn_circuit()) == ["K3", "K3"]
    assert filled(drawn_circuit(supported=(False, True, True, True))) == ["K3"]
    without = drawn_circuit()
    links = (without.links[0], *without.links[2:])  # nothing carries the key
    assert filled(replace(without, links=links)) == []


def test_each_move_is_named_once_with_its_number_and_its_head():
    for form in ("wide", "tall"):
        words = ["".join(part.itertext()) for part in of_class(parsed(drawn_circuit(), form), "name")]
        assert words == ["1tagsL0H1", "2carriesL0H1", "3matchesL1H1", "4copiesL1H1"]
    assert not list(parsed(drawn_circuit(), "small").iter("text"))


def test_a_link_keeps_its_number_where_an_earlier_one_is_lacking():
    circuit = drawn_circuit()
    circuit = replace(circuit, links=circuit.links[2:])
    for form in ("wide", "tall"):
        svg = parsed(circuit, form)
        words = ["".join(part.itertext()) for part in of_class(svg, "name")]
        assert words == ["3matchesL1H1", "4copiesL1H1"]
        assert [group.get("class").split()[1] for group in of_class(svg, "link")] == ["move-3", "move-4"]
    assert "3, matches: L1H1 finds it" in in_words(circuit) and "1, " not in in_words(circuit).partition("supported")[2]
    assert takeaway(circuit).startswith("Seed 7 ③ finds it and ④ says it.")


def test_the_label_says_the_numbers():
    circuit = drawn_circuit(supported=(True, False, True, True))
    label = parsed(circuit, "wide").get("aria-label")
    assert label == in_words(circuit)
    for words in (
        "circuit of seed 7 on the prompt a K2 V1 ; K3 V6 ; Q K3 ->.", "answers V6, as wanted, with probability 98 %",
        "3 of 4 links are supported", "1, tags: L0H1 marks values (V1 reads K2 with attention 70 %, V6 reads K3",
        "moves the answer on 80 % of prompts, supported.", "moves the answer on 30 % of prompts, not supported.",
        "4, copies: L1H1 says it; moves",
    ):  # fmt: skip
        assert words in label
    assert parsed(circuit, "small").get("aria-label") == in_short(circuit)
    assert in_short(circuit) == "Seed 7: 3 of 4 links supported; not supported: carries"
    assert in_short(drawn_circuit()) == "Seed 7: 4 of 4 links supported"


def test_the_line_below_claims_only_what_is_supported():
    whole, none = drawn_circuit(), drawn_circuit(supported=(False,) * 4)
    assert takeaway(whole).startswith("Seed 7 ① marks values, ② carries the key, ③ finds it and ④ says it. Solid: ")
    partly = takeaway(drawn_circuit(supported=(False, True, True, False)))
    assert partly.startswith("Seed 7 ② carries the key and ③ finds it.")
    assert "(2 of 4 links). Dashed, not supported: ① tags and ④ copies." in partly
    assert takeaway(none).startswith("Seed 7: no link is supported") and "marks" not in takeaway(none)
    assert takeaway_of_many([whole, none]).startswith("All links are supported in 1 of 2 networks.")
    assert takeaway_of_many([none]).startswith("All links are supported in 0 of 1 network.")


def test_a_wrong_answer_looks_and_reads_wrong():
    circuit = drawn_circuit(said="V1")
    svg = parsed(circuit, "wide")
    assert "is-wrong" in of_class(svg, "answer")[0].get("class")
    assert "answer, 98 %, not V6" in ["".join(part.itertext()) for part in of_class(svg, "quiet")]
    assert "answers V1, wanted V6," in in_words(circuit)


def test_what_is_nearly_all_does_not_read_as_all():
    assert [percent(share) for share in (0.0, 0.004, 0.5, 0.996, 1.0)] == ["0 %", "< 1 %", "50 %", "> 99 %", "100 %"]
    assert [likely(share) for share in (0.0, 0.25, 1.0)] == ["< 1 %", "25 %", "> 99 %"]


def test_a_page_gets_one_line_of_html_with_both_forms():
    hostile = drawn_circuit("<b> K2 V1 & K3 V6 ; Q K3 ->")
    page = drawing_html(hostile)
    assert "\n" not in page and page.startswith("<figure") and "&lt;b&gt;" in page
    figure = ElementTree.fromstring(page)
    assert [svg.get("class") for svg in figure.iter("svg")] == ["circuit-wide", "circuit-tall"]
    assert not any("id" in part.attrib for part in figure.iter())  # drawn twice in a page, an id would be there twice
    row = small_drawings_html([hostile, drawn_circuit(supported=(False, False, True, True))])
    assert "\n" not in row
    items = [
        ["".join(part.itertext()) for part in item.iter("span")] for item in ElementTree.fromstring(row).iter("li")
    ]
    assert items == [["seed 7", "4 of 4"], ["seed 7", "2 of 4"]]


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Token("a", 5), "tone"),
        (lambda: Arrow(layer=0, source=0, target=1, weight=1.2), "attention"),
        (lambda: Answer(word="a", probability=-0.1, wanted="a"), "probability"),
        (lambda: replace(drawn_circuit().links[0], effect=2.0), "effect"),
        (lambda: replace(drawn_circuit().links[0], arrows=()), "no arrow"),
        (lambda: with_arrow(layer=0, source=3, target=2), "no arrow from token 3 to 2"),
        (lambda: with_arrow(layer=0, source=0, target=99), "to 99"),
        (lambda: with_arrow(layer=2, source=0, target=1), "layer 2 of 2"),
        (lambda: with_arrow(layer=0, source=0, target=None), "layer 0 of 2"),
        (lambda: with_arrow(layer=3, source=0, target=None), "layer 3 of 2"),
        (lambda: replace(drawn_circuit().links[0], number=10), "number 10; links are numbered 1 to 9"),
        (lambda: replace(drawn_circuit(), links=drawn_circuit().links * 2), "in the order of their numbers"),
        (lambda: with_look(layer=0, source=3, target=2, weight=0.5), "no arrow from token 3 to 2"),
        (lambda: with_look(layer=2, source=0, target=None, weight=0.5), "from a token to a token"),
        (lambda: with_look(layer=0, source=0, target=1, weight=None), "with its weight"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, word):
    with pytest.raises(ValueError, match=word):
        make()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_links", [0, 1])
def test_attention_alone_is_faint_and_never_part_of_a_link(form, n_links):
    """In the small form, which has no room for both, it gives way to links of which one is supported."""
    circuit = looking_circuit()
    circuit = replace(circuit, links=circuit.links[:n_links])
    if form == "small" and n_links:
        supported = replace(circuit, links=(replace(circuit.links[0], supported=True),))
        assert not of_class(parsed(supported, form), "looks")
    circuit = replace(circuit, links=tuple(replace(link, supported=False) for link in circuit.links))
    svg = parsed(circuit, form)
    assert len(of_class(svg, "link")) == n_links
    (looks,) = of_class(svg, "looks")
    lines = of_class(looks, "line")
    assert len(lines) == len(circuit.looks) and not of_class(looks, "head")
    assert all(float(line.get("opacity")) < 0.3 for line in lines)
    widths = [float(line.get("stroke-width")) for line in lines]
    weights = [arrow.weight for arrow in circuit.looks]
    assert sorted(range(len(lines)), key=widths.__getitem__) == sorted(range(len(lines)), key=weights.__getitem__)
    assert not of_class(parsed(drawn_circuit(), form), "looks")


@pytest.mark.parametrize("form", FORMS)
def test_a_move_has_the_colour_of_its_number_and_words_that_of_their_tone(form):
    svg = parsed(drawn_circuit(supported=(True, False, True, False)), form)
    moves = [[name for name in part.get("class").split() if "-" in name] for part in of_class(svg, "link")]
    assert sorted(moves) == [[f"move-{number}", STATUS[bool(number % 2)]] for number in range(1, 5)]
    assert not any("tone" in name for names_of in moves for name in names_of)
    marks = [part.get("class").split()[1] for part in of_class(svg, "brought") if "is-unsupported" in part.get("class")]
    assert marks == ([] if form == "small" else ["tone-1"])  # the key that is carried


def test_a_network_of_which_nothing_was_tested_has_attention_alone():
    circuit = replace(looking_circuit(), links=(), note="")
    assert takeaway(circuit) == "Seed 7: attention alone, of which no causal test was made."
    assert "No causal test of this network was made. Attention alone, at its strongest:" in in_words(circuit)
    assert (circuit.score, in_short(circuit)) == ("not tested", "Seed 7: attention alone, not tested")
    assert takeaway_of_many([circuit, circuit]).startswith("Attention alone, of which no causal test was made.")
    assert takeaway_of_many([circuit, drawn_circuit()]).startswith("All links are supported in 1 of 2 networks.")
    for form in FORMS:
        assert not of_class(parsed(circuit, form), "name")


def test_an_answer_of_which_none_knows_what_is_wanted_is_not_wrong():
    circuit = drawn_circuit(said="V1")
    circuit = replace(circuit, answer=replace(circuit.answer, wanted=None))
    svg = parsed(circuit, "wide")
    assert "is-wrong" not in of_class(svg, "answer")[0].get("class")
    assert "answer, 98 %" in ["".join(part.itertext()) for part in of_class(svg, "quiet")]
    assert "It answers V1, with probability 98 %" in in_words(circuit)


def test_attention_alone_is_said_so():
    circuit, plain = looking_circuit(), drawn_circuit()
    assert "Grey: attention alone." in takeaway(circuit) and "Grey" not in takeaway(plain)
    assert "Grey: attention alone." in takeaway_of_many([plain, circuit]) and "Grey" not in takeaway_of_many([plain])
    together = "L1H*: the heads of layer 1, tested together."
    assert takeaway(circuit).endswith(f"Width: attention. {together} One of 25 networks.")
    words = in_words(circuit)
    assert "0 of 1 link is supported by causal tests" in words and words.endswith("One of 25 networks.")
    assert "L1H* brings the next word; brings another word on 2 % of them, not supported." in words
    assert (
        "at its strongest: in layer 0 water reads <bos> with attention > 99 %; in layer 1 a reads water with" in words
    )


def test_words_of_a_long_prompt_stand_upright_on_a_page_alone():
    circuit = looking_circuit()
    for form, is_upright in {"wide": True, "tall": False}.items():
        words = [token.find("text") for token in of_class(parsed(circuit, form), "token")]
        assert [word.text for word in words] == [token.word for token in circuit.tokens]
        assert {"rotate(-90)" in word.get("transform", "") for word in words} == {is_upright}
    assert numbers(draw(circuit, "wide").partition("viewBox=")[2])[2] < 800
    short = parsed(drawn_circuit(), "wide")
    assert not any(token.find("text").get("transform") for token in of_class(short, "token"))


@pytest.mark.parametrize("form", ["wide", "tall"])
@pytest.mark.parametrize("place", range(4))
def test_names_of_arrows_to_one_place_do_not_meet(form, place):
    boxes = [name.box for name in names(Layout(one_layer_circuit(place), form))]
    assert len(boxes) == 4
    assert not any(one.meets(other) for one, other in itertools.combinations(boxes, 2))


@pytest.mark.parametrize("form", ["wide", "tall"])
def test_a_name_stands_on_its_arrow(form):
    layout = Layout(one_layer_circuit(), form)
    for name in names(layout):
        arrow = name.link.arrows[0]
        ways = [layout.on_curve(arrow, part / 100) for part in range(101)]
        assert min(abs(x - name.badge[0]) + abs(y - name.badge[1]) for x, y in ways) < 2


@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_attention_is_as_wide_as_half_of_it(form):
    def width(circuit):
        return float(of_class(of_class(parsed(circuit, form), "link")[3], "line")[0].get("stroke-width"))

    assert width(one_layer_circuit()) == width(drawn_circuit(weight=0.5))


def with_look(**look):
    return replace(drawn_circuit(), looks=(Arrow(**look),))


def with_arrow(**arrow):
    links = (replace(drawn_circuit().links[0], arrows=(Arrow(weight=0.5, **arrow),)),)
    return replace(drawn_circuit(), links=links)
