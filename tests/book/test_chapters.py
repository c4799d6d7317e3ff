"""What every notebook of the book must keep to, and that each of these rules catches what it is there for."""

import ast
import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import paper
from livingpaper.book import studies
from livingpaper.book.notebooks import APPENDIX
from livingpaper.book.parameters import read_yaml

ROOT = Path(paper.__file__).resolve().parent
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
APPENDICES = sorted((ROOT / "book" / APPENDIX).glob("*.ipynb"))
TIERS = [(name, tier) for name in studies.names() for tier in studies.tiers(name)]

MAX_CELLS, MAX_CODE_CELLS = 28, 14  # what is longer belongs into the appendix, which may have more code
MAX_LINES = 12  # of a code cell
MAX_PARAMETERS = 19  # lines of the cell that holds nothing but names and literals
SHORTEST_ALT = 20  # letters
MAX_TAKEAWAY = 12  # words
SHORTEST_HEADING = 2  # words: "Results" says nothing
# What prose may hold decimals in: code, roles (they end in a code span), formulas, link targets, numbered places.
NOT_PROSE = re.compile(
    r"```.*?```|`+[^`]*`+|\$\$.*?\$\$|\$[^$\n]*\$|\]\([^)]*\)|<!--.*?-->|\b(?:sections?|Fig\.|Figure)\s\d+\.\d+",
    re.DOTALL,
)
DECIMAL = re.compile(r"(?<![\w.])\d*\.\d+")
TYPED = re.compile(r"\S*\d\S*")
PREFIXES = {re.match(r"[A-Z]+", claim.id)[0] for name in studies.names() for claim in studies.load(name).CLAIMS}
CLAIM_ID = re.compile(rf"\b(?:{'|'.join(sorted(PREFIXES))}|X)\d+(?:\.published)?\b")  # X is this file's own
# Digits that belong to a name: layers and seeds, places and symbols of a prompt, figures of a source, formats.
NAMED = re.compile(
    r"\b(?:layers?|heads?|seeds?|slots?|figures?|tables?|sections?|equations?)[ -]\d+(?:(?:, | and | to | or )\d+)*"
    r"|[A-Za-z]+\d+",
    re.IGNORECASE,
)
HEADING = re.compile(r"^(#+)\s+(.*?)\s*$", re.MULTILINE)


