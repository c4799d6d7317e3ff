"""Whatever happens to a run's files, and whoever made them: `verify` names what is wrong, and goes on with the next."""

import importlib
import shutil
from pathlib import Path

import pandas as pd
import pytest
from accidents import ACCIDENTS
from forgeries import FORGERIES

from circuitcore import cli
from circuitcore.models import ModelConfig
from circuitcore.training import Optimizer, Recipe, RunStore, Stage, verify
from circuitcore.training.verify import run_folders

CHOSEN = (
    "ledger.json: deleted", "ledger.json: 200,000 open brackets", "ledger: step is text", "ledger: loss is text",
    "ledger: tables are null", "ledger: a table with NUL in its key", "checkpoint: header of 200,000 brackets",
    "recipe.json: 200,000 open objects", "a name that is no text", "folder: emptied", "folder: a link to nothing",
)  # fmt: skip
CHECKING = importlib.import_module("circuitcore.training.verify")  # the package has a function of that name, too


def recipe(seed):
    """Eight steps, checkpoints after 0, 4 and 8."""
    return Recipe(
        task="permutation_recall", task_params={"n_symbols": 3, "n_train": 4, "n_rows": 24},
        model=ModelConfig(d_vocab=4, n_ctx=9, n_layers=1, n_heads=2, d_model=8, d_mlp=8), optimizer=Optimizer(lr=1e-2),
        batch_size=12, stages=(Stage(("train",), 4),), init_seed=seed, data_seed=seed, checkpoint_epochs=(0, 2, 4),
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("trained"), None)
    for seed in (0, 1):
        run = store.get_or_train(recipe(seed))
        store.save_table(run, "scores-v1", pd.DataFrame({"step": [0, 8], "value": [0.25, 1.0 + seed]}))
    shutil.rmtree(store.root / ".locks")
    return store.root


@pytest.fixture
def root(trained, tmp_path):
    return Path(shutil.copytree(trained, tmp_path / "runs"))


@pytest.fixture
def run(root):
    return root / recipe(0).run_id


@pytest.fixture
def other(root):
    return root / recipe(1).run_id


def found_in(root):
    """Every problem in a folder of runs, by the run."""
    return {folder: verify(folder) for folder in run_folders(root)}


def require_named(found, words):
    problems = [str(problem) for problems in found.values() for problem in problems]
    assert any(words in text for text in problems), f"{words!r} is not in: {problems}"
    assert all(text.isprintable() and len(text) < 3_000 for text in problems)


def test_nothing_is_wrong_with_them_as_they_are(root):
    assert list(found_in(root).values()) == [[], []]


@pytest.mark.parametrize("name", ACCIDENTS)
def test_an_accident_is_named(root, run, other, name):
    damage, words = ACCIDENTS[name]
    damage(run, other)
    found = found_in(root)
    require_named(found, words)
    assert "other run" in name or found[other] == [], "the other run is checked too, and well"


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_named(root, run, other, name):
    forge, words = FORGERIES[name]
    forge(run)
    found = found_in(root)
    require_named(found, words)
    assert found[other] == [] and len(found) == 2


def test_no_flipped_bit_of_any_file_gets_through(root, run):
    files = [path for path in sorted(run.rglob("*")) if path.is_file()]
    for path in files:
        kept = path.read_bytes()
        for bit in range(0, 8 * len(kept), 8 * len(kept) // 12 + 1):
            data = bytearray(kept)
            data[bit // 8] ^= 1 << bit % 8
            path.write_bytes(data)
            assert path in {problem.path for problem in verify(run)}, f"{path.name}, bit {bit}"
        path.write_bytes(kept)
    assert verify(run) == [] and len(files) == 7


def test_the_command_goes_on_to_the_last_run(trained, tmp_path, capsys):
    """A store with many bad runs: each is named, and the good ones at the end are checked."""
    root = Path(shutil.copytree(trained, tmp_path / "runs"))
    bad = [name for name in (*ACCIDENTS, *FORGERIES) if name.endswith(CHOSEN)]
    for place, name in enumerate(bad):
        one = Path(shutil.copytree(trained, tmp_path / str(place) / "runs")) / recipe(0).run_id
        damage, _ = ACCIDENTS.get(name) or (lambda run, other, name=name: FORGERIES[name][0](run), "")
        damage(one, one.with_name(recipe(1).run_id))
        for left in one.parent.iterdir():
            if left.name != recipe(1).run_id:
                left.rename(root / f"bad-{place:012x}")
    assert cli.main(["verify", str(root)]) == 1
    output = capsys.readouterr().out
    assert all(f"BAD  {root}/bad-{place:012x}" in output for place in range(len(bad)))
    assert output.count("\nok   ") == 2 and f"2 ok, {len(bad)} bad." in output and len(bad) == len(CHOSEN)


@pytest.mark.parametrize("error", [RecursionError("deep"), MemoryError(), OSError(5, "I/O error"), AssertionError("x")])
def test_any_exception_is_a_problem_and_the_rest_is_checked(run, monkeypatch, error):
    def fail(recipe, weights):
        raise error

    monkeypatch.setattr(CHECKING, "probe_loss", fail)
    (run / "history.parquet").unlink()
    problems = verify(run)
    assert [problem.path.name for problem in problems] == [
        *(f"step-000000{n}.safetensors" for n in (0, 4, 8)),
        "history.parquet",
    ]
    assert all(type(error).__name__ in problem.message for problem in problems[:3])


def test_an_interruption_is_no_problem_of_the_run(run, monkeypatch):
    def interrupt(recipe, weights):
        raise KeyboardInterrupt

    monkeypatch.setattr(CHECKING, "probe_loss", interrupt)
    with pytest.raises(KeyboardInterrupt):
        verify(run)


def test_a_run_in_the_making_is_well(tmp_path):
    """At every step of training: what is there is whole, and nobody is alarmed."""
    store = RunStore(tmp_path, None)
    folder = tmp_path / recipe(0).run_id
    seen = []
    store.get_or_train(recipe(0), lambda step: seen.append(verify(folder)))
    assert seen == [[]] * 8
