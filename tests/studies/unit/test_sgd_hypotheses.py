"""Parts that carry an answer: on networks wired by hand, of which it is known, and against passes edited by hand."""

from dataclasses import replace
from itertools import product

import pandas as pd
import pytest
import torch
import wired
from given_run import GivenRun, lively, picked

from circuitcore.metrics.network import Network
from circuitcore.models import Head, ModelConfig, Patch, Site, forward
from circuitcore.tasks.balanced_stream import BalancedStream
from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.sgd_formation.design import DRAWN, OTHERS, SHOWN_AT
from retrieval_circuits.sgd_formation.figures import hypotheses as tables
from retrieval_circuits.sgd_formation.measures import SIZES, hypotheses
from retrieval_circuits.sgd_formation.measures.counterfactuals import (
    ASKED_KEY,
    STORED_KEY,
    STORED_VALUE,
    Pairs,
    counterfactuals,
)
from retrieval_circuits.sgd_formation.readings.carried import carries, pushes_alike

STREAM = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
SPLITS = ("test", "structural_ood")
N_ROWS = 6
PUBLISHED = studies.load_params("sgd_formation")


def prompts(family):
    """Pairs of the prompts that the wired networks read; in ``same`` a slot that is not asked has another value."""
    (test,) = (found for found in wired.TASK.edge_tests(8) if found.name == family)
    rows, asked = torch.arange(len(test)), test.base.variables["matching_slot"]
    n_slots = test.base.roles["slot_value"].shape[1]
    changed = test.base.roles["slot_value"][rows, (asked + 1) % n_slots]
    tokens, values = test.base.tokens.clone(), range(wired.FIRST_VALUE, wired.FIRST_VALUE + wired.N_VALUES)
    tokens[rows, changed] = torch.tensor([next(v for v in values if v not in set(row)) for row in tokens.tolist()])
    answer = test.expected["source_answer"]
    return Pairs(family, test.base, test.source, replace(test.base, tokens=tokens), test.base.answers, answer)


def shares(weights, pairs, source, config=wired.CONFIG):
    """(hypothesis, part) -> the share of the change that it carries."""
    net = Network(config, {name: value[None].double() for name, value in weights.items()})
    own, other = (pairs.margin(net.answers(batch)).mean() for batch in (pairs.base, pairs.other))
    found = {}
    for moved in (hypotheses.heads_moved, hypotheses.paths_moved):
        labels, margins = moved(net, pairs, source)
        of = ((margins[0] - own) / (other - own)).tolist()
        found |= {(label["edit"], label["site"]): share for label, share in zip(labels, of, strict=True)}
    return found


MATCHER, LAYER, TAGGER, CARRIER = (str(part) for part in (wired.MATCHER, "L1H*", wired.TAGGER, wired.CARRIER))
CARRIED = {  # what differs -> who carries all of it; all others carry nothing
    "query": {("QK", MATCHER), ("OV", CARRIER), ("write", CARRIER), ("path", f"{CARRIER}->{LAYER}.q")},
    "keys": {("QK", MATCHER), ("OV", TAGGER), ("write", TAGGER), ("path", f"{TAGGER}->{LAYER}.k")},
    "values": {("OV", MATCHER), ("path", f"embed->{LAYER}.v")},
}
WRITTEN = {("write", MATCHER), ("direction", MATCHER)}


@pytest.mark.parametrize("family", CARRIED)
def test_in_a_wired_look_up_pattern_values_and_paths_carry_what_they_must_and_nothing_else(family):
    found = shares(wired.key_value_circuit(), pairs := prompts(family), pairs.other)
    wanted = CARRIED[family] | WRITTEN
    for (edit, site), share in found.items():
        if edit == "direction by lot":
            assert abs(share) < 0.1, site
        elif "H*" not in site.split("->")[0]:
            assert share == pytest.approx(int((edit, site) in wanted), abs=1e-9), (edit, site)
    together = {(edit, site) for edit, site in found if edit in ("QK", "OV") and site == LAYER}
    assert {key for key in together if found[key] == pytest.approx(1)} == {
        ("OV" if family == "values" else "QK", LAYER)
    }


