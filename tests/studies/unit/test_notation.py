"""What the notation page says is what the library does: names, shapes, chance levels."""

import dataclasses
import importlib
import itertools
import pkgutil
import re
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from heads import head_of

import paper
from circuitcore.metrics.instruments.battery import SECTIONS, BatterySpec, open_session
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores import attention
from circuitcore.metrics.table import COLUMNS, Rows
from circuitcore.models import ModelConfig, init_weights
from circuitcore.models.sites import SITES
from circuitcore.tasks import make_task
from circuitcore.tasks.leakage import DEGREES
from livingpaper.claims import rules
from livingpaper.claims.results import KEY_COLUMNS
from livingpaper.claims.verdict import Status
from retrieval_circuits import motif_measures
from retrieval_circuits.permutation_recall import measures
from retrieval_circuits.permutation_recall.design import model

ROOT = Path(paper.__file__).resolve().parent
NOTATION = (ROOT / "book/notation.md").read_text(encoding="utf-8")
FLOORS = ("circuitcore", "livingpaper", "retrieval_circuits")
LIBRARY = "\n".join(path.read_text(encoding="utf-8") for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))

SPAN = re.compile(r"`([^`]+)`")
NO_NAMES = re.compile(r"^```.*?^```$|\{[\w:]+\}`[^`]*`", re.MULTILINE | re.DOTALL)  # fenced blocks, and roles
LITERALS = set(re.findall(r'"(\w+)"', " ".join(re.findall(r"Literal\[(.*?)\]", LIBRARY, re.DOTALL))))
SHAPES = re.findall(r'(?:Tensor|ndarray), "([^"]+)"', LIBRARY) + re.findall(r"``\[([a-z_ *]+)\]``", LIBRARY)
AXES = {axis.strip("*") for shape in SHAPES for axis in shape.split()}
# Ways of writing that are no names: how an interval prints, the ending of an id, a mark inside a label, the package.
WAYS_OF_WRITING = {"(after, by]", ".published", ">MLP", "circuitcore"}


@pytest.fixture(scope="module")
def task():
    return make_task("symbolic_kv", {"n_train": 300, "n_val": 16, "n_test": 16, "n_ood": 16})


@pytest.fixture(scope="module")
def network(task):
    config = ModelConfig(d_vocab=len(task.vocab), n_ctx=task.max_length, d_model=12, d_mlp=10)
    return Network(config, {name: tensor[None] for name, tensor in init_weights(config, 0).items()})


@pytest.fixture(scope="module")
def measured(task, network):
    """Everything the battery says about one untrained network."""
    return everything(task, network)


def everything(task, network):
    session = open_session(task, BatterySpec(n_bases=1, n_edge_bases=1, n_reference=8, n_probe=16, n_split=8))
    rows = Rows("untrained", (0,), [0])
    with torch.inference_mode():
        for section in (*SECTIONS, *(own.section for own in (*motif_measures.SECTIONS, *measures.SECTIONS))):
            section(session, network, rows)
    return rows.frame()


def library_names() -> set[str]:
    """Public names of every module and class, dotted (``Run.steps``) and alone."""
    names = set()
    homes = [(importlib.import_module(floor).__path__, f"{floor}.") for floor in FLOORS]
    for module in (module for home in homes for module in pkgutil.walk_packages(*home)):
        for name, value in vars(importlib.import_module(module.name)).items():
            if name.startswith("_") or not getattr(value, "__module__", "circuitcore").startswith(FLOORS):
                continue
            names.add(name)
            if isinstance(value, type):
                fields = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
                inside = {*fields, *(key for key in dir(value) if not key.startswith("_"))}
                names |= inside | {f"{name}.{key}" for key in inside}
    return names


@pytest.fixture(scope="module")
def of_next_words():
    """The same for a task that asks for the next word."""
    task = make_task("planted_repeats", {"n_train": 16, "n_val": 16, "n_test": 16, "n_ood": 16})
    config = ModelConfig(d_vocab=len(task.vocab), n_ctx=task.max_length, d_model=12, d_mlp=10)
    return everything(task, Network(config, {name: one[None] for name, one in init_weights(config, 0).items()}))


@pytest.fixture(scope="module")
def of_permutations():
    """The same for permutation recall; one of these rows has a repeat, and another none."""
    task = make_task("permutation_recall", {"n_rows": 16})
    config = model(5, 8, 2, 16)
    return everything(task, Network(config, {name: one[None] for name, one in init_weights(config, 0).items()}))


@pytest.fixture(scope="module")
def known(measured, of_next_words, of_permutations, task):
    """Everything the library and its tables call by a name."""
    text = ("metric", "site", "edit", "variable", "family", "split")
    labels = {
        str(label)
        for table in (measured, of_next_words, of_permutations)
        for column in text
        for label in table[column].unique()
    }
    parts = {part for label in labels for part in re.split(r"->|[.+@]", label)}
    words = {*COLUMNS, *KEY_COLUMNS, *DEGREES, *SITES, *AXES, *LITERALS, *WAYS_OF_WRITING, *map(str, Status)}
    return library_names() | labels | parts | words | set(task.split("test").roles)


