"""The pins, the package's own dependencies, conda's file and what is installed all say the same."""

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import circuitcore
import paper

ROOT = Path(paper.__file__).resolve().parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = [Requirement(line) for line in (ROOT / "requirements.txt").read_text().splitlines()]
DEPENDENCIES = [
    Requirement(text)
    for group in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for text in group
]


def pin_of(name: str) -> Requirement:
    found = [pin for pin in PINS if canonicalize_name(pin.name) == canonicalize_name(name)]
    assert len(found) == 1, f"{name} must be in requirements.txt once, is there {len(found)} times"
    return found[0]


def pinned(name: str) -> Version:
    return Version(str(pin_of(name).specifier).removeprefix("=="))


@pytest.mark.parametrize("pin", PINS, ids=str)
def test_every_requirement_is_one_exact_public_version(pin):
    assert [spec.operator for spec in pin.specifier] == ["=="]
    # A local version such as 2.13.0+cpu could be installed from one index only.
    assert pinned(pin.name).local is None


@pytest.mark.parametrize("dependency", DEPENDENCIES, ids=str)
def test_every_dependency_is_pinned_within_its_range(dependency):
    assert pinned(dependency.name) in dependency.specifier
    assert pin_of(dependency.name).marker == dependency.marker, "both must be for the same machines"


@pytest.mark.parametrize("pin", PINS, ids=str)
def test_the_pinned_version_is_installed(pin):
    if pin.marker and not pin.marker.evaluate():
        pytest.skip(f"not for this machine: {pin.marker}")
    try:
        installed = Version(version(pin.name))
    except PackageNotFoundError:
        pytest.fail(f"{pin.name} is not installed; python3 paper.py installs it")
    assert installed in pin.specifier


def test_conda_users_get_the_same_pins():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    *conda, pip = environment["dependencies"]
    python = next(entry for entry in conda if entry.startswith("python="))
    assert SpecifierSet(PROJECT["requires-python"]).contains(python.removeprefix("python=") + ".0")
    assert conda == [python, "pip"], "everything but Python comes from requirements.txt"
    assert pip == {"pip": [f"--extra-index-url {paper.CPU_TORCH}", "-r requirements.txt", "-e ."]}


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"] == circuitcore.__version__


def test_the_licence_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["license"] == PROJECT["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License\n\nCopyright (c) 2026 The circuitcore authors\n")
