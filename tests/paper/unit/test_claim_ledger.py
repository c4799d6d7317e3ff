"""The table of all claims: each beside its twin under the source's definition, read from what chapters left."""

import json

import pytest

from livingpaper.book import chapter
from livingpaper.claims.claim import Check, Claim, Verdict, to_json
from livingpaper.figures.claim_ledger import ledger_html, ledger_markdown, ledger_rows


def verdict(name, effect=0.9, source_verdict="", sentence="It <works>."):
    claim = Claim(
        id=name, sentence=sentence, metric="m", direction="at_least", smallest_effect=0.5, control="c",
        source="source" if source_verdict else "ours", source_verdict=source_verdict,
    )  # fmt: skip
    check = Check(effect=effect, interval=(effect - 0.1, effect + 0.1), n_seeds=5, control_passed=True)
    return Verdict.of(claim, check, "paper")


PAIR = [verdict("K1.published", 0.1, source_verdict="Seen once"), verdict("K1"), verdict("K2", 0.55)]


def test_a_twin_stands_beside_its_claim():
    assert [(found.claim.id, twin and twin.claim.id) for found, twin in ledger_rows(PAIR)] == [
        ("K1", "K1.published"),
        ("K2", None),
    ]


def test_a_twin_without_its_claim_is_refused():
    with pytest.raises(ValueError, match="K1.published repeats K1"):
        ledger_rows(PAIR[:1])


def test_every_row_says_what_each_definition_gave():
    first, second = ledger_markdown({"kv": PAIR}).splitlines()[2:]
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    assert cells[0].startswith("{ref}`K1 <claim-k1>`") and cells[1] == "Seen once"
    assert "Negative" in cells[2] and "0.1" in cells[2] and "Supported" in cells[3] and "n = 5" in cells[3]
    assert [cell.strip() for cell in second.strip("|").split("|")][1:3] == ["–", "–"] and "Unsupported" in second


def test_sentences_are_no_html():
    assert "It &lt;works&gt;." in ledger_html({"kv": PAIR})


def test_the_book_reads_what_chapters_left(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(chapter, "display", lambda data, raw: seen.append(data))
    monkeypatch.setenv("PAPER_RESULTS", str(tmp_path))
    with pytest.raises(chapter.ChapterError, match="no chapter has left its verdicts"):
        chapter.ledger()
    (tmp_path / "kv.json").write_text(json.dumps({"verdicts": json.loads(to_json(PAIR))}))
    chapter.ledger()
    assert seen[0]["text/markdown"] == ledger_markdown({"kv": PAIR})
