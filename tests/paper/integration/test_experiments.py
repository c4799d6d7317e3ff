"""A study with experiments, alone or beside runs: computed, drawn, claimed, published, verified, rerun, refused."""

import dataclasses
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from packed_index import index_text, write_index

from circuitcore.ground.contents import Contents
from circuitcore.ground.durations import Durations
from circuitcore.ground.packed import INDEX_NAME
from circuitcore.training import Experiment, RunStore, StoreError
from circuitcore.training.experiment import TABLE
from circuitcore.training.store.sealing import differences
from livingpaper.book import studies
from livingpaper.book.chapter import Chapter
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.gathering import runs_behind
from livingpaper.book.new_runs import brings_new
from livingpaper.book.price import price
from livingpaper.book.situation import require_for_a_book
from livingpaper.claims.reading import Less, of_experiment
from livingpaper.claims.results import SelectionError
from livingpaper.claims.units import at_least
from livingpaper.claims.verdict import Status
from livingpaper.commands import cli, publishing
from livingpaper.commands import publish as publishing_command
from livingpaper.figures import bars
from livingpaper.figures.bundle import Figure
from tests.support import toy_experiments, toy_measured

TOY, BESIDE = toy_experiments.__name__, toy_measured.__name__
PARAMS = toy_experiments.Params(seeds=(0, 1, 2, 3, 4))
LONGEST, HALVINGS = toy_experiments.experiments(PARAMS)
UNITS = (*LONGEST.by_seed, HALVINGS)


@pytest.fixture(autouse=True, scope="module")
def published_tier():
    """The toy study publishes ``PARAMS``, the one that trains a single seed; all others what they publish."""
    load_params, tiers = studies.load_params, studies.tiers
    params = {TOY: PARAMS, BESIDE: toy_measured.Params(seeds=(0,))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studies, "load_params", lambda name: params.get(name) or load_params(name))
        patch.setattr(
            studies, "tiers", lambda name, *folder: ("published",) if name in params else tiers(name, *folder)
        )
        yield


@pytest.fixture(autouse=True)
def computed(monkeypatch):
    """What is computed in this process, by run id."""
    found, compute = [], Experiment.compute
    monkeypatch.setattr(Experiment, "compute", lambda one: found.append(one.run_id) or compute(one))
    return found


def folders_in(root):
    return Folders(root, root / "runs", root / "published")


def evidence_in(root, params=PARAMS):
    return Evidence(TOY, params, folders_in(root))


@pytest.fixture(scope="module")
def made(published_tier, tmp_path_factory):
    """The study computed and published."""
    root = tmp_path_factory.mktemp("made")
    evidence_in(root).gather(None, "serial")
    assert publishing.publish(TOY, folders_in(root)) == len(UNITS)
    return root


@pytest.fixture
def reader(made, tmp_path):
    """Somebody who has what is published and no more."""
    shutil.copytree(made / "published", tmp_path / "published")
    return tmp_path


