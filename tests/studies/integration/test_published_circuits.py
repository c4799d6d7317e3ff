"""What is drawn of the published networks, at every step, is what their tables say, asked without any reading."""

from dataclasses import replace

import pytest
from published_stage import ROOT, evidence, exhibit

from livingpaper.book.page import ChapterError, explorer_of
from livingpaper.figures.circuit import takeaway
from livingpaper.figures.circuit_drawing import drawing_html, small_drawings_html
from livingpaper.figures.verdict_text import in_prose

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
EXPLORERS = {
    ("symbolic_kv", "explorer"): {"by torch": 10, "trained": 10},
    ("six_run_matrix", "explorer"): {"off": 10, "on": 10},
    ("story_control", "story"): {"story, as published": 10},
    ("story_control", "planted"): {"planted repeats": 10},
    ("permutation_recall", "explorer"): {RECALL: 10},
}
"""Study and explorer -> how many networks of each arm are tested."""
RULES, NOUNS = ("our rule", "published gate", "gate open"), ("copying", "routing")
PASSES, GATE = 0.85, 0.75
TOLD = {
    ("symbolic_kv", "explorer"): ["KV4", "KV3", "KV1"],
    ("six_run_matrix", "explorer"): ["SR7", "SR16", "SR6"],
    ("permutation_recall", "explorer"): ["PR13", "PR15", "PR1"],
    ("story_control", "story"): ["SC2", "SC3"],
    ("story_control", "planted"): ["SC4"],
    ("symbolic_kv", "front"): ["KV1", "KV2", "KV5", "KV3"],
    ("sgd_formation", "explorer"): ["SF8", "SF14", "SF9"],
    ("sgd_selection", "explorer"): ["SS18", "SS3", "SS5"],
    ("composition", "explorer"): ["KF8", "KF9", "KF12", "KF17"],
    ("emergence_laws", "explorer"): ["EL5", "EL21", "EL23"],
}
"""Study and explorer -> the claims that its path tells."""
TEN = {
    1: "L0H2 L1H2 L1H2", 2: "L0H* L1H1 L1H1", 3: "L0H3 L1H* L1H*", 4: "L0H3 L1H* L1H*", 5: "L0H2 L1H* L1H0",
    6: "L0H3 L1H* L1H3", 7: "L0H0 L1H* L1H*", 8: "L0H2 L1H*", 9: "L0H0", 10: "L0H1 L1H0 L1H0",
}  # fmt: skip
NETWORKS = {("random start", seed): {5_000: who} for seed, who in TEN.items()}
NETWORKS["random start", 6] |= {1_500: "", 1_650: ""}
STREAMS = {"sgd_formation": NETWORKS, "sgd_selection": NETWORKS | {("fork", 1): {3_000: "L0H0 L1H* L1H*"}}}
"""Study -> what began the network, and its seed -> step -> who makes the three moves, as far as tests support them."""
SHOWN = (
    *EXPLORERS, ("symbolic_kv", "front"), *((study, "explorer") for study in STREAMS), ("emergence_laws", "explorer")
)  # fmt: skip


def rows_of(study, shown):
    """All that was measured on one run."""
    table = evidence(study)[1][0].measurements
    return table[table["run_id"] == shown.run.run_id]


def value_at(table, row, site=""):
    """The one number in a row of a network's table at a step."""
    for column, wanted in row.items():
        table = table[table[column].astype(str) == wanted.format(who=site)]
    (value,) = table["value"]
    return float(value)


def read_off(study, table, move, who):
    """Effect of one link, and whether that supports it, by the numbers of its network at a step alone."""
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
@pytest.mark.parametrize(("study", "name"), EXPLORERS, ids=map(" ".join, EXPLORERS))
def test_every_test_that_an_explorer_tells_of_is_what_its_table_says(study, name):
    tested = [shown for shown in exhibit(study, name).shown if shown.tests]
    for shown in tested:
        rows = rows_of(study, shown)
        assert shown.run.steps[-1] in shown.tests and set(shown.tests) <= set(shown.steps)
        for step, tests in shown.tests.items():
            table = rows[rows["step"] == step]
            for move, one in tests.items():
                found = read_off(study, table, move, one.who)
                assert (one.effect, one.supported) == (pytest.approx(found[0]), found[1]), (shown.run, step, move)
    arms = [rows_of(study, shown)["arm"].iloc[0] for shown in tested]
    assert {arm: arms.count(arm) for arm in arms} == EXPLORERS[study, name]


@pytest.mark.slow
@pytest.mark.parametrize(("study", "name"), SHOWN, ids=map(" ".join, SHOWN))
def test_what_is_drawn_of_a_published_network_is_what_its_last_tests_say(study, name):
    shown = exhibit(study, name)
    circuits = shown.beside(shown.start)
    for circuit in circuits:
        assert circuit.links
    (first,) = (one for one in shown.shown if one.run.run_id == shown.start["run"])
    large = shown.circuit(shown.start)
    assert {link.move: (link.head, link.effect, link.supported) for link in large.links} == {
        move: (one.who, one.effect, one.supported)
        for move, one in first.tests[shown.start["step"]].items()
        if move in {link.move for link in large.links}
    }
    for html in (drawing_html(large), small_drawings_html(circuits)):
        assert "\n" not in html and "<script" not in html and " id=" not in html and str(ROOT) not in html


