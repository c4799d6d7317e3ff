"""The record of a chapter made again from nothing, and the table of such records."""

import json
import math
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from circuitcore.training.errors import StoreError
from circuitcore.training.store.run import Run
from circuitcore.training.store.sealing import seal
from livingpaper.book import reproductions, studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.reproductions import MadeAgain, Reproduction, as_table, furthest
from livingpaper.commands import reproduce, reproduction, reproduction_in_parts
from livingpaper.commands.equal_runs import apart, equal_runs
from livingpaper.commands.publishing import keep
from livingpaper.commands.reproduction_in_parts import Part, first_seeds

RECORD = Reproduction(
    chapter="look_up", finished="2026-11-24", processor="Some CPU", made_with=("circuitcore 0.15.0",),
    published_with=("circuitcore 0.9.0",), runs=40, equal=38, claims=12, differing=("LU3",), largest="LU7", moved=0.25,
    hours=1.234, cores=2,
)  # fmt: skip
TITLES = {"look_up": "Values are found", "other": "Another chapter"}
N_RUNS = {"look_up": 40, "other": 3}


def side(effect, low=0.0, high=1.0):
    return {"effect": effect, "low": low, "high": high}


class Stub(Run):
    """A run as far as it is compared: its name, the hashes of its weights, its losses, its tables."""

    def __init__(self, name, *, hashes="ba", losses=None, thinned=False, trained=True, **tables):
        ledger = SimpleNamespace(
            run_id=name, last_hash=hashes[-1], trained=trained, weights=[*enumerate(hashes)], history_thinned=thinned
        )
        object.__setattr__(self, "ledger", ledger)
        object.__setattr__(self, "made", tables)
        object.__setattr__(self, "losses", losses)

    @property
    def history(self):
        return self.losses

    @property
    def tables(self):
        return dict.fromkeys(self.made, "hash")

    def table(self, key):
        return self.made.get(key)


@pytest.mark.parametrize("moved", [0.25, math.inf])
def test_a_record_is_read_as_it_was_written(moved):
    record = Reproduction(**{**vars(RECORD), "moved": moved})
    text = record.to_json()
    assert Reproduction.of(json.loads(text)) == record
    json.loads(text, parse_constant=pytest.fail)  # no Infinity, which is no JSON


def test_table_has_a_row_a_record_and_names_the_others(tmp_path):
    assert as_table(tmp_path, TITLES, N_RUNS) == reproductions.NONE_YET
    seal(tmp_path, (), ())
    keep(RECORD, tmp_path)
    table = as_table(tmp_path, TITLES, N_RUNS)
    row = "| Values are found | Some CPU | 38 of 40 | 11 of 12 (not LU3) | 0.25 half-widths, LU7 | 1.2 on 2 cores |"
    assert row in table.splitlines()
    assert table.endswith("Not reproduced whole yet: Another chapter.")


def test_a_record_of_other_networks_stands_beside_that_of_the_published_ones(tmp_path):
    others = replace(
        RECORD, processor="Other CPU", made_with=("circuitcore 0.53.0, torch 2.13.0+cpu, x86_64 AVX2",), equal=0,
        differing=("LU3", "LU7"), moved=0.5,
    )  # fmt: skip
    seal(tmp_path, (), ())
    keep(RECORD, tmp_path)
    keep(others, tmp_path)
    lines = as_table(tmp_path, TITLES, N_RUNS).splitlines()
    assert lines[2].startswith("| Values are found | Some CPU | 38 of 40 | 11 of 12 (not LU3)")
    assert lines[3] == (
        "| Values are found | Other CPU, AVX2 | 0 of 40 | 10 of 12 (not LU3, LU7) | 0.5 half-widths, LU7 "
        "| 1.2 on 2 cores |"
    )
    keep(replace(others, hours=2.0), tmp_path)
    assert "| 2 on 2 cores |" in as_table(tmp_path, TITLES, N_RUNS).splitlines()[3], "of two of others, the newer"
    keep(replace(RECORD, hours=3.0), tmp_path)
    assert len(as_table(tmp_path, TITLES, N_RUNS).splitlines()) == len(lines)


