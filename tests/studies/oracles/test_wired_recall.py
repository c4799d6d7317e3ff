"""A network wired by hand recalls and eliminates perfectly, and every test of the mechanism says how."""

import dataclasses
import math

import pytest
import torch
import wired_recall as wired
from given_run import GivenRun, picked
from wired_recall import CONFIG, MATCH, READ, TASK, V, W

from circuitcore.metrics.instruments.battery import SECTIONS, BatterySpec, measure
from circuitcore.models import Ablate, CutEdge, Mlp, Patch, Site, compile_edits, forward
from circuitcore.tasks.permutation_posterior import loss_levels, uniform_posterior
from retrieval_circuits.permutation_recall.measures import SECTIONS as OWN

SITES = ("q", "k", "v", "z")
RECORD = [*(f"{name}.0" for name in (*SITES, "scores", "pattern", "resid_pre", "resid_mid", "mlp_out", "mlp_post"))]
BOTH = (MATCH, READ)


@pytest.fixture(scope="module")
def weights():
    return wired.recall_circuit()


@pytest.fixture(scope="module")
def probes():
    """Probes of recall, with roles for the y of another slot and for all that are not asked for."""
    batch = TASK.probes("test", 700)
    slots = torch.arange(V - 1).expand(len(batch), -1)
    others = slots[slots != batch.variables["source"][:, None]].reshape(len(batch), -1)
    before = torch.arange(2 * (V - 1)).expand(len(batch), -1)
    more = {"y_other": 2 * others + 1, "x_other": 2 * others, "y_next": y_next(batch), "before": before}
    return dataclasses.replace(batch, roles={**batch.roles, **more})


@pytest.fixture(scope="module")
def normal():
    return TASK.every_row("test", 400)


def y_next(batch):
    """Position of the y of the slot after the one that is repeated, cyclically."""
    return 2 * ((batch.variables["source"] + 1) % (V - 1)) + 1


def said(weights, batch, *interventions, sources=None):
    """What is said at the read-out, by the clean network or ``[intervention row]``."""
    if not interventions:
        return forward(CONFIG, weights, batch.tokens).logits[:, -1].argmax(-1)
    like = forward(CONFIG, weights, batch.tokens, record=RECORD).cache
    plan = compile_edits(interventions, batch.roles, sources or {}, like)
    return forward(CONFIG, weights, batch.tokens, plan).logits[:, :, -1].argmax(-1)


def outcome(answers, probes):
    """Shares of rows that are answered by the y to be recalled, by the one left over, and by another that was shown."""
    shown = probes.tokens.gather(1, probes.roles["y"])
    left = V * (V + 1) // 2 - shown.sum(1)
    recalled, eliminated = answers == probes.answers, answers == left
    return [share(hits) for hits in (recalled, eliminated, ~(recalled | eliminated))]


def share(hits):
    return hits.double().mean().item()


RECALLS, ELIMINATES, SAYS_ANOTHER = [1, 0, 0], [0, 1, 0], [0, 0, 1]


def test_it_is_the_chapter_s_architecture_and_small():
    assert (CONFIG.n_layers, CONFIG.n_heads, CONFIG.d_model, CONFIG.d_head, CONFIG.d_mlp) == (1, 2, 40, 6, 10)
    assert (CONFIG.norm, CONFIG.norm_position, CONFIG.mlp, CONFIG.positions) == ("layer", "post", "relu", "learned")
    assert CONFIG.bias == "all" and not CONFIG.tied and CONFIG.norm_eps == 1e-5


def test_it_answers_every_probe_and_every_row(weights):
    for batch in (TASK.probes("test"), TASK.every_row("test"), TASK.probes("train", 2000)):
        assert torch.equal(said(weights, batch), batch.answers)


def test_at_every_step_it_says_what_the_posterior_says(weights):
    batch = TASK.draw("all", 1500, 0)
    found = forward(CONFIG, weights, batch.tokens).logits[:, ::2, 1:].double().softmax(-1)
    assert (found - uniform_posterior(TASK, batch)).abs().max() < 1e-6


