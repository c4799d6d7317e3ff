"""What is drawn of the published networks is what their tables say, asked of the tables without any reading."""

from pathlib import Path

import pytest

import paper
from circuitcore.ground.environment import Folders
from livingpaper.book import studies
from livingpaper.book.drawings import drawn
from livingpaper.book.evidence import Evidence
from livingpaper.figures.circuit import percent, takeaway

ROOT = Path(paper.__file__).resolve().parent
HALF = 0.5
SIX = {"metric": "interchange", "edit": ""}
TRADED = {"metric": "answers_swapped_under", "edit": "swap keys' positions"}
STORY = {"metric": "interchange_chosen", "edit": "", "variable": "target_token"}
RECALL = "d 32, 2 heads, FFN 64, repeats"
ROWS = {
    "tags": {**SIX, "family": "same_key", "variable": "matching_slot", "site": "L1{who}.k"},
    "carries": {**SIX, "family": "separating", "variable": "query_key", "site": "{who}.z"},
    "matches": {**SIX, "family": "separating", "variable": "query_key", "site": "{who}.q"},
    "copies": {**SIX, "family": "separating", "variable": "selected_value", "site": "{who}.z"},
    "answers": {**STORY, "site": "{who}.z"},
    "finds": {"metric": "recall_under", "edit": "cut x_source", "site": "{who}"},
    "reads": {"metric": "recall_under", "edit": "cut y_source", "site": "{who}"},
    "weighs": {**TRADED, "site": "{who}"},
    "joins": {"metric": "recall_under", "edit": "linear", "site": "{who}"},
}
"""Move -> the row of a table that supports it; of recall what is left, of all else what moves."""
LEFT = ("finds", "reads", "joins")
DRAWN = [
    ("six_run_matrix", "circuit", {"off": (0, 1, 2, 3, 4), "on": (0, 1, 2, 3, 4)}),
    ("story_control", "circuit", {"story, as published": (0,)}),
    ("story_control", "planted_circuit", {"planted repeats": (0,)}),
    ("permutation_recall", "circuit", {RECALL: (1, 2, 3, 4, 5, 6)}),
]


@pytest.fixture(scope="module")
def evidence():
    """Study -> its evidence and results, as a chapter gathers them."""
    found = {}
    for name, *_ in DRAWN:
        if name not in found:
            of = Evidence(name, studies.load_params(name), Folders(ROOT, ROOT / "runs", ROOT / "published"))
            found[name] = of, of.gather(None)
    return found


def value_of(table, move, who):
    """The number at the end of training that one link stands on."""
    site = {"tags": "H*"}.get(move, "all heads" if who == "L0H*" and move in (*LEFT, "weighs") else who)
    for column, wanted in ROWS[move].items():
        table = table[table[column].astype(str) == wanted.format(who=site)]
    (value,) = table[table["step"] == table["step"].max()]["value"]
    return float(value)


@pytest.mark.slow
@pytest.mark.parametrize(("study", "drawing", "networks"), DRAWN, ids=[f"{one[0]} {one[1]}" for one in DRAWN])
def test_every_published_circuit_is_what_its_tables_say(evidence, study, drawing, networks):
    of, found = evidence[study]
    circuits = of.study.DRAWINGS[drawing](of.material(found)[0])
    runs = [(arm, seed) for arm, seeds in networks.items() for seed in seeds]
    assert [circuit.name.split(" (")[0] for circuit in circuits] == [f"seed {seed}" for _, seed in runs]
    table = found[0].measurements
    for (arm, seed), circuit in zip(runs, circuits, strict=True):
        of_run = table[(table["arm"] == arm) & (table["init_seed"] == seed)]
        for link in circuit.links:
            value = value_of(of_run, link.move, link.head)
            assert link.supported == (value <= HALF if link.move in LEFT else value >= HALF), (circuit.name, link.move)
            if link.move not in LEFT:
                assert percent(link.effect) == percent(value)


@pytest.mark.slow
@pytest.mark.parametrize(("study", "drawing", "networks"), DRAWN, ids=[f"{one[0]} {one[1]}" for one in DRAWN])
def test_a_chapter_can_show_it_and_leaves_both_pictures(evidence, study, drawing, networks):
    of, found = evidence[study]
    large, kept = drawn(of, found, drawing)
    assert list(kept) == [drawing, f"{drawing}s"] and len(large) == 1
    assert kept[f"{drawing}s"].count("<li>") == sum(map(len, networks.values()))
    for html in kept.values():
        assert "\n" not in html and "<script" not in html and " id=" not in html and str(ROOT) not in html


@pytest.mark.slow
def test_what_the_sentences_say(evidence):
    said = {}
    for study, drawing, _ in DRAWN:
        of, found = evidence[study]
        said[study, drawing] = takeaway(of.study.DRAWINGS[drawing](of.material(found)[0])[0])
    story, planted = said["story_control", "circuit"], said["story_control", "planted_circuit"]
    assert story.startswith("Seed 0: no link is supported by a causal test") and "in 0 of 25 networks" in story
    assert planted.startswith("Seed 0 ① brings the next word.") and "of 25 networks" in planted
    assert "No path was patched here" in said["six_run_matrix", "circuit"]
    assert "traded in the values, < 1 % of answers follow" in said["permutation_recall", "circuit"]
