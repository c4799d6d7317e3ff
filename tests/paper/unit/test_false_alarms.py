"""How often the battery reports what is not there: said beside every claim that a circuit exists."""

from types import ModuleType

import pandas as pd
import pytest
from judged import judged
from pydantic import BaseModel

from circuitcore.emergence.shares import Counted, counted, counted_in_groups
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.claims.claim import Says
from livingpaper.claims.rules import Share
from livingpaper.claims.units import RUNS, at_most
from livingpaper.claims.verdict import to_json
from livingpaper.claims.view import View, on_data_sets
from livingpaper.figures.caption import facts
from livingpaper.figures.rates import rates
from livingpaper.figures.rows import ColumnsError
from livingpaper.figures.style import specification
from livingpaper.figures.verdict_text import FalseAlarms, claim_html, claim_markdown, claim_text


class NoParams(BaseModel):
    pass


FEW = at_most(0.05, "now and then at most")


def verdict(claim_id, k, n=75, **changes):
    says = Says(
        holds=f"Hardly ever in {claim_id}.",
        fails=f"In {{effect}} of {claim_id}.",
        whether=f"whether {claim_id} is rare",
    )
    return judged([1.0] * k + [0.0] * (n - k), claim_id, rule=Share(), unit=RUNS, bound=FEW, says=says, **changes)


def recorded(folder, **changes):
    """Verdicts of the control study, as published."""
    counts = {"SC5": 0, "SC6": 25, "SC5.published": 3, "SC6.published": 30}
    verdicts = [verdict(claim, k, **changes) for claim, k in counts.items()]
    (folder / "verdicts").mkdir(parents=True)
    (folder / "verdicts" / "story_control.json").write_text(to_json(verdicts))


@pytest.fixture
def evidence(tmp_path):
    study = ModuleType("toy")
    study.CIRCUIT_CLAIMS = frozenset({"C1", "C1.published"})
    study.FALSE_ALARMS = ("story_control", ("SC5", "SC6"))
    made = Evidence("toy", NoParams(), Folders(tmp_path, tmp_path / "runs", tmp_path / "published"))
    made.__dict__["study"] = study
    return made


def in_brackets(k, n=75):
    found = Counted(k, n).interval()
    return f"{100 * k / n:.0f} % {RUNS.interval(found.low, found.high, FEW.value)}"


def test_counts_rates_and_intervals_are_those_of_the_verdicts(evidence):
    recorded(evidence.folders.published)
    assert str(evidence.false_alarms("C1")) == (
        "How far to trust this, from networks that cannot have the circuit: "
        f"In 33 % of SC6. [SC6: Refuted, {in_brackets(25)}, 75 seeds] "
        f"Hardly ever in SC5. [SC5: Supported, {in_brackets(0)}, 75 seeds]"
    )
    published = str(evidence.false_alarms("C1.published"))
    assert f"[SC5.published: Undecided, {in_brackets(3)}, 75 seeds]" in published
    assert "It is not decided whether SC5.published is rare." in published
    assert in_brackets(30) in published and "SC6:" not in published


def test_an_interval_that_ends_beside_the_bound_says_on_which_side():
    assert in_brackets(0) == "0 % [0, 4.8]" and in_brackets(25) == "33 % [23, 45]"


def test_of_a_void_control_no_number_is_said(evidence):
    recorded(evidence.folders.published, void="nothing is planted.")
    said = str(evidence.false_alarms("C1"))
    assert said.endswith("whether SC5 is rare: nothing is planted. [SC5: Void]") and "%" not in said


def test_a_control_that_was_not_checked_is_not_spoken_of(evidence):
    (evidence.folders.published / "verdicts").mkdir(parents=True)
    path = evidence.folders.published / "verdicts/story_control.json"
    path.write_text(to_json([verdict("SC5", 0), judged(None, "SC6")]))
    assert evidence.false_alarms("C1") is None


def test_other_claims_and_unpublished_controls_have_none(evidence):
    assert evidence.false_alarms("C1") is None
    recorded(evidence.folders.published)
    assert evidence.false_alarms("C2") is None


def test_the_line_stands_in_every_form_of_a_claim(evidence):
    recorded(evidence.folders.published)
    shown, found = [verdict("KV2", 70)], evidence.false_alarms("C1")
    assert "see {ref}`the negative control <claim-sc6>`." in claim_markdown(shown, found)
    assert 'see <a href="story_control.ipynb">the negative control</a>.' in claim_html(shown, found)
    for form in (claim_markdown, claim_html, claim_text):
        said = "Hardly ever in SC5. "
        assert said in form(shown, found) and said not in form(shown)
        assert "25 of" not in form(shown) and "75 seeds" in form(shown)
    assert isinstance(found, FalseAlarms)


