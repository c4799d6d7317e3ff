"""What is drawn of the published networks is what their tables say, asked of the tables without any reading."""

from pathlib import Path

import pytest

import paper
from circuitcore.ground.environment import Folders
from livingpaper.book import studies
from livingpaper.book.drawings import drawn
from livingpaper.book.evidence import Evidence
from livingpaper.figures.circuit import takeaway

ROOT = Path(paper.__file__).resolve().parent
HALF, LEARNT = 0.5, 0.9
SIX = {"metric": "interchange", "edit": ""}
TRADED = {"metric": "answers_swapped_under", "edit": "swap keys' positions"}
STORY = {"metric": "interchange_chosen", "edit": "", "variable": "target_token"}
RECALL = "d 32, 2 heads, FFN 64, repeats"
SWITCHED = {"metric": "edge_switch"}
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
ROWS_OF = {
    "symbolic_kv": {
        "tags": {**SWITCHED, "family": "keys", "site": "{who}>MLP->L1H*.k"},
        "carries": {**SWITCHED, "family": "query", "site": "{who}>MLP->L1H*.q"},
    }
}
"""Study -> the same where it has a test of its own: paths from a head of layer 0 that other scores name."""
LEFT = ("finds", "reads", "joins")
OF_RECALL = (*LEFT, "weighs")
DRAWN = [
    ("symbolic_kv", "circuit", {"trained": tuple(range(10))}),
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


@pytest.fixture(scope="module")
def circuits(evidence):
    """Study and drawing -> its circuits; each network is drawn once, for a chapter too."""

    def of(study, drawing):
        return made[study, drawing](evidence[study][0].material(evidence[study][1])[0])

    with pytest.MonkeyPatch.context() as patch:
        made = {}
        for study, drawing, _ in DRAWN:
            drawings = evidence[study][0].study.DRAWINGS
            made[study, drawing] = once(drawings[drawing])
            patch.setitem(drawings, drawing, made[study, drawing])
        yield of


def once(draw):
    """A drawing of the only material there is, that remembers its circuits."""
    kept = []

    def drawing(material):
        kept[:] = kept or [draw(material)]
        return kept[0]

    return drawing


def value_at(table, row, site=""):
    """The one number at the end of training in a row of a network's table."""
    for column, wanted in row.items():
        table = table[table[column].astype(str) == wanted.format(who=site)]
    (value,) = table[table["step"] == table["step"].max()]["value"]
    return float(value)


def read_off(study, table, move, who):
    """Effect of one link, and whether that supports it, by the numbers of its network alone."""
    site = "all heads" if who == "L0H*" and move in OF_RECALL else who
    site = "H*" if move == "tags" and site == "L0H*" else site
    value = value_at(table, (ROWS | ROWS_OF.get(study, {}))[move], site)
    if move not in OF_RECALL:
        return value, value >= HALF
    whole = value_at(table, {"metric": "recall", "variable": ""})
    effect = max(0.0, whole - value) if move in LEFT else value
    reached = value <= HALF if move == "joins" else effect >= HALF
    return effect, reached and whole >= LEARNT


@pytest.mark.slow
@pytest.mark.parametrize(("study", "drawing", "networks"), DRAWN, ids=[f"{one[0]} {one[1]}" for one in DRAWN])
def test_every_published_circuit_is_what_its_tables_say(evidence, circuits, study, drawing, networks):
    runs = [(arm, seed) for arm, seeds in networks.items() for seed in seeds]
    found = circuits(study, drawing)
    assert [circuit.name.split(" (")[0] for circuit in found] == [f"seed {seed}" for _, seed in runs]
    table = evidence[study][1][0].measurements
    for (arm, seed), circuit in zip(runs, found, strict=True):
        of_run = table[(table["arm"] == arm) & (table["init_seed"] == seed)]
        for link in circuit.links:
            effect, supported = read_off(study, of_run, link.move, link.head)
            assert (link.effect, link.supported) == (pytest.approx(effect), supported), (circuit.name, link.move)


@pytest.mark.slow
@pytest.mark.parametrize(("study", "drawing", "networks"), DRAWN, ids=[f"{one[0]} {one[1]}" for one in DRAWN])
def test_a_chapter_can_show_it_and_leaves_both_pictures(evidence, circuits, study, drawing, networks):
    large, kept = drawn(*evidence[study], drawing)
    assert list(kept) == [drawing, f"{drawing}s"] and len(large) == 1
    assert kept[f"{drawing}s"].count("<li>") == sum(map(len, networks.values()))
    for html in kept.values():
        assert "\n" not in html and "<script" not in html and " id=" not in html and str(ROOT) not in html


@pytest.mark.slow
def test_what_the_sentences_say(circuits):
    said = {(study, drawing): takeaway(circuits(study, drawing)[0]) for study, drawing, _ in DRAWN}
    story, planted = said["story_control", "circuit"], said["story_control", "planted_circuit"]
    assert story.startswith("Seed 0: no link is supported by a causal test") and "in 0 of 25 networks" in story
    assert planted.startswith("Seed 0 ① brings the next word.") and "of 25 networks" in planted
    assert "of which these networks know 5 %: it could hardly" in story and "could hardly" not in planted
    assert "No path was patched here" in said["six_run_matrix", "circuit"]
    assert "traded in the values, < 1 % of answers follow" in said["permutation_recall", "circuit"]
