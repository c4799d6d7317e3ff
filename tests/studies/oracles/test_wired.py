"""Every metric of the battery on networks whose every number is known: one that solves the task, one wired wrong."""

import dataclasses

import pytest
import torch
import wired
from given_run import GivenRun, picked
from wired import CARRIER, CONFIG, DEAD, LOGIT, MATCHER, TAGGER, TASK

from circuitcore.emergence.roles import smallest_sufficient_set, subset_scores
from circuitcore.metrics.instruments.battery import SECTIONS, BatterySpec, measure
from circuitcore.models import CutEdge, compile_edits, forward
from retrieval_circuits import motif_measures

SOLVES, COPIES_SLOT_0 = 0, 1  # steps of the given run
SPEC = BatterySpec(n_bases=24, n_edge_bases=12, n_reference=96, n_probe=192, n_split=120, own=motif_measures.SECTIONS)
SPLITS = ("train", "val", "test", "ood")
NOT_EDGES = tuple(section.__name__ for section in SECTIONS if section.__name__ != "edges")
THREE_PAIRS = (
    *("query_key_sweep", "slot_permutation", "value_permutation"),
    *("same_answer_different_slot", "same_slot_different_answer"),
)
LONGER = "longer_context"
SWEEP = "query_key_sweep"


@pytest.fixture(scope="module")
def whole():
    return measure(GivenRun(TASK, CONFIG, [wired.key_value_circuit(), wired.first_slot_copier()]), SPEC)


@pytest.fixture(scope="module")
def table(whole):
    """Rows of the network that solves the task."""
    return whole[whole["step"] == SOLVES]


@pytest.fixture(scope="module")
def wrong(whole):
    """Rows of the network that always says the value of slot 0."""
    return whole[whole["step"] == COPIES_SLOT_0]


def all_are(values, expected, tolerance=1e-6):
    assert (values - expected).abs().max() <= tolerance, values


def by_head(table, metric, head, **where):
    return picked(table, metric, layer=head.layer, head=head.index, **where)


def test_it_answers_every_prompt(table):
    for where in ({"split": SPLITS}, {"family": (*THREE_PAIRS, LONGER)}):
        all_are(picked(table, "accuracy", **where), 1)
        all_are(picked(table, "margin", **where), LOGIT)
        all_are(picked(table, "in_context", **where), 1)
        all_are(picked(table, "loss", **where), 0)


def test_it_answers_the_whole_of_every_split():
    weights = wired.key_value_circuit()
    for name in TASK.splits:
        batch = TASK.split(name)
        said = forward(CONFIG, weights, batch.tokens).logits[:, -1].argmax(-1)
        assert torch.equal(said, batch.answers), name


def test_the_tagger_looks_from_values_to_their_keys(table):
    all_are(by_head(table, "own_key_mass", TAGGER), 1)
    all_are(by_head(table, "own_key_mass", CARRIER), 0)


def test_the_carrier_looks_from_the_arrow_to_the_asked_key(table):
    all_are(by_head(table, "query_key_mass", CARRIER), 1)
    all_are(by_head(table, "query_key_mass", TAGGER), 0)
    all_are(by_head(table, "query_key_mass", MATCHER), 0)


def test_only_the_matcher_routes(table):
    for metric in ("routing", "routing_value", "value_mass", "program_agreement"):
        all_are(by_head(table, metric, MATCHER), 1)
    all_are(by_head(table, "routing_worst_base", MATCHER), 1)
    for head in (TAGGER, CARRIER, DEAD):  # nothing on any slot, or the same on each: the lowest slot wins
        all_are(by_head(table, "routing", head, family=THREE_PAIRS), 1 / 3)
        all_are(by_head(table, "routing", head, family=LONGER), 1 / 4)
        all_are(by_head(table, "program_agreement", head, family=THREE_PAIRS), 1 / 3)
        all_are(by_head(table, "routing_worst_base", head), 0)
    for head in (TAGGER, CARRIER):
        all_are(by_head(table, "value_mass", head), 0)


