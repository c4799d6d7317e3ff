"""Whatever happens to a run's files, and whoever made them: `verify` names what is wrong, and goes on with the next."""

import errno
import importlib
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from accidents import ACCIDENTS, PUBLISHED, VERDICT
from forgeries import FORGERIES
from forging import reseal
from rights import bound_by_rights

from circuitcore.ground.progress import SILENT
from circuitcore.ground.reading import MAX_RUN_JSON_BYTES, read_file
from circuitcore.models import ModelConfig
from circuitcore.training import Optimizer, Recipe, RunStore, Stage, StoreError
from circuitcore.training.store.ledger import Ledger
from circuitcore.training.store.places import run_folders
from circuitcore.training.store.sealed import read_record
from circuitcore.training.store.sealing import seal_all
from circuitcore.training.store.verify import verify
from livingpaper.commands import cli
from livingpaper.commands.run_checks import check_runs
from livingpaper.commands.run_listing import run_lines

CHOSEN = (
    "ledger.json: deleted", "ledger.json: 200,000 open brackets", "ledger: step is text", "ledger: loss is text",
    "ledger: tables are null", "ledger: a table with NUL in its key", "checkpoint: header of 200,000 brackets",
    "recipe.json: 200,000 open objects", "a name that is no text", "folder: emptied", "folder: a link to nothing",
)  # fmt: skip
CHECKING = importlib.import_module("circuitcore.training.store.verify")  # the package has a function of that name, too


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


@pytest.fixture(autouse=True)
def somebody():
    """Whoever checks a download is not root."""
    with bound_by_rights():
        yield


@pytest.fixture
def published(root):
    """The same runs in a folder that has a list of its contents, and a verdict."""
    (root / VERDICT).parent.mkdir()
    (root / VERDICT).write_text(json.dumps([{"effect": 0.25}]))
    seal_all(root)
    return root


def said_of(root, capsys):
    """The lines of ``circuitcore verify``, all of which can be shown."""
    n_ok, n_bad = check_runs([root], (), SILENT)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() and line.startswith(("ok   ", "BAD  ")) for line in lines), lines
    assert (n_ok > 0) == any(line.startswith("ok") for line in lines)
    return lines if n_bad else []


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


@pytest.mark.parametrize("name", ACCIDENTS)
def test_an_accident_among_published_runs_is_named(published, run, other, name, capsys):
    damage, words = ACCIDENTS[name]
    damage(run, other)
    lines = said_of(published, capsys)
    assert any(words in line for line in lines), f"{words!r} is not in: {lines}"
    assert "other run" in name or f"ok   {other}" in lines


@pytest.mark.parametrize("name", PUBLISHED)
def test_an_accident_to_what_is_beside_published_runs_is_named(published, run, other, name, capsys):
    damage, words = PUBLISHED[name]
    damage(published, published)
    run.joinpath("history.parquet").write_bytes(b"x")
    lines = said_of(published, capsys)
    assert any(words in line for line in lines), f"{words!r} is not in: {lines}"
    assert f"ok   {other}" in lines and any(str(run / "history.parquet") in line for line in lines)
    with suppress(StoreError):  # what is read is what was published, or nothing is
        assert read_record(published, VERDICT.removesuffix(".json")) == [{"effect": 0.25}]


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


def test_nobody_is_told_to_delete_a_folder_of_their_own(tmp_path):
    """As ``circuitcore verify book`` once did."""
    (tmp_path / "notes.md").write_text("mine")
    (problem,) = verify(tmp_path)
    assert problem.message == f"{tmp_path}: holds no runs. Name a run, a folder of runs, or a file of one."
    (tmp_path / "recipe.json").write_text("{}")
    assert "delete the run's folder" in verify(tmp_path)[0].message


def test_a_run_may_be_named_by_a_text(run):
    assert verify(str(run)) == []


def test_a_recipe_that_is_not_used_is_not_read_again_and_none_in_full(run, monkeypatch):
    """However long it is: a recipe is read once, up to its limit."""
    asked = []
    monkeypatch.setattr(CHECKING, "read_file", lambda *given: asked.append(given) or read_file(*given))
    assert verify(run) == [] and [path.name for path, _ in asked] == ["ledger.json", "recipe.json"]
    assert {most for _, most in asked} == {MAX_RUN_JSON_BYTES}
    asked.clear()
    (run / "recipe.json").write_text("{}")
    assert verify(run) and [path.name for path, _ in asked] == ["ledger.json"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: run.chmod(0), "BAD: [Errno 13] Permission denied"),
        (lambda run: (run / "tables").chmod(0), "finished, 8 steps"),
        (ACCIDENTS["ledger.json: a link to a name that is too long"][0], "cannot be read (File name too long)"),
        (ACCIDENTS["ledger.json: a link to nothing"][0], "cannot be read (No such file"),
        (ACCIDENTS["ledger.json: a pipe"][0], "it is a pipe"),
        (ACCIDENTS["ledger.json: a file that nobody may read"][0], "cannot be read (Permission denied)"),
        (ACCIDENTS["resume state: a pipe"][0], "finished, 8 steps"),
    ],
)
def test_the_listing_goes_on_to_the_last_run(root, run, other, change, said):
    change(*[run, other][: change.__code__.co_argcount])
    lines = run_lines([root])
    assert len(lines) == 3 and lines[-1] == "2 run(s)." and all(line.isprintable() for line in lines)
    (named,), (well,) = ([line for line in lines if str(folder) in line] for folder in (run, other))
    assert said in named and "finished, 8 steps" in well


def test_files_that_go_while_they_are_listed_count_for_nothing(root, run, monkeypatch):
    seen, stat = set(), os.stat

    def gone_at_the_second_look(path, *given, **options):
        if str(path).endswith("history.parquet") and (str(path) in seen or seen.add(str(path))):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return stat(path, *given, **options)

    monkeypatch.setattr(os, "stat", gone_at_the_second_look)
    assert run_lines([root])[-1] == "2 run(s)."


@pytest.mark.parametrize(
    "changes",
    [
        {"entries": [{}] * 1_000},
        {"entries": [0] * 1_000},
        {"made_with": [0] * 1_000},
        {f"x{i}": 0 for i in range(2_000)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_is_wrong_with_a_ledger_is_not_collected(run, changes):
    """Each error takes a kilobyte: all those of a ledger of 300 kB took half a gigabyte."""
    reseal(run, **changes)
    with pytest.raises(StoreError, match="it is no ledger any more") as caught:
        Ledger.read(run)
    assert caught.value.__cause__.error_count() <= 6


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