@pytest.mark.parametrize("family", CARRIED)
def test_parts_of_a_row_with_the_same_answer_carry_nothing(family):
    found = shares(wired.key_value_circuit(), pairs := prompts(family), pairs.same)
    assert all(share == pytest.approx(0, abs=1e-9) for share in found.values())
    assert not torch.equal(pairs.same.tokens, pairs.base.tokens)


def test_a_network_that_takes_any_value_carries_other_values_as_well():
    """Its one head says the value of slot 0, so that the same answer is no longer the same."""
    pairs = prompts("values")
    net = Network(wired.CONFIG, {name: value[None] for name, value in wired.first_slot_copier().items()})
    for source in (pairs.other, pairs.same):
        labels, margins = hypotheses.heads_moved(net, pairs, source)
        names = [(label["edit"], label["site"]) for label in labels]
        own = pairs.margin(net.answers(pairs.base)).mean()
        assert margins[0, names.index(("OV", MATCHER))] != own
        assert margins[0, names.index(("QK", MATCHER))] == own


def test_a_margin_is_what_lies_along_the_answers_direction_before_the_last_norm(network):
    net, pairs = network
    found = net.run(pairs.base, ["resid_post.1"])
    row, at = torch.arange(len(pairs.base)), pairs.base.roles["read_out"]
    stream = found.cache["resid_post.1"][:, row, at]
    words, gain, shift = (net.weights[name] for name in ("embed.W_E", "ln_final.w", "ln_final.b"))
    difference = words[:, pairs.answer] - words[:, pairs.own]
    length = (gain * difference - (gain * difference).mean(-1, keepdim=True)).norm(dim=-1)
    spread = (stream.var(-1, unbiased=False) + net.config.norm_eps).sqrt()
    along = (stream * hypotheses.answer_direction(net, pairs)).sum(-1)
    wanted = along * length / spread + (shift * difference).sum(-1)
    torch.testing.assert_close(pairs.margin(found.logits[:, row, at]), wanted)


CONFIG = ModelConfig(
    d_vocab=len(STREAM.vocab), n_ctx=STREAM.max_length, n_layers=2, n_heads=2, d_model=16, d_mlp=32, norm="layer",
    positions="learned", mlp="gelu", bias="inside", tied=True,
)  # fmt: skip


@pytest.fixture(scope="module")
def network():
    """A network that is not trained, under which words in the context count, and pairs for it."""
    weights = lively(replace(CONFIG, tied=False), 0, STREAM.words.first_value)
    del weights["unembed.W_U"]
    net = Network(CONFIG, {name: value[None] for name, value in weights.items()})
    return net, counterfactuals(STREAM, "test", N_ROWS)[1]


@pytest.mark.parametrize("head", [Head(0, 1), Head(1, 0)], ids=str)
def test_heads_exchange_what_passes_edited_by_hand_do(network, head):
    net, pairs = network
    keys = [f"{name}.{head.layer}" for name in ("pattern", "v", "resid_mid")]
    own, other = (net.run(batch, keys).cache for batch in (pairs.base, pairs.other))
    labels, margins = hypotheses.heads_moved(net, pairs, pairs.other)
    found = {
        label["edit"]: margin
        for label, margin in zip(labels, margins[0].tolist(), strict=True)
        if label["site"] == str(head)
    }
    mixed = {"QK": (other, own), "OV": (own, other), "write": (other, other)}
    w_out = net.weights[f"blocks.{head.layer}.attn.W_O"][0, head.index]

    def write(looks, brings):
        pattern, values = looks[keys[0]][0, :, head.index], brings[keys[1]][0, :, :, head.index]
        return pattern @ values @ w_out

    def margin(change):
        """Of rows behind whose heads the stream is changed by so much."""
        cache = {"given": {keys[2]: own[keys[2]] + change}}
        edits = [(Patch(Site("resid_mid", head.layer), "all", "given"),)]
        return pairs.margin(net.answers_under(pairs.base, edits, cache).logits).mean().item()

    change = {edit: write(*of) - write(own, own) for edit, of in mixed.items()}
    along = hypotheses.answer_direction(net, pairs)[0, :, None]
    change["direction"] = (change["write"] * along).sum(-1, keepdim=True) * along
    for edit, of in change.items():
        assert found[edit] == pytest.approx(margin(of), abs=1e-9), edit
    assert len({round(found[edit], 6) for edit in change}) == len(change), "all of them are different"


