"""What models answer, where heads look and what they copy: perfect, uniform, tied and impossible inputs."""

import math

import pytest
import torch

from circuitcore.metrics.network import Network, read_out
from circuitcore.metrics.scores import attention, attribution, behavior, operators
from circuitcore.metrics.scores.groups import published_groups, worst_share
from circuitcore.models import ModelConfig, init_weights
from circuitcore.tasks import make_task
from circuitcore.tasks.base import Batch

TASK = make_task("symbolic_kv", {})
BATCH = TASK.families(4)["query_key_sweep"]  # 12 rows of 13 positions; three queries a context
MATCHING = BATCH.variables["matching_slot"]
ANSWERS = torch.tensor(TASK.answers)
N_ROWS, N_POS = BATCH.tokens.shape


def network(**words):
    """Two untrained checkpoints."""
    config = ModelConfig(**{"d_vocab": 20, "n_ctx": 16, "d_model": 8, "d_mlp": 6} | words)
    both = [init_weights(config, seed) for seed in (0, 1)]
    return Network(config, {name: torch.stack([weights[name] for weights in both]) for name in both[0]})


def one_hot_logits(tokens):
    return torch.nn.functional.one_hot(tokens, 20).float()


# Behaviour.


def test_perfect_answers():
    logits = 7 * one_hot_logits(BATCH.answers)
    assert behavior.correct(logits, BATCH.answers).all()
    assert torch.equal(behavior.margin(logits, BATCH.answers), torch.full((N_ROWS,), 7.0))
    assert torch.equal(behavior.logit_difference(logits, BATCH.answers, ANSWERS), torch.full((N_ROWS,), 7.0))
    torch.testing.assert_close(
        behavior.loss(logits, BATCH.answers), torch.full((N_ROWS,), math.log(1 + 19 / math.e**7))
    )
    assert behavior.from_context(logits, BATCH.tokens).all()


def test_uniform_answers():
    logits = torch.full((2, N_ROWS, 20), 0.3)
    torch.testing.assert_close(behavior.loss(logits, BATCH.answers), torch.full((2, N_ROWS), math.log(20)))
    assert not behavior.margin(logits, BATCH.answers).any()
    assert behavior.logit_difference(logits, BATCH.answers, ANSWERS).abs().max() < 1e-6


def test_wrong_answers():
    other = torch.where(BATCH.answers == TASK.answers[0], TASK.answers[1], TASK.answers[0])
    logits = one_hot_logits(other)
    assert not behavior.correct(logits, BATCH.answers).any()
    assert (behavior.margin(logits, BATCH.answers) == -1).all()
    torch.testing.assert_close(behavior.logit_difference(logits, BATCH.answers, ANSWERS), torch.full((N_ROWS,), -1 / 7))
    never = 20 + torch.zeros(N_ROWS, dtype=torch.long)
    assert not behavior.from_context(torch.nn.functional.one_hot(never, 21).float(), BATCH.tokens).any()


def test_random_answers_score_chance():
    logits = torch.randn(400, N_ROWS, 20, generator=torch.Generator().manual_seed(0))
    n = 400 * N_ROWS
    share = behavior.correct(logits, BATCH.answers).double().mean()
    assert abs(share - 1 / 20) < 4 * (0.05 * 0.95 / n) ** 0.5
    chance = sum(len(set(row.tolist())) for row in BATCH.tokens) / N_ROWS / 20
    assert abs(behavior.from_context(logits, BATCH.tokens).double().mean() - chance) < 4 * (0.25 / n) ** 0.5
    assert abs(behavior.logit_difference(logits, BATCH.answers, ANSWERS).mean()) < 4 * (8 / 7 / n) ** 0.5
    assert (behavior.margin(logits, BATCH.answers) > 0).eq(behavior.correct(logits, BATCH.answers)).all()


def test_logit_difference_needs_a_foil():
    with pytest.raises(ValueError, match="at least 2 possible answers, got 1"):
        behavior.logit_difference(torch.zeros(1, 20), torch.tensor([12]), torch.tensor([12]))


# Attention.


def pattern_at(position, n_heads=2):
    """Every head looks from every position at one given position per row, whatever lies ahead."""
    pattern = torch.zeros(2, N_ROWS, n_heads, N_POS, N_POS)
    pattern.scatter_(-1, position[None, :, None, None, None].expand(2, N_ROWS, n_heads, N_POS, 1), 1.0)
    return pattern


UNIFORM = (torch.ones(N_POS, N_POS).tril() / torch.arange(1, N_POS + 1)[:, None]).expand(2, N_ROWS, 2, N_POS, N_POS)


def matching(role):
    return BATCH.roles[role].gather(1, MATCHING[:, None])[:, 0]