def test_the_dead_head_looks_everywhere_alike(table):
    for metric in ("value_mass", "query_key_mass"):
        all_are(by_head(table, metric, DEAD, family=THREE_PAIRS), 1 / 13)
        all_are(by_head(table, metric, DEAD, family=LONGER), 1 / 16)


def test_the_query_moves_layer_1_alone(table):
    all_are(picked(table, "choice_follows_query", layer=0), 0)
    all_are(picked(table, "query_spread", layer=0), 0, tolerance=0)
    all_are(by_head(table, "choice_follows_query", MATCHER), 1)
    all_are(by_head(table, "query_spread", MATCHER), wired.SHARP)
    all_are(by_head(table, "choice_follows_query", DEAD), 0)


def test_only_the_matcher_copies(table):
    all_are(by_head(table, "copying", MATCHER), 1)
    all_are(by_head(table, "copying_worst_base", MATCHER), 1)
    all_are(by_head(table, "ov_diagonal", MATCHER), 1)
    for head in (TAGGER, CARRIER, DEAD):  # all logits 0: the first value wins
        all_are(by_head(table, "ov_diagonal", head), 1 / 8)
        answers = torch.cat([batch.answers for batch in TASK.families(SPEC.n_bases).values()])
        share = float((answers == TASK.answers[0]).double().mean())
        all_are(by_head(table, "copying", head, family="all"), share)


def test_the_matcher_compares_what_carrier_and_tagger_wrote(table):
    right = f"q:{CARRIER} k:{TAGGER}"
    all_are(by_head(table, "qk_diagonal", MATCHER, edit=right), 1)
    others = [f"q:{a} k:{b}" for a in (TAGGER, CARRIER) for b in (TAGGER, CARRIER) if f"q:{a} k:{b}" != right]
    all_are(by_head(table, "qk_diagonal", MATCHER, edit=others), 1 / 8)
    all_are(by_head(table, "qk_diagonal", DEAD), 1 / 8)


def test_the_matcher_writes_the_whole_answer(table):
    found = picked(table, "attribution").tolist()
    sites = table[table["metric"] == "attribution"]["site"].astype(str)
    assert dict(zip(sites, found, strict=True)) == {"embed": 0, "L0H0": 0, "L0H1": 0, "L1H0": LOGIT, "L1H1": 0}


@pytest.mark.parametrize("how", ["zero", "mean", "resample"])
def test_exactly_three_heads_are_needed(table, how):
    rows = table[(table["metric"] == "ablated_accuracy") & (table["edit"] == f"{how}@all")]
    assert len(rows) == 2**4
    for site, value in zip(rows["site"].astype(str), rows["value"], strict=True):
        removed = {name for name in site.split("+") if name != "none"}
        if removed <= {str(DEAD)}:
            assert value == 1, site
        else:
            assert value < 0.5, site
    found = smallest_sufficient_set(subset_scores(rows))
    assert found.heads == (str(TAGGER), str(CARRIER), str(MATCHER))
    assert found.faithfulness == 1 and found.decided_by == "size"


def test_what_is_left_without_a_head(table):
    """Without tags or question every position matches alike, and the least value of the three wins: one prompt in 3."""
    for head in (TAGGER, CARRIER):
        all_are(picked(table, "ablated_accuracy", site=str(head), edit="zero@all"), 1 / 3)
        all_are(picked(table, "ablated_logit_difference", site=str(DEAD), edit="zero@all"), LOGIT)
    all_are(picked(table, "ablated_accuracy", site=str(MATCHER), edit=("zero@all", "zero@read_out")), 0)
    all_are(picked(table, "ablated_logit_difference", site=str(MATCHER), edit="zero@all"), 0)
    # Every value equally often at the matching slot of the reference would leave exactly the lead of chance.
    assert abs(float(picked(table, "ablated_margin", site=str(MATCHER), edit="mean@all").iloc[0])) < LOGIT / 4


