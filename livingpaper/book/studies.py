"""The studies: one module per chapter, found by name, with parameters checked before anything is spent.

A paper is a package that holds its studies as packages; its distribution names it by an entry point of the group
``livingpaper.studies``. It may have ``COLOURS``: name of a series -> its place in the palette, in all its figures.

A study is a module with ``Params`` (a frozen pydantic model), ``recipes(params)`` by arm, ``instruments(params, arm)``
(a tuple of what is measured: ``circuitcore.metrics.instruments``), ``CLAIMS`` and ``VIEWS``; it may have
``experiments(params)``, a tuple of what trains no decoder or keeps none (``circuitcore.training.experiment``). A study
of experiments alone has no arms: its ``recipes`` returns ``{}``. One whose runs are published has
``published_epochs(params, arm, seed)``, after which epochs weights are shipped. It may have ``EXPLORERS``, makers of
what a chapter shows besides figures, ``data_set_of``, which data set an init seed is trained on, where the claims count
data sets, so that its figures do, too, and ``CIRCUIT_CLAIMS``, the ids of claims that say that a circuit exists, and
then has ``FALSE_ALARMS``: the study of networks that cannot have the circuit, and its claims on how often all of it and
a part of it are reported there.
Its values live in ``params/NAME.yaml`` (published) and ``params/NAME.TIER.yaml``.
A study of no paper that is installed is named by its import path (``my_package.my_study``).
"""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from pydantic import BaseModel

from circuitcore.ground.errors import UserError
from circuitcore.ground.spelling import close_match, unknown
from livingpaper.book.parameters import ParameterError, Problem, parse, read_yaml
from livingpaper.claims.papers import packages

if TYPE_CHECKING:
    from circuitcore.metrics.instruments.instrument import Instrument
    from circuitcore.training.experiment import Experiment

__all__ = [
    "PARAMS_FOLDER",
    "ParameterError",
    "Problem",
    "StudyError",
    "experiments",
    "instruments",
    "load",
    "load_params",
    "names",
    "packages",
    "read_params",
    "tiers",
    "validate",
]

PARTS = ("Params", "recipes", "instruments", "CLAIMS", "VIEWS")
OF_DESIGN = ("experiments", "published_epochs")
"""What a study may have, and would do without in silence if only its module ``design`` had it."""
PARAMS_FOLDER = Path(__file__).resolve().parents[2] / "params"


class StudyError(UserError, LookupError):
    """No such study or tier, or an incomplete study module; the message lists what exists."""


def names() -> tuple[str, ...]:
    """Every study of the papers that are installed, sorted."""
    return tuple(sorted(_paths()))


def load(name: str) -> ModuleType:
    """The study called ``name``: one of ``names()``, or the import path of a module.

    Raises:
        StudyError: no such study (lists them), a study that lacks a part, a claim id declared twice.
    """
    path = _path_of(name)
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        # Only a missing study is ours to explain; a study that imports something missing must say so itself.
        missing = error.name or ""
        if path != missing and not path.startswith(f"{missing}."):
            raise
        raise StudyError(
            f"no module {path!r} to load as a study; installed: {', '.join(names())}. Python looks in "
            "what is installed and in PYTHONPATH, not in the folder you stand in"
        ) from error
    _require_complete(name, module)
    return module


def tiers(name: str, folder: Path = PARAMS_FOLDER) -> tuple[str, ...]:
    """Tiers of a study that have a parameter file; "published" is the file without a tier word."""
    stem = _stem(name)
    words = ["published"] if (folder / f"{stem}.yaml").is_file() else []
    words += [path.name[len(stem) + 1 : -len(".yaml")] for path in folder.glob(f"{stem}.*.yaml")]
    return tuple(sorted(words))


def read_params(name: str, tier: str = "published", folder: Path = PARAMS_FOLDER) -> dict[str, object]:
    """The plain values in a study's parameter file, not yet validated against the study.

    Raises:
        StudyError: no file for this study and tier; lists the tiers that have one.
        ParameterError: the file is no YAML mapping, or holds a key twice.
    """
    if not (known := tiers(name, folder)):
        fields = ", ".join(load(name).Params.model_fields)
        raise StudyError(f"study {name!r} has no parameters: write {folder / _stem(name)}.yaml ({fields})")
    if tier not in known:
        raise StudyError(f"study {name!r} in {folder}: {unknown('tier', tier, known)}")
    return read_yaml(folder / (f"{_stem(name)}.yaml" if tier == "published" else f"{_stem(name)}.{tier}.yaml"))