@pytest.mark.parametrize("part", ["slot_key", "slot_value"])
def test_perfect_routing(part):
    slots = attention.slot_mass(pattern_at(matching(part)), BATCH, ("slot_key", "slot_value"))
    assert attention.routes(slots, MATCHING).all()
    assert (attention.matching_mass(slots, MATCHING) == 1).all()
    assert (attention.choice_follows_query(slots, BATCH.base) == 1).all()
    alone = attention.slot_mass(pattern_at(matching(part)), BATCH, ("slot_value",))
    assert (attention.matching_mass(alone, MATCHING) == (part == "slot_value")).all()


def test_perfectly_wrong_routing():
    wrong = BATCH.roles["slot_value"].gather(1, ((MATCHING + 1) % 3)[:, None])[:, 0]
    slots = attention.slot_mass(pattern_at(wrong), BATCH, ("slot_value",))
    assert not attention.routes(slots, MATCHING).any()
    assert not attention.matching_mass(slots, MATCHING).any()
    assert (attention.choice_follows_query(slots, BATCH.base) == 1).all()  # it follows the query, to the wrong slot


def test_uniform_attention_scores_chance():
    slots = attention.slot_mass(UNIFORM, BATCH, ("slot_key", "slot_value"))
    torch.testing.assert_close(attention.matching_mass(slots, MATCHING), torch.full((2, N_ROWS, 2), 2 / 13))
    # Ties go to slot 0, which is asked for once in each context.
    assert attention.routes(slots, MATCHING).double().mean() == pytest.approx(1 / 3)
    assert not attention.choice_follows_query(slots, BATCH.base).any()
    assert (attention.chosen_slot(slots) == 0).all()
    torch.testing.assert_close(
        attention.mass(UNIFORM, BATCH, "read_out", "query_key"), torch.full((2, N_ROWS, 2, 1), 1 / 13)
    )
    own = attention.mass(UNIFORM, BATCH, "slot_value", "slot_key")
    torch.testing.assert_close(own, torch.tensor([1 / 3, 1 / 6, 1 / 9]).expand(2, N_ROWS, 2, 3))


def test_values_look_at_their_own_keys():
    pattern = torch.zeros(2, N_ROWS, 2, N_POS, N_POS)
    for slot in range(3):
        pattern[:, :, 0, 2 + 3 * slot, 1 + 3 * slot] = 1  # head 0: own key
        pattern[:, :, 1, 2 + 3 * slot, 1] = 1  # head 1: the first key
    own = attention.mass(pattern, BATCH, "slot_value", "slot_key")
    assert (own[:, :, 0] == 1).all()
    assert torch.equal(own[0, 0, 1], torch.tensor([1.0, 0.0, 0.0]))


def test_choice_follows_query_counts_contexts():
    """Of four contexts, the head's choice moves in one: 1/4."""
    slots = torch.zeros(N_ROWS, 1, 3)
    slots[..., 1] = 1
    slots[0, 0] = torch.tensor([0.0, 0.0, 1.0])
    assert attention.choice_follows_query(slots, BATCH.base).tolist() == [0.25]


# Operators and attribution.


def test_diagonal_wins():
    assert operators.diagonal_wins(torch.eye(8)) == 1
    assert operators.diagonal_wins(-torch.eye(8)) == 0
    assert operators.diagonal_wins(torch.ones(8, 8)) == 1 / 8  # ties go to the first column
    random = torch.randn(4000, 8, 8, generator=torch.Generator().manual_seed(0))
    assert abs(operators.diagonal_wins(random).mean() - 1 / 8) < 4 * (7 / 64 / 32000) ** 0.5


@pytest.mark.parametrize("tied", [True, False])
def test_ov_circuit_is_the_product_of_the_weights(tied):
    net = network(tied=tied)
    net.weights["blocks.1.ln1.w"][:] = torch.rand(2, 8, generator=torch.Generator().manual_seed(0))
    found = operators.ov_circuit(net, 1, torch.tensor([4, 5]), torch.tensor([12, 13, 14]))
    w = {name: value[1] for name, value in net.weights.items()}
    unembed = w["embed.W_E"].T if tied else w["unembed.W_U"]
    value, output = w["blocks.1.attn.W_V"][0], w["blocks.1.attn.W_O"][0]
    product = w["embed.W_E"][5] * w["blocks.1.ln1.w"] @ value @ output @ unembed[:, 13]
    assert found.shape == (2, 2, 2, 3)
    torch.testing.assert_close(found[1, 0, 1, 1], product)