def answered(words, at):
    """The value written last to the key at a place; every read before it must show its own."""
    written = {}
    for place in range(1, at - 1, 3):
        mark, key, value = words[place : place + 3]
        if STREAM.vocab[mark] == "W":
            written[key] = value
        else:
            assert written[key] == value
    return written[words[at]]


@pytest.mark.parametrize("split", SPLITS)
def test_a_pair_has_the_answers_that_its_words_have(split):
    found = {pairs.differs: pairs for pairs in counterfactuals(STREAM, split, 12)}
    assert list(found) == [ASKED_KEY, STORED_KEY, STORED_VALUE]
    for pairs in found.values():
        assert len(pairs.base) >= 4
        for row, at in enumerate(pairs.base.roles["read_out"].tolist()):
            base, other, same = (of.tokens[row].tolist() for of in (pairs.base, pairs.other, pairs.same))
            own, answer = int(pairs.own[row]), int(pairs.answer[row])
            assert answered(base, at) == answered(same, at) == own != answer == answered(other, at)
            changed = {place for place in range(at + 1) if base[place] != other[place]}
            kinds = {place % 3 for place in changed}
            assert kinds == ({0} if pairs.differs == STORED_VALUE else {2})
            assert (changed == {at}) == (pairs.differs == ASKED_KEY) and (at in changed) == (pairs.differs == ASKED_KEY)
            gone, come = (
                {a[place] for place in range(at) if a[place] != b[place]} for a, b in ((base, same), (same, base))
            )
            assert len(gone) == len(come) == 1 and not (gone | come) & {own} and not gone & {answer}
            if pairs.differs == STORED_VALUE:
                assert come == {answer} and answer not in base
                key = base[at] - STREAM.words.first_key
                assert not STREAM.held_out[key, answer - STREAM.words.first_value]


@pytest.mark.parametrize(
    ("change", "words"), [({"n_layers": 1}, "n_layers = 1"), ({"norm_position": "post"}, "'post'")]
)
def test_a_network_without_paths_or_without_a_sum_of_writes_is_refused_by_name(change, words):
    given = GivenRun(STREAM, replace(CONFIG, **change), [{}])
    with pytest.raises(ValueError, match=words):
        hypotheses.hypothesis_tests(given, hypotheses.Hypotheses(steps=(0,), n_rows=2, splits=SPLITS), print)


def test_the_table_has_every_part_on_every_split_and_sums_up_rows(network):
    net, _ = network
    given = GivenRun(STREAM, CONFIG, [{name: value[0] for name, value in net.weights.items()}] * 2)
    settings = hypotheses.Hypotheses(steps=(0,), n_rows=N_ROWS, splits=SPLITS)
    table = hypotheses.hypothesis_tests(given, settings, lambda done: None)
    n_heads, n_paths = (4 + 2) * 5, 8 * 3
    assert len(table) == 2 * 2 * 3 * (1 + 2 * (n_heads + n_paths))
    assert not table.duplicated(["step", "metric", "split", "variable", "edit", "site", "family"]).any()
    for pairs in counterfactuals(STREAM, "test", N_ROWS):
        logits = [
            forward(CONFIG, {name: value[0] for name, value in net.weights.items()}, batch.tokens).logits
            for batch in (pairs.base, pairs.other)
        ]
        row, at = torch.arange(len(pairs.base)), pairs.base.roles["read_out"]
        own, other = (pairs.margin(of[row, at]).mean().item() for of in logits)
        where = {"variable": pairs.differs, "split": "test", "step": 1}
        assert picked(table, "change", **where).tolist() == [pytest.approx(other - own)]
        labels, margins = hypotheses.heads_moved(net, pairs, pairs.same)
        moved = picked(
            table, "moved", edit=("QK", "OV", "write", "direction", "direction by lot"), family="same answer", **where
        )
        assert moved.tolist() == pytest.approx((margins[0] - own).tolist())


