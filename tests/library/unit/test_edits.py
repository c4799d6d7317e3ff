"""Edits as values: what they compile to, and every edit that is refused."""

import pytest
import torch

from circuitcore.models import (
    Ablate,
    Attend,
    CutEdge,
    Head,
    Mlp,
    ModelConfig,
    Patch,
    Site,
    compile_edits,
    forward,
    init_weights,
)

CONFIG = ModelConfig(d_vocab=20, n_ctx=8, d_model=8)
TOKENS = torch.randint(20, (3, 5), generator=torch.Generator().manual_seed(0))
ROLES = {"read_out": torch.tensor([4, 4, 4]), "pair": torch.tensor([[0, 2], [1, 2], [2, 3]])}
KEYS = tuple(f"{name}.{layer}" for name in ("z", "mlp_out", "q", "scores", "resid_mid", "pattern") for layer in (0, 1))
WEIGHTS = init_weights(CONFIG, 0)
CLEAN = forward(CONFIG, WEIGHTS, TOKENS, record=KEYS).cache


def compiled(*edits, sources=None):
    return compile_edits([edits], ROLES, sources or {}, CLEAN)


@pytest.mark.parametrize(
    "edit, words",
    [
        (Ablate(Head(0, 2), "zero"), ("zero(L0H2)@all", "no head 2", "0..1")),
        (Ablate(Head(0, -1), "zero"), ("no head -1", "0..1")),
        (Ablate(Head(5, 0), "zero"), ("z.5", "no layer 5", "up to 1")),
        (Ablate(Mlp(3), "zero"), ("mlp_out.3", "no layer 3", "up to 1")),
        (CutEdge(Head(2, 0), "read_out", "pair"), ("scores.2", "no layer 2", "up to 1")),
        (Ablate(Head(0, 0), "mean"), ("mean(L0H0)@all", "'z.0'", "'mean'", "given: ['other']")),
        (Ablate(Head(0, 0), "zero", "readout"), ("'readout'", "all, pair, read_out")),
        (Patch(Site("z", 0, 5), "all", "other"), ("no head 5", "0..1")),
        (Patch(Site("zz", 0), "all", "other"), ("unknown site 'zz'", "allowed", "resid_pre")),
        (Patch(Site("resid_mid", 0, 1), "all", "other"), ("resid_mid has no head axis", "head 1", "q, k, v, z")),
        (Patch(Site("pattern", 0), "all", "other"), ("L0.pattern", "recorded but not patched", "CutEdge")),
        (Patch(Site("scores", 0), "all", "other"), ("L0.scores", "recorded but not patched", "CutEdge")),
        (Patch(Site("q", 0), "all", "gone"), ("patch(L0.q<-gone)@all", "'q.0'", "'gone'", "given: ['other']")),
        (Patch(Site("mlp_out", 1), "all", "other"), ("'mlp_out.1'", "'other'", "given: ['other']")),
        (Patch(Site("v", 0), "all", "other"), ("no clean value of 'v.0'", "must be recorded first")),
        (Patch(Site("resid_mid", 1), "all", "short"), ("(3, 4, 8)", "'short'", "(3, 5, 8)")),
        (CutEdge(Head(0, 2), "read_out", "pair"), ("no head 2", "0..1")),
        (CutEdge(Head(0, 0), "query", "pair"), ("'query'", "all, pair, read_out")),
        (CutEdge(Head(0, 0), "read_out", "all"), ("no key to attend to", "ablate the head")),
        (Attend(Head(0, 2), "read_out", "pair"), ("attend(L0H2:read_out->pair)", "no head 2", "0..1")),
        (Attend(Head(0, 0), "read_out", "keys"), ("'keys'", "all, pair, read_out")),
        (Attend(Head(0, 0), "read_out", "pair"), ("read_out has 1 positions a row, pair 2",)),
        (Attend(Head(0, 0), "pair", "read_out"), ("read_out is ahead of pair in 3 rows",)),
    ],
)
def test_impossible_edits_are_refused(edit, words):
    sources = {
        "other": {"z.0": CLEAN["z.0"], "q.0": CLEAN["q.0"]},
        "short": {"resid_mid.1": CLEAN["resid_mid.1"][:, :4]},
    }
    given = sources if isinstance(edit, Patch) and edit.source == "short" else {"other": sources["other"]}
    with pytest.raises(ValueError) as caught:
        compiled(edit, sources=given)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_several_cuts_may_not_blind_a_query_together():
    roles = {"first": torch.zeros(3, dtype=torch.long), "second": torch.ones(3, dtype=torch.long)}
    cuts = [CutEdge(Head(0, 0), "second", key) for key in ("first", "second")]
    compile_edits([(cut,) for cut in cuts], roles, {}, CLEAN)  # apart they leave one key each
    with pytest.raises(ValueError, match="no key to attend to"):
        compile_edits([tuple(cuts)], roles, {}, CLEAN)


def test_edits_print_as_they_are_labelled():
    printed = {
        Ablate(Head(1, 0), "resample", "read_out"): "resample(L1H0)@read_out",
        Ablate(Mlp(0), "zero"): "zero(L0MLP)@all",
        Patch(Site("z", 0, 1), "all", "source"): "patch(L0H1.z<-source)@all",
        CutEdge(Head(0, 1), "read_out", "query_key"): "cut(L0H1:read_out->query_key)",
        Attend(Head(0, 1), "value_0", "key_0"): "attend(L0H1:value_0->key_0)",
    }
    assert {edit: str(edit) for edit in printed} == printed


