"""How all tests run: one thread of torch's a process, and types checked without what makes that slow."""

import dataclasses
import inspect
import os

# Two processes of two threads on two cores wait for each other most of the time. Before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import jaxtyping  # noqa: E402
import pytest  # noqa: E402
from beartype import BeartypeConf, beartype  # noqa: E402

with_shapes = jaxtyping.jaxtyped
with_types = beartype(conf=BeartypeConf(violation_type=jaxtyping.TypeCheckError))  # as jaxtyping's: a TypeError


def jaxtyped(fn=None, *, typechecker):
    """As jaxtyping's own, which its import hook puts on every function; where no shapes are to agree, types alone.

    Its wrapper binds arguments anew for every call, and an inner function would be wrapped anew for each call of the
    outer one: more than half of the time of a test that trains. So an inner function is left as it is.
    """
    if fn is None:
        return lambda fn: jaxtyped(fn, typechecker=typechecker)
    if "<locals>" in fn.__qualname__:
        return fn
    if dataclasses.is_dataclass(fn) and "__init__" in vars(fn) and types_alone(fn.__init__):
        fn.__init__ = with_types(fn.__init__)
        return fn
    if inspect.isfunction(fn) and types_alone(fn):
        return with_types(fn)
    return with_shapes(fn, typechecker=typechecker)


def types_alone(fn) -> bool:
    """Whether its annotations name no shape and no type in quotes, which only the wrapper leaves unresolved."""
    named = fn.__annotations__.values()
    return "jaxtyping." not in repr(fn.__annotations__) and not any(isinstance(name, str) for name in named)


jaxtyping.jaxtyped = jaxtyped


def synced(descriptor) -> None:
    """As ``os.fsync``, but that nobody waits for the disk: no test pulls the plug, and there are 20 files a run.

    Tests of what is synced, and in which order, put themselves in its place; processes that tests start do wait.
    """
    os.fstat(descriptor)


os.fsync = synced


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that commands take for a checkout of the book, from inside it; without it they would go to this one."""
    from circuitcore.ground.environment import Folders

    monkeypatch.chdir(tmp_path)
    (tmp_path / "_toc.yml").touch()
    found = Folders(tmp_path, tmp_path / "runs", tmp_path / "published")
    monkeypatch.setattr(Folders, "from_environment", lambda: found)
    return tmp_path


# A file goes to one process (--dist loadfile). These take longest (10 processor seconds and more): begun last, one of
# them would end alone. The first one waits for a book that others need later.
LONGEST = (
    "book/test_pages.py",
    "paper/integration/test_store_withstands.py",
    "library/integration/test_transformer_lens.py",
    "library/native/test_native_training.py",
    "library/integration/test_bench_smoke.py",
    "library/integration/test_stacked.py",
    "library/integration/test_reuse.py",
    "paper/integration/test_damaged_runs.py",
    "library/integration/test_executors.py",
    "book/test_build.py",
    "library/native/test_native_build.py",
    "paper/unit/test_figures.py",
    "library/integration/test_cluster_commands.py",
    "paper/integration/test_add_a_task.py",
    "library/integration/test_features.py",
    "library/integration/test_identities.py",
    "paper/integration/test_instruments.py",
    "paper/integration/test_contents.py",
    "library/integration/test_forks.py",
    "paper/unit/test_births_lab.py",
    "book/test_explorer_alone.py",
    "book/test_explorer_page.py",
    "book/test_explorer.py",
    "book/test_stage.py",
    "book/test_game.py",
    "book/test_explorer_shared.py",
)


def pytest_collection_modifyitems(items):
    """The longest files first; the others as they come."""
    place = {f"tests/{name}": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.nodeid.partition("::")[0], len(place)))