def test_each_head_looks_where_it_should(weights, probes, normal):
    of_probes, of_normal = (
        forward(CONFIG, weights, batch.tokens, record=["pattern.0"]).cache["pattern.0"][:, :, -1].double()
        for batch in (probes, normal)
    )
    at_source = of_probes[:, MATCH.index].gather(1, probes.roles["x_source"][:, None])
    assert at_source.min() > 1 - 1e-9
    for found in (of_probes, of_normal):
        torch.testing.assert_close(found[:, READ.index, 1::2], W.expand(len(found), -1), rtol=1e-5, atol=0)
        assert found[:, READ.index, ::2].max() < 1e-20
    assert of_normal[:, MATCH.index, :-1:2].max() < 1e-9, "no x where nothing matches"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_the_heads_write(probes, normal, dtype):
    """M the weight of the slot that matches, or 0; R for each symbol the weight of the slot where it is a y, or 0."""
    weights = wired.recall_circuit(dtype)
    for batch in (probes, normal):
        z = forward(CONFIG, weights, batch.tokens, record=["z.0"]).cache["z.0"][:, -1].double()
        asked = torch.cat([W, torch.zeros(2)])[batch.variables["source"]]
        shown = torch.zeros(len(batch), V + 1, dtype=torch.float64)
        shown.scatter_(1, batch.tokens.gather(1, batch.roles["y"]), W.expand(len(batch), -1))
        torch.testing.assert_close(z[:, MATCH.index, 0], asked, rtol=0, atol=1e-6)
        torch.testing.assert_close(z[:, READ.index, :V], shown[:, 1:], rtol=0, atol=1e-6)


# Edge from the read-out -> what each head's answers become without it. R without the y that is asked for takes another
# one for it; M without its x asks for nothing, and what was not shown is said.
CUTS = {
    "y_source": {MATCH: RECALLS, READ: SAYS_ANOTHER},
    "x_source": {MATCH: ELIMINATES, READ: RECALLS},
    "x_other": {MATCH: RECALLS, READ: RECALLS},
    "read_out": {MATCH: RECALLS, READ: RECALLS},
}


@pytest.mark.parametrize("key", CUTS)
def test_both_edges_and_no_others_carry_recall(weights, probes, key):
    heads = list(CUTS[key])
    cuts = said(weights, probes, *((CutEdge(head, "read_out", key),) for head in heads))
    for head, answers in zip(heads, cuts, strict=True):
        assert outcome(answers, probes) == CUTS[key][head], head
    together = said(weights, probes, tuple(CutEdge(head, "read_out", key) for head in heads))[0]
    expected = next((wrong for wrong in CUTS[key].values() if wrong != RECALLS), RECALLS)
    assert outcome(together, probes) == expected


def test_without_the_other_y_there_is_nothing_to_compare(weights, probes):
    (answers,) = said(weights, probes, (CutEdge(READ, "read_out", "y_other"),))
    assert outcome(answers, probes)[0] == 0


def test_what_is_left_without_a_part(weights, probes, normal):
    parts = [(Ablate(part, "zero", "read_out"),) for part in (MATCH, READ, Mlp(0))]
    without_match, without_read, without_ffn = said(weights, probes, *parts)
    assert outcome(without_match, probes) == ELIMINATES
    assert share(said(weights, normal, parts[0])[0] == normal.answers) == 1
    # R or FFN gone, all five answers have one logit: which of them is the largest is rounding, whatever was shown.
    for answers in (without_read, without_ffn, said(weights, normal, *parts[1:])):
        assert answers.unique().numel() <= 2
    like = forward(CONFIG, weights, probes.tokens, record=RECORD).cache
    plan = compile_edits(parts[1:], probes.roles, {}, like)
    logits = forward(CONFIG, weights, probes.tokens, plan).logits[:, :, -1, 1:]
    assert (logits.amax(-1) - logits.amin(-1)).max() < 1e-3
    for answers in (without_read, without_ffn):
        assert outcome(answers, probes)[0] < 0.3


def test_each_pair_of_neurons_serves_its_own_y(weights, probes):
    """Without it that y is at distance 0 for ever, and is said beside the right one."""
    for y in range(1, V + 1):
        cut = {name: value.clone() for name, value in weights.items()}
        cut["blocks.0.mlp.W_out"][[y - 1, V + y - 1]] = 0
        answers, asked = said(cut, probes), probes.answers == y
        assert (answers[asked] == y).all() and share(answers[~asked] == y) > 0.2
        others = answers != y
        assert torch.equal(answers[others], probes.answers[others])


def test_rows_before_the_read_out_have_no_part_in_it(weights, probes):
    parts = [(Ablate(head, "zero", "before"),) for head in BOTH] + [(Ablate(Mlp(0), "zero", "before"),)]
    parts.append(tuple(edit for (edit,) in parts))
    like = forward(CONFIG, weights, probes.tokens, record=RECORD)
    changed = forward(CONFIG, weights, probes.tokens, compile_edits(parts, probes.roles, {}, like.cache)).logits
    assert torch.equal(changed[:, :, -1], like.logits[:, -1].expand(len(parts), -1, -1))