def test_a_role_of_several_positions_edits_them_all():
    site = compiled(Ablate(Head(0, 1), "zero", "pair")).replacements["z.0"]
    expected = torch.zeros(3, 5, 2, dtype=torch.bool)
    for row, positions in enumerate(ROLES["pair"].tolist()):
        expected[row, positions, 1] = True
    assert torch.equal(site.mask[0].squeeze(-1), expected)


def test_only_the_named_positions_and_heads_change():
    source = {"s": {key: value + 1 for key, value in CLEAN.items()}}
    plan = compiled(Patch(Site("z", 0, 1), "pair", "s"), sources=source)
    found = forward(CONFIG, WEIGHTS, TOKENS, plan, record=["z.0"]).cache["z.0"][0]
    changed = (found - CLEAN["z.0"]).abs().amax(-1) > 0.5
    assert torch.equal(changed, plan.replacements["z.0"].mask[0].squeeze(-1))


def test_a_source_of_one_row_stands_for_all():
    mean = {"mean": {"z.0": CLEAN["z.0"].mean(0, keepdim=True)}}
    plan = compiled(Ablate(Head(0, 0), "mean"), sources=mean)
    found = forward(CONFIG, WEIGHTS, TOKENS, plan, record=["z.0"]).cache["z.0"][0]
    assert torch.equal(found[:, :, 0], mean["mean"]["z.0"][:, :, 0].expand(3, -1, -1))
    assert torch.equal(found[:, :, 1], CLEAN["z.0"][:, :, 1])


def test_a_zeroed_head_writes_nothing_and_clean_caches_are_left_alone():
    before = {key: value.clone() for key, value in CLEAN.items()}
    plan = compiled(Ablate(Head(1, 0), "zero"), Ablate(Mlp(0), "zero"))
    cache = forward(CONFIG, WEIGHTS, TOKENS, plan, record=["result.1", "mlp_out.0"]).cache
    assert not cache["result.1"][0, :, :, 0].any() and cache["result.1"][0, :, :, 1].any()
    assert not cache["mlp_out.0"].any()
    assert all(torch.equal(CLEAN[key], before[key]) for key in CLEAN)


def test_a_cut_edge_has_no_attention_and_the_rest_still_sums_to_one():
    plan = compiled(CutEdge(Head(0, 1), "read_out", "pair"))
    pattern = forward(CONFIG, WEIGHTS, TOKENS, plan, record=["pattern.0"]).cache["pattern.0"][0]
    rows = torch.arange(3)[:, None]
    assert not pattern[rows, 1, 4, ROLES["pair"]].any() and pattern[rows, 0, 4, ROLES["pair"]].all()
    assert (pattern.sum(-1) - 1).abs().max() < 1e-5
    assert torch.equal(pattern[:, :, :4], CLEAN["pattern.0"][:, :, :4])


@pytest.fixture
def pairs():
    """Keys and values slot by slot: each value stands behind its key, in an order of its own in each row."""
    keys = torch.tensor([[0, 2], [2, 0], [0, 2]])
    return {**ROLES, "key": keys, "value": keys + 1}


def attended(roles, *edits):
    return forward(CONFIG, WEIGHTS, TOKENS, compile_edits([edits], roles, {}, CLEAN), record=KEYS).cache


def test_a_set_attention_is_all_on_the_key_of_its_own_slot(pairs):
    pattern = attended(pairs, Attend(Head(0, 1), "value", "key"))["pattern.0"][0]
    rows = torch.arange(3)[:, None]
    assert torch.equal(pattern[rows, 1, pairs["value"], pairs["key"]], torch.ones(3, 2))
    assert torch.equal(pattern[rows, 1, pairs["value"]].sum(-1), torch.ones(3, 2))
    elsewhere = torch.ones(3, 5, dtype=torch.bool).scatter(1, pairs["value"], False)
    assert torch.equal(pattern[:, 1][elsewhere], CLEAN["pattern.0"][:, 1][elsewhere])
    assert torch.equal(pattern[:, 0], CLEAN["pattern.0"][:, 0])


def test_attention_set_to_what_it_is_changes_nothing(pairs):
    """A head that looks evenly at what is before it, set to do so: nothing moves, in value or in what is downstream."""
    weights = dict(WEIGHTS)
    weights["blocks.0.attn.W_Q"] = torch.zeros_like(WEIGHTS["blocks.0.attn.W_Q"])
    clean = forward(CONFIG, weights, TOKENS, record=KEYS)
    edits = tuple(Attend(Head(0, head), "all", "all") for head in (0, 1))
    edited = forward(CONFIG, weights, TOKENS, compile_edits([edits], pairs, {}, clean.cache), record=KEYS)
    assert torch.allclose(edited.cache["pattern.0"][0], clean.cache["pattern.0"], atol=1e-6)
    assert torch.allclose(edited.logits[0], clean.logits, atol=1e-5)


def test_where_two_attentions_meet_the_later_one_wins(pairs):
    pattern = attended(pairs, Attend(Head(0, 0), "all", "all"), Attend(Head(0, 0), "value", "key"))["pattern.0"][0]
    assert torch.allclose(pattern[:, 0, 4], torch.full((3, 5), 0.2))
    assert torch.equal(pattern[torch.arange(3)[:, None], 0, pairs["value"], pairs["key"]], torch.ones(3, 2))


def test_a_head_takes_the_value_from_where_it_is_made_to_look(pairs):
    cache = attended(pairs, Attend(Head(1, 0), "read_out", "read_out"))
    values = forward(CONFIG, WEIGHTS, TOKENS, record=["v.1"]).cache["v.1"]
    assert torch.allclose(cache["z.1"][0][:, 4, 0], values[:, 4, 0], atol=1e-6)