@dataclass
class Chapter:
    """A notebook, and what its study and params file say it must hold (None where it has no study)."""

    notebook: dict
    claims: tuple[str, ...] | None = None
    published: dict[str, object] | None = None
    is_appendix: bool = False

    def cells(self, kind: str) -> list[dict]:
        return [cell for cell in self.notebook["cells"] if cell["cell_type"] == kind]

    def sources(self, kind: str) -> list[str]:
        return ["".join(cell["source"]) for cell in self.cells(kind)]

    def tagged(self, tag: str) -> list[str]:
        return ["".join(cell["source"]) for cell in self.cells("code") if tag in cell["metadata"].get("tags", [])]

    def nodes(self) -> Iterator[ast.AST]:
        return (node for source in self.sources("code") for node in ast.walk(ast.parse(source)))

    def calls(self, method: str) -> list[ast.Call]:
        """Calls of ``anything.method(...)``."""
        calls = [node for node in self.nodes() if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
        return [call for call in calls if call.func.attr == method]


def read(path: Path) -> Chapter:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    if path.stem not in studies.names():
        return Chapter(notebook)
    if path.parent.name == APPENDIX:
        return Chapter(notebook, None, studies.read_params(path.stem), is_appendix=True)
    claims = tuple(claim.id for claim in studies.load(path.stem).CLAIMS)
    return Chapter(notebook, claims, studies.read_params(path.stem))


def it_is_short(chapter: Chapter) -> list[str]:
    n_cells = len(chapter.notebook["cells"])
    found = [f"{n_cells} cells; at most {MAX_CELLS}"] if n_cells > MAX_CELLS else []
    n_code = len(chapter.cells("code"))
    if n_code > MAX_CODE_CELLS and not chapter.is_appendix:
        found.append(f"{n_code} code cells; at most {MAX_CODE_CELLS}")
    parameters = chapter.tagged("parameters")
    for source in chapter.sources("code"):
        n, most = len(source.splitlines()), MAX_PARAMETERS if source in parameters else MAX_LINES
        found += [f"a code cell of {n} lines; at most {most}"] if n > most else []
    return found


def it_defines_nothing_and_needs_no_torch(chapter: Chapter) -> list[str]:
    found = []
    for node in chapter.nodes():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(f"defines {node.name}: it belongs into the library")
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found += [f"imports {module}" for module in modules if module.partition(".")[0] == "torch"]
    return found


def it_holds_no_outputs(chapter: Chapter) -> list[str]:
    cells = chapter.cells("code")
    return [f"cell {cell.get('id')} holds outputs" for cell in cells if cell["outputs"] or cell["execution_count"]]


def it_can_be_executed_and_merged(chapter: Chapter) -> list[str]:
    """Papermill needs the kernelspec; executed outputs are matched to cells by id."""
    found = [] if chapter.notebook["metadata"].get("kernelspec", {}).get("name") == "python3" else ["no kernelspec"]
    ids = Counter(cell.get("id") for cell in chapter.notebook["cells"])
    return found + [f"cell id {name!r} is there {count} times" for name, count in ids.items() if count > 1 or not name]


def its_headings_say_something(chapter: Chapter) -> list[str]:
    headings = [match.groups() for source in chapter.sources("markdown") for match in HEADING.finditer(source)]
    titles = [text for level, text in headings if level == "#"]
    found = [] if len(titles) == 1 else [f"{len(titles)} titles; exactly one"]
    return found + [
        f"heading {text!r}" for level, text in headings if level != "#" and len(text.split()) < SHORTEST_HEADING
    ]


def its_parameters_are_the_published_ones(chapter: Chapter) -> list[str]:
    tagged = chapter.tagged("parameters")
    if len(tagged) != (chapter.published is not None):
        return [f"{len(tagged)} cells tagged parameters; one if there is a params file, else none"]
    found = []
    for source in tagged:
        if source.splitlines()[0] != "# Parameters":
            found.append("the parameters cell must start with '# Parameters'")
        try:
            given = {statement.targets[0].id: ast.literal_eval(statement.value) for statement in ast.parse(source).body}
        except (AttributeError, ValueError) as error:
            return [*found, f"the parameters cell holds more than names and plain literals ({error})"]
        if json.dumps(given, sort_keys=True) != json.dumps(chapter.published, sort_keys=True):
            found.append(f"parameters {given}; the params file says {chapter.published}")
    return found


def every_claim_is_shown_once(chapter: Chapter) -> list[str]:
    if chapter.claims is None:
        return []
    named = [argument for call in chapter.calls("claim") for argument in call.args]
    shown = [argument.value if isinstance(argument, ast.Constant) else None for argument in named]
    found = [f"shows claim {name!r}, which the study lacks" for name in shown if name not in chapter.claims]
    counts = {name: shown.count(name) for name in chapter.claims}
    return found + [f"shows claim {name} {count} times; once" for name, count in counts.items() if count != 1]


def every_figure_says_what_it_shows(chapter: Chapter) -> list[str]:
    found = []
    for call in chapter.calls("figure"):
        said = {keyword.arg: texts_in(keyword.value) for keyword in call.keywords}
        for name, shortest in {"takeaway": 1, "alt": SHORTEST_ALT}.items():
            if len(said.get(name, "").strip()) < shortest:
                found.append(f"figure on line {ast.unparse(call)[:60]} has no {name}, or hardly any")
        if (n_words := len(said.get("takeaway", "").split())) > MAX_TAKEAWAY:
            found.append(f"a takeaway of {n_words} words; at most {MAX_TAKEAWAY}: {said['takeaway']}")
    names = Counter(ast.unparse(call.args[0]) for call in chapter.calls("figure") if call.args)
    return found + [f"two figures called {name}" for name, count in names.items() if count > 1]


def its_numbers_are_computed(chapter: Chapter) -> list[str]:
    """A decimal in prose or in a caption was typed by hand, and will be wrong one day."""
    prose = [NOT_PROSE.sub(" ", source) for source in chapter.sources("markdown")]
    prose += [texts_in(k.value) for call in chapter.calls("figure") for k in call.keywords if k.arg != "name"]
    return [f"types the number {number}" for text in prose for number in DECIMAL.findall(text)]


def its_claims_speak_for_themselves(chapter: Chapter) -> list[str]:
    """A claim is told by its verdict: no id of one in prose, and no digit that is not a name's."""
    if chapter.published is None:
        return []
    prose = [HEADING.sub(" ", NOT_PROSE.sub(" ", source)) for source in chapter.sources("markdown")]
    found = [f"names claim {name}" for text in prose for name in CLAIM_ID.findall(text)]
    return found + [f"types {digits}" for text in prose for digits in TYPED.findall(NAMED.sub(" ", text))]


def texts_in(expression: ast.expr) -> str:
    """The literal text in an expression: a string, an f-string, strings joined."""
    parts = [node.value for node in ast.walk(expression) if isinstance(node, ast.Constant)]
    return "".join(part for part in parts if isinstance(part, str))


RULES: tuple[Callable[[Chapter], list[str]], ...] = (
    it_is_short,
    it_defines_nothing_and_needs_no_torch,
    it_holds_no_outputs,
    it_can_be_executed_and_merged,
    its_headings_say_something,
    its_parameters_are_the_published_ones,
    every_claim_is_shown_once,
    every_figure_says_what_it_shows,
    its_numbers_are_computed,
    its_claims_speak_for_themselves,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize(
    "path", [*NOTEBOOKS, *APPENDICES], ids=lambda path: path.relative_to(ROOT / "book").with_suffix("").as_posix()
)
def test_the_notebook_keeps_to(path, rule):
    assert rule(read(path)) == []


@pytest.mark.parametrize("path", sorted((ROOT / "book").glob("*.md")), ids=lambda path: path.stem)
def test_a_page_without_code_names_no_claim_and_the_front_page_types_no_number(path):
    cell = {"cell_type": "markdown", "source": path.read_text(encoding="utf-8")}
    found = its_claims_speak_for_themselves(Chapter({"cells": [cell]}, published={}))
    assert [problem for problem in found if path.stem == "index" or problem.startswith("names")] == []


def test_every_study_has_its_notebook_and_every_appendix_its_study():
    assert set(studies.names()) <= {path.stem for path in NOTEBOOKS}
    assert {path.stem for path in APPENDICES} <= set(studies.names())


@pytest.mark.parametrize(("name", "tier"), TIERS, ids="-".join)
def test_a_params_file_gives_every_parameter_and_no_other(name, tier):
    given = studies.read_params(name, tier)
    assert set(given) == set(studies.load(name).Params.model_fields)
    assert studies.validate(name, given) == studies.load_params(name, tier)


def test_every_params_file_belongs_to_a_study():
    for path in (ROOT / "params").glob("*.yaml"):
        assert path.name.partition(".")[0] in studies.names(), "of a study that is installed, or outside this folder"
        assert read_yaml(path)


# A chapter that keeps every rule, and for each rule ways to break it.

CLAIMS, PUBLISHED = ("X1", "X1.published"), {"seeds": [0, 1], "rate": 0.001}
GOOD = {
    "title": "# A title\n\nThe answer, in {glue:text}`n_seeds` seeds ({cite:p}`a2026`, section 1.2).",
    "parameters": "# Parameters\nseeds = [0, 1]  # networks\nrate = 0.001",
    "open": "from livingpaper.book import chapter\n\npaper = chapter.open('x')",
    "question": "## What happens?\n\n### It does.\n\nAt `0.001`, $p < 0.05$ and [here](page-1.5.html), it does.",
    "figure": "paper.figure('fig-a', f(view), view, takeaway='It rises' ' soon.', alt='A curve that rises early.')",
    "claims": "paper.claim('X1', 'X1.published')",
}
BROKEN = [
    (it_is_short, {f"cell-{number}": "1" for number in range(MAX_CELLS)}),
    (it_is_short, {"open": "a = 1\n" * (MAX_LINES + 1)}),
    (it_is_short, {"parameters": "a = 1\n" * (MAX_PARAMETERS + 1)}),
    (it_defines_nothing_and_needs_no_torch, {"open": "def f():\n    return 1"}),
    (it_defines_nothing_and_needs_no_torch, {"open": "class A:\n    pass"}),
    (it_defines_nothing_and_needs_no_torch, {"open": "import torch.nn as nn"}),
    (it_defines_nothing_and_needs_no_torch, {"open": "from torch import nn"}),
    (its_headings_say_something, {"question": "## Results"}),
    (its_headings_say_something, {"question": "# A second title"}),
    (its_parameters_are_the_published_ones, {"parameters": "seeds = [0, 1]\nrate = 0.001"}),
    (its_parameters_are_the_published_ones, {"parameters": "# Parameters\nseeds = [0, 2]\nrate = 0.001"}),
    (its_parameters_are_the_published_ones, {"parameters": "# Parameters\nseeds = list(range(2))\nrate = 0.001"}),
    (its_parameters_are_the_published_ones, {"parameters": "# Parameters\nimport os"}),
    (its_parameters_are_the_published_ones, {"parameters": None}),
    (every_claim_is_shown_once, {"claims": "paper.claim('X1')"}),
    (every_claim_is_shown_once, {"claims": "paper.claim('X1', 'X1.published', 'X1')"}),
    (every_claim_is_shown_once, {"claims": "paper.claim('X1')\npaper.claim('X1.published')\npaper.claim('X1')"}),
    (every_claim_is_shown_once, {"claims": "paper.claim('X1')\npaper.claim('X1.published')\npaper.claim('X2')"}),
    (every_claim_is_shown_once, {"claims": "[paper.claim(name) for name in ('X1', 'X1.published')]"}),
    (every_figure_says_what_it_shows, {"figure": "paper.figure('fig-a', c, v, alt='A curve that rises early.')"}),
    (every_figure_says_what_it_shows, {"figure": "paper.figure('fig-a', c, v, takeaway='It rises.', alt='A curve')"}),
    (every_figure_says_what_it_shows, {"figure": GOOD["figure"] + "\n" + GOOD["figure"]}),
    (every_figure_says_what_it_shows, {"figure": GOOD["figure"].replace("soon", "and rises " * 6)}),
    (its_claims_speak_for_themselves, {"question": "## Why is this so?\n\nIt rises (X1: {glue:text}`X1_status`)."}),
    (its_claims_speak_for_themselves, {"question": "## Why is this so?\n\nIt rises in 8 of 10 networks."}),
    (its_claims_speak_for_themselves, {"question": "## Why is this so?\n\nIt rises after layer 1, at epoch 30."}),
    (its_numbers_are_computed, {"question": "## Why?\n\nAccuracy is 0.956."}),
    (its_numbers_are_computed, {"figure": GOOD["figure"].replace("soon", "to .9")}),
]


def scratch(cells: dict[str, str | None]) -> Chapter:
    made = []
    for name, source in cells.items():
        kind = "markdown" if name in ("title", "question") else "code"
        cell = {"id": name, "cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
        if name == "parameters":
            cell["metadata"]["tags"] = ["parameters"]
        made.append(cell if kind == "markdown" else cell | {"outputs": [], "execution_count": None})
    return Chapter({"cells": made, "metadata": {"kernelspec": {"name": "python3"}}}, CLAIMS, PUBLISHED)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_good_chapter_passes(rule):
    assert rule(scratch(GOOD)) == []


@pytest.mark.parametrize(("rule", "changes"), BROKEN)
def test_a_broken_chapter_is_caught(rule, changes):
    cells = {name: source for name, source in (GOOD | changes).items() if source is not None}
    assert rule(scratch(cells)) != []


def test_stored_outputs_are_caught():
    chapter = scratch(GOOD)
    chapter.cells("code")[1]["outputs"] = [{"output_type": "stream"}]
    assert it_holds_no_outputs(chapter) != []


@pytest.mark.parametrize("spoil", ["kernelspec", "twice", "nameless"])
def test_a_notebook_that_cannot_be_merged_is_caught(spoil):
    chapter = scratch(copy.deepcopy(GOOD))
    cells = chapter.notebook["cells"]
    if spoil == "kernelspec":
        del chapter.notebook["metadata"]["kernelspec"]
    elif spoil == "twice":
        cells[1]["id"] = cells[0]["id"]
    else:
        del cells[0]["id"]
    assert it_can_be_executed_and_merged(chapter) != []


def test_a_chapter_without_a_study_needs_neither_parameters_nor_claims():
    chapter = scratch({name: GOOD[name] for name in ("title", "open", "question")})
    chapter.claims = chapter.published = None
    assert [problem for rule in RULES for problem in rule(chapter)] == []
