"""A verdict that moved is recorded once the newest release names its claim, and not before."""

import pytest
from judged import judged

from livingpaper.book.changelog import CHANGELOG, UnnamedVerdictError, require_named, results_changed

TEXT = """# Changelog

## 1.1.0

### Results changed

X1 and X12.published moved, X3.

### Library

- X2 is named here alone.

## 1.0.0

### Results changed

X4 moved.
"""


SUPPORTED, REFUTED = [0.9, 0.92, 0.91, 0.9, 0.93], [0.1, 0.12, 0.11, 0.1, 0.13]


def verdicts(**values):
    return {name: judged(given, name.replace("__", ".")) for name, given in values.items()}


def named(root, before, after):
    recorded = {verdict.claim.id: verdict for verdict in verdicts(**before).values()}
    require_named(recorded, verdicts(**after).values(), root)


def test_what_the_newest_release_says_of_results():
    assert results_changed(TEXT).split() == "X1 and X12.published moved, X3.".split()
    assert results_changed("# Changelog\n") == results_changed("## 1.0.0\n\n### Book\n\n- X1\n") == ""


@pytest.mark.parametrize("claim", ["X2", "X4", "X12", "X1__published"])
def test_a_verdict_that_moved_and_is_not_named_is_not_recorded(tmp_path, claim):
    (tmp_path / CHANGELOG).write_text(TEXT)
    with pytest.raises(UnnamedVerdictError, match=rf"'Results changed' .*: {claim.replace('__', '.')}: Refuted -> Sup"):
        named(tmp_path, {claim: REFUTED}, {claim: SUPPORTED})


def test_named_ones_unmoved_ones_and_new_ones_are(tmp_path):
    (tmp_path / CHANGELOG).write_text(TEXT)
    before = {"X1": REFUTED, "X3": REFUTED, "X12__published": REFUTED, "X2": SUPPORTED}
    named(tmp_path, before, dict.fromkeys(before, SUPPORTED) | {"X9": REFUTED})


def test_a_paper_without_a_changelog_records_all(tmp_path):
    named(tmp_path, {"X1": REFUTED}, {"X1": SUPPORTED})
