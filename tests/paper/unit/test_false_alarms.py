"""How often the battery reports what is not there: said beside every claim that a circuit exists."""

from types import ModuleType

import pandas as pd
import pytest
from pydantic import BaseModel

from circuitcore.emergence.seeds import share_interval
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.claims.claim import Claim, Verdict, share_check, to_json
from livingpaper.claims.view import View
from livingpaper.figures.rates import rates
from livingpaper.figures.rows import ColumnsError
from livingpaper.figures.style import specification
from livingpaper.figures.verdict_text import FalseAlarms, claim_html, claim_markdown, claim_text


class NoParams(BaseModel):
    pass


def verdict(claim_id, k, n=75):
    claim = Claim(
        id=claim_id, sentence="Few.", metric="share", direction="at_most", smallest_effect=0.05, control="planted"
    )
    return Verdict.of(claim, share_check(k, n, control_passed=True), "paper")


def recorded(folder):
    """Verdicts of the control study, as published."""
    verdicts = [verdict("SC5", 0), verdict("SC6", 25), verdict("SC5.published", 3), verdict("SC6.published", 30)]
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


def test_counts_rates_and_intervals_are_those_of_the_verdicts(evidence):
    recorded(evidence.folders.published)
    whole, part = share_interval(0, 75), share_interval(25, 75)
    assert str(evidence.false_alarms("C1")) == (
        "On networks that cannot have it, this battery reported the circuit in 0 of 75 runs (false-positive rate 0, "
        f"95 % interval {whole.low:.3g} to {whole.high:.3g}) [SC5: Supported], and a part of it in 25 of 75 "
        f"runs (false-positive rate 0.333, 95 % interval {part.low:.3g} to {part.high:.3g}) [SC6: Negative]"
    )
    assert "3 of 75 runs" in str(evidence.false_alarms("C1.published"))


def test_other_claims_and_unpublished_controls_have_none(evidence):
    assert evidence.false_alarms("C1") is None
    recorded(evidence.folders.published)
    assert evidence.false_alarms("C2") is None


def test_the_line_stands_in_every_form_of_a_claim(evidence):
    recorded(evidence.folders.published)
    shown, found = [verdict("KV2", 70)], evidence.false_alarms("C1")
    assert "see {ref}`the negative control <claim-sc5>`." in claim_markdown(shown, found)
    assert 'see <a href="story_control.ipynb">the negative control</a>.' in claim_html(shown, found)
    for form in (claim_markdown, claim_html, claim_text):
        assert "0 of 75 runs" in form(shown, found) and "0 of 75 runs" not in form(shown)
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
        interval = share_interval(k, 25)
        assert found[group]["counted"] == f"{k} of 25"
        assert [found[group][name] for name in ("low", "value", "high")] == pytest.approx(
            [interval.low, interval.mean, interval.high]
        )


def test_the_readers_runs_have_rows_of_their_own():
    both = pd.concat([view({"story": [0] * 5}, origin="paper").table, view({"story": [1]}, origin="rerun").table])
    counted = {row["group"]: row["counted"] for row in drawn(rates(View(both, "share", "test")))}
    assert counted == {"story": "0 of 5", "story (yours)": "1 of 1"}


def test_values_that_are_no_counts_are_refused():
    with pytest.raises(ColumnsError, match="value must be 1 where it happened"):
        rates(view({"story": [0.5]}))