def means_something(span: str, known: set[str], task) -> bool:
    if span in known or all(word in task.vocab for word in span.split()):
        return True
    if re.fullmatch(r"\[[a-z_ ]+\]", span):
        return set(span[1:-1].split()) <= AXES
    if re.fullmatch(r"block[12]_head[01]", span):
        return True
    return bool(re.fullmatch(r"L[01](H[01*]|MLP)?(\.[a-z_]+)?", span)) and span.partition(".")[2] in {"", *SITES}


def entries() -> dict[str, str]:
    """Term -> definition, for every entry of the glossaries; terms that share one definition each have it."""
    found, terms = {}, []
    for block in re.findall(r"^:::\{glossary\}\n(.*?)^:::$", NOTATION, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("  "):
                for term in terms:
                    found[term] = f"{found.get(term, '')} {line.strip()}".strip()
            elif line.strip():
                terms = [line, *terms] if terms and terms[0] not in found else [line]
    return found


def table(header: str) -> list[list[str]]:
    """Cells of the table that has this header, its rows without it."""
    lines = NOTATION[NOTATION.index(header) :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_name_on_the_page_exists(known, task):
    spans = set(SPAN.findall(NO_NAMES.sub("", NOTATION)))
    assert len(spans) > 100
    assert sorted(span for span in spans if not means_something(span, known, task)) == []


@pytest.mark.parametrize(
    "name", ["routed", "Batch.row", "[batch positions]", "L1H3", "L1H0.y", "K9", "mean@everywhere"]
)
def test_a_name_that_does_not_exist_would_be_found(name, known, task):
    assert not means_something(name, known, task)


def test_every_metric_has_an_entry(measured, of_permutations):
    defined = {span for definition in entries().values() for span in SPAN.findall(definition)}
    assert {*measured["metric"].unique(), *of_permutations["metric"].unique()} - defined == set()


def test_every_entry_gives_the_name_in_the_library_first():
    assert [term for term, text in entries().items() if not re.match(r"(column |metric )?`", text)] == []


def test_every_term_that_is_linked_has_an_entry():
    linked = re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", NOTATION)
    assert set(linked) <= set(entries())


def test_the_shapes_of_sites_are_true(task, network):
    batch, config = task.split("val"), network.config
    sizes = {"batch": len(batch), "head": config.n_heads, "d_model": config.d_model, "d_head": config.d_head}
    sizes |= {"d_mlp": config.d_mlp} | dict.fromkeys(("pos", "query", "key"), batch.tokens.shape[1])
    last = config.n_layers - 1
    cache = network.run(batch, [f"{site}.{last}" for site in SITES]).cache
    shapes = {name: shape.strip("`[]") for names, shape in table("| site | shape |") for name in SPAN.findall(names)}
    assert set(shapes) == set(SITES)
    for name, shape in shapes.items():
        assert list(cache[f"{name}.{last}"].shape[1:]) == [sizes[axis] for axis in shape.split()], name


def test_published_heads_are_ours_with_layers_counted_from_zero():
    rows = table("| published | here |")
    assert len(rows) == 4
    for published, here in rows:
        layer, index = map(int, re.findall(r"\d", published))
        assert head_of(here.strip("`")) == (layer - 1, index)


def test_every_badge_is_explained():
    badges = [badge.strip("`") for badge, _ in table("| badge | when `judge` gives it |")]
    assert sorted(badges) == sorted(map(str, Status))


def test_every_quantifier_is_explained():
    named = [span for span in SPAN.findall(entries()["quantifier"]) if span in dir(rules)]
    assert sorted(named) == sorted(rule.__name__ for rule in rules.RULES.values())


def test_chance_levels_are_true(task):
    batch = task.split("test")
    n_pos, n_slots = batch.tokens.shape[1], batch.roles["slot_key"].shape[1]
    one_row = torch.ones(n_pos, n_pos).tril() / torch.arange(1, n_pos + 1)[:, None]
    uniform = one_row.expand(len(batch), 1, n_pos, n_pos).double()
    choices = list(itertools.product(range(n_slots), repeat=n_slots))
    values = attention.slot_mass(uniform, batch, ("slot_value",))
    chance = {
        "value mass": attention.matching_mass(values, batch.variables["matching_slot"]).mean().item(),
        "query-key mass": attention.mass(uniform, batch, "read_out", "query_key").mean().item(),
        "own-key mass": attention.mass(uniform, batch, "slot_value", "slot_key").mean().item(),
        "choice follows the query": sum(len(set(choice)) > 1 for choice in choices) / len(choices),
        "copying": 1 / len(task.answers),
        "OV diagonal": 1 / len(task.answers),
        "QK diagonal": 1 / task.n_keys,
        "switch": 1 / n_slots,
        "probe": 1 / task.variables["selected_value"],
    }
    for term, level in chance.items():
        said = [float(Fraction(text)) for text in re.findall(r"\b\d+/\d+\b", entries()[term])]
        assert any(abs(value - level) < 1e-6 for value in said), (term, level, said)
    assert {2 * len(set(row.tolist())) for row in batch.tokens} == {len(task.vocab)}, "half of the vocabulary"