def test_a_first_record_of_other_networks_is_the_only_one_until_the_published_are_made_again(tmp_path):
    seal(tmp_path, (), ())
    keep(replace(RECORD, equal=0), tmp_path)
    keep(RECORD, tmp_path)
    assert sum("Values are found" in line for line in as_table(tmp_path, TITLES, N_RUNS).splitlines()) == 1


def test_a_chapter_of_which_first_seeds_alone_were_made_again_is_not_called_reproduced(tmp_path, monkeypatch):
    seal(tmp_path, (), ())
    keep(replace(RECORD, published=400, claims=0, differing=(), largest=None, moved=0.0), tmp_path)
    monkeypatch.setattr(reproductions, "verdicts_in", lambda *_: dict.fromkeys(range(12)))
    table = as_table(tmp_path, TITLES, N_RUNS)
    row = "| Values are found | Some CPU | 38 of 40, of 40 in all | not judged | not judged | 1.2 on 2 cores |"
    assert row in table.splitlines()
    assert table.endswith("Not reproduced whole yet: Values are found; Another chapter.")


def test_a_record_of_fewer_runs_does_not_replace_one_of_more(tmp_path):
    seal(tmp_path, (), ())
    few = replace(RECORD, published=400, claims=0, differing=(), largest=None, moved=0.0)
    keep(few, tmp_path)
    with pytest.raises(StoreError, match="is of 40 runs; 39 do not replace them"):
        keep(replace(few, runs=39, equal=39), tmp_path)
    keep(replace(few, runs=41), tmp_path)
    keep(replace(few, runs=2, equal=2, parts={"a": made(0.0), "b": made(0.0)}), tmp_path)
    with pytest.raises(StoreError, match="of parts that add up"):
        keep(replace(few, runs=41), tmp_path)


def test_a_record_of_first_seeds_does_not_replace_one_of_the_whole_chapter(tmp_path):
    seal(tmp_path, (), ())
    few = replace(RECORD, published=400, claims=0, differing=(), largest=None, moved=0.0)
    keep(few, tmp_path)
    keep(RECORD, tmp_path)
    with pytest.raises(StoreError, match="of the whole chapter"):
        keep(few, tmp_path)


def test_runs_newer_than_the_record_are_counted(tmp_path, monkeypatch):
    seal(tmp_path, (), ())
    keep(RECORD, tmp_path)
    monkeypatch.setattr(reproductions, "verdicts_in", lambda published, name: dict.fromkeys(range(12)))
    table = as_table(tmp_path, TITLES, {"look_up": 45, "other": 3})
    assert "| 38 of 40; 5 are newer |" in table and "whole yet: Values are found; Another chapter." in table


def test_claims_newer_than_the_record_are_named_as_such(tmp_path, monkeypatch):
    seal(tmp_path, (), ())
    keep(RECORD, tmp_path)
    monkeypatch.setattr(reproductions, "verdicts_in", lambda published, name: dict.fromkeys(range(15)))
    table = as_table(tmp_path, TITLES, N_RUNS)
    assert "| 11 of 12 (not LU3); 3 are newer |" in table
    assert table.endswith("Not reproduced whole yet: Values are found; Another chapter.")


def test_first_seeds_that_end_in_other_bits_are_a_failure(tmp_path, monkeypatch):
    few = replace(RECORD, published=400, claims=0, differing=(), largest=None, moved=0.0)
    monkeypatch.setattr(reproduction_in_parts, "reproduce_first", lambda *_: None)
    monkeypatch.setattr(studies, "load", lambda name: None)
    for equal, status in ((40, 0), (38, 1)):
        monkeypatch.setattr(reproduction, "record_of", lambda *_, equal=equal: replace(few, equal=equal))
        assert reproduce.main(["look_up", "--store", str(tmp_path), "--first", "1"]) == status


def test_a_misspelt_chapter_is_found_before_the_first_one_is_reproduced(tmp_path, capsys):
    assert reproduce.main(["symbolic_kv", "symbolic_kvv", "--store", str(tmp_path), "--first", "1"]) == 1
    said = capsys.readouterr()
    assert "unknown study 'symbolic_kvv'; did you mean 'symbolic_kv'?" in said.err and not said.out


