"""Publishing: runs are copied whole but for weights, checked, and judged on the copies."""

import pytest

from circuitcore.metrics.instruments.measuring import measure_all
from circuitcore.training import RunStore
from circuitcore.training.store.verify import verify
from livingpaper.book import studies
from livingpaper.book.evidence import Folders
from livingpaper.claims.claim import from_json
from livingpaper.commands import publish
from retrieval_circuits import symbolic_kv as study

SMALL = study.Params(
    seeds=(5,), control_seeds=(), epochs=1, learning_rate=0.001, batch_size=500, engine="torch", n_bases=8
)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "load_params", lambda name: SMALL)
    monkeypatch.setattr(studies, "tiers", lambda name: ("published",))
    return Folders(tmp_path, tmp_path / "runs", tmp_path / "published")


def test_a_run_that_was_never_measured_is_named(folders):
    (recipe,) = study.recipes(SMALL)["trained"]
    with pytest.raises(LookupError, match=f"{recipe.run_id}.*circuitcore measure symbolic_kv"):
        publish.publish("symbolic_kv", folders)
    assert not (folders.published / "verdicts").exists()


def test_what_is_published_is_whole_and_judged(folders):
    (recipe,) = study.recipes(SMALL)["trained"]
    measure_all(RunStore(folders.runs, None), study.battery(SMALL, "trained"), [recipe], "serial")
    path, elsewhere = folders.published / "verdicts" / "symbolic_kv.json", folders.published.with_name("elsewhere")
    elsewhere.write_text("[]")
    path.parent.mkdir(parents=True)
    path.symlink_to(elsewhere)
    assert publish.publish("symbolic_kv", folders) == 1
    run = RunStore(folders.published, None).find(recipe)
    assert run.steps == (0, recipe.n_steps) and verify(run.path) == []
    assert run.tables == RunStore(folders.runs, None).find(recipe).tables
    assert elsewhere.read_text() == "[]" and not path.is_symlink(), "written whole under its name, or not at all"
    verdicts = from_json(path.read_text())
    assert [verdict.claim for verdict in verdicts] == list(study.CLAIMS)
    assert {str(verdict.status) for verdict in verdicts} == {"Hypothesis"}
