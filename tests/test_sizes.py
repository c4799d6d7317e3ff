"""The tree stays small, so that a clone is quick."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from same_published import compare, is_recorded

import paper
from circuitcore.ground.contents import CONTENTS_NAME, Contents
from livingpaper.book.book_order import verdicts_in
from tests.conftest import LONGEST

ROOT = Path(paper.__file__).resolve().parent
PUBLISHED = ROOT / "published"
MADE_HERE = {".git", ".venv", ".pytest_cache", ".ruff_cache", "__pycache__", "_build", "build", "runs"}
MAX_PUBLISHED, MAX_REST = 80e6, 8e6  # bytes
MAX_FILES = 650  # a file a table and arm, and one a study for histories


def files(folder):
    for place, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if name not in MADE_HERE and not name.endswith(".egg-info")]
        yield from (Path(place) / name for name in names)


def test_what_is_published_is_a_few_files_of_a_bounded_size():
    found = list(files(PUBLISHED))
    assert len(found) <= MAX_FILES
    assert 20e6 < sum(path.stat().st_size for path in found) <= MAX_PUBLISHED


def test_the_rest_of_the_tree_is_small():
    found = [path for path in files(ROOT) if PUBLISHED not in path.parents]
    assert 1e6 < sum(path.stat().st_size for path in found) <= MAX_REST


def test_the_files_that_are_tested_first_are_there():
    assert [name for name in LONGEST if not (ROOT / "tests" / name).is_file()] == []


def test_two_folders_that_differ_are_told_apart(tmp_path):
    """By the script that shows that a new layout moves nothing."""
    (tmp_path / CONTENTS_NAME).write_text(Contents({}).to_json())
    with pytest.raises(AssertionError, match="lists of contents differ"):
        compare(PUBLISHED, tmp_path)


@pytest.mark.parametrize("by, same", [(0.0, True), (1e-13, True), (1e-6, False)])
def test_a_verdict_is_the_recorded_one_to_nine_digits(by, same):
    """Without AVX-512 numpy rounds the last digits of some fits differently."""
    recorded = verdicts_in(PUBLISHED, "bigrams_and_composition")["BC16"]
    held = recorded.finding.held
    moved = replace(held, estimate=replace(held.estimate, effect=held.estimate.effect * (1 + by)))
    assert is_recorded(replace(recorded, finding=replace(recorded.finding, held=moved)), recorded) == same


def test_a_folder_holds_what_it_holds_by_that_script():
    """Of a study whose stage has no networks, and tables of experiments alone."""
    lines = compare(PUBLISHED, PUBLISHED, "bigrams_and_composition")
    assert len(lines) == 3 and lines[1].startswith("bigrams_and_composition: 81 runs, 11 tables, ")
    assert lines[2].endswith(": 28 verdicts as recorded, 1 explorers with the same weights")
