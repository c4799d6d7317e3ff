"""The rules of the source tree that no single module can keep by itself, each checked over all of it.

Every rule is a function from a parsed file to its violations, and is itself tested on a file that breaks it.
"""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "circuitcore"

# Left to right: a layer imports only from layers to its left. Names in one layer do not import each other.
LAYERS = (
    ("errors", "interruption", "task_names", "durable", "plain_values", "reading"),
    ("plain_yaml",),
    ("spelling", "provenance", "environment", "parameter_cells", "durations", "contents"),
    ("parameters", "progress"),
    ("outlook",),
    ("tasks", "models"),
    ("native",),
    ("training",),
    ("metrics",),
    ("measuring", "sweep_status"),
    ("emergence",),
    ("results", "costs"),
    ("claims",),
    ("predictions",),
    ("explorer",),
    ("studies", "figures"),
    ("evidence",),
    ("chapter",),
    ("book_build", "sphinx_ext"),
    ("single_page",),
    ("rerun",),
    ("reproduce", "publish", "dataset", "export", "status_page", "run_listing", "run_checks"),
    ("cli",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
WITHOUT_TORCH = ("plain_values", "reading", "plain_yaml", "spelling", "parameters", "emergence", "results", "claims")
WITHOUT_TORCH += ("predictions", "figures")
MAY_PRINT = ("cli", "book_build", "reproduce", "publish")
MAY_KNOW_JUPYTER = ("chapter", "book_build", "sphinx_ext")
JUPYTER = ("IPython", "ipykernel", "jupyter_client", "myst_nb", "nbclient", "nbformat", "papermill")
PICKLES = ("pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal")
PICKLING_CALLS = ("torch.load", "torch.save", "pd.read_pickle", "pandas.read_pickle")
VAGUE_NAMES = ("utils", "util", "helpers", "helper", "common", "misc")
MAX_FILE_LINES, MAX_FUNCTION_LINES = 350, 60


def sources():
    return sorted(PACKAGE.rglob("*.py")) + [path for path in [ROOT / "paper.py"] if path.exists()]


def layer_of(path):
    """First name below the package: ``metrics`` for ``circuitcore/metrics/probes.py``."""
    inside = path.relative_to(PACKAGE).with_suffix("")
    return "" if inside.parts == ("__init__",) else inside.parts[0]


def imported_modules(tree):
    """Absolute dotted names of everything a file imports, at its top or inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A relative import hides the layer it reaches; its name starts with dots and fits none.
            module = "." * node.level + (node.module or "")
            yield module, node.lineno
            if module == "circuitcore":
                yield from ((f"circuitcore.{alias.name}", node.lineno) for alias in node.names)


def wrong_layers(layer, tree):
    if layer and layer not in RANK:
        yield f"module {layer!r} has no place in LAYERS: give it one"
        return
    for module, line in imported_modules(tree):
        if module.startswith("."):
            yield f"line {line}: relative import {module!r}; write circuitcore.…"
        parts = module.split(".")
        if parts[0] != "circuitcore" or len(parts) == 1 or parts[1] == layer:
            continue
        if not layer or RANK.get(parts[1], len(LAYERS)) >= RANK[layer]:
            yield f"line {line}: {layer or 'circuitcore/__init__'} imports {module}, which is not to its left"
        elif layer in WITHOUT_TORCH and parts[1] not in WITHOUT_TORCH:
            yield f"line {line}: {layer} works without torch, {module} does not"


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


def printing(layer, tree):
    if layer in MAY_PRINT:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) == "print":
            yield f"line {node.lineno}: print"


def jupyter(layer, tree):
    if layer in MAY_KNOW_JUPYTER:
        return
    for module, line in imported_modules(tree):
        if module.split(".")[0] in JUPYTER:
            yield f"line {line}: imports {module}; only {', '.join(MAY_KNOW_JUPYTER)} may"


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


RULES = (wrong_layers, pickling, future_annotations, printing, jupyter, module_state, long_functions)
IN_PACKAGE_ONLY = (wrong_layers, printing, jupyter)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_file_breaks_the_rule(rule):
    found = []
    for path in sources():
        if path.parent == ROOT and rule in IN_PACKAGE_ONLY:
            continue
        layer = "" if path.parent == ROOT else layer_of(path)
        found += [f"{path.relative_to(ROOT)}: {violation}" for violation in rule(layer, ast.parse(path.read_text()))]
    assert not found, "\n".join(found)


BREAKS = (
    (wrong_layers, "emergence", "import circuitcore.metrics.battery"),
    (wrong_layers, "emergence", "from circuitcore import claims"),
    (wrong_layers, "tasks", "def f():\n    from circuitcore.models import config"),
    (wrong_layers, "figures", "from circuitcore.studies import load"),
    (wrong_layers, "metrics", "from .. import chapter"),
    (wrong_layers, "claims", "import circuitcore.brand_new"),
    (wrong_layers, "", "from circuitcore.claims import judge"),
    (wrong_layers, "brand_new", ""),
    (pickling, "training", "import pickle"),
    (pickling, "training", "from joblib import load"),
    (pickling, "training", "import torch\nw = torch.load('x')"),
    (pickling, "training", "from torch import load"),
    (pickling, "metrics", "frame.to_pickle('x')"),
    (pickling, "metrics", "np.load('x', allow_pickle=True)"),
    (future_annotations, "tasks", "from __future__ import annotations"),
    (printing, "tasks", "print('x')"),
    (jupyter, "figures", "from IPython.display import HTML"),
    (module_state, "tasks", "def f():\n    global seen\n    seen = 1"),
    (long_functions, "tasks", "def f():\n" + "    x = 1\n" * 60),
)


@pytest.mark.parametrize(("rule", "layer", "text"), BREAKS)
def test_the_rule_sees_a_file_that_breaks_it(rule, layer, text):
    assert list(rule(layer, ast.parse(text)))


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (
            "studies",
            "from circuitcore.training.recipe import Recipe\nfrom circuitcore.metrics.battery import BatterySpec",
        ),
        ("claims", "from circuitcore.emergence.seeds import mean_interval\nfrom circuitcore.results import Results"),
        ("emergence", "import circuitcore.emergence.births\nimport numpy as np\nnp.load('x', allow_pickle=False)"),
        ("cli", "print('done')\nfrom circuitcore import chapter"),
        ("training", "text = 'torch.load refuses; import pickle'\ndef load(): ...\nload()"),
    ],
)
def test_no_rule_objects_to_a_good_file(layer, text):
    assert not [violation for rule in RULES for violation in rule(layer, ast.parse(text))]


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


def test_what_draws_and_judges_works_where_torch_cannot_be_imported():
    """Transitively: every module of these layers is imported in a process in which importing torch fails."""
    modules = []
    for layer in WITHOUT_TORCH:
        files = sorted((PACKAGE / layer).rglob("*.py")) if (PACKAGE / layer).is_dir() else [PACKAGE / f"{layer}.py"]
        modules += [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    # The registry of studies is needed to validate parameters before anything heavy is loaded.
    modules = [module.removesuffix(".__init__") for module in modules] + ["circuitcore.studies"]
    program = textwrap.dedent(f"""
        import importlib, sys

        class NoTorch:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == "torch":
                    raise ImportError(f"{{name}} is blocked")

        sys.meta_path.insert(0, NoTorch())
        for module in {modules!r}:
            importlib.import_module(module)
        assert "torch" not in sys.modules
    """)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(modules) >= len(WITHOUT_TORCH)
