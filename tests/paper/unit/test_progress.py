"""What long commands say and show: the arithmetic with clocks made up here, and the texts."""

import dataclasses
import io
import json
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from tqdm import tqdm

import paper
from circuitcore.ground import durations, progress
from circuitcore.ground.durations import Durations, Work, expected
from circuitcore.ground.progress import SILENT, Stages, Trail, Watch, text_bar
from livingpaper.book.notebooks import TIERS, name_of
from livingpaper.book.outlook import Outlook

ROOT = Path(paper.__file__).resolve().parent


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


def test_a_part_of_a_job_says_nothing_and_may_be_told_to():
    said = []
    whole = Watch(said.append)
    whole.say("a")
    for quiet in (whole.as_part(), Watch(), SILENT):
        quiet.say("b")
    assert said == ["a"] and whole.as_part().bar is whole.bar


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


def test_a_bar_stands_for_how_much_there_is_to_do_for_each_item():
    bars, seen = [], []
    for item in Watch(bar=silent_bar(bars)).each({"a": 1.0, "b": 2.0, "c": 3.0}, "checking"):
        seen.append((item, bars[0].n))
    assert seen == [("a", 0), ("b", 1.0), ("c", 3.0)]
    assert (bars[0].total, bars[0].n) == (6.0, 6.0)


@pytest.mark.parametrize(
    ("units", "line"),
    [
        ({"training": 60.0, "page": 20.0}, "about 80 s (training, about 60 s; page, about 20 s)."),
        ({"training": 600.0, "x": 1.0}, "more than about 10 min (training, about 10 min; x, not known yet)."),
        ({"x": 1.0}, "no time is known yet (x, not known yet)."),
    ],
)
def test_the_total_says_what_it_is_made_of_and_what_is_not_known(tmp_path, units, line):
    kept = Durations.of(tmp_path)
    kept.remember("a training", 1.0)
    kept.remember("a page", 1.0)
    assert expected([Work(part, f"a {part}", each) for part, each in units.items()], kept) == f"Expected: {line}"


def test_what_a_unit_took_is_remembered_where_there_was_one_kind_of_work(tmp_path, clock):
    kept, first, second = Durations.of(tmp_path), Work("1", "first", 50.0), Work("2", "second", 5.0)
    for parts in ([first], [first, second], [], [dataclasses.replace(second, units=0.0)]):
        with kept.timed_work(parts):
            clock.pass_seconds(100.0)
    assert kept.here() == {"first": 2.0}


def test_a_build_executes_chapters_side_by_side_and_summaries_after_them():
    outlook = Outlook({"a": 20.0, "b": 6.0, "c": 4.0}, {"claims": 5.0}, "all pages", 10.0, 2)
    assert outlook.seconds == 20.0 + 5.0 + 10.0
    assert str(outlook) == "Building the book (4 notebook(s) to execute, then the pages): expected about 35 s."
    assert outlook.lengths() == {"a": 20.0, "b": 6.0, "c": 4.0, "claims": 5.0, "pages": 10.0}


def test_an_appendix_waits_for_its_chapter_and_the_forecast_says_so():
    outlook = Outlook({"a": 20.0, "appendix/a": 9.0, "b": 6.0, "c": 4.0}, {}, "all pages", 10.0, 2)
    assert outlook.seconds == 20.0 + 9.0 + 10.0


def test_a_build_names_what_it_does_not_know_and_claims_no_time_for_it():
    outlook = Outlook({"a": 20.0, "new": None}, {}, "same pages", 1.0, 2)
    assert str(outlook).endswith("expected about 21 s, and as long as it takes to execute new for the first time.")
    assert outlook.lengths()["new"] == durations.UNKNOWN_SECONDS
    assert str(Outlook({}, {}, "same pages", 1.4, 2)) == "Building the book (the pages): expected about 1 s."


def ship(root, seconds):
    """Durations of a machine with a probe of 100 loops a second, on one with 50."""
    kept = Durations.of(root)
    kept.shipped.parent.mkdir()
    kept.shipped.write_text(json.dumps({durations.PROBE: 100.0, **seconds}))
    return kept


def test_what_took_so_long_here_counts_before_what_it_takes_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(durations, "speed", lambda: 50.0)
    kept = ship(tmp_path, {"page": 3.0})
    assert kept.expected(["page", "brand new"]) == {"page": 6.0}
    monkeypatch.setattr(durations, "speed", lambda: pytest.fail("this machine was probed already"))
    assert kept.expected(["page", "brand new"]) == {"page": 6.0}
    kept.remember("page", 7.0)
    kept.remember("brand new", 3.0)
    assert Durations.of(tmp_path).expected(["page", "brand new"]) == {"page": 7.0, "brand new": 3.0}


def test_a_machine_is_probed_only_where_something_of_another_is_scaled(tmp_path, monkeypatch):
    monkeypatch.setattr(durations, "speed", lambda: pytest.fail("nothing is to be scaled"))
    assert Durations.of(tmp_path).expected(["page"]) == {}
    kept = ship(tmp_path, {"page": 3.0})
    kept.remember("page", 7.0)
    assert kept.expected(["page"]) == {"page": 7.0}


def test_what_is_shipped_is_that_of_every_notebook_of_the_book():
    """A first build says what it will take: 63 s were said once, and 190 s came, since chapters were not listed."""
    shipped = json.loads((ROOT / "params" / "durations.json").read_text())
    notebooks = [name_of(path) for folder in ("book", "book/appendix") for path in (ROOT / folder).glob("*.ipynb")]
    assert durations.PROBE in shipped and len(notebooks) > 5
    wanted = {f"{tier} {name}" for tier in TIERS for name in notebooks} | {"all pages", "changed pages", "same pages"}
    assert wanted <= shipped.keys()


@pytest.mark.parametrize("text", ["", "[1]", '{"page": "long"}', "not json"])
def test_a_damaged_file_of_durations_costs_only_what_it_knew(tmp_path, text):
    kept = Durations(tmp_path / "durations.json", tmp_path / "shipped.json")
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


def test_the_probe_counts_loops_for_a_second(clock, monkeypatch):
    def loop(numbers):
        clock.pass_seconds(0.3)

    monkeypatch.setattr(durations, "sum", loop, raising=False)
    assert durations.speed() == pytest.approx(4 / 1.2)


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


@pytest.mark.parametrize("failing", [True, False])
def test_what_moves_a_bar_has_ended_when_its_body_has_even_by_an_error(monkeypatch, failing):
    """Still under way when Python ends, it can abort the process, which then has another exit status."""
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.001)
    bar = tqdm(total=1, disable=True)  # which starts a thread of tqdm's own
    asked, before = threading.Event(), set(threading.enumerate())

    def done() -> int:
        asked.set()
        time.sleep(0.05)
        return 1

    with pytest.raises(OSError, match="disk") if failing else nullcontext():
        with progress.polled(bar, done):
            assert asked.wait(10)
            if failing:
                raise OSError("disk")
    assert set(threading.enumerate()) == before


def test_a_bar_in_a_log_does_not_flood_it(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with text_bar(total=2000) as bar:
        for _ in range(2000):
            bar.update()
    assert len(stream.getvalue().split("\r")) <= 4
    assert "2000/2000" in stream.getvalue()