def test_a_study_that_wants_the_line_says_what_it_rests_on():
    study = studies.load("symbolic_kv")
    before = study.FALSE_ALARMS
    try:
        del study.FALSE_ALARMS
        with pytest.raises(studies.StudyError, match="has CIRCUIT_CLAIMS, but no FALSE_ALARMS"):
            studies.load("symbolic_kv")
    finally:
        study.FALSE_ALARMS = before


def test_claims_that_have_the_line_exist():
    """``studies.load`` refuses an id that is no claim."""
    study = studies.load("symbolic_kv")
    assert {"KV2", "KV6"} <= study.CIRCUIT_CLAIMS <= {claim.id for claim in study.CLAIMS}
    before = study.CIRCUIT_CLAIMS
    try:
        study.CIRCUIT_CLAIMS = frozenset({"KV99"})
        with pytest.raises(studies.StudyError, match="CIRCUIT_CLAIMS: unknown claim 'KV99'"):
            studies.load("symbolic_kv")
    finally:
        study.CIRCUIT_CLAIMS = before


def view(values, **columns):
    rows = [
        {"panel": "whole", "group": group, "series": "ours", "init_seed": seed, "value": float(value)}
        for group, found in values.items()
        for seed, value in enumerate(found)
    ]
    return View(pd.DataFrame(rows).assign(**columns), "share of runs reported", "test")


def drawn(chart):
    spec = specification(chart)
    return [row for rows in spec["datasets"].values() for row in rows if "counted" in row]


def test_rates_are_counted_over_runs():
    found = {row["group"]: row for row in drawn(rates(view({"story": [0] * 25, "planted": [1] * 24 + [0]})))}
    for group, k in {"story": 0, "planted": 24}.items():
        interval = counted([1] * k + [0] * (25 - k)).interval()
        assert found[group]["counted"] == f"{k} of 25"
        assert [found[group][name] for name in ("low", "value", "high")] == pytest.approx(
            [interval.low, interval.mean, interval.high]
        )


def test_rates_of_seeds_that_share_data_sets_have_the_interval_of_a_claim():
    """Six networks share one data set, four have one each; of the story, which all share, networks are counted."""
    values, sets = [1, 1, 1, 1, 0, 0, 0, 1, 0, 0], [0] * 6 + [1, 2, 3, 4]
    rows = pd.concat([view({name: values}, arm=name).table for name in ("story", "planted")])
    shown = on_data_sets(View(rows, "share", "test", band="interval over seeds"), lambda seed: sets[seed], ["planted"])
    found = {row["group"]: row for row in drawn(rates(shown))}
    alone = counted(values).interval()
    together = counted_in_groups([values[:6], *([value] for value in values[6:])]).interval()
    for group, wanted in {"story": alone, "planted": together}.items():
        assert [found[group][end] for end in ("low", "value", "high")] == pytest.approx(
            [wanted.low, wanted.mean, wanted.high]
        )
    assert found["planted"]["high"] - found["planted"]["low"] > found["story"]["high"] - found["story"]["low"]
    assert "Intervals: interval over data sets (over seeds that all share one)." in facts(shown)


def test_a_seed_of_several_runs_counts_once():
    rows = pd.concat([view({"story": [1, 0, 0, 0, 1]}, arm=arm).table for arm in ("a", "b")])
    (row,) = drawn(rates(View(rows, "share", "test")))
    wanted = counted([1, 0, 0, 0, 1]).interval()
    assert row["counted"] == "4 of 10" and (row["low"], row["high"]) == pytest.approx((wanted.low, wanted.high))


def test_the_readers_runs_have_rows_of_their_own():
    both = pd.concat([view({"story": [0] * 5}, origin="paper").table, view({"story": [1]}, origin="rerun").table])
    found = {row["group"]: row for row in drawn(rates(View(both, "share", "test")))}
    assert {group: row["counted"] for group, row in found.items()} == {"story": "0 of 5", "story (yours)": "1 of 1"}
    yours = found["story (yours)"]
    assert (yours["low"], yours["high"], yours["interval"]) == (1, 1, "none of so few"), "captions promise no interval"


def test_the_readers_row_stands_under_the_published_one():
    of_paper = view({"story": [0] * 5, "planted": [1] * 5}, origin="paper").table
    yours = view({"story": [1], "planted": [1], "new": [1]}, origin="rerun").table
    spec = specification(rates(View(pd.concat([of_paper, yours]), "share", "test")))
    wanted = ["story", "story (yours)", "planted", "planted (yours)", "new (yours)"]
    assert wanted in [layer["encoding"]["y"].get("sort") for layer in spec["layer"]]


def test_values_that_are_no_counts_are_refused():
    with pytest.raises(ColumnsError, match="value must be 1 where it happened"):
        rates(view({"story": [0.5]}))
