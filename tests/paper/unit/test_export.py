"""What ``circuitcore export`` takes, writes and refuses; what the files hold is tested with TransformerLens."""

import json
from pathlib import Path

import pytest
from packed_index import published_lines
from safetensors import safe_open
from toy.recall import toy_recipe

from circuitcore import export as exporting
from circuitcore.training import RunStore, StoreError
from livingpaper.commands.cli import main

ROOT = Path(__file__).resolve().parents[3]
RUN = "symbolic_kv-184c3e21d23e"
FILES = {"config.json", "weights.safetensors", "check.safetensors", "load.py"}


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


def run(capsys, *words):
    """Exit status, standard output and errors of ``circuitcore export ... --to transformer-lens``."""
    status = main(["export", *map(str, words), *([] if "--to" in words else ["--to", "transformer-lens"])])
    return status, *capsys.readouterr()


@pytest.mark.parametrize("name", [RUN, "symbolic_kv-184", f"published/symbolic_kv/by-torch/{RUN}"])
def test_a_run_is_named_by_its_id_the_beginning_of_it_or_its_folder(name, capsys, tmp_path):
    status, out, errors = run(capsys, name, "--out", tmp_path / "new/folder", "--step", 790)
    assert (status, errors) == (0, "") and out.startswith(str(tmp_path / "new/folder"))
    assert {path.name for path in (tmp_path / "new/folder").iterdir()} == FILES
    config = json.loads((tmp_path / "new/folder/config.json").read_text())
    assert (config["run"], config["step"], config["vocab"][0]) == (RUN, 790, "<bos>")
    with safe_open(tmp_path / "new/folder/weights.safetensors", "pt") as weights:
        assert weights.metadata() == {"run": RUN, "step": "790"}


def test_the_last_checkpoint_is_the_default_and_an_export_may_be_made_again(capsys, tmp_path):
    for _ in range(2):
        assert run(capsys, RUN, "--out", tmp_path)[0] == 0
        assert json.loads((tmp_path / "config.json").read_text())["step"] == 9954
        (tmp_path / "__pycache__").mkdir(exist_ok=True)


def test_a_folder_may_be_named_by_a_text(tmp_path):
    assert exporting.export(RunStore().get(RUN), "transformer-lens", out=str(tmp_path)) == tmp_path


def test_a_run_that_there_is_not_is_named_with_the_closest_and_a_few(monkeypatch):
    """Not with all six hundred, of which each was opened for that."""
    opened, store = [], RunStore()
    monkeypatch.setattr(RunStore, "_open", lambda self, name: opened.append(name))
    with pytest.raises(
        StoreError, match=rf"unknown run '{RUN[:-1]}f'; did you mean '{RUN}'\? known: .* more$"
    ) as caught:
        store.get(f"{RUN[:-1]}f")
    assert opened == [f"{RUN[:-1]}f"] and len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "no run 'nothing' in runs or published"),
        (["symbolic_kv-184c3e21d23f"], f"did you mean '{RUN}'?"),
        (["symbolic_kv"], "'symbolic_kv' is the beginning of "),
        ([""], "no run ''"),
        ([RUN, "--step", 5], "no weights at step 5; there are those at 0, 790, "),
        ([RUN, "--to", "nnsight"], "unknown format 'nnsight'; known: transformer-lens"),
        ([RUN, "--out", "published"], "published holds other files ("),
        ([RUN, "--out", "LICENSE"], "LICENSE is a file; name a folder"),
        (["permutation_recall-11bb9daa40bc"], "cannot express this model: norm_position='post'"),
        (["textual_kv-0"], "none of its weights are here; train the run again for them"),
    ],
)
def test_what_cannot_be_exported_is_said_in_a_sentence(words, said, capsys, tmp_path):
    if words == ["textual_kv-0"]:
        lines = map(json.loads, published_lines(Path("published")))
        words = [next(line["run_id"] for line in lines if line["checkpoints"] and not line["kept"])]
    words = words if "--out" in words else [*words, "--out", tmp_path / "out"]
    status, out, errors = run(capsys, *words)
    assert status == 1 and out == "" and errors.startswith("circuitcore: ") and said in errors
    assert errors.count("\n") == 1 and not (tmp_path / "out").exists()


def test_a_run_that_is_not_finished_is_refused(capsys, tmp_path):
    folder = RunStore(tmp_path, None).get_or_train(toy_recipe()).path
    ledger = exporting.Ledger.read(folder)
    exporting.Ledger(**{**vars(ledger), "finished": False, "history_sha256": None}).write(folder)
    assert "this run is not finished" in run(capsys, folder)[2]