def test_ablation_at_the_read_out_cannot_see_the_tagger(table):
    """The source removed heads at the last position only; this is what that misses."""
    for how in ("zero", "mean", "resample"):
        all_are(picked(table, "ablated_accuracy", site=str(TAGGER), edit=f"{how}@read_out"), 1)
        assert picked(table, "ablated_accuracy", site=str(CARRIER), edit=f"{how}@read_out").iloc[0] < 0.5


EDGES = {  # counterfactual -> (senders whose write differs, input that carries it)
    "query": ({str(CARRIER), "L0H*", "all"}, "q"),
    "keys": ({str(TAGGER), "L0H*", "all"}, "k"),
    "values": ({"embed", "all"}, "v"),
}


@pytest.mark.parametrize("family", EDGES)
def test_exactly_one_edge_carries_each_ingredient(table, family):
    senders, into = EDGES[family]
    live = {f"{sender}->{receiver}.{into}" for sender in senders for receiver in (str(MATCHER), "L1H*")}
    for metric in ("edge_switch", "edge_kept"):
        rows = table[(table["metric"] == metric) & (table["family"] == family)]
        assert len(rows) == 5 * 3 * 3
        for site, value in zip(rows["site"].astype(str), rows["value"], strict=True):
            assert value == ((site in live) == (metric == "edge_switch")), (metric, site)


def test_an_edge_past_a_layer_is_found_as_one_between_neighbours():
    """The same circuit with an idle layer in its middle, three layers in all: its edges go from 0 to 2."""
    weights = wired.key_value_circuit()
    moved = {name.replace("blocks.1.", "blocks.2."): value for name, value in weights.items()}
    idle = {name: torch.zeros_like(value) for name, value in weights.items() if name.startswith("blocks.1.")}
    config = dataclasses.replace(CONFIG, n_layers=3)
    run, rows = GivenRun(TASK, config, [moved | idle]), dataclasses.replace(SPEC, left_out=NOT_EDGES, own=())
    table = measure(run, rows)
    for family, (senders, into) in EDGES.items():
        live = {f"{sender}->{receiver}.{into}" for sender in senders for receiver in ("L2H0", "L2H*")}
        for metric in ("edge_switch", "edge_kept"):
            of_metric = table[(table["metric"] == metric) & (table["family"] == family)]
            assert len(of_metric) == (5 + 4 + 4) * 3 * 3
            for site, value in zip(of_metric["site"].astype(str), of_metric["value"], strict=True):
                assert value == ((site in live) == (metric == "edge_switch")), (metric, site)


# What a site at the arrow carries: the hypothesis whose answer comes out when it is patched from the source.
CARRIED = {
    "query_key": ("L0H1.z", "L0H*.z", "L0.resid_mid", "L0.resid_post", "L1H0.q", "L1H*.q"),
    "selected_value": ("L1H0.z", "L1H*.z", "L1.resid_mid", "L1.resid_post"),
    "base_answer": ("L0H0.z", "L0H0.q", "L0H1.q", "L0H*.q", "L1H1.q", "L1H1.z"),
}


@pytest.mark.parametrize("carried", CARRIED)
def test_separating_interchange_says_what_each_site_carries(table, carried):
    for site in CARRIED[carried]:
        for hypothesis in ("query_key", "matching_slot", "selected_value", "base_answer"):
            found = picked(table, "interchange", family="separating", site=site, edit="", variable=hypothesis)
            all_are(found, float(hypothesis == carried))


def test_values_of_layer_1_alone_give_no_hypothesis_s_answer(table):
    """The base's slot, the source's value in it: an answer none of the hypotheses predicts."""
    found = picked(table, "interchange", family="separating", site="L1H*.v", edit="")
    all_are(found, 0)


