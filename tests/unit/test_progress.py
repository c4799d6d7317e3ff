"""What long commands say and show: the arithmetic with clocks made up here, and the texts."""

import io
import json
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from tqdm import tqdm

from circuitcore import durations, progress
from circuitcore.durations import TYPICAL, Durations
from circuitcore.outlook import Outlook
from circuitcore.progress import Stages, Trail, Watch, in_all, one_by_one, text_bar
from circuitcore.training.engine import StepStats, TorchEngine
from circuitcore.training.progress import step_times
from circuitcore.training.schedule import Rows


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("time.perf_counter", clock)
    return clock


def silent_bar(made):
    def make(**options):
        bar = tqdm(**options, file=io.StringIO())
        made.append(bar)
        return bar

    return make


def test_a_stage_counts_by_the_clock_up_to_its_estimate_and_whole_when_it_ends():
    clock = Clock()
    stages = Stages({"first": 10.0, "second": 30.0}, clock)
    assert (stages.total, stages.done()) == (40, 0)
    with stages.stage("first"):
        clock.pass_seconds(4.0)
        assert stages.done() == 4
        clock.pass_seconds(60.0)
        assert stages.done() == 10, "it takes longer than was thought, so the bar waits"
    with stages.stage("second"):
        clock.pass_seconds(1.0)
        assert stages.done() == 11
    assert stages.done() == 40, "it was faster than was thought, and is done"


def test_a_stage_that_nobody_expected_does_not_move_the_bar_and_one_that_fails_does_not_end_it():
    stages = Stages({"known": 10.0}, Clock())
    with stages.stage("new"):
        assert stages.done() == 0
    with pytest.raises(ValueError), stages.stage("known"):
        raise ValueError
    assert stages.done() == 0


def test_the_rest_is_taken_to_go_on_like_the_items_after_the_first(clock):
    """The first takes 5 s for what the others reuse; after that a unit takes 2 s."""
    told, bars, seen = [], [], []

    def do(item):
        clock.pass_seconds(5.0 if item == "a" else 2.0 * loads[item])
        return item.upper()

    loads = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 1.0}
    for result in one_by_one(do, loads, Watch(told.append, silent_bar(bars)), "all in {}".format):
        seen.append((result, len(told)))
    assert told == [f"all in {5.0 + 2.0 * 10}"]
    assert seen == [("A", 0), ("B", 0), ("C", 0), ("D", 1), ("E", 1)]
    assert [(bar.initial, bar.total, bar.n) for bar in bars] == [(3, 5, 5)]


def test_a_few_items_are_done_before_anything_could_be_said(clock):
    told = []
    assert list(one_by_one(str.upper, {"a": 1.0, "b": 0.0}, Watch(told.append), str)) == ["A", "B"]
    assert told == []


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ({"training": 60.0, "the page": 20.0}, "about 80 s (training, about 60 s; the page, about 20 s)."),
        ({"training": 600.0, "x": None}, "more than about 10 min (training, about 10 min; x, not known yet)."),
        ({"x": None}, "no time is known here yet (x, not known yet)."),
    ],
)
def test_the_total_says_what_it_is_made_of_and_what_is_not_known(parts, line):
    assert in_all(parts) == f"Expected in all: {line}"


def test_a_build_executes_chapters_side_by_side_and_summaries_after_them():
    outlook = Outlook({"a": 20.0, "b": 6.0, "c": 4.0}, {"claims": 5.0}, "all pages", 10.0, 2)
    assert outlook.seconds == 20.0 + 5.0 + 10.0
    assert str(outlook) == "Building the book (4 notebook(s) to execute, then the pages): expected about 35 s."
    assert outlook.lengths() == {"a": 20.0, "b": 6.0, "c": 4.0, "claims": 5.0, "pages": 10.0}


def test_a_build_names_what_it_does_not_know_and_claims_no_time_for_it():
    outlook = Outlook({"a": 20.0, "new": None}, {}, "same pages", 1.0, 2)
    assert str(outlook).endswith("expected about 21 s, and as long as it takes to execute new for the first time.")
    assert outlook.lengths()["new"] == durations.UNKNOWN_SECONDS
    assert str(Outlook({}, {}, "same pages", 1.4, 2)) == "Building the book (the pages): expected about 1 s."