@pytest.mark.slow
@pytest.mark.parametrize("study", STREAMS)
def test_moves_in_streams_are_what_the_links_table_says(study):
    table, told = evidence(study)[1][0].tables["links"], {}
    for shown in exhibit(study, "explorer").shown:
        found = {}
        for step, tests in shown.tests.items():
            rows = table[(table["run_id"] == shown.run.run_id) & (table["step"] == step)]
            for move, one in tests.items():
                (value,) = rows[(rows["variable"] == move) & (rows["site"] == one.who)]["value"].unique()
                assert (one.effect, one.supported) == (pytest.approx(float(value)), value >= HALF)
            found[step] = " ".join(one.who for one in tests.values() if one.supported)
        began = "fork" if shown.run.recipe.parent else "random start"
        told[began, shown.run.recipe.init_seed] = {step: found[step] for step in shown.steps}
    assert told == STREAMS[study]


def test_a_network_that_is_not_as_far_in_training_says_at_which_step_it_is_drawn():
    shown = exhibit("sgd_formation", "explorer")
    at_end, early = (shown.beside({**shown.start, "step": step}) for step in (5_000, 1_500))
    assert [circuit.name for circuit in at_end] == [f"seed {seed}" for seed in range(1, 11)]
    ends = ["seed 6" if seed == 6 else f"seed {seed}, step 5,000" for seed in range(1, 11)]
    assert [circuit.name for circuit in early] == ends


@pytest.mark.slow
def test_what_the_sentences_say():
    def said(study, name):
        shown = exhibit(study, name)
        return takeaway(shown.circuit(shown.start))

    story, planted = said("story_control", "story"), said("story_control", "planted")
    assert ": no link is supported by a causal test" in story and "in 0 of 37 networks" in story
    assert " ① brings the next word." in planted and "of 37 networks" in planted
    assert "of which these networks know 5 %: it could hardly" in story and "could hardly" not in planted
    assert "No path was patched here" in said("six_run_matrix", "explorer")
    assert "traded in the values, < 1 % of answers follow" in said("permutation_recall", "explorer")


@pytest.mark.slow
def test_the_front_page_shows_the_first_chapters_own_networks():
    """Tested and packed once for both."""
    trained = [one for one in exhibit("symbolic_kv", "explorer").shown if one.tests]
    front = exhibit("symbolic_kv", "front").shown
    assert len(front) == 10 and all(one is other for one, other in zip(front, trained[:10], strict=True))


# ---- what paths tell of claims ----


@pytest.mark.slow
@pytest.mark.parametrize(("study", "name"), TOLD, ids=map(" ".join, TOLD))
def test_a_path_tells_claims_as_their_published_verdicts_word_them(study, name):
    of, found = evidence(study)
    shown = explorer_of(of, found, name)
    assert [claim for stop in shown.path for claim in stop.claims] == TOLD[study, name]
    for stop in shown.path:
        for claim, told in zip(stop.claims, shown.verdicts(stop), strict=True):
            verdict = of.recorded[claim]
            status = in_prose(verdict)
            assert told.startswith(f"{verdict.sentence} (") and f"{status}; " in told and told.endswith(")")


@pytest.mark.slow
def test_a_claim_that_the_study_does_not_have_is_refused(monkeypatch):
    of, found = evidence("symbolic_kv")
    shown = exhibit("symbolic_kv", "front")
    stops = (replace(shown.path[0], claims=("KV33",)), *shown.path[1:])
    monkeypatch.setitem(of.study.EXPLORERS, "front", lambda _: replace(shown, path=stops))
    with pytest.raises(ChapterError, match="explorer-front: unknown claim 'KV33'; did you mean 'KV3'"):
        explorer_of(of, found, "front")


# ---- births by several rules ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "name", "labels"),
    [("symbolic_kv", "front", ("copies", "routes")), ("six_run_matrix", "explorer", ("copying", "routing"))],
)
def test_an_open_gate_postpones_no_birth_and_the_stop_tells_those_under_the_shut_one(study, name, labels):
    shown = exhibit(study, name)
    stop = shown.path[-1]
    assert stop.title == "The published gate." and stop.state["rule"] == "published gate"
    earlier = 0
    for one in shown.shown:
        by = {rule: {birth.label: birth.by for birth in one.births if birth.rule == rule} for rule in RULES}
        assert all(by[rule].keys() == by["our rule"].keys() for rule in RULES)
        for label, opened in by["gate open"].items():
            shut = by["published gate"][label]
            assert shut is None or opened <= shut, (one.run, label)
            assert label in labels or label in ("the slot",) or opened == shut
            earlier += opened != shut
    assert earlier >= len(shown.shown)
    of_stop = shown.find(stop.state.get("run", shown.start["run"]))
    for birth, noun in (
        (one, noun) for one in of_stop.births for label, noun in zip(labels, NOUNS, strict=True) if one.label == label
    ):
        assert (replace(birth, label=noun).told in stop.text) == (birth.rule == "published gate"), birth


@pytest.mark.slow
def test_births_of_the_first_networks_by_each_rule():
    """The steps at which the front page's network and the matrix' first one pass, read off their tables."""
    of, found = evidence("symbolic_kv")
    shown = exhibit("symbolic_kv", "front")
    rows = rows_of("symbolic_kv", shown.shown[0])
    rows = rows[(rows["metric"].isin(["routing", "routing_worst_base"])) & (rows["layer"] == 1)]
    pooled = rows[(rows["metric"] == "routing") & (rows["family"].astype(str) == "all")]
    leaders = pooled.sort_values("value").groupby("step").tail(1).set_index("step")
    worst = rows[rows["metric"] == "routing_worst_base"].set_index(["step", "site"])["value"]
    passing = [step for step, row in leaders.sort_index().iterrows() if row["value"] >= PASSES]
    gated = [step for step in passing if worst[step, leaders.loc[step, "site"]] >= GATE]
    by = {birth.rule: birth.by for birth in shown.shown[0].births if birth.label == "routes"}
    assert (by["gate open"], by["published gate"]) == (passing[0], gated[0])