def test_query_interchange_is_the_same_for_query_and_write(table):
    """Why the published test cannot tell key from value: both give the source's answer."""
    for site in CARRIED["query_key"] + CARRIED["selected_value"]:
        all_are(picked(table, "interchange", family="query_key", site=site, edit="", variable="source_answer"), 1)
        all_are(picked(table, "interchange_worst_base", family="query_key", site=site, edit=""), 1)


def test_attention_follows_the_patched_query(table):
    for site in ("L1H0.q", "L1H*.q", "L0H1.z", "L0.resid_post"):
        all_are(by_head(table, "attention_follows_source", MATCHER, family="query_key", site=site), 1)
    all_are(by_head(table, "attention_follows_source", MATCHER, family="query_key", site="L1H0.z"), 0)
    all_are(by_head(table, "attention_follows_source", DEAD, family="query_key", site="L1H0.q"), 1 / 3)
    # In "separating" the base holds the asked key in another slot than the source: attention goes there.
    all_are(by_head(table, "attention_follows_source", MATCHER, family="separating", site="L1H0.q"), 0)


def test_interchange_controls_move_nothing_in_particular(table):
    wrong_place = {"family": "separating", "edit": "wrong_position"}
    all_are(picked(table, "interchange", variable="base_answer", **wrong_place), 1)
    for hypothesis in ("query_key", "matching_slot", "selected_value"):
        all_are(picked(table, "interchange", variable=hypothesis, **wrong_place), 0)
    unrelated = {"family": "separating", "edit": "random_source"}
    assert picked(table, "interchange", variable="query_key", site="L1H*.q", **unrelated).max() < 0.45
    assert picked(table, "interchange", variable="selected_value", site="L1H*.z", **unrelated).max() < 0.3


def test_probes_read_what_is_written_at_the_arrow(table):
    reads = {
        "query_key": ("L0H1.z", "L0.resid_mid", "L0.resid_post", "L1H0.q"),
        "selected_value": ("L1H0.z", "L1.resid_mid", "L1.resid_final"),
    }
    for variable, sites in reads.items():
        for metric in ("probe", "probe_cv", "probe_published"):
            all_are(picked(table, metric, variable=variable, site=sites), 1)
    # The slot is nowhere at the arrow, although attention finds it each time.
    assert picked(table, "probe", variable="matching_slot").max() < 0.5
    assert picked(table, "probe_published", variable="matching_slot").max() < 0.5


def test_probes_with_random_labels_lose_what_they_could_read(table):
    """Even where the site tells the class exactly. One class for each key: 8 draws, so chance is wide (4 sd: 0.47)."""
    for variable, site in (("query_key", "L0H1.z"), ("selected_value", "L1H0.z")):
        all_are(picked(table, "probe", variable=variable, site=site), 1)
        assert picked(table, "probe_random_labels", variable=variable, site=site).max() < 1 / 8 + 0.47


def test_probes_of_constant_sites_say_the_commonest_class(table):
    """The arrow is the same token in every prompt, so layer 0 has one query, key and value there."""
    sites = [f"L0H{head}.{name}" for head in (0, 1) for name in "qkv"]
    train, test = (TASK.split(name).rows(slice(0, n)) for name, n in (("train", SPEC.n_probe), ("test", SPEC.n_split)))
    for variable, n_classes in TASK.variables.items():
        commonest = torch.bincount(train.variables[variable], minlength=n_classes).argmax()
        share = float((test.variables[variable] == commonest).double().mean())
        for metric in ("probe", "probe_random_labels"):
            all_are(picked(table, metric, variable=variable, site=sites), share)


def test_the_source_s_probes_and_patches_find_key_and_value(table):
    for variable, site in (("query_key", "L0.resid_post"), ("selected_value", "L1.resid_post")):
        for metric in ("probe_published_best", "probe_published_best_worst_base"):
            all_are(picked(table, metric, variable=variable, site=site), 1)
    for metric in ("faithfulness_published", "faithfulness_published_worst_base"):
        all_are(picked(table, metric, variable="query_key", site="L0.resid_post"), 1)
    assert picked(table, "probe_published_best", variable="matching_slot", family="all").max() < 0.5
    all_are(picked(table, "probe_published_best_worst_base", variable="matching_slot"), 0)


