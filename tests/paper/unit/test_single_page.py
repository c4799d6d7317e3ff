import base64
import json
import re
from urllib.request import urlopen

import pytest
from bs4 import BeautifulSoup

from livingpaper.book import single_page
from livingpaper.book.notebooks import BookError
from livingpaper.book.single_page import inlined

PAGE = """<!DOCTYPE html><html><head>
<meta property="og:title" content="A"><meta property="og:image" content="../a.png">
<meta property="og:image:alt" content="B">
<link rel="stylesheet" href="../_static/theme.css?v=1"><link rel="icon" href="../_static/icon.svg">
<link rel="search" href="../search.html"><script src="../_static/scripts/fontawesome.js"></script>
<script src="../_static/first.js"></script><script defer src="../_static/last.js"></script>
<script async src="../_static/vendor/mathjax-tex-svg.js"></script></head><body>
<header class="bd-header">Site</header><img src="../_static/icon.svg"><img src="data:image/svg+xml,x">
<a href="other.html#x">elsewhere</a><a href="#nowhere">lost</a><a href="#here">here</a><a href="https://example.org">out</a>
<p id="here">MATH</p></body></html>"""
FILES = {
    "theme.css": "@import 'more.css'; @font-face { src: url(fontawesome.woff2) } a { background: url('dot.png') }",
    "more.css": "b { background: url(data:image/png;base64,AA==); } /*# sourceMappingURL=more.css.map */",
    "dot.png": "dot",
    "icon.svg": "<svg/>",
    "first.js": "first = '</script>';\n//# sourceMappingURL=first.js.map",
    "last.js": "last();",
    "scripts/fontawesome.js": "icons",
    "vendor/mathjax-tex-svg.js": "mathjax();",
}


@pytest.fixture
def page(tmp_path):
    for name, text in FILES.items():
        file = tmp_path / "_static" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "book").mkdir()
    file = tmp_path / "book" / "chapter.html"
    file.write_text(PAGE)
    return file


def test_a_page_carries_everything_it_loads(page):
    text = inlined(page)
    soup = BeautifulSoup(text, "html.parser")
    assert not soup.select("script[src], link[rel=stylesheet], link[rel=search], header")
    assert [tag["property"] for tag in soup.select("meta[property]")] == ["og:title"], "its picture lies elsewhere"
    assert all(element["src"].startswith("data:") for element in soup.select("img"))
    assert not [address for address in re.findall(r"url\(['\"]?([^'\")]*)", text) if not address.startswith("data:")]
    assert base64.b64encode(b"dot").decode() in text and "@import" not in text and "fontawesome" not in text
    assert "sourceMappingURL" not in text


def test_scripts_keep_their_order_and_cannot_end_early(page):
    text = inlined(page)
    assert r"first = '<\/script>'" in text
    assert text.index("first = ") < text.index('id="here"') < text.index("last();"), (
        "a deferred script waits for the page"
    )
    assert "icons" not in text and "mathjax" not in text


def test_a_figure_takes_its_files_along_and_vega_waits_for_the_first_chart(page):
    made = (
        '<picture><source srcset="../_static/figures/fig-a.narrow.svg"><img src="../_static/figures/fig-a.svg">'
        '</picture><a download="fig-a.csv" href="../_static/figures/fig-a.csv">data (CSV)</a>'
        '<script defer data-vega="vendor/vega.js" src="../_static/last.js"></script>'
    )
    static, files = page.parent.parent / "_static", {"fig-a.svg": '<svg a="1 2"/>', "fig-a.csv": "a,b\n1 2,3\n"}
    (static / "figures").mkdir()
    (static / "vendor/vega.js").write_text("vega('</script>');")
    for name, text in (files | {"fig-a.narrow.svg": "<svg x='0 1'/>"}).items():
        (static / "figures" / name).write_text(text)
    page.write_text(PAGE.replace("MATH", made))
    soup = BeautifulSoup(inlined(page), "html.parser")
    assert urlopen(soup.select_one("picture img")["src"].replace(" ", "%20")).read().decode() == files["fig-a.svg"]
    assert " " not in soup.select_one("source")["srcset"]
    link = soup.select_one("a[download]")
    assert link["href"].startswith("data:text/csv") and urlopen(link["href"]).read().decode() == files["fig-a.csv"]
    bundle = soup.select_one("script.vega-bundle")
    assert bundle["type"] == "text/plain" and bundle.string == r"vega('<\/script>');"


