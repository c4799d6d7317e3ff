"""``python3 paper.py bench --smoke``: the whole bench on tiny shapes, as CI runs it. No number of it counts."""

import contextlib
import io
import itertools
import json

import pytest

from benchmarks.__main__ import NAMES, main
from benchmarks.designs import DESIGNS
from circuitcore.native import why_not

NEEDED = {"workload", "design", "cpu_ms_per_step", "ratio_to_eager", "share_of_peak", "spread", "status"}


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """What the smoke run prints, and what it writes."""
    path, said = tmp_path_factory.mktemp("bench") / "results.json", io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["--smoke", "--out", str(path)]) == 0
    return said.getvalue(), json.loads(path.read_text())


def test_no_row_is_missing(smoke):
    rows = smoke[1]["rows"]
    assert [(row["workload"], row["design"]) for row in rows] == list(itertools.product(NAMES, DESIGNS))
    for row in rows:
        assert NEEDED <= set(row)


def test_a_row_has_numbers_or_a_reason(smoke):
    for row in smoke[1]["rows"]:
        if row["status"] == "measured":
            low, high = row["spread"]
            assert 0 < low <= row["cpu_ms_per_step"] <= high
        else:
            assert row["status"].startswith("not measured: ") and row["cpu_ms_per_step"] is None, row


def test_eager_torch_and_the_fallback_are_measured_everywhere_and_agree(smoke):
    for row in smoke[1]["rows"]:
        if row["workload"] not in ("W6", "W7") and row["design"] in ("eager", "torch"):
            assert row["status"] == "measured" and row["ratio_to_eager"] > 0, row
            assert row["difference"] <= (1e-5 if row["workload"] == "W5" else 1e-4)
        if row["workload"] == "W6" and row["design"] == "torch":
            assert row["extra"]["extrapolated"] and row["extra"]["minutes"] > 0
            assert set(row["extra"]["cpu_seconds_per_epoch"]) == {"train", "keep", "measure"}


def test_a_native_design_is_measured_or_says_why_not(smoke):
    for row in smoke[1]["rows"]:
        if row["design"] == "native" and row["workload"].startswith("W3"):
            assert (row["status"] == "measured") == (not why_not()), row


def test_machine_and_method_are_recorded(smoke):
    made = smoke[1]
    assert {"processor", "cores", "vector_instructions", "torch", "numpy", "python", "compiler", "blas"} <= set(
        made["machine"]
    )
    assert made["machine"]["transformer-lens"] == "not installed"
    assert made["method"]["smoke"] is True
    assert made["peak_gflops"]["torch_matmul"]["median"] > 0


def test_it_says_what_to_expect_and_that_nothing_counts(smoke):
    (
        first,
        *_,
    ) = smoke[0].splitlines()
    assert first.startswith("Measuring W1, ") and first.endswith(("not timed here before.", " s.", " min."))
    assert "A smoke run: no number counts." in smoke[0]


def test_an_unknown_workload_is_named(capsys):
    assert main(["--only", "W1,W9"]) == 2
    assert "'W9'" in capsys.readouterr().err