def test_the_source_s_ablation_sees_carrier_and_matcher_but_not_the_tagger(table):
    all_are(by_head(table, "ablation_drop_published", MATCHER), 1)
    all_are(by_head(table, "ablation_margin_drop_published", MATCHER), LOGIT)
    guessing = (19 * 2 / 3 + 3 / 4) / 20  # lost where the first of three slots is said, or of four
    assert abs(by_head(table, "ablation_drop_published", CARRIER).item() - guessing) < 0.05
    for head in (TAGGER, DEAD):
        for metric in ("ablation_drop_published", "ablation_margin_drop_published"):
            all_are(by_head(table, metric, head), 0)


def test_the_matcher_looks_at_values_and_ranks_the_right_one_first(table):
    """Nothing is attended at keys, so the lowest slot wins; heads that write no value tie on all eight."""
    for head in (TAGGER, CARRIER, MATCHER, DEAD):
        all_are(by_head(table, "routing_key", head), (19 / 3 + 1 / 4) / 20)
        all_are(by_head(table, "copy_rank", head), 1 if head == MATCHER else 4.5)


def test_chosen_probes_read_key_and_value_and_no_slot(table):
    for variable, site in (("query_key", "L0.resid_mid"), ("selected_value", "L1.resid_mid")):
        for metric in ("probe_chosen", "probe_chosen_worst_class"):
            all_are(picked(table, metric, variable=variable, site=site), 1)
        assert picked(table, "probe_chosen_random", variable=variable).max() < 1 / 8 + 0.47
    assert picked(table, "probe_chosen", variable="matching_slot").max() < 0.5


def test_patched_queries_move_the_key_and_patched_writes_the_value(table):
    for site, carried in (("L1H*.q", "query_key"), ("L1H*.z", "selected_value")):
        for hypothesis in ("query_key", "matching_slot", "selected_value"):
            found = picked(table, "interchange_chosen", site=site, edit="", variable=hypothesis)
            all_are(found, float(hypothesis == carried))
        assert picked(table, "interchange_chosen", site=site, edit="random_source", variable=carried).max() < 0.45
    all_are(picked(table, "attention_slot_follows"), 1)


def test_whole_layers_are_needed_and_the_dead_head_is_not(table):
    """Without tags or question one prompt in three is answered; without the matcher none is."""
    for edit in ("zero@all", "zero@read_out"):
        all_are(picked(table, "joint_ablation_drop", site="L0H*", edit=edit), 2 / 3)
        all_are(picked(table, "joint_ablation_drop", site="L1H*", edit=edit), 1)
    for edit in ("mean@all", "resample@all"):
        all_are(picked(table, "joint_ablation_drop", site=str(DEAD), edit=edit), 0)
        for site in (str(TAGGER), str(CARRIER), str(MATCHER), "L0H*", "L1H*"):
            assert picked(table, "joint_ablation_drop", site=site, edit=edit).min() > 0.5, (site, edit)


def test_sites_that_are_the_same_in_every_prompt_have_no_spread(table):
    constant = [f"L0H{head}.{name}" for head in (0, 1) for name in "qkv"] + ["L1H1.q", "L1H1.k", "L1H1.v", "L1H1.z"]
    all_are(picked(table, "site_spread", site=constant), 0)
    for site in ("L0H1.z", "L0.resid_post", "L1H0.q", "L1H0.z", "L1.resid_final"):
        assert picked(table, "site_spread", site=site).min() > 0.1, site