def planted_results(change):
    """Results in which layer 1's heads carry half on new rows and a quarter elsewhere, and one path carries all."""
    found = []
    share = {"test": 0.5, "structural_ood": 0.25}
    for split, kind in ((split, kind) for split in SPLITS for kind in tables.KINDS):
        common = {"step": 5, "split": split, "variable": kind, "n": 7}
        found.append({**common, "metric": "change", "edit": "", "site": "", "family": "", "value": change})
        for family in ("other answer", "same answer"):
            parts = [(edit, site) for edit in tables.PARTS for site in ("L0H*", "L1H*", "L1H2", "L1H3")]
            paths = [("path", site) for site in ("L0H*>MLP->L1H*.k", "embed->L1H*.q", "L0H1->L1H*.k")]
            for edit, site in (*parts, *paths):
                carries = share[split] if edit in ("QK", "OV") and site in ("L1H*", "L1H3") else 0.0
                carries = {"L0H*>MLP->L1H*.k": 1.0, "L0H1->L1H*.k": 0.1}.get(site, carries)
                value = 0.02 * change if family == "same answer" else carries * change
                found.append(
                    {**common, "metric": "moved", "edit": edit, "site": site, "family": family, "value": value}
                )
    return results_of(pd.DataFrame(found).assign(arm=DRAWN, init_seed=1))


def results_of(table):
    table = table.assign(run_id="a run")
    return Results(table, pd.DataFrame(), "rerun", {"hypotheses": table})


def test_tables_show_planted_shares_and_none_where_there_is_no_answer_to_carry():
    results = planted_results(change=4.0)
    layers = tables.carried(results).table
    assert layers["what differs"].unique().tolist() == list(tables.KINDS)
    own = layers[layers["heads"] == "L1H*"].iloc[0]
    assert own[["change, logits", "where they look", "along the answers", "same answer, at most"]].tolist() == [
        "4.0", "0.50", "0.00", "0.02",
    ]  # fmt: skip
    heads = tables.carrying_heads(results).table
    assert heads["heads"].tolist() == ["L0H*", "L1H*", "L1H3"] * 3
    assert heads.iloc[2][["what they bring", "what they bring, more keys"]].tolist() == ["0.50", "0.25"]
    paths = tables.carrying_paths(results).table
    first = ["L0H*, by the MLP, into keys of L1H*", "L0H1 into keys of L1H*", "embedding into queries of L1H*"]
    assert paths["path"].tolist() == first * 3
    assert paths.iloc[0][["it carries", "same answer"]].tolist() == ["1.00", "0.02"]
    nothing = tables.carried(planted_results(change=0.5)).table
    assert set(nothing["where they look"]) == {"–"} and set(nothing["change, logits"]) == {"0.5"}


