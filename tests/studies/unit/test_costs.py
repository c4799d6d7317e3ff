"""The page on costs: everything it says comes from the published file, and what was not measured is said to be so."""

import copy
import json
from pathlib import Path

import pytest
from packed_index import published_lines

import circuitcore
import paper
from benchmarks import report
from benchmarks.designs import DESIGNS
from benchmarks.measuring import Plan, Row
from circuitcore.training.errors import StoreError
from retrieval_circuits import costs
from retrieval_circuits.costs import LABELS, Costs, CostsError

ROOT = Path(paper.__file__).resolve().parent
PEAKS = [{"fma": 200.0, "torch_matmul": 90.0}]
MACHINE = {"processor": "a processor", "blas": "a BLAS", "torch": "2", "circuitcore": "1.0"}


def row(workload, design, **fields):
    return Row(workload=workload, title=f"title of {workload}", design=design, **{"per": "step"} | fields)


def timed(workload, design, milliseconds, ratio, **fields):
    spread = {"spread": (milliseconds, milliseconds), "ratio_spread": (ratio, ratio)}
    return row(workload, design, cpu_ms_per_step=milliseconds, ratio_to_eager=ratio, **spread, **fields)


def six_runs(design, minutes, done=150):
    extra = {"minutes": minutes, "epochs_measured": done, "epochs": 150, "runs": 6, "steps_per_epoch": 100, "cores": 2}
    return row("W6", design, cpu_ms_per_step=1.0, extra=extra)


ROWS = [
    timed("W1", "eager", 20.0, 1.0, share_of_peak=0.25),
    timed("W1", "torch", 25.0, 0.8),
    timed("W1", "native", 4.0, 5.0, ratio_to_lens=5.5, share_of_peak=0.7),
    row("W1", "lens").without("it is not installed"),
    row("W5", "lens", cpu_ms_per_step=5000.0, per="checkpoint"),
    timed("B1", "native", 1.0, 9.0),
    timed("B1", "torch", 6.0, 1.1),
    six_runs("torch", 30.0),
    six_runs("native", 4.0),
]


def made(rows=ROWS, *, smoke=False, elsewhere=(), processor="a processor", published=ROOT / "no runs"):
    plain = report.record(Plan(smoke=smoke), rows, PEAKS, MACHINE | {"processor": processor})
    return Costs(json.loads(json.dumps(plain)), published, elsewhere)


def test_every_design_of_the_bench_has_a_label():
    assert LABELS.keys() == DESIGNS.keys()


def test_the_figure_shows_ratios_to_eager_torch_with_their_goals():
    table = made().ratios().table.set_index(["group", "series"])
    assert len(table) == 4, "eager torch is the line at 1; TransformerLens was not measured"
    best = table.loc["title of W1", "ours, native"]
    assert best["value"] == 5.0 and best["goal"] == 4.5
    assert table.loc["title of B1"]["goal"].isna().all()


def test_tables_say_what_was_measured_and_what_was_not():
    times = made().times().set_index("CPU milliseconds")
    first = times.loc["title of W1, a step"]
    assert first["eager torch"] == 20.0 and first["share of peak"] == "70%"
    assert first.isna()["TransformerLens"]
    goals = made().goals().set_index("what")
    assert list(goals.loc["textual-KV step against eager torch"]) == [
        "≥\N{NO-BREAK SPACE}4.5×",
        "5×",
        "reached",
        "7.14×",
        "0.8×",
    ]
    assert goals.loc["two cores against one"]["at the peak"] == "–"
    assert goals.loc["textual-KV step against TransformerLens"]["verdict"] == "not reached"
    assert goals.loc["two cores against one"]["verdict"] == "not measured"
    assert goals.loc["six runs with 900 measured checkpoints"]["native"] == "4 min"


def test_the_sentences_name_what_is_slower_or_left_out():
    numbers = made().numbers()
    assert numbers["slower"] == "Our fallback is slower than eager torch (times as fast) on title of W1 (0.80)."
    assert "TransformerLens on title of W1 (not measured: it is not installed)" in numbers["left_out"]
    assert numbers["torch_share"] == "45%"
    assert (numbers["goals_met"], numbers["goals_all"]) == ("3", "11")


