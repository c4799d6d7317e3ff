import sys
from types import ModuleType
from typing import Literal

import pytest
from judged import claim
from pydantic import BaseModel, Field, model_validator

from livingpaper.book import studies
from livingpaper.book.parameters import ParameterError, describe, parse
from livingpaper.book.studies import StudyError


class Params(BaseModel, frozen=True, extra="forbid", strict=True):
    seeds: tuple[int, ...] = Field(min_length=1)
    n_epochs: int = Field(30, ge=1, le=200)
    lr: float = Field(1e-3, gt=0)
    optimizer: Literal["adam", "adamw"] = "adam"
    arms: tuple[Literal["main", "one_layer"], ...] = ("main",)
    betas: tuple[float, float] = (0.9, 0.999)
    clip: float | None = None
    shuffle: bool = True
    sizes: dict[str, int] = {}

    @model_validator(mode="after")
    def _distinct(self):
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds must be distinct")
        return self


@pytest.fixture
def toy(monkeypatch):
    """A study outside the package, as an outsider would add one."""
    module = ModuleType("toy_lab.toy_recall")
    claims = (claim([0.9], "T1"), claim([0.9], "T1.published"))
    parts = {"Params": Params, "recipes": dict, "instruments": dict, "CLAIMS": claims, "VIEWS": {}}
    for name, value in parts.items():
        setattr(module, name, value)
    monkeypatch.setitem(sys.modules, "toy_lab", ModuleType("toy_lab"))
    monkeypatch.setitem(sys.modules, "toy_lab.toy_recall", module)
    return module


NAME = "toy_lab.toy_recall"


def test_good_values_lists_and_integers_for_floats(toy):
    given = {"seeds": [3, 1], "lr": 1, "arms": ["main", "one_layer"], "betas": (0.9, 0.99), "sizes": {"test": 5}}
    found = studies.validate(NAME, given)
    assert (found.seeds, found.lr, found.arms, found.betas) == ((3, 1), 1.0, ("main", "one_layer"), (0.9, 0.99))
    assert found == Params(**{**given, "seeds": (3, 1), "arms": ("main", "one_layer")})


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"seed": [1]}, "seed: given [1] (list) to a parameter that does not exist; allowed: arms, betas, clip, lr, "
                        "n_epochs, optimizer, seeds, shuffle, sizes; did you mean 'seeds'?"),
        ({"seeds": []}, "seeds: given [] (list); allowed: list of integer, at least 1 item(s)"),
        ({"seeds": 3}, "seeds: given 3 (int); allowed: list of integer, at least 1 item(s)"),
        ({"seeds": [1, "2"]}, "seeds: given '2' (str) at seeds.1"),
        ({"seeds": [1.5]}, "seeds: given 1.5 (float) at seeds.0; allowed: list of integer"),
        ({"seeds": [True]}, "seeds: given True (bool) at seeds.0"),
        ({"n_epochs": 0}, "n_epochs: given 0 (int); allowed: integer, >= 1, <= 200"),
        ({"n_epochs": "30"}, "n_epochs: given '30' (str), which is text here"),
        ({"lr": "1e-3"}, "lr: given '1e-3' (str), which is text here (YAML wants a dot in 1.0e-3, and no quotes); "
                         "allowed: number, > 0"),
        ({"lr": float("nan")}, "lr: given nan (float); allowed: finite numbers, text"),
        ({"optimizer": "admw"}, "optimizer: given 'admw' (str); allowed: \"adam\" or \"adamw\"; did you mean 'adamw'?"),
        ({"arms": ["onelayer"]}, "at arms.0; allowed: list of \"main\" or \"one_layer\"; did you mean 'one_layer'?"),
        ({"betas": [0.9]}, "betas: given nothing at betas.1; allowed: list [number; number]"),
        ({"clip": "x"}, "clip: given 'x' (str); allowed: number or none"),
        ({"shuffle": 1}, "shuffle: given 1 (int); allowed: true or false"),
        ({"sizes": {"test": "many"}}, "at sizes.test; allowed: mapping from text to integer"),
        ({"sizes": {"test": {1, 2}}}, "allowed: finite numbers, text, true/false, none, and lists or mappings"),
        ({"seeds": [1, 1]}, "(together): given this combination; allowed: seeds must be distinct"),
    ],
)  # fmt: skip
def test_each_mistake_says_what_was_given_and_what_is_allowed(toy, given, line):
    with pytest.raises(ParameterError) as error:
        studies.validate(NAME, {"seeds": [1], **given})
    assert line in str(error.value)
    assert len(error.value.problems) == 1
    assert str(error.value).startswith(f"{NAME}: 1 parameter(s) cannot be used")


