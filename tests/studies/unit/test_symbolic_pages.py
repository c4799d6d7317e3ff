"""The chapter on symbols: what its page prints of its design, its views and the controls that were added."""

import pandas as pd
import pytest

from circuitcore.tasks import make_task
from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.symbolic_kv.design import numbers_of_the_design
from retrieval_circuits.symbolic_kv.explorer import chapter
from retrieval_circuits.symbolic_kv.figures import look_up, words

STUDY, PARAMS = studies.load("symbolic_kv"), studies.load_params("symbolic_kv")
CLAIMS = {claim.id: claim for claim in STUDY.CLAIMS}


def test_the_page_says_what_was_trained():
    assert numbers_of_the_design(PARAMS) == {
        "d_model": 48, "d_mlp": 96, "n_tokens": 20, "n_train": "5,000", "rate": "0.001", "batch": 64, "epochs": 252,
    }  # fmt: skip


def test_the_page_says_how_far_the_carrier_reaches_alone_and_where_it_tags_too():
    """Of the published networks, through queries, for another query alone."""
    rows = [
        ("carrier", "queries", "another query", 0, 0.5, "paper"),
        ("carrier", "queries", "another query", 1, 0.7, "paper"),
        ("carrier", "queries", "another query", 0, 0.9, "rerun"),
        ("carrier", "queries", "keys exchanged", 0, 0.0, "paper"),
        ("carrier", "keys", "another query", 0, 0.0, "paper"),
        ("tagger", "queries", "another query", 0, 0.1, "paper"),
    ]
    edges = pd.DataFrame(rows, columns=["sender", "receiver", "counterfactual", "init_seed", "value", "origin"])
    same = pd.DataFrame({"init_seed": [0, 1, 0], "value": [1.0, 0.0, 1.0], "origin": ["paper", "paper", "rerun"]})
    assert look_up.edge_numbers(View(edges, "share", "test"), View(same, "networks", "test")) == {
        "carrier_direct": "60 %", "one_head": "1 of 2",
    }  # fmt: skip


def test_carrier_and_tagger_are_compared_network_by_network(monkeypatch):
    heads = {"carrier": ["L0H0", "L0H1", "L0H1"], "tagger": ["L0H0", "L0H0", "L0H1"]}
    seeds = pd.Index([0, 1, 5], name="init_seed")
    monkeypatch.setattr(look_up, "chosen_heads", lambda results, role: pd.Series(heads[role], seeds))
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    table = look_up.one_head(Results(empty, pd.DataFrame(), "paper")).table
    assert table.to_dict("list") == {"init_seed": [0, 1, 5], "value": [1.0, 0.0, 1.0]}


def test_a_guess_among_all_values_is_one_among_those_of_the_task():
    task = make_task("symbolic_kv", {})
    assert words.AMONG_ALL == 1 / task.n_values == 1 / task.n_keys
    assert max(words.GUESSES.values()) == 1 / task.n_pairs


@pytest.mark.parametrize("claim", ["KV2.published", "KV2", "KV11"])
def test_a_claim_with_a_control_that_was_added_says_so(claim):
    assert CLAIMS[claim].declared == "after" and "second" in CLAIMS[claim].remark and len(CLAIMS[claim].controls) == 2


def test_no_stop_of_the_path_has_a_claim_on_how_many_heads_suffice():
    """What one network does without a head says nothing of how many heads others need."""
    assert "KV6" not in {claim for claims in chapter.CLAIMS.values() for claim in claims}