@pytest.mark.parametrize(
    ("name", "carrier", "bystander"),
    [("value", READ, MATCH), ("trade", READ, MATCH), ("match", MATCH, READ)],
    ids=["value", "trade", "match"],
)
def test_interchanges_tell_the_slot_from_the_value(weights, name, carrier, bystander):
    (pairs,) = [pairs for pairs in TASK.interchanges(400) if pairs.name == name]
    source = forward(CONFIG, weights, pairs.source.tokens, record=RECORD).cache
    sites = [Site("z", 0, carrier.index), Site("z", 0, bystander.index), Site("mlp_out", 0), Site("resid_mid", 0)]
    patched = [(Patch(site, "read_out", "source"),) for site in sites]
    patched.append(tuple(Patch(Site("z", 0, head.index), "read_out", "source") for head in BOTH))
    of_carrier, of_bystander, *rest = said(weights, pairs.base, *patched, sources={"source": source})
    assert torch.equal(of_bystander, pairs.base.answers)
    for answers in (of_carrier, *rest):
        assert torch.equal(answers, pairs.expected["source_answer"])


def swapped_positions(weights, batch, site):
    """``site`` of all rows as it would be if the positions of y_source and y_next were exchanged at its input."""
    places = torch.arange(batch.tokens.shape[1]).repeat(len(batch), 1)
    a, b = batch.roles["y_source"][:, None], batch.roles["y_next"][:, None]
    places.scatter_(1, a, b).scatter_(1, b, a)
    stream = weights["embed.W_E"][batch.tokens] + weights["pos_embed.W_pos"][places]
    name = site.upper()
    projected = torch.einsum("bpd,hde->bphe", stream, weights[f"blocks.0.attn.W_{name}"])
    return projected + weights[f"blocks.0.attn.b_{name}"]


@pytest.mark.parametrize(
    ("sites", "heads", "follows"),
    [("v", BOTH, False), ("k", (READ,), True), ("k", (MATCH,), False), ("kv", BOTH, True)],
    ids=["values", "keys of R", "keys of M", "both"],
)
def test_the_key_s_position_binds_and_the_value_s_does_not(weights, probes, sites, heads, follows):
    """A value is symbol plus position: exchanging positions there changes the same thing whichever y they belong to."""
    cache = {f"{site}.0": swapped_positions(weights, probes, site) for site in sites}
    edits = tuple(Patch(Site(site, 0, head.index), "y", "moved") for site in sites for head in heads)
    (answers,) = said(weights, probes, edits, sources={"moved": cache})
    of_next = probes.tokens.gather(1, probes.roles["y_next"][:, None])[:, 0]
    assert torch.equal(answers, of_next if follows else probes.answers)


def test_a_head_that_spreads_evenly_binds_nothing(weights, probes):
    """Two y in each other's place make the same stream: even values, whatever is in them, cannot tell who is where."""
    even = {name: value.clone() for name, value in weights.items()}
    even["pos_embed.W_pos"][1::2, wired.KEY_OF_READ] = 0
    even["blocks.0.attn.W_V"][READ.index] += torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
    exchanged = probes.tokens.clone()
    a, b = probes.roles["y_source"][:, None], probes.roles["y_next"][:, None]
    exchanged.scatter_(1, a, probes.tokens.gather(1, b)).scatter_(1, b, probes.tokens.gather(1, a))
    for network, differs in ((even, False), (weights, True)):
        one, other = (forward(CONFIG, network, tokens).logits[:, -1, 1:] for tokens in (probes.tokens, exchanged))
        apart = (one - other).abs().amax(-1)
        assert (apart > 1).all() if differs else (apart < 0.05).all()


OTHERS = tuple(section.__name__ for section in SECTIONS if not section.__name__.startswith("recall_"))
SPEC = BatterySpec(n_bases=240, n_reference=256, n_split=1000, left_out=OTHERS, own=OWN)
M, R, ALL, FFN = str(MATCH), str(READ), "all heads", "L0MLP"
UNDER = ("recall_under", "eliminates_under", "other_shown_under")


@pytest.fixture(scope="module")
def table():
    """What the battery's sections on permutation recall say of the network."""
    return measure(GivenRun(TASK, CONFIG, [wired.recall_circuit()]), SPEC)


def all_are(values, expected, tolerance=1e-6):
    assert (values - expected).abs().max() <= tolerance, values


def test_battery_it_is_the_bayesian_who_does_not_know_the_split(table):
    for metric in ("bayes_mae", "bayes_max", "bayes_max_batched", "leaning"):
        all_are(picked(table, metric), 0)
    all_are(picked(table, "step_accuracy", variable="step 5"), 1)
    for split in ("test", "all"):
        losses = picked(table, "step_loss", split=split).tolist()
        assert losses == pytest.approx([math.log(n) for n in (5, 4, 3, 2, 1)], abs=1e-6)
    all_are(picked(table, "mean_loss"), loss_levels(TASK)["elimination and recall"])


def test_battery_it_recalls_and_eliminates(table):
    for metric in ("recall", "elimination", "p_answer", "recall_all", "elimination_all"):
        all_are(picked(table, metric), 1)
    for metric in ("eliminates", "other_shown"):
        all_are(picked(table, metric), 0)
    assert len(picked(table, "recall")) == len(picked(table, "recall_all")) == V


