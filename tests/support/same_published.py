"""Whether two folders of published runs hold the same: every listed value, table, verdict and explorer.

``python tests/support/same_published.py OLD NEW [STUDY ...]``, as after the runs were packed::

    git archive COMMIT published | tar -x -C /tmp/before
    python tests/support/same_published.py /tmp/before/published published

Both are read by the code that is here. Exits with 1 at the first difference.
"""

import json
import math
import sys
from pathlib import Path

import pandas as pd

from circuitcore.ground.contents import Contents
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.claims.verdict import Verdict, to_json


def compare(old: Path, new: Path, *names: str) -> list[str]:
    """A line for each thing that was compared and is the same; AssertionError for the first that is not.

    Args:
        old: a folder of published runs.
        new: another.
        names: of studies; none for all.
    """
    before, after = Contents.of(old), Contents.of(new)
    assert before.hashes == after.hashes and before.root == after.root, "the lists of contents differ"
    lines = [f"{len(after.hashes):,} listed values, root {after.root}"]
    for name in names or [name for name in studies.names() if "published" in studies.tiers(name)]:
        lines += [f"{name}: {line}" for line in _compared(*(_evidence(name, folder) for folder in (old, new)))]
    return lines


def _evidence(name: str, folder: Path) -> Evidence:
    nothing = Path("no runs of the reader's")
    found = Evidence(name, studies.load_params(name), Folders(Folders.from_environment().root, nothing, folder))
    assert found.is_published, f"{folder} lacks runs of {name}: {found.situation()}"
    return found


def _compared(old: Evidence, new: Evidence) -> list[str]:
    """What is the same in one study."""
    runs = list(old.shipped)
    for recipe in runs:
        first, second = old.shipped[recipe], new.shipped[recipe]
        assert first.recipe_json == second.recipe_json and first.steps == second.steps, recipe.run_id
        assert first.all_steps == second.all_steps and first.tables.keys() == second.tables.keys(), recipe.run_id
    (before,), (after,) = old.gather(None), new.gather(None)
    assert before.tables.keys() == after.tables.keys(), "instruments differ"
    compared = [
        (before.history, after.history),
        *((table, after.tables[name]) for name, table in before.tables.items()),
    ]
    for first, second in compared:
        pd.testing.assert_frame_equal(first, second, check_exact=True)
    n_rows = sum(len(second) for _, second in compared)
    for claim in old.study.CLAIMS:
        verdict = new.judged(claim, after)
        assert verdict == old.judged(claim, before), claim.id
        assert is_recorded(verdict, new.recorded[claim.id]), claim.id
    n_pages = sum(_same_explorer(old, new, before, after, maker) for maker in old.study.EXPLORERS.values())
    return [
        f"{len(runs)} runs, {len(compared)} tables, {n_rows:,} rows equal to the bit",
        f"{len(old.study.CLAIMS)} verdicts as recorded, {n_pages} explorers with the same weights",
    ]


def is_recorded(verdict: Verdict, recorded: Verdict) -> bool:
    """Whether a verdict is the recorded one, numbers to nine digits: processors round their last ones differently."""
    return _alike(*(json.loads(to_json([one])) for one in (verdict, recorded)))


def _alike(found, wanted) -> bool:
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(_alike(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_alike, found, wanted))
    if isinstance(wanted, float):
        return isinstance(found, float | int) and math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-15)
    return found == wanted


def _same_explorer(old, new, before, after, maker) -> int:
    """1 if what the page gets is the same; a stage of tables alone shows no networks."""
    first, second = maker(old.material([before])), maker(new.material([after]))
    assert first.payload() == second.payload(), first.name
    for one, other in zip(getattr(first, "shown", ()), getattr(second, "shown", ()), strict=True):
        assert one.weights_text == other.weights_text, f"{first.name}, {one.run.run_id}"
    return 1


if __name__ == "__main__":
    print("\n".join(compare(*map(Path, sys.argv[1:3]), *sys.argv[3:])))
