"""A study made again part by part: what is made in the time there is, what is noted of it, and how records add up."""

import itertools
import shutil
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from circuitcore.training import Experiment, StoreError
from livingpaper.book import reproductions, studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.commands import publishing, reproduce, reproduction_in_parts
from livingpaper.commands.publishing import kept_record
from livingpaper.commands.reproduction_in_parts import made_in, reproduce_for, with_parents
from tests.support import toy_experiments, toy_measured

TOY = toy_measured.__name__
NAME = "toy_measured"
PARAMS = toy_measured.Params(seeds=(0,))
DRAWN = toy_experiments.Params(seeds=(0, 1, 2, 3, 4))


def publishes(patch, root):
    """The toy study publishes ``PARAMS`` and five experiments in ``root``; one worker, which is this process."""
    patch.setattr(toy_measured, "experiments", lambda params: toy_experiments.experiments(DRAWN), raising=False)
    patch.setattr(studies, "load_params", lambda name: PARAMS)
    patch.setattr(studies, "tiers", lambda name, *folder: ("published",))
    patch.setattr(Folders, "from_environment", lambda: Folders(root, root / "runs", root / "published"))
    patch.setenv("CIRCUITCORE_WORKERS", "1")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The study made and published: one run, five seeds of an experiment, one that draws nothing."""
    root = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        publishes(patch, root)
        Evidence(TOY, PARAMS, Folders.from_environment()).gather(None, "serial")
        publishing.publish(TOY, Folders.from_environment())
    return root


@pytest.fixture
def reader(made, tmp_path, monkeypatch):
    """Somebody who has what is published and no more, and makes two runs between two looks at the clock."""
    shutil.copytree(made / "published", tmp_path / "published")
    publishes(monkeypatch, tmp_path)
    monkeypatch.setattr(reproduction_in_parts, "SECONDS_AT_ONCE", 0)
    return tmp_path


@pytest.fixture
def time_for(monkeypatch):
    """Each part takes a minute."""

    def of(parts):
        looks = (float(60 * minute) for part in itertools.count() for minute in (part, part, part + 1))
        looks = itertools.chain([0.0], looks)  # of all at first; of a part: is there time, begun, ended
        monkeypatch.setattr(
            reproduction_in_parts, "time", SimpleNamespace(monotonic=looks.__next__, strftime=time.strftime)
        )
        return parts

    return of


def shipped(root):
    return {run.run_id: run for run in Evidence(TOY, PARAMS, Folders.from_environment()).shipped.values()}


def test_as_many_as_there_is_time_for_are_made_and_the_next_part_goes_on(reader, time_for):
    folder, names = reader / "again", sorted(shipped(reader), key=lambda name: name[-12:])
    reproduce_for(TOY, folder, 0)
    assert made_in(folder) == {}
    reproduce_for(TOY, folder, time_for(1))
    assert [*made_in(folder)] == sorted(names[:2])
    reproduce_for(TOY, folder, time_for(9), done={names[2]})
    assert {*made_in(folder)} == {*names} - {names[2]}
    assert all(one.equal and one.hours > 0 for one in made_in(folder).values())


def test_records_of_parts_add_up_wherever_they_were_made_until_all_are_made(reader, time_for, capsys, monkeypatch):
    monkeypatch.setattr(reproduction_in_parts, "reproduce_for", one_part(reproduce_for, time_for))
    for number, n_made in enumerate((2, 4, 6, 7)):
        assert reproduce.main([TOY, "--minutes", "1", "--record", "--store", str(reader / f"store-{number}")]) == 0
        record = kept_record(NAME, reader / "published")
        assert (record.runs, record.equal, record.published, record.all_in_parts) == (n_made, n_made, 7, n_made == 7)
    assert {*record.parts} == {*shipped(reader)} and record.apart == 0
    assert record.hours == pytest.approx(sum(one.hours for one in record.parts.values()))
    row = reproductions.as_table(reader / "published", {NAME: "Words are recalled"}, {NAME: 7}).splitlines()[2]
    assert "| 7 of 7, of 7 in all | of the same numbers | none in any number |" in row
    assert reproduce.main([TOY, "--minutes", "1", "--record", "--store", str(reader / "more")]) == 0
    assert kept_record(NAME, reader / "published") == record, "nothing is left to be made"
    capsys.readouterr()
    assert reproduce.main([TOY, "--first", "1", "--record", "--store", str(reader / "more")]) == 1
    assert "of parts that add up" in capsys.readouterr().err


def one_part(function, time_for):
    def once(study, folder, minutes, done, watch):
        return function(study, folder, time_for(1), done, watch)

    return once


def test_who_does_not_record_makes_those_on_record_too(reader, time_for, monkeypatch):
    monkeypatch.setattr(reproduction_in_parts, "reproduce_for", one_part(reproduce_for, time_for))
    for _ in range(2):
        assert reproduce.main([TOY, "--minutes", "1", "--record", "--store", str(reader / "ours")]) == 0
    assert reproduce.main([TOY, "--minutes", "1", "--store", str(reader / "theirs")]) == 0
    assert made_in(reader / "theirs" / TOY).keys() < made_in(reader / "ours" / TOY).keys()


def test_a_run_that_is_another_is_counted_and_the_whole_is_not_made(reader, capsys, monkeypatch):
    compute = Experiment.compute
    changed = lambda one: compute(replace(one, seeds=(4,)) if one.seeds == (3,) else one)  # noqa: E731
    monkeypatch.setattr(Experiment, "compute", changed)
    assert reproduce.main([TOY, "--minutes", "9", "--record", "--store", str(reader / "again")]) == 1
    assert "6 of 7 runs, of 7 that are published, are the published ones." in capsys.readouterr().out
    record = kept_record(NAME, reader / "published")
    assert [name for name, one in record.parts.items() if not one.equal] and not record.all_in_parts


def test_what_a_fork_goes_on_from_is_made_with_it(monkeypatch):
    monkeypatch.undo()
    study = studies.load("sgd_selection")
    recipes = [one for of in study.recipes(studies.load_params("sgd_selection")).values() for one in of]
    by_hash = {one.sha256: one for one in recipes}
    for fork in (one for one in recipes if one.named_runs):
        found, parents = with_parents([fork.run_id], recipes), {by_hash[name] for name in fork.named_runs}
        assert found == {fork.run_id}.union(*(with_parents([one.run_id], recipes) for one in parents)) and parents
    alone = next(one.run_id for one in recipes if not one.named_runs)
    assert with_parents([alone, "an experiment"], recipes) == {alone, "an experiment"}


def test_without_all_that_is_published_nothing_is_made(reader):
    shutil.rmtree(reader / "published")
    with pytest.raises(StoreError, match="7 runs of study .* are missing"):
        reproduce_for(TOY, reader / "again", 1)
    assert not (reader / "again").exists()


def test_a_part_is_no_longer_than_there_is_time_for(reader, monkeypatch):
    """Runs of half a minute each: of three minutes two parts of two leave room for two more, not for ten."""
    monkeypatch.setattr(reproduction_in_parts, "SECONDS_AT_ONCE", 300)
    sizes, clock = [], iter([0.0, 0.0, 0.0, 60.0, 60.0, 60.0, 180.0, 180.0])
    monkeypatch.setattr(reproduction_in_parts, "time", SimpleNamespace(monotonic=clock.__next__))
    gather = reproduction_in_parts.Part.gather
    monkeypatch.setattr(
        reproduction_in_parts.Part, "gather", lambda part, watch: sizes.append(len(part.chosen)) or gather(part, watch)
    )
    reproduce_for(TOY, reader / "again", 3)
    assert sizes == [2, 4]