def test_battery_where_the_heads_look(table):
    expected = {
        M: {"mass_x_source": 1, "mass_all_x": 1, "mass_y_source": 0, "mass_all_y": 0, "mass_last_y": 0, "mass_self": 0},
        R: {"mass_x_source": 0, "mass_all_x": 0, "mass_y_source": 1 / 4, "mass_all_y": 1, "mass_self": 0},
    }
    expected[R]["mass_last_y"] = float(W[-1])
    for site, masses in expected.items():
        for metric, value in masses.items():
            all_are(picked(table, metric, site=site, family="repeat"), value)
    all_are(picked(table, "mass_all_y", site=R, family="normal"), 1)
    # Where nothing matches M looks at itself, or at a y that is the same symbol: of the five symbols one is no y.
    itself, some_y = (
        picked(table, metric, site=M, family="normal", **where).iloc[-1]
        for metric, where in (("mass_self", {}), ("mass_all_y", {"variable": "step 5"}))
    )
    assert itself + some_y == pytest.approx(1, abs=1e-6) and 0 < itself < some_y


def test_battery_each_part_removed(table):
    def under(site, edit):
        return [picked(table, metric, site=site, edit=edit).iloc[0] for metric in (*UNDER, "elimination_under")]

    assert under("none", "none") == [*RECALLS, 1]
    assert under(M, "zero") == [*ELIMINATES, 1]
    for site in (R, f"{M}+{R}", FFN):
        for how in ("zero", "mean"):
            recall, *_, elimination = under(site, how)
            assert recall < 0.3 and elimination < 0.3, (site, how)
        assert under(site, "resample")[0] < 0.3 and under(site, "resample")[3] < 0.4, site
    assert under(M, "mean")[0] == 0 and under(M, "resample")[0] < 0.1


def test_battery_edges(table):
    for key, of_heads in CUTS.items():
        edit = {"x_other": "cut other x", "read_out": "cut self"}.get(key, f"cut {key}")
        for head, expected in of_heads.items():
            found = [picked(table, metric, site=str(head), edit=edit).iloc[0] for metric in UNDER]
            assert found == expected, (head, edit)
    all_are(picked(table, "recall_under", site=ALL, edit=["cut y_source", "cut x_source", "cut other y"]), 0)
    all_are(picked(table, "elimination_under", edit="cut all x"), 1)
    assert picked(table, "elimination_under", site=R, edit="cut all y").iloc[0] < 0.3
    all_are(picked(table, "largest_change", edit="zero rows before"), 0, tolerance=0)


def test_battery_positions_bind_in_the_keys_of_the_read_head_alone(table):
    for edit, site, follows in (
        *(("swap values' positions", site, 0) for site in (M, R, ALL)),
        *(("swap keys' positions", site, int(site != M)) for site in (M, R, ALL)),
    ):
        all_are(picked(table, "recall_under", edit=edit, site=site), 1 - follows)
        all_are(picked(table, "answers_swapped_under", edit=edit, site=site), follows)


CARRIED = {("value", R): 1, ("value", M): 0, ("trade", R): 1, ("trade", M): 0, ("match", M): 1, ("match", R): 0}


@pytest.mark.parametrize(("family", "site"), CARRIED)
def test_battery_interchanges(table, family, site):
    carried = CARRIED[family, site]
    for where, value in ((site, carried), (ALL, 1), ("L0.mlp_out", 1)):
        all_are(picked(table, "interchange", family=family, site=where, edit="", variable="source_answer"), value)
        all_are(picked(table, "interchange", family=family, site=where, edit="", variable="base_answer"), 1 - value)
    by_chance = picked(table, "interchange", family=family, edit="random_source", variable="source_answer")
    assert by_chance.max() < 0.35


def test_battery_the_ffn_binds(table):
    """A linear map in its place eliminates and never recalls; all ten neurons are needed; only after it y is linear."""
    linear = [picked(table, metric, site=FFN, edit="linear").iloc[0] for metric in (*UNDER, "elimination_under")]
    assert linear == [*ELIMINATES, 1]
    all_are(picked(table, "neurons_needed"), 2 * V)
    left = picked(table, "recall_without_top", variable=["1", "2", "4", "8"])
    assert len(left) == 4 and left.max() < 0.6
    assert left.iloc[0] == pytest.approx(1 - picked(table, "largest_neuron_drop").iloc[0])
    for variable, metric, before in (("y_source", "decodes_y_source", 0.4), ("source", "decodes_source", 1)):
        where = {"variable": variable}
        all_are(picked(table, metric, site="L0.resid_post", edit="", **where), 1)
        assert picked(table, metric, site=["L0.z", "L0.resid_mid"], edit="", **where).max() <= before
        assert picked(table, metric, edit="random_labels", **where).max() < 0.35
