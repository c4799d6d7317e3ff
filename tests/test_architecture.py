"""The rules of the source tree that no single module can keep by itself, each checked over all of it.

Every rule is a function from a parsed file to its violations, and is itself tested on a file that breaks it.
"""

import ast
import re
import subprocess
import sys
import textwrap
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from circuitcore.tasks import TASKS
from livingpaper.book import studies

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ("circuitcore", "livingpaper", "retrieval_circuits")  # the library, the paper's machinery, the paper

# Left to right: a room imports only from rooms to its left. Rooms in one pair of parentheses do not import each other.
LAYERS = (
    ("circuitcore.ground",),
    ("circuitcore.tasks", "circuitcore.models"),
    ("circuitcore.native",),
    ("circuitcore.training",),
    ("circuitcore.metrics", "circuitcore.export"),
    ("circuitcore.emergence",),
    ("livingpaper.claims", "livingpaper.asking"),
    ("livingpaper.figures",),
    ("livingpaper.explorer",),
    ("livingpaper.book",),
    ("livingpaper.commands",),
    ("retrieval_circuits",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
WITHOUT_TORCH = ("circuitcore.ground", "circuitcore.emergence", "livingpaper.claims", "livingpaper.figures")
WITHOUT_TORCH += ("livingpaper.asking",)
# Parameters are validated, and a book that is there is found to be so, before anything heavy is loaded.
WITHOUT_TORCH_ALONE = tuple(f"livingpaper.book.{name}" for name in ("build", "parameters", "studies"))
# So are runs listed, and tables compared with what was published.
WITHOUT_TORCH_ALONE += ("livingpaper.commands.run_listing", "circuitcore.training.store.sealing")
MAY_PRINT = tuple(f"livingpaper.{name}" for name in ("book.build", "commands.cli", "commands.reproduce"))
MAY_PRINT += ("livingpaper.commands.publish",)
KNOW_JUPYTER = ("notebooks", "chapter", "page", "forked_kernels", "merging", "study_kernel")
MAY_KNOW_JUPYTER = tuple(f"livingpaper.book.{name}" for name in KNOW_JUPYTER)
JUPYTER = ("IPython", "ipykernel", "jupyter_client", "myst_nb", "nbclient", "nbformat", "papermill")
PICKLES = ("pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal")
PICKLING_CALLS = ("torch.load", "torch.save", "pd.read_pickle", "pandas.read_pickle")
VAGUE_NAMES = ("utils", "util", "helpers", "helper", "common", "misc")
PARTS_OF_A_STUDY = {"__init__", "design", "published", "claims", "readings", "figures"}
MAY_HAVE = {"measures", "explorer", "game", "circuit"}  # an explorer reads words: a task of vectors has none
MAX_FILE_LINES, MAX_FUNCTION_LINES = 350, 60


def sources():
    code = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]
    return code + [path for path in [ROOT / "paper.py"] if path.exists()]


def module_of(path):
    """``circuitcore.metrics.scores.probes`` for that file; a package's own file goes by the package's name."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def room_of(module):
    """``circuitcore.metrics`` for anything in it; the paper is one room."""
    parts = module.split(".")
    return parts[0] if parts[0] == FLOORS[-1] else ".".join(parts[:2])


def imported_modules(tree):
    """Absolute dotted names of everything a file imports, at its top or inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A relative import hides the layer it reaches; its name starts with dots and fits none.
            module = "." * node.level + (node.module or "")
            yield module, node.lineno
            if module in FLOORS:
                yield from ((f"{module}.{alias.name}", node.lineno) for alias in node.names)


def wrong_layers(module, tree):
    room = room_of(module)
    if room not in RANK and module not in FLOORS:
        yield f"{room!r} has no place in LAYERS: give it one"
        return
    for imported, line in imported_modules(tree):
        if imported.startswith("."):
            yield f"line {line}: relative import {imported!r}; write its whole name"
        other = room_of(imported)
        floor, own = imported.split(".")[0], module.split(".")[0]
        if floor not in FLOORS or other == room or (imported == floor and FLOORS.index(floor) <= FLOORS.index(own)):
            continue
        if RANK.get(other, len(LAYERS)) >= RANK.get(room, -1):
            yield f"line {line}: {room} imports {imported}, which is not to its left"
        elif room in WITHOUT_TORCH and other not in WITHOUT_TORCH:
            yield f"line {line}: {room} works without torch, {imported} does not"


def dotted(node):
    """``torch.load`` for the attribute node of that name, "" for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def pickling(_, tree):
    for module, line in imported_modules(tree):
        if module.split(".")[0] in PICKLES:
            yield f"line {line}: imports {module}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (dotted(node) in PICKLING_CALLS or node.attr == "to_pickle"):
            yield f"line {node.lineno}: {dotted(node) or node.attr}"
        if isinstance(node, ast.ImportFrom) and node.module == "torch":
            yield from (f"line {node.lineno}: torch.{a.name}" for a in node.names if a.name in ("load", "save"))
        if (
            isinstance(node, ast.keyword)
            and node.arg == "allow_pickle"
            and getattr(node.value, "value", None) is not False
        ):
            yield f"line {node.value.lineno}: allow_pickle"


def future_annotations(_, tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            yield f"line {node.lineno}: from __future__ import; jaxtyping needs annotations that are evaluated"


def printing(module, tree):
    if module in MAY_PRINT:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) == "print":
            yield f"line {node.lineno}: print"


def jupyter(module, tree):
    if module in MAY_KNOW_JUPYTER:
        return
    for imported, line in imported_modules(tree):
        if imported.split(".")[0] in JUPYTER:
            yield f"line {line}: imports {imported}; only {', '.join(MAY_KNOW_JUPYTER)} may"


def module_state(_, tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield f"line {node.lineno}: global {', '.join(node.names)}"


def long_functions(_, tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = node.end_lineno - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                yield f"line {node.lineno}: {node.name} has {lines} lines, at most {MAX_FUNCTION_LINES}"


@cache
def parsed(path: Path) -> ast.Module:
    """What a file says; each is read once for all rules."""
    return ast.parse(path.read_text())


RULES = (wrong_layers, pickling, future_annotations, printing, jupyter, module_state, long_functions)
IN_PACKAGE_ONLY = (wrong_layers, printing, jupyter)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_file_breaks_the_rule(rule):
    found = []
    for path in sources():
        if path.parent == ROOT and rule in IN_PACKAGE_ONLY:
            continue
        module, tree = module_of(path), parsed(path)
        found += [f"{path.relative_to(ROOT)}: {violation}" for violation in rule(module, tree)]
    assert not found, "\n".join(found)


BREAKS = (
    (wrong_layers, "circuitcore.emergence.births", "import circuitcore.metrics.instruments.battery"),
    (wrong_layers, "circuitcore.emergence.births", "from livingpaper.claims import claim"),
    (wrong_layers, "circuitcore.training.store.run", "from livingpaper.claims.results import Results"),
    (wrong_layers, "circuitcore.tasks.base", "def f():\n    from circuitcore.models import config"),
    (wrong_layers, "livingpaper.figures.bars", "from livingpaper.book.studies import load"),
    (wrong_layers, "livingpaper.book.evidence", "from retrieval_circuits.design import Seeds"),
    (wrong_layers, "livingpaper.commands.cli", "import retrieval_circuits"),
    (wrong_layers, "circuitcore.metrics.table", "from .. import chapter"),
    (wrong_layers, "livingpaper.claims.claim", "import circuitcore.brand_new"),
    (wrong_layers, "circuitcore", "from circuitcore.ground.errors import UserError"),
    (wrong_layers, "livingpaper.brand_new", ""),
    (pickling, "circuitcore.training.loop", "import pickle"),
    (pickling, "circuitcore.training.loop", "from joblib import load"),
    (pickling, "circuitcore.training.loop", "import torch\nw = torch.load('x')"),
    (pickling, "circuitcore.training.loop", "from torch import load"),
    (pickling, "circuitcore.metrics.table", "frame.to_pickle('x')"),
    (pickling, "circuitcore.metrics.table", "np.load('x', allow_pickle=True)"),
    (future_annotations, "circuitcore.tasks.base", "from __future__ import annotations"),
    (printing, "circuitcore.tasks.base", "print('x')"),
    (printing, "livingpaper.book.chapter", "print('x')"),
    (jupyter, "livingpaper.figures.bars", "from IPython.display import HTML"),
    (module_state, "circuitcore.tasks.base", "def f():\n    global seen\n    seen = 1"),
    (long_functions, "circuitcore.tasks.base", "def f():\n" + "    x = 1\n" * 60),
)


@pytest.mark.parametrize(("rule", "module", "text"), BREAKS)
def test_the_rule_sees_a_file_that_breaks_it(rule, module, text):
    assert list(rule(module, ast.parse(text)))


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (
            "retrieval_circuits.symbolic_kv.design",
            "from circuitcore.training.recipe import Recipe\nfrom livingpaper.claims.claim import Claim",
        ),
        (
            "livingpaper.claims.claim",
            "from circuitcore.emergence.seeds import mean_interval\nfrom livingpaper.claims.results import Results",
        ),
        (
            "circuitcore.emergence.order",
            "import circuitcore.emergence.births\nimport numpy as np\nnp.load('x', allow_pickle=False)",
        ),
        ("livingpaper.commands.cli", "print('done')\nfrom livingpaper.book import chapter"),
        ("circuitcore.training.loop", "text = 'torch.load refuses; import pickle'\ndef load(): ...\nload()"),
    ],
)
def test_no_rule_objects_to_a_good_file(module, text):
    assert not [violation for rule in RULES for violation in rule(module, ast.parse(text))]


def test_no_file_is_too_long_or_vaguely_named():
    found = []
    for path in sources():
        lines = len(path.read_text().splitlines())
        if lines > MAX_FILE_LINES:
            found.append(f"{path.relative_to(ROOT)}: {lines} lines, at most {MAX_FILE_LINES}")
        found += [
            f"{path.relative_to(ROOT)}: name it by what it holds"
            for part in path.relative_to(ROOT).parts
            if vague(part)
        ]
    assert not found, "\n".join(found)


def vague(part):
    return part.removesuffix(".py").strip("_").split("_")[-1] in VAGUE_NAMES


def test_all_studies_have_the_same_files():
    """Each a file or a package. ``published`` holds what a source printed."""
    for name in studies.names():
        folder = ROOT / FLOORS[-1] / name
        parts = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
        assert parts >= PARTS_OF_A_STUDY, name
        assert parts <= PARTS_OF_A_STUDY | MAY_HAVE, name


@pytest.mark.parametrize(("tests", "above"), [("library", FLOORS[1:]), ("paper", FLOORS[2:])])
def test_the_tests_of_a_floor_need_no_floor_above(tests, above):
    files = sorted((ROOT / "tests" / tests).rglob("test_*.py"))
    found = [
        f"{path.relative_to(ROOT)}, line {line}: {module}"
        for path in files
        for module, line in imported_modules(parsed(path))
        if module.split(".")[0] in above
    ]
    assert len(files) > 25 and not found, "\n".join(found)


def names_of_the_paper():
    """Tasks, studies and claims: what the machinery must not know, so that it serves another paper."""
    claims = {claim.id for name in studies.names() for claim in studies.load(name).CLAIMS}
    return {*TASKS, *studies.names(), *claims}


def named(tree, names):
    """Names among the identifiers of a file and the words of its texts, docstrings included."""
    for node in ast.walk(tree):
        words = [getattr(node, field, None) for field in ("id", "attr", "arg", "name", "module")]
        words += [alias.name for alias in getattr(node, "names", ()) if isinstance(alias, ast.alias)]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.append(node.value)
        text = " ".join(word for word in words if isinstance(word, str))
        yield from (f"line {node.lineno}: {word}" for word in re.findall(r"\w+(?:\.published)?", text) if word in names)


def test_the_machinery_names_no_task_no_study_and_no_claim():
    names = names_of_the_paper()
    assert len(names) > 90
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "livingpaper").rglob("*.py"))
        for name in named(parsed(path), names)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("text", ["story_control = 1", "x = 'as in KV1'", "from a import symbolic_kv", "f(story=1)"])
def test_a_name_of_the_paper_is_seen(text):
    assert list(named(ast.parse(text), names_of_the_paper()))


def imported_without(packages, modules):
    """Import ``modules`` in a process in which none of ``packages`` can be imported."""
    program = textwrap.dedent(f"""
        import importlib, sys

        class Blocked:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in {packages!r}:
                    raise ImportError(f"{{name}} is blocked")

        sys.meta_path.insert(0, Blocked())
        for module in {modules!r}:
            importlib.import_module(module)
        assert not set({packages!r}) & {{name.split(".")[0] for name in sys.modules}}
    """)
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_the_library_works_where_nothing_of_the_book_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = [Requirement(text).name for text in project["optional-dependencies"]["book"]]
    tops = {name: names for names, owners in packages_distributions().items() for name in owners}
    modules = [module_of(path) for path in sources() if path.parts[len(ROOT.parts)] == FLOORS[0]]
    modules.remove("circuitcore.export.load")  # runs where TransformerLens is, beside what was exported
    blocked = sorted({tops[name] for name in extra if name in tops} | {"livingpaper", "retrieval_circuits"})
    assert len(modules) > 80 and {"altair", "anywidget", "ipywidgets", "papermill"} <= set(blocked)
    done = imported_without(blocked, modules)
    assert done.returncode == 0, done.stderr
    assert imported_without(blocked, ["livingpaper.figures.bars"]).returncode != 0, "nothing was blocked"


def test_what_draws_and_judges_works_where_torch_cannot_be_imported():
    """Transitively: every module of these layers is imported in a process in which importing torch fails."""
    every = [module_of(path) for path in sources() if path.parent != ROOT]
    modules = [module for module in every if room_of(module) in WITHOUT_TORCH] + list(WITHOUT_TORCH_ALONE)
    done = imported_without(["torch"], modules)
    assert done.returncode == 0, done.stderr
    assert {room_of(module) for module in modules} > set(WITHOUT_TORCH)