def files(folder):
    """Bytes of every file, but locks."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


# ---- a study of experiments alone ----


def test_one_from_outside_is_computed_claimed_drawn_published_and_verified(made, computed, capsys):
    evidence = evidence_in(made)
    assert evidence.origins == ("paper",) and evidence.left() == [] and evidence.situation().startswith("All 6 publish")
    (results,) = evidence.gather(None, "serial")
    assert results.arms == ("longest", "halvings") and results.measurements.empty and results.history.empty
    assert results.seeds("longest") == PARAMS.seeds and results.seeds("halvings") == ()
    assert set(results.tables["longest"]) == {"side", "value", "run_id", "arm", "init_seed"}
    assert "init_seed" not in results.tables["halvings"] and set(results.tables) >= {"longest", "halvings"}
    with pytest.raises(SelectionError, match="unknown metric 'accuracy'"):
        results.curve("accuracy")

    throws, halved = (evidence.judged(claim, results) for claim in evidence.study.CLAIMS)
    assert (throws.status, throws.estimate.n, halved.status) == (Status.SUPPORTED, 5, Status.SUPPORTED)
    assert halved.estimate.effect == 6 and halved.estimate.n == 0
    assert {name: verdict.status for name, verdict in evidence.recorded.items()} == {
        "X1": Status.SUPPORTED, "X2": Status.SUPPORTED,
    }  # fmt: skip

    view, counts = evidence.view("by side", (results,)), evidence.view("counted", (results,))
    behind = runs_behind(view, (results,))
    assert behind == {"longest (published)": tuple(one.run_id for one in LONGEST.by_seed)}
    assert runs_behind(counts, (results,)) == {"halvings (published)": (HALVINGS.run_id,)} and counts.n_seeds == 0
    figure = Figure(name="fig-longest", chart=bars.seeds(view), view=view, takeaway="They grow.", alt_text="Throws.",
                    number=1, runs=behind)  # fmt: skip
    html = figure.mimebundle()["text/html"]
    assert all(text in html for text in ("They grow.", "n = 5 seeds", LONGEST.by_seed[0].run_id))
    assert evidence.run_ids("paper") == {"longest": behind["longest (published)"], "halvings": (HALVINGS.run_id,)}
    assert computed == []

    names = Contents.of(made / "published").hashes
    assert {f"run/{one.run_id}/table/{TABLE}" for one in UNITS} < names.keys()
    assert sorted(files(made / "published")) == [
        "contents.json", "toy_experiments/halvings/rows.parquet", "toy_experiments/longest/rows.parquet",
        f"toy_experiments/{INDEX_NAME}", "verdicts/toy_experiments.json",
    ]  # fmt: skip
    assert list(differences(made / "published")) == []
    assert "(0 new, 0 gone, 0 changed)" in publishing.reseal(made / "published")[-1]
    assert cli.main(["verify", str(made / "published"), str(made / "runs")]) == 0
    assert f"{2 * len(UNITS) + 1} ok, 0 bad" in capsys.readouterr().out


def test_its_chapter_shows_and_records_what_it_stands_on(made, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PAPER_RESULTS", str(tmp_path))
    paper = Chapter(evidence_in(made))
    paper.prepare()
    view = paper.view("by side")
    paper.figure("fig-longest", bars.seeds(view), view, takeaway="They grow.", alt="Throws.")
    for name in ("X1", "X2"):
        paper.claim(name)
    paper.close()
    record = json.loads((tmp_path / "toy_experiments.json").read_text())
    numbers = {"n_longest": "5", "n_halvings": "0", "n_runs": "6", "n_seeds": "5", "X2_effect": "6.00"}
    assert record["numbers"].items() >= numbers.items()
    runs = {"longest": [one.run_id for one in LONGEST.by_seed], "halvings": [HALVINGS.run_id]}
    assert record["runs"] == {"paper": runs} and "numbers and verdicts:" in capsys.readouterr().out


def test_a_reading_is_one_number_of_each_seed_or_a_number_alone(made):
    (results,) = evidence_in(made).gather(None, "serial")
    rows = results.tables["longest"]
    heads = of_experiment("longest", side="heads")(results)
    assert heads.to_dict() == rows[rows["side"] == "heads"].set_index("init_seed")["value"].to_dict()
    assert of_experiment("longest", take="max")(results).to_dict() == rows.groupby("init_seed")["value"].max().to_dict()
    less = Less(of_experiment("longest", take="mean"), of_experiment("longest", take="min"))
    assert less.arms == ("longest", "longest") and (less(results) >= 0).all()
    for take in ("one", "max", "min", "mean"):
        assert of_experiment("halvings", take=take)(results) == 6
    for values, told in (
        (of_experiment("longest"), "'longest' has several rows of a seed; allowed: one, or another take"),
        (of_experiment("longest", "valu", side="heads"), "unknown column 'valu'; did you mean 'value'"),
        (of_experiment("longest", side="edge"), "unknown side 'edge'"),
        (of_experiment("shortest"), "unknown table 'shortest'"),
    ):
        with pytest.raises(SelectionError, match=told):
            values(results)


def test_other_seeds_are_computed_and_stand_beside_the_published_ones(reader, computed):
    before = files(reader / "published")
    mine = toy_experiments.Params(seeds=(4, 7))
    evidence = evidence_in(reader, mine)
    assert evidence.origins == ("paper", "rerun") and evidence.changed == ()
    assert [work.what for work in evidence.left("serial")] == ["computing longest, 1 table(s)"]
    assert "You ask for 3 run(s), 3 of experiments; 2 are here already." in evidence.cost("serial")
    paper, rerun = evidence.gather(None, "serial")
    assert evidence.gather(None, "serial") == (paper, rerun), "a study's second page reads none of them again"
    new = toy_experiments.experiments(mine)[0].by_seed[1]
    assert computed == [new.run_id] and files(reader / "published") == before
    assert rerun.seeds("longest") == (4, 7) and paper.seeds("longest") == PARAMS.seeds
    view = evidence.view("by side", (paper, rerun))
    assert set(view.table["origin"]) == {"paper", "rerun"}
    assert runs_behind(view, (paper, rerun))["longest (yours)"] == (LONGEST.by_seed[4].run_id, new.run_id)
    counts = evidence.view("counted", (paper, rerun))
    assert "origin" not in counts.table, "what nothing is drawn for is the same for both"
    drawn, counted = evidence.study.CLAIMS
    assert brings_new(evidence, drawn) and not brings_new(evidence, counted)
    assert not brings_new(evidence_in(reader, toy_experiments.Params(seeds=(4,))), drawn)
    evidence_in(reader, mine).gather(None, "serial")
    assert computed == [new.run_id], "it is kept"


def raised(monkeypatch, **changes):
    """Let the drawn experiment be another one."""
    asked = toy_experiments.experiments
    monkeypatch.setattr(
        toy_experiments,
        "experiments",
        lambda params: (dataclasses.replace(asked(params)[0], **changes), *asked(params)[1:]),
    )


def test_a_book_computes_none_that_is_missing(reader, monkeypatch, computed):
    require_for_a_book(evidence_in(reader))
    raised(monkeypatch, version=2)
    first = toy_experiments.experiments(PARAMS)[0].by_seed[0].run_id
    told = rf"5 of 6 runs of study {TOY} are missing: {first}, .*\. A book trains none of them\. Restore the folder"
    with pytest.raises(StoreError, match=f"{re.escape(str(reader / 'published'))}: {told}"):
        require_for_a_book(evidence_in(reader))
    shutil.rmtree(reader / "published")
    with pytest.raises(
        StoreError, match=f"has runs that are not trained or measured yet, of 6: {first}.*measure {TOY}"
    ):
        require_for_a_book(evidence_in(reader))
    assert computed == []


def test_a_new_version_is_published_in_place_of_the_old_one(reader, monkeypatch, computed):
    raised(monkeypatch, version=2)
    evidence = evidence_in(reader)
    assert evidence.origins == ("rerun",) and "5 of 6 published runs are missing" in evidence.situation()
    evidence.gather(None, "serial")
    new = [one.run_id for one in toy_experiments.experiments(PARAMS)[0].by_seed]
    assert computed == new
    assert publishing.publish(TOY, folders_in(reader)) == len(new), "the other one stays as it is"
    assert list(differences(reader / "published")) == []
    names = Contents.of(reader / "published").runs
    assert set(names) == {*new, HALVINGS.run_id}, "what nothing names any more is gone"


def test_what_was_never_computed_is_not_published(tmp_path):
    with pytest.raises(
        StoreError, match=rf"{LONGEST.by_seed[0].run_id} \(longest\) is not computed: run circuitcore m"
    ):
        publishing.publish(TOY, folders_in(tmp_path))
    assert not (tmp_path / "published").exists()


@pytest.mark.usefixtures("project")
def test_the_command_takes_an_import_path_and_says_what_is_missing_in_a_sentence():
    with pytest.raises(SystemExit, match=r"^publish: .* is not computed: run circuitcore measure"):
        publishing_command.main([TOY])
    with pytest.raises(SystemExit, match=r"^publish: unknown study 'symbolic_vk'; did you mean 'symbolic_kv'"):
        publishing_command.main(["symbolic_vk"])


def flipped(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def reworded(old, new):
    return lambda path: write_index(path, index_text(path).replace(old, new, 1))


PACK = "published/toy_experiments"
TABLE_FILE, INDEX = f"{PACK}/longest/rows.parquet", f"{PACK}/{INDEX_NAME}"
DAMAGES = {
    "truncated table": (TABLE_FILE, lambda path: os.truncate(path, path.stat().st_size // 2)),
    "flipped table": (TABLE_FILE, flipped),
    "swapped table": (TABLE_FILE, lambda path: shutil.copy(path.parents[1] / "halvings" / path.name, path)),
    "lost table": (TABLE_FILE, lambda path: path.unlink()),
    "index of other params": (INDEX, reworded('"n_throws":64', '"n_throws":65')),
    "index of another version": (INDEX, reworded("circuitcore ", "circuitcore 9")),
    "lost index": (INDEX, lambda path: path.unlink()),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_by_name_and_nothing_is_computed_instead(reader, computed, capsys, damage):
    name, change = DAMAGES[damage]
    change(reader / name)
    lost = reader / "published" / LONGEST.by_seed[0].run_id  # without the index nothing says where it was
    named = re.escape(str(lost if damage == "lost index" else reader / name))
    with pytest.raises(StoreError, match=f"{named}.*[Rr]estore"):
        evidence_in(reader).gather(None, "serial")
    assert computed == []
    assert cli.main(["verify", str(reader / "published")]) == 1
    assert any(line.startswith("BAD") and re.search(named, line) for line in capsys.readouterr().out.splitlines())
    if "table" in damage:
        other = RunStore(reader / "runs", reader / "published").find(HALVINGS)
        assert other.table(TABLE)["value"].tolist() == [6.0], "nothing else is lost"


# ---- commands ----


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("word", ["measure", "sweep"])
def test_commands_compute_list_and_show_how_far_it_is(tmp_path, monkeypatch, capsys, computed, word):
    Path("params").mkdir()
    Path("params/toy_experiments.yaml").write_text("seeds: [0, 1]\n")
    words = [TOY, "--params", "params"]
    store, (first, _) = RunStore("runs", "published"), LONGEST.by_seed[:2]
    store.get_or_compute(first)
    assert cli.main(["status", *words]) == 0
    told = capsys.readouterr().out
    assert re.search(r"experiment longest +1 +0 +0 +1 ", told) and re.search(r"experiment halvings +0 +0 +0 +1 ", told)
    assert "Of experiments, 2 of 3 tables are not computed." in told
    page = Path("build/status", f"{TOY}.html").read_text()
    assert "<h2>Experiments</h2>" in page and "1 done, 1 waiting" in page
    monkeypatch.setattr(Durations, "of", lambda root: Durations(tmp_path / "durations.json", tmp_path / "none"))
    assert cli.main(["train", *words, "--seed", "0"]) == 1, "it has no arms"
    assert "takes its seeds from `seeds`" in capsys.readouterr().err
    assert cli.main([word, *words, "--executor", "serial"]) == 0
    assert "Computing 2 table(s) of experiments, on 1 worker(s)." in capsys.readouterr().out
    assert len(computed) == 3 and len(json.loads((tmp_path / "durations.json").read_text())) == 2
    assert cli.main(["status", *words]) == 0 and "All runs are done." in capsys.readouterr().out
    assert cli.main(["status", "runs"]) == 0
    assert f"{Path('runs', first.run_id)}" in (told := capsys.readouterr().out) and told.count("an experiment") == 3
    assert cli.main(["recompute", first.run_id, TABLE]) == 1
    assert f"{first.run_id}: of an experiment, behind whose table no weights stand." in capsys.readouterr().err


def test_more_seeds_have_the_price_of_computing_them(tmp_path, monkeypatch):
    monkeypatch.setattr(Evidence, "published_params", None)
    drawn = dataclasses.replace(toy_experiments.CLAIMS[0], bound=at_least(6.5, "near the mean"))
    monkeypatch.setattr(toy_experiments, "CLAIMS", (drawn, toy_experiments.CLAIMS[1]))
    monkeypatch.setenv("CIRCUITCORE_WORKERS", "1")
    evidence = evidence_in(tmp_path)
    (results,) = evidence.gather(None, "serial")
    verdict = evidence.judged(drawn, results)
    assert verdict.status == Status.UNDECIDED
    (unit,) = {name for name in Durations.of(tmp_path).here() if "longest" in name}
    Durations.of(tmp_path).remember(unit, 3600.0)
    assert re.fullmatch(r"about \d+\.0 h here", price(evidence, verdict))


# ---- beside runs ----


def test_experiments_stand_beside_the_runs_of_a_study(tmp_path, monkeypatch):
    few = toy_measured.Params(seeds=(0,))
    monkeypatch.setattr(toy_measured, "experiments", lambda params: (LONGEST, HALVINGS), raising=False)
    evidence = Evidence(BESIDE, few, folders_in(tmp_path))
    (run_id,) = evidence.run_ids("rerun")["trained"]
    assert [work.what.split()[0] for work in evidence.left("serial")] == [
        "training",
        "computing",
        "computing",
        "measuring",
    ]
    evidence.gather(None, "serial")
    assert publishing.publish(BESIDE, folders_in(tmp_path)) == 7
    evidence = Evidence(BESIDE, few, folders_in(tmp_path))
    (results,) = evidence.gather(None, "serial")
    assert results.arms == ("trained", "longest", "halvings") and results.runs["run_id"].nunique() == 7
    assert results.seeds("trained") == (0,) and list(differences(tmp_path / "published")) == []
    view = evidence.view("by tensor", (results,))
    assert runs_behind(view, (results,)) == {"trained (published)": (run_id,)}
    means = dataclasses.replace(view, table=view.table.drop(columns="init_seed"))
    assert runs_behind(means, (results,)) == {"trained (published)": (run_id,)}, "of an arm, without a seed each"
    several = dataclasses.replace(view, table=view.table.assign(init_seed=99), arms=("trained",))
    assert runs_behind(several, (results,)) == {"trained (published)": (run_id,)}, "a row stands for several of them"
    assert runs_behind(dataclasses.replace(several, arms=()), (results,)) == {}
    theirs = dataclasses.replace(several, table=several.table.assign(origin="paper"))
    new = dataclasses.replace(results, origin="rerun")
    assert {*runs_behind(theirs, (results, new))} == {"trained (published)"}, "nothing of the reader's is drawn"
    with pytest.raises(SelectionError, match="unknown arm 'trainde'.*did you mean 'trained'"):
        runs_behind(dataclasses.replace(several, arms=("trainde",)), (results,))
    nameless = dataclasses.replace(view, table=view.table[["value"]])
    assert runs_behind(nameless, (results,)) == {}
    assert evidence.material((results,))[0].runs("longest") == [], "they have no networks"


@pytest.mark.parametrize("name", ["trained", "sizes", "measurements", "history", "longest"])
def test_an_experiment_has_a_name_that_nothing_else_in_the_study_has(monkeypatch, name):
    both = (LONGEST, dataclasses.replace(HALVINGS, name=name))
    monkeypatch.setattr(toy_measured, "experiments", lambda params: both, raising=False)
    with pytest.raises(
        studies.StudyError, match=f"experiment '{name}': another one, an arm or an instrument is called"
    ):
        studies.experiments(toy_measured, toy_measured.Params(seeds=(0,)))