def load_params(name: str, tier: str = "published", folder: Path = PARAMS_FOLDER) -> BaseModel:
    """The validated parameters of one tier of a study; errors as in ``read_params`` and ``validate``."""
    study = load(name)
    return parse(study.Params, f"{name} ({tier})", read_params(name, tier, folder))


def validate(study_name: str, given: Mapping[str, object]) -> BaseModel:
    """Turn plain values (a notebook's parameters, a command line) into the study's ``Params``.

    Raises:
        StudyError: no such study.
        ParameterError: lists every unusable key with what was given, what is allowed, and a close match.
    """
    return parse(load(study_name).Params, study_name, given)


def instruments(
    study: ModuleType, params: BaseModel, arms: Iterable[str] | None = None
) -> "dict[str, tuple[Instrument, ...]]":
    """What a study measures on each arm.

    Args:
        study: its module.
        params: its validated parameters.
        arms: the names of its arms, where its recipes are at hand; some studies have a thousand of these.

    Raises:
        StudyError: two instruments of an arm have one name or one key, so that one's table would stand for the other's.
    """
    found = {arm: study.instruments(params, arm) for arm in (study.recipes(params) if arms is None else arms)}
    for arm, asked in found.items():
        for words in ([one.name for one in asked], [one.key for one in asked]):
            if twice := sorted({word for word in words if words.count(word) > 1}):
                raise StudyError(f"arm {arm!r} has {twice[0]!r} twice; allowed: each instrument's name and key once")
    return found


def experiments(study: ModuleType, params: BaseModel, arms: Iterable[str] | None = None) -> "tuple[Experiment, ...]":
    """The experiments of a study; none where it has no ``experiments``. Arguments as in ``instruments``.

    Raises:
        StudyError: one is called as another one, an arm, or a table of runs, so that one would stand for the other.
    """
    found = tuple(study.experiments(params)) if hasattr(study, "experiments") else ()
    taken = ["measurements", "history"]
    for arm, asked in instruments(study, params, arms).items() if found else ():
        taken += [arm, *(one.name for one in asked)]
    for place, one in enumerate(found):
        if one.name in taken or one.name in [other.name for other in found[:place]]:
            raise StudyError(f"experiment {one.name!r}: another one, an arm or an instrument is called so, too")
    return found


def _path_of(name: str) -> str:
    """The import path of a study that was named; StudyError where the name is neither a study's nor such a path."""
    if name in (paths := _paths()):
        return paths[name]
    if "." not in name:
        text = unknown("study", name, names())
        text += "" if close_match(name, names()) else "; or an import path, with a dot: my_package.my_study"
        raise StudyError(text)
    if not all(part.isidentifier() for part in name.split(".")):
        raise StudyError(f"{unknown('study', name, names())}; or an import path such as my_package.my_study")
    return name


def _paths() -> dict[str, str]:
    """The import path of each study of the papers that are installed, by name."""
    papers = {package: importlib.import_module(package).__path__ for package in packages()}
    return {
        module.name: f"{package}.{module.name}"
        for package, places in papers.items()
        for module in pkgutil.iter_modules(places)
        if module.ispkg
    }


def _stem(name: str) -> str:
    return name.rpartition(".")[2]


def _require_complete(name: str, module: ModuleType) -> None:
    missing = [part for part in PARTS if not hasattr(module, part)]
    if missing:
        raise StudyError(f"study {name!r} lacks {', '.join(missing)}; a study has {', '.join(PARTS)}")
    design = getattr(module, "design", None)
    if hidden := [part for part in OF_DESIGN if hasattr(design, part) and not hasattr(module, part)]:
        raise StudyError(f"study {name!r}: its design has {', '.join(hidden)}, which __init__.py does not name")
    claims = [claim.id for claim in module.CLAIMS]
    repeated = sorted({claim for claim in claims if claims.count(claim) > 1})
    if repeated:
        raise StudyError(f"study {name!r} declares a claim id twice: {', '.join(repeated)}")
    if hasattr(module, "CIRCUIT_CLAIMS") and not hasattr(module, "FALSE_ALARMS"):
        raise StudyError(f"study {name!r} has CIRCUIT_CLAIMS, but no FALSE_ALARMS: (a study, two of its claims' ids)")
    for claim in getattr(module, "CIRCUIT_CLAIMS", ()):
        if claim not in claims:
            raise StudyError(f"study {name!r}, CIRCUIT_CLAIMS: {unknown('claim', claim, claims)}")
    for claim in claims:
        if claim.endswith(".published") and claim.removesuffix(".published") not in claims:
            raise StudyError(f"study {name!r} has claim {claim}, but not the one it repeats, without .published")