def test_all_mistakes_are_reported_at_once(toy):
    with pytest.raises(ParameterError) as error:
        studies.validate(NAME, {"n_epochs": 0, "lr": -1, "optimiser": "adam", "arms": ["x", "y"], "clip": {1}})
    assert {problem.key for problem in error.value.problems} == {"seeds", "n_epochs", "lr", "optimiser", "arms", "clip"}
    assert {problem.key: problem.given for problem in error.value.problems}["seeds"] == "nothing"


def test_nested_models_and_limits_in_words():
    class Inner(BaseModel, extra="forbid", strict=True):
        depth: int

    class Outer(BaseModel, extra="forbid", strict=True):
        inner: Inner
        name: str = Field("a", min_length=1, pattern="^[a-z]+$")

    with pytest.raises(ParameterError, match=r"inner: given 1 \(int\) at inner.deep; allowed: mapping with depth"):
        parse(Outer, "outer", {"inner": {"depth": 2, "deep": 1}})
    with pytest.raises(ParameterError, match=r"name: given 'A' .* text, at least 1 character\(s\), matching \^\[a-z\]"):
        parse(Outer, "outer", {"inner": {"depth": 2}, "name": "A"})
    assert describe({}, {}) == "anything"


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name.replace('__', '.')}.yaml").write_text(text)


def test_parameter_files_by_tier(toy, tmp_path):
    write(
        tmp_path, toy_recall="seeds: [0, 1, 2]\n", toy_recall__smoke="seeds: [0]\nn_epochs: 2\n", toy_recall_2="a: 1\n"
    )
    assert studies.tiers(NAME, tmp_path) == ("published", "smoke")
    assert studies.load_params(NAME, folder=tmp_path).seeds == (0, 1, 2)
    assert studies.load_params(NAME, "smoke", tmp_path).n_epochs == 2
    assert studies.read_params(NAME, "smoke", tmp_path) == {"seeds": [0], "n_epochs": 2}
    with pytest.raises(StudyError, match="unknown tier 'smok'; did you mean 'smoke'. known: published, smoke"):
        studies.load_params(NAME, "smok", tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seeds: [0]\nseeds: [1]\n", "key given twice: seeds"),
        ("- 1\n", r"given \[1\] \(list\)"),
        ("", r"given None"),
        ("seeds: [0\n", "allowed: YAML that is one mapping"),
        ("seeds: !!python/object/apply:os.getcwd []\n", "could not determine a constructor"),
        ("seeds: [0]\nlr: 1e-3\n", r"\(published\): 1 parameter\(s\)(.|\n)*YAML wants a dot"),
    ],
)
def test_unusable_files_are_named(toy, tmp_path, text, words):
    write(tmp_path, toy_recall=text)
    with pytest.raises(ParameterError, match=words) as error:
        studies.load_params(NAME, folder=tmp_path)
    assert "toy_recall" in str(error.value)


def test_unknown_studies_are_answered_with_the_list():
    with pytest.raises(StudyError, match="unknown study 'symbolic_vk'"):
        studies.load("symbolic_vk")
    with pytest.raises(StudyError, match="no module 'no_such_lab.study'"):
        studies.load("no_such_lab.study")
    assert list(studies.names()) == sorted(studies.names())


def test_a_study_that_lacks_something_itself_says_so(tmp_path, monkeypatch):
    (tmp_path / "broken_lab").mkdir()
    (tmp_path / "broken_lab" / "__init__.py").write_text("")
    (tmp_path / "broken_lab" / "study.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        studies.load("broken_lab.study")
    for name in ("broken_lab.study", "broken_lab"):
        sys.modules.pop(name, None)


def test_incomplete_studies_are_refused(toy):
    assert studies.load(NAME) is toy
    whole = toy.CLAIMS
    toy.CLAIMS = whole[1:]
    with pytest.raises(StudyError, match="has claim T1.published, but not the one it repeats, without .published"):
        studies.load(NAME)
    toy.CLAIMS = whole * 2
    with pytest.raises(StudyError, match="a claim id twice: T1, T1.published"):
        studies.load(NAME)
    toy.CLAIMS = whole
    del toy.VIEWS
    with pytest.raises(StudyError, match="lacks VIEWS"):
        studies.load(NAME)


def test_every_parameter_file_is_valid():
    for name in studies.names():
        for tier in studies.tiers(name):
            studies.load_params(name, tier)


@pytest.mark.parametrize("part", ["experiments", "published_epochs"])
def test_what_only_the_design_names_is_asked_for(toy, part):
    """The machinery would do without it, and nobody would be told."""
    toy.design = ModuleType("design")
    setattr(toy.design, part, lambda params: ())
    with pytest.raises(StudyError, match=f"its design has {part}, which __init__.py does not name"):
        studies.load(NAME)


def test_a_study_without_parameters_says_where_they_go(toy, tmp_path):
    with pytest.raises(StudyError, match=r"has no parameters: write .*toy_recall.yaml \(.*seeds"):
        studies.load_params(NAME, folder=tmp_path)