@pytest.mark.parametrize("study", ["story_control", "associative_memory"])
def test_first_seeds_are_the_first_of_every_arm_and_experiment(study):
    params, folders = studies.load_params(study), Folders.from_environment()
    whole = Evidence(study, params, folders)
    few = Part(study, params, folders, chosen=first_seeds(whole.units, 2))
    assert {*few.units} == {*whole.units}
    first = {name: {*of[:2]} for name, of in whole.units.items()}
    shared = {one for of in first.values() for one in of}  # a run of two arms is one of both
    assert all({*few.units[name]} == {*of} & shared for name, of in whole.units.items())
    assert any(len(of) > 2 for of in whole.units.values())  # otherwise nothing was left out


def test_a_record_changed_after_it_was_kept_is_refused(tmp_path):
    seal(tmp_path, (), ())
    path = keep(RECORD, tmp_path)
    path.write_text(path.read_text().replace('"equal": 38', '"equal": 40'))
    with pytest.raises(Exception, match="reproduced/look_up"):
        as_table(tmp_path, TITLES, N_RUNS)


def test_furthest_effect_is_counted_in_half_widths_of_the_published_interval():
    records = [
        {"claim": "A", "paper": side(0.5, 0.4, 0.6), "rerun": side(0.55)},  # half a half-width
        {"claim": "B", "paper": side(10.0, 0.0, 20.0), "rerun": side(12.0)},  # more in its own unit, less in widths
        {"claim": "C", "paper": side(None), "rerun": side(1.0)},
        {"claim": "D", "paper": None, "rerun": side(1.0)},
    ]
    assert furthest(records) == ("A", pytest.approx(0.5))
    flat = {"claim": "E", "paper": side(1.0, 1.0, 1.0), "rerun": side(0.9)}
    assert furthest([*records, flat]) == ("E", math.inf)
    assert furthest([{**flat, "rerun": side(1.0)}]) == ("E", 0.0)
    assert furthest([]) == (None, 0.0)


def test_runs_are_equal_by_their_last_weights_and_experiments_by_their_tables():
    table = pd.DataFrame({"init_seed": [1, 2], "value": [0.5, 0.25]})
    published = [
        Stub("same"), Stub("other", hashes="bb"), Stub("computed", trained=False, values=table),
        Stub("moved", trained=False, values=table), Stub("bare", trained=False),
    ]  # fmt: skip
    new = [
        Stub("same"), Stub("other"), Stub("computed", trained=False, values=table.iloc[::-1]),
        Stub("moved", trained=False, values=table + 1e-9), Stub("bare", trained=False, values=table), Stub("unknown"),
    ]  # fmt: skip
    by_name = {run.run_id: run for run in published}
    assert [equal_runs([run], by_name) for run in new] == [1, 0, 1, 0, 0, 0]
    assert equal_runs(new, by_name) == 2
    wider, narrower = Stub("computed", trained=False, values=table.assign(times=3)), table.drop(columns="value")
    assert equal_runs([wider], by_name) == 1, "a column that came since says nothing of what was published"
    assert equal_runs([Stub("computed", trained=False, values=narrower)], by_name) == 0