def test_another_machine_stands_beside_the_first():
    slower = [timed("W1", "eager", 20.0, 1.0), timed("W1", "native", 8.0, 2.5, ratio_to_lens=3.0, share_of_peak=0.6)]
    both = made(elsewhere=(made(slower, processor="another"),))
    goals = both.goals().set_index("what")
    assert goals.loc["textual-KV step against eager torch"]["native on another"] == "2.5×"
    assert goals.loc["two cores against one"]["native on another"] == "–"
    assert list(both.machine()) == ["what", "a processor", "another"]
    said = "On another torch's best product reaches 45% of that, and 0 goals were reached (by circuitcore 1.0)."
    assert both.numbers()["elsewhere"] == said
    assert made().numbers()["elsewhere"] == "No other machine was measured."
    measured = "The version timed was 1.0 on a processor and 1.0 on another"
    assert both.numbers()["versions"] == f"{measured}; this book is made with version {circuitcore.__version__}."


def test_what_was_not_run_is_said_to_be_extrapolated():
    whole = "The native figure was measured whole. The fallback's was measured whole."
    assert made().numbers()["matrix_how"] == whole
    part = made([*ROWS[:-1], six_runs("native", 4.0, done=2)]).numbers()
    assert part["matrix_how"] == whole.replace("was measured whole", "is extrapolated from 2 of 150 epochs a run", 1)
    # 6 runs x 150 epochs x (100 steps of 20 ms + a battery of 5 s) on 2 cores
    assert part["matrix_peer_minutes"] == f"{6 * 150 * (2 + 5) / 60 / 2:.0f}"


def test_nothing_measured_gives_no_number():
    numbers = made([timed("W1", "eager", 20.0, 1.0)]).numbers()
    assert numbers["matrix_minutes"] == numbers["matrix_peer_minutes"] == "(not measured)"
    assert numbers["matrix_how"] == "Neither was measured."
    assert numbers["slower"] == "Nothing of ours is slower than eager torch."


def test_the_books_own_runs_are_counted_from_their_ledgers():
    numbers = made(published=ROOT / "published").numbers()
    runs = [json.loads(line) for line in published_lines(ROOT / "published")]
    runs = [run for run in runs if run["checkpoints"]]  # an experiment trains nothing
    assert numbers["book_runs"] == str(len(runs))
    steps = sum(run["checkpoints"][-1][0] for run in runs)
    assert numbers["book_steps"] == f"{steps / 1e6:.1f} million" and steps > 10_000


def test_a_missing_a_broken_and_a_smoke_file_are_refused(tmp_path):
    with pytest.raises(CostsError, match=r"is missing; run: python3 paper.py bench --out .*bench/results\.json"):
        costs.published_costs(tmp_path)
    path = tmp_path / costs.RESULTS
    path.parent.mkdir()
    path.write_text("{")
    with pytest.raises(StoreError, match="is not JSON"):
        costs.published_costs(tmp_path)
    path.write_text(json.dumps(dict(made(smoke=True).record)))
    with pytest.raises(CostsError, match="smoke"):
        costs.published_costs(tmp_path)
    path.write_text(json.dumps(dict(made().record)))
    (path.parent / "zen.json").write_text(json.dumps(dict(made(processor="Zen").record)))
    assert [other.processor for other in costs.published_costs(tmp_path).elsewhere] == ["Zen"]
    (path.parent / "zen.json").write_text("{")
    with pytest.raises(StoreError, match=r"zen\.json is not JSON"):
        costs.published_costs(tmp_path)


@pytest.mark.parametrize("number", range(2), ids=["first", "elsewhere"])
def test_the_published_measurements_are_whole(number):
    """Every design at every workload has a row, the goals are the bench's, and the verdicts follow from the numbers."""
    first = costs.published_costs(ROOT / "published")
    found = (first, *first.elsewhere)[number]
    rows = [Row(**copy.deepcopy(fields)) for fields in found.record["rows"]]
    assert {(r.workload, r.design) for r in rows} == {(w, d) for w in found.titles() for d in DESIGNS}
    assert json.loads(json.dumps(report.goals(rows))) == found.record["goals"]
    assert found.record["method"]["rounds"] >= 5
    assert all(not isinstance(text, float) and text for text in found.numbers().values())


@pytest.mark.parametrize(
    ("reached", "met", "said"), [(1.8966, False, "1.897×"), (1.5, False, "1.5×"), (1.9004, True, "1.9×")]
)
def test_a_miss_never_reads_like_its_goal(reached, met, said):
    goal = {"quantity": "throughput_ratio", "least": 1.9, "reached": reached, "met": met}
    assert costs._reached(goal) == said
