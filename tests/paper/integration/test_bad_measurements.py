"""What a measurement of a reader's own may get wrong, and words of a step or a command: each is named, none is kept."""

import re
from inspect import unwrap

import pandas as pd
import pytest

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.instruments.measuring import measure_all
from circuitcore.training import RunStore, StoreError
from circuitcore.training.errors import CheckpointError
from circuitcore.training.sweeps.executor import ExecutorError
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.claims.results import KEY_COLUMNS, Results, SelectionError
from livingpaper.commands import cli, rerun
from livingpaper.explorer import probe
from tests.support import toy_task
from tests.support.judged import claim

PARAMS = toy_task.Params(seeds=(0, 1))
(RECIPES,) = toy_task.recipes(PARAMS).values()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("toy"), None)
    store.get_or_train(RECIPES[0])
    return store


def listed(run, settings, progress):
    return [{"run_id": run.run_id, "value": 1.0}]


def nested(run, settings, progress):
    return pd.DataFrame([{"run_id": run.run_id, "value": [1, 2]}])


def divides(run, settings, progress):
    return 1 / 0


def mixed(run, settings, progress):
    return pd.DataFrame({"run_id": [run.run_id] * 2, "word": pd.Series(["a", None], dtype=object), "value": [1, 0.5]})


@pytest.mark.parametrize(
    ("measures", "words"),
    [
        (listed, "instrument tried: returned list; allowed: a pandas table"),
        (nested, "column 'value' holds list; allowed in a table: words, numbers, truths"),
        (divides, f"ZeroDivisionError: division by zero (in instrument tried, {__file__}:"),
    ],
)
def test_a_measurement_that_makes_no_table_is_named_and_nothing_is_kept(store, measures, words):
    tried = Instrument(name="tried", version=1, measures=measures, when="last")
    with pytest.raises(ExecutorError, match=re.escape(words)) as caught:
        measure_all(store, (tried,), RECIPES[:1], "serial")
    assert str(caught.value).startswith("1 of 1 runs failed:\n"), "there are no others"
    assert tried.key not in store.find(RECIPES[0]).tables


def test_words_with_gaps_are_a_table(store):
    measure_all(store, (Instrument(name="mixed", version=1, measures=mixed, when="last"),), RECIPES[:1], "serial")
    assert store.find(RECIPES[0]).table("mixed-v1")["word"].isna().tolist() == [False, True]


@pytest.mark.parametrize("step", [True, 3.0, "0", None])
def test_a_step_that_is_no_whole_number_is_named(store, step):
    run = store.find(RECIPES[0])
    with pytest.raises(CheckpointError, match=re.escape(f"step = {step!r}; allowed: a whole number, 0")):
        unwrap(type(run).weights)(run, step)  # as without the types that tests check


def test_the_beginning_of_a_run_is_recognised(store):
    run_id = RECIPES[0].run_id
    with pytest.raises(StoreError, match=f"did you mean '{run_id}'"):
        store.get(run_id[:-6])


def test_edits_that_are_one_text_are_named():
    with pytest.raises(ValueError, match=re.escape("edits = 'zero(L0H0)@all'; allowed: a list of texts")):
        probe("any", prompt="a", edits="zero(L0H0)@all")


def test_a_claim_that_is_changed_under_its_id_is_judged_anew(store):
    evidence = Evidence("tests.support.toy_task", PARAMS, Folders(store.root, store.root, store.root / "published"))
    results = Results(pd.DataFrame(columns=KEY_COLUMNS), pd.DataFrame(), "rerun")
    right, other = claim([0.9] * 5, "T1"), claim([0.1] * 5, "T1")
    assert evidence.judged(right, results) is evidence.judged(right, results)
    assert evidence.judged(other, results).estimate.effect == 0.1 != evidence.judged(right, results).estimate.effect


def test_a_seed_that_stands_in_an_arm_twice_is_said():
    row = dict.fromkeys(KEY_COLUMNS, "") | {"arm": "a", "metric": "accuracy", "init_seed": 1, "step": 1, "value": 1.0}
    with pytest.raises(SelectionError, match="the rows are repeated: is a seed in the arm twice"):
        Results(pd.DataFrame([row, row]), pd.DataFrame(), "rerun").final_values("accuracy", "a")


def test_a_page_that_can_lie_nowhere_stops_before_anything_is_run(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(Evidence, "gather", lambda *given: pytest.fail("it was run"))
    with pytest.raises(rerun.BookError, match="file/here: no folder can be made there .* Nothing has been run yet"):
        rerun.rerun("symbolic_kv", {}, "smoke", tmp_path / "file" / "here")


def test_words_of_a_command_that_cannot_be_meant(capsys, tmp_path):
    assert cli.main(["status", "symbolic_kv", "six_run_matrix"]) == 1
    assert "symbolic_kv is a study; allowed: one study, or folders" in capsys.readouterr().err
    (tmp_path / "toy.yaml").write_text("seeds: [0]\n")
    with pytest.raises(SystemExit):
        cli.main(["sweep", "symbolic_kv", "--params", str(tmp_path / "toy.yaml")])
    assert "is no folder; allowed: a folder" in capsys.readouterr().err
    assert cli.main(["sweep", "toy"]) == 1
    assert "or an import path, with a dot: my_package.my_study" in capsys.readouterr().err