def test_a_run_is_apart_by_its_tables_alone_and_another_by_weights_losses_or_rows():
    table = pd.DataFrame({"site": ["head", "stream"], "layer": [0, 1], "value": [0.5, 200.0], "n": [np.inf, np.nan]})
    losses = pd.DataFrame({"step": [1, 2], "epoch": [1, 1], "loss": [1.0, 0.5], "grad_norm": [2.0, 1.0]})
    losses = losses.assign(tokens_seen=losses["step"] * 10)
    thin = losses.tail(1).assign(loss=0.75, grad_norm=1.5)
    published = Stub("a", losses=losses, values=table, older=table)
    assert apart(Stub("a", losses=losses, values=table.iloc[::-1].assign(newer=1)), published) == 0
    assert apart(Stub("a", losses=losses, values=table), Stub("a", losses=thin, thinned=True, values=table)) == 0
    for off, by in ((1e-9, 1e-9), (0.25, 0.25)):
        near = Stub("a", losses=losses, values=table.assign(value=[0.5 + off, 200.0]))
        assert apart(near, published) == pytest.approx(by)
    relative = Stub("a", losses=losses, values=table.assign(value=[0.5, 200.0 + 1e-8]))
    assert apart(relative, published) == pytest.approx(5e-11, rel=1e-4)
    for other in (
        Stub("a", hashes="ca", losses=losses, values=table),  # of an earlier checkpoint
        Stub("a", hashes="a", losses=losses, values=table),
        Stub("a", losses=losses.assign(loss=[1.0, 0.6]), values=table),
        Stub("a", losses=losses, values=table.assign(site="head")),
        Stub("a", losses=losses, values=table.head(1)),
        Stub("a", losses=losses, values=table.assign(n=[1.0, np.nan])),
        Stub("a", losses=losses, values=table.assign(n=[np.inf, 1.0])),
        Stub("a", losses=losses, values=table.drop(columns="n")),
        Stub("a", losses=losses, newer=table),
    ):
        assert math.isinf(apart(other, published))
    computed = Stub("b", trained=False, values=table)
    assert apart(computed, computed) == 0 and math.isinf(apart(computed, Stub("b", trained=False)))


def made(apart):
    return MadeAgain.of(apart, 0.5, "Some CPU")


def test_last_digits_of_what_is_measured_do_not_make_another_run():
    assert made(0.0).equal and made(4e-15).equal
    assert not made(1e-3).equal and not made(math.inf).equal


def test_row_of_parts_says_how_far_numbers_are_apart_and_when_all_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(reproductions, "verdicts_in", lambda *_: dict.fromkeys(range(12)))
    parts = {"a": made(0.0), "b": made(4.2e-15), "c": made(0.5)}
    few = replace(RECORD, published=3, claims=0, differing=(), largest=None, moved=0.0, hours=1.5)
    seal(tmp_path, (), ())
    keep(replace(few, runs=3, equal=2, parts=parts), tmp_path)
    table = as_table(tmp_path, TITLES, {"look_up": 3, "other": 3})
    assert "| Some CPU | 2 of 3, of 3 in all | not judged | numbers within 4e-15 | 1.5 on 2 cores |" in table
    assert "Not reproduced whole yet: Values are found; Another chapter." in table
    whole = replace(few, runs=3, equal=3, parts=parts | {"c": made(0.0)})
    keep(whole, tmp_path)
    assert Reproduction.of(json.loads(whole.to_json())) == whole
    table = as_table(tmp_path, TITLES, {"look_up": 3, "other": 3})
    assert "| 3 of 3, of 3 in all | of the same numbers | numbers within 4e-15 |" in table
    assert table.endswith("Not reproduced whole yet: Another chapter.")
    later = as_table(tmp_path, TITLES, {"look_up": 5, "other": 3})
    assert "| 3 of 3, of 5 in all |" in later and "whole yet: Values are found; Another chapter." in later


def test_hours_of_interrupted_attempts_are_added(tmp_path, monkeypatch):
    clock = iter([10.0, 13.0, 20.0, 21.5])
    monkeypatch.setattr(reproduction.time, "perf_counter", lambda: next(clock))
    with pytest.raises(KeyboardInterrupt), reproduction.timed(tmp_path / "spent.json"):
        raise KeyboardInterrupt
    with reproduction.timed(tmp_path / "spent.json"):
        pass
    assert reproduction.spent(tmp_path / "spent.json") == pytest.approx(4.5)


def test_hours_of_a_killed_attempt_are_there_while_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "KEPT_EVERY", 0.01)
    path = tmp_path / "spent.json"
    with reproduction.timed(path):
        until = time.monotonic() + 5
        while not path.is_file() and time.monotonic() < until:
            time.sleep(0.01)
        assert reproduction.spent(path) > 0, "nothing may wait for an end that a killed process does not come to"