def test_cutting_the_circuit_s_edges_stops_it():
    """Each arrow of the circuit drawn in ``wired.py`` is an attention edge; without it, the answer is a guess."""
    batch, weights = TASK.families(SPEC.n_bases)[SWEEP], wired.key_value_circuit()
    cuts = [
        CutEdge(TAGGER, "slot_value", "slot_key"),
        CutEdge(CARRIER, "read_out", "query_key"),
        CutEdge(MATCHER, "read_out", "slot_value"),
        CutEdge(DEAD, "read_out", "slot_value"),
        CutEdge(TAGGER, "read_out", "slot_key"),
    ]
    like = forward(CONFIG, weights, batch.tokens, record=["scores.0", "scores.1"]).cache
    plan = compile_edits([(cut,) for cut in cuts], batch.roles, {}, like)
    said = forward(CONFIG, weights, batch.tokens, plan).logits[:, :, -1].argmax(-1)
    accuracy = (said == batch.answers).double().mean(-1).tolist()
    assert max(accuracy[:3]) <= 1 / 3 + 1e-6
    assert accuracy[3:] == [1, 1]


def test_the_wrong_network_is_at_chance(wrong):
    """Slots are asked in turn, so whoever always takes slot 0 is right in exactly one prompt of three."""
    all_are(picked(wrong, "accuracy", split=SPLITS[:3]), 1 / 3)
    all_are(picked(wrong, "accuracy", split="ood"), 1 / 4)
    all_are(picked(wrong, "accuracy", family=THREE_PAIRS), 1 / 3)
    all_are(picked(wrong, "accuracy", family=LONGER), 1 / 4)
    all_are(picked(wrong, "in_context"), 1)


def test_the_wrong_network_copies_but_does_not_route(wrong):
    all_are(by_head(wrong, "copying", MATCHER), 1)
    all_are(by_head(wrong, "ov_diagonal", MATCHER), 1)
    all_are(by_head(wrong, "program_agreement", MATCHER), 1)
    all_are(by_head(wrong, "routing", MATCHER, family=THREE_PAIRS), 1 / 3)
    all_are(by_head(wrong, "value_mass", MATCHER, family=THREE_PAIRS), 1 / 3)
    all_are(by_head(wrong, "routing_worst_base", MATCHER), 0)
    all_are(picked(wrong, "choice_follows_query"), 0)
    all_are(picked(wrong, "query_spread"), 0)
    all_are(picked(wrong, "qk_diagonal"), 1 / 8)


def test_edges_of_a_guesser_score_chance(wrong):
    """No edge but the values' moves anything, and yet each scores 1/3: slot 0 holds the source's answer that often."""
    for metric in ("edge_switch", "edge_kept"):
        all_are(picked(wrong, metric), 1 / 3)


def test_no_interchange_moves_the_wrong_network_s_attention(wrong):
    patched = {"family": "query_key", "variable": "source_answer", "edit": ""}
    all_are(picked(wrong, "interchange", site=("L1H*.q", "L0.resid_post", "L1H*.z"), **patched), 1 / 3)
    all_are(by_head(wrong, "attention_follows_source", MATCHER, family="query_key"), 1 / 3)


def test_the_wrong_network_is_not_moved_by_a_patched_query(wrong):
    """It says slot 0 and looks there, which is the slot asked for, or the source's, in one prompt of three."""
    for variable, chance in {"query_key": 1 / 3, "matching_slot": 1 / 3, "selected_value": 0}.items():
        all_are(picked(wrong, "interchange_chosen", edit="", site="L1H*.q", variable=variable), chance)
    all_are(picked(wrong, "attention_slot_follows"), 1 / 3)
    all_are(picked(wrong, "probe_chosen_worst_class", variable="query_key"), 0)
    all_are(picked(wrong, "joint_ablation_drop", site="L0H*"), 0)
    all_are(by_head(wrong, "routing_key", MATCHER), (19 / 3 + 1 / 4) / 20)
    all_are(by_head(wrong, "copy_rank", MATCHER), 1)