def test_numbers_of_the_prose_are_counted_by_hand():
    """At the end all heads together write 0.9, of which layer 1 has 0.8; 0.6 of that lies along the answers."""
    first, middle = SHOWN_AT
    written = {first: 0.5, middle: 0.5, 9_000: 0.8}
    along = {first: 0.4, middle: 0.5, 9_000: 0.48}
    found = []
    for (step, writes), kind, family in product(written.items(), tables.KINDS, ("other answer", "same answer")):
        common = {"step": step, "variable": kind, "family": family, "change": 2.0, "n": 7}
        parts = {"QK": 0.1, "OV": 0.3, "write": writes, "direction": along[step], "direction by lot": -0.01}
        for site, edit in product(("L0H*", "L1H*", "L2H*"), parts):
            share = parts[edit] if site == "L1H*" else 0.1 * (edit == "write" and site == "L0H*")
            share = -0.2 if family == "same answer" and step == first else share
            found.append({**common, "site": site, "edit": edit, "share": share, "init_seed": 1, "arm": DRAWN})
    view = View(pd.DataFrame(found), "share", "7 rows")
    said = tables.numbers(PUBLISHED, view)
    assert (said["n_pairs"], said["step_first"], said["step_end"]) == ("7", f"{first:,}", "9,000")
    assert (said["by_no_heads"], said["along_end"], said["along_before"]) == ("10 %", "60 %", "80 to 100 %")
    assert (said["brought_first"], said["looked_first"], said["same_first"]) == ("30 %", "10 %", "20 %")
    assert (said["logits_of_key"], said["width"], said["by_chance"], said["by_lot_most"]) == (
        "2.0",
        "64",
        "1.6 %",
        "1 %",
    )
    twice = [view.table.assign(origin="paper"), view.table.assign(origin="rerun", share=0.9)]
    assert tables.numbers(PUBLISHED, View(pd.concat(twice), "share", "7 rows")) == said
    early = View(view.table[view.table["step"] == 9_000].assign(share=float("nan")), "share", "7 rows")
    assert {tables.numbers(PUBLISHED, early)[name] for name in ("by_no_heads", "along_end", "brought_first")} == {
        "(not measured)"
    }


def test_what_a_part_carries_is_read_by_network_at_the_end_on_new_rows():
    """Two networks: a part carries a half and a tenth there; one more has no answer to carry."""
    ends = pd.DataFrame({"init_seed": [1, 2, 3], "change": [4.0, 20.0, 0.5], "moved": [2.0, 2.0, 0.5]})
    found = []
    for step, split in product((5, 9), SPLITS):
        common = {"step": step, "split": split, "variable": STORED_KEY, "site": "L1H*", "edit": "OV", "n": 7}
        last = (step, split) == (9, "test")
        change = ends.assign(value=ends["change"], metric="change", family="", **{**common, "site": "", "edit": ""})
        moved = ends.assign(value=ends["moved"] if last else 9.0, metric="moved", family="other answer", **common)
        found += [change, moved, moved.assign(value=0.0, edit="QK"), moved.assign(value=1.0, family="same answer")]
    results = results_of(pd.concat(found).drop(columns=["change", "moved"]).assign(arm=OTHERS))
    assert carries(STORED_KEY, "OV", "L1H*")(results).to_dict() == pytest.approx({1: 0.5, 2: 0.1})
    assert carries(STORED_KEY, "QK", "L1H*")(results).to_dict() == pytest.approx({1: 0.0, 2: 0.0})
    assert carries(STORED_KEY, "OV", "L1H*", "same answer")(results).to_dict() == pytest.approx({1: 0.25, 2: 0.05})


def test_how_much_more_alike_reads_push_is_read_at_the_end():
    found = [
        {"step": step, "variable": name, "metric": metric, "value": value * factor * wanted, "init_seed": seed}
        for seed, factor in ((1, 1.0), (2, 2.0))
        for step, name, wanted in ((9, "key", 1.0), (9, "lag", 3.0), (5, "key", 5.0))
        for metric, value in (("alike", 0.3), ("unlike", 0.1), ("by_lot", 0.01))
    ]
    table = pd.DataFrame(found).assign(arm=OTHERS, run_id="a run")
    results = Results(table, pd.DataFrame(), "paper", {"geometry": table})
    assert pushes_alike("key")(results).to_dict() == pytest.approx({1: 0.2, 2: 0.4})
    assert pushes_alike("key", by_lot=True)(results).to_dict() == pytest.approx({1: 0.01, 2: 0.02})


def test_a_part_without_an_answer_to_carry_is_left_out_of_the_figure():
    """Where the key asked for changes too little, the lines of what is stored are drawn all the same."""
    results = planted_results(change=4.0)
    table = results.tables["hypotheses"].copy()
    table.loc[table["variable"] == ASKED_KEY, "value"] /= 10
    view = tables.carried_by_others(results_of(table))
    assert view.table.notna().all(axis=None)
    assert all(group.startswith("stored") for group in view.table["group"])
    assert len(view.table) == 3, "both hypotheses, and the path that is planted"