@pytest.mark.parametrize("positions", ["none", "rope"])
def test_composed_qk_is_what_the_forward_pass_would_score(positions):
    """Two tokens written by heads of layer 0, put by hand into the stream of layer 1."""
    net = network(positions=positions, norm="none")
    scores = operators.composed_qk(net, (0, 1), (0, 0), torch.tensor([4, 5]), (12, [2, 5]))
    w = {name: value[0] for name, value in net.weights.items()}
    writes = [w["embed.W_E"][[4, 5]] @ w["blocks.0.attn.W_V"][h] @ w["blocks.0.attn.W_O"][h] for h in (1, 0)]
    expected = torch.zeros(2, 2)
    for key_at in (2, 5):
        q, k = writes[0] @ w["blocks.1.attn.W_Q"][1], writes[1] @ w["blocks.1.attn.W_K"][1]
        if positions == "rope":
            q, k = operators.rotate_to(q, 12), operators.rotate_to(k, key_at)
        expected += q @ k.T / math.sqrt(4) / 2
    torch.testing.assert_close(scores[0, 1], expected)


def test_copies_takes_the_likeliest_possible_answer():
    net = network(d_model=20, d_head=20, n_heads=1, tied=False)
    for name, value in net.weights.items():
        value[:] = torch.eye(20) if name.endswith(("W_V", "W_O", "W_U")) else 1
    normed = one_hot_logits(BATCH.answers).expand(2, -1, -1)
    assert (operators.copies(net, 0, normed, ANSWERS)[..., 0] == BATCH.answers).all()
    # A token that is no possible answer cannot win, however strong.
    normed = normed + 5 * torch.nn.functional.one_hot(torch.tensor(3), 20)
    assert (operators.copies(net, 0, normed, ANSWERS)[..., 0] == BATCH.answers).all()


def test_ranks_count_what_is_raised_more():
    logits = torch.tensor([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [5.0, 5.0, 1.0]])[:, None]
    found = operators.ranks(logits, torch.tensor([0, 0, 1, 0]))
    assert found[:, 0].tolist() == [1, 3, 2, 1.5]
    random = torch.randn(4000, 2, 8, generator=torch.Generator().manual_seed(0))
    found = operators.ranks(random, torch.randint(8, (4000,), generator=torch.Generator().manual_seed(1)))
    assert abs(found.mean() - 4.5) < 4 * (63 / 12 / 8000) ** 0.5


def test_worst_share_is_that_of_the_poorest_group():
    hits = torch.tensor([[1.0, 0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 0.0]])
    assert worst_share(hits, torch.tensor([7, 7, 3, 3, 1_000_000])).tolist() == [0.5, 0]
    alike = {"a": BATCH, "longer_context": BATCH.rows(slice(0, 2))}
    groups = published_groups(alike)
    assert groups[:N_ROWS].tolist() == BATCH.base.tolist() and not set(groups[N_ROWS:].tolist()) & set(
        BATCH.base.tolist()
    )


def test_measured_qk_of_a_matching_head():
    keys = torch.unique(BATCH.tokens.gather(1, BATCH.roles["slot_key"]))
    scores = torch.zeros(N_ROWS, N_POS, N_POS)
    scores[torch.arange(N_ROWS), 12, matching("slot_value")] = 3.0
    table = operators.measured_qk(scores, BATCH, keys)
    diagonal = table.diagonal()
    assert torch.equal(table.nan_to_num(-9).amax(1), diagonal)
    assert table.nanmean(1).abs().max() < 1e-6
    met = {
        (row[11].item(), key.item()) for row in BATCH.tokens for key in row[BATCH.roles["slot_key"][0]]
    }  # pairs of (asked, in the same prompt)
    assert int((~table.isnan()).sum()) == len(met)


def test_measured_qk_of_a_constant_head_is_flat():
    keys = torch.unique(BATCH.tokens.gather(1, BATCH.roles["slot_key"]))
    assert not operators.measured_qk(torch.ones(N_ROWS, N_POS, N_POS), BATCH, keys).nan_to_num(0).any()


def test_attribution_needs_a_stream_that_is_a_sum():
    net = network(norm_position="post")
    with pytest.raises(ValueError, match="pre-norm.*post-norm"):
        attribution.direct_logit_attribution(net, BATCH, {})


def test_attribution_of_a_network_without_parts_is_all_embedding():
    net = network(mlp="none")
    for name, value in net.weights.items():
        if name.endswith("W_O"):
            value[:] = 0
    output = net.run(BATCH, attribution.recorded_sites(net))
    names, shares = attribution.direct_logit_attribution(net, BATCH, output.cache)
    assert names == ["embed", "L0H0", "L0H1", "L1H0", "L1H1"]
    torch.testing.assert_close(shares[:, 0], read_out(output.logits, BATCH))
    assert not shares[:, 1:].any()


def test_a_batch_without_the_named_role_is_refused():
    bare = Batch(
        tokens=BATCH.tokens,
        targets=BATCH.targets,
        loss_mask=BATCH.loss_mask,
        roles={"read_out": BATCH.roles["read_out"]},
    )
    with pytest.raises(KeyError, match="slot_value"):
        attention.slot_mass(UNIFORM, bare, ("slot_value",))