def test_math_is_set_only_where_there_is_some(page):
    page.write_text(PAGE.replace("MATH", '<span class="math">x</span>'))
    assert "mathjax();" in inlined(page)


def test_links_that_lead_nowhere_become_words(page):
    links = [link["href"] for link in BeautifulSoup(inlined(page), "html.parser").find_all("a")]
    assert links == ["#here", "https://example.org"]


def test_a_file_that_is_missing_is_named(page):
    (page.parent.parent / "_static" / "dot.png").unlink()
    with pytest.raises(BookError, match=r"theme\.css needs dot\.png"):
        inlined(page)


def explorers(page, monkeypatch, n_runs, *shown):
    """Explorers as a page with room for so many runs has them; each is made from runs, opening, and path."""
    folder, boxes = page.parent.parent / "_static" / "explorer", []
    folder.mkdir()
    for runs, opening, path in shown:
        states = [{"state": state} for state in path]
        exhibit = {"opening": {"run": opening}, "runs": [{"id": name} for name in runs], "path": states}
        data = f'<script type="application/json" class="explorer-data">{json.dumps(exhibit)}</script>'
        boxes.append(f'<div class="explorer">{data}</div>')
        for name in runs:
            (folder / f"{name}.js").write_text(f"paperWeights('{name}');")
    page.write_text(PAGE.replace("MATH", f"</p>{''.join(boxes)}<p>"))
    monkeypatch.setattr(single_page, "MOST_WEIGHTS", n_runs * len("paperWeights('a');"))
    return BeautifulSoup(inlined(page), "html.parser").select("div.explorer")


def test_an_explorer_takes_its_runs_along_as_far_as_there_is_room(page, monkeypatch):
    [box] = explorers(page, monkeypatch, 2, ("abc", "b", ()))
    found = box.select("script.explorer-weights")
    assert [script["data-run"] for script in found] == ["b", "c"], "opening, then the last: the reader's"
    assert [script.string for script in found] == ["paperWeights('b');", "paperWeights('c');"]
    assert {script["type"] for script in found} == {"text/plain"}
    assert box["data-left-out"] == "a"
    classes = [script["class"][0] for script in box.select("script")]
    assert classes == [*["explorer-weights"] * 2, "explorer-data"], "weights stand before the script that needs them"


def test_every_explorer_gets_what_it_opens_on_before_any_gets_more(page, monkeypatch):
    path = ({}, {"run": "b"}, {"other": {"run": "a", "step": 0}})
    first, second = explorers(page, monkeypatch, 4, ("abcd", "d", path), ("efg", "e", ({"run": "f"},)))
    taken = [[script["data-run"] for script in box.select("script.explorer-weights")] for box in (first, second)]
    assert taken == [["d", "b", "a"], ["f"]], "openings, then paths, then the others"
    assert [first["data-left-out"], second["data-left-out"]] == ["c", "e g"]


def test_a_run_of_two_explorers_is_taken_along_once_and_the_first_has_it(page, monkeypatch):
    first, second = explorers(page, monkeypatch, 9, ("ab", "a", ()), ("bc", "b", ()))
    taken = [[script["data-run"] for script in box.select("script.explorer-weights")] for box in (first, second)]
    assert taken == [["a", "b"], ["c"]]
    assert not first.has_attr("data-left-out") and not second.has_attr("data-left-out")