def test_what_took_so_long_here_counts_before_what_it_takes_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(durations, "slowness", lambda: 2.0)
    kept = Durations.of(tmp_path)
    assert kept.expected(["page", "brand new"]) == {"page": 2.0 * TYPICAL["page"]}
    kept.remember("page", 7.0)
    kept.remember("brand new", 3.0)
    assert Durations.of(tmp_path).expected(["page", "brand new"]) == {"page": 7.0, "brand new": 3.0}
    assert json.loads((tmp_path / "build/durations.json").read_text()) == {"page": 7.0, "brand new": 3.0}


@pytest.mark.parametrize("text", ["", "[1]", '{"page": "long"}', "not json"])
def test_a_damaged_file_of_durations_costs_only_what_it_knew(tmp_path, text):
    kept = Durations(tmp_path / "durations.json")
    kept.path.write_text(text)
    assert kept.here() == {}
    kept.remember("page", 7.0)
    assert kept.here() == {"page": 7.0}


def test_what_did_not_come_to_its_end_is_not_remembered(tmp_path, clock):
    kept = Durations.of(tmp_path)
    with pytest.raises(ValueError), kept.timed("page"):
        raise ValueError
    assert kept.here() == {}
    with kept.timed("page"):
        clock.pass_seconds(12.0)
    assert kept.here() == {"page": 12.0}


def test_slowness_is_that_of_the_clock_and_bounded(monkeypatch):
    for each, found in ((2 * durations.REFERENCE_SECONDS, 2.0), (1.0, 10.0), (0.0, 1 / 3)):
        times = iter([0.0, each * durations.LOOPS])
        monkeypatch.setattr(durations, "time", SimpleNamespace(perf_counter=partial(next, times)))
        assert durations.slowness() == pytest.approx(found)


def test_a_trail_is_written_twice_a_second_and_read_as_far_as_it_goes(tmp_path, monkeypatch):
    now = Clock()
    monkeypatch.setattr(progress.time, "monotonic", now)
    trail, reader = Trail(tmp_path / "new" / "run"), Trail(tmp_path / "new" / "run")
    assert reader.read() == 0
    trail.leave(3)
    trail.leave(4)
    assert reader.read() == 3
    now.pass_seconds(progress.POLL_SECONDS)
    trail.leave(5)
    assert reader.read() == 5
    trail.note(6)
    assert reader.read() == 6
    trail.path.write_text("")
    assert reader.read() == 0
    trail.remove()
    trail.remove()
    assert not trail.path.exists()


def test_a_bar_in_a_log_does_not_flood_it(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with text_bar(total=2000) as bar:
        for _ in range(2000):
            bar.update()
    assert len(stream.getvalue().split("\r")) <= 4
    assert "2000/2000" in stream.getvalue()


class TimedEngine(TorchEngine):
    """An engine whose steps take the seconds given, and then the last of them for ever."""

    def __init__(self, clock, seconds):  # no model: it only lets time pass
        self.clock, self.seconds = clock, list(seconds)

    def step(self, tokens, targets, loss_mask):
        self.clock.pass_seconds(self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0])
        return StepStats(1.0, 1.0)


@pytest.mark.parametrize(
    ("seconds", "wanted", "limit", "n_steps"),
    [
        ([0.001], 0.0, 3.0, 15),  # few are wanted: three to warm up, and twelve
        ([0.001], 100.0, 3.0, 103),
        ([0.5], 100.0, 3.0, 6),  # slow steps: no longer than the limit
        ([7.0, 4.0], 100.0, 3.0, 1),  # one step that is longer than the limit
    ],
)
def test_steps_are_timed_for_a_share_of_the_work_and_no_longer_than_a_limit(clock, seconds, wanted, limit, n_steps):
    ids = torch.zeros(1, 2, dtype=torch.int64)
    rows = Rows(ids, ids, ids.bool())
    times = step_times(TimedEngine(clock, seconds), iter(lambda: rows, None), wanted, limit)
    assert len(times) == n_steps
    assert times[0] == pytest.approx(seconds[0])
