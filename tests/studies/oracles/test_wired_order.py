"""What is asked of permutation recall's order, asked of a network wired by hand and of one that knows nothing."""

import torch
from given_run import GivenRun
from wired_recall import CONFIG, TASK, recall_circuit

from circuitcore.metrics.network import Network
from circuitcore.models import forward, init_weights
from retrieval_circuits.emergence_laws.measures import permutation_scores, tells


def measured(*networks):
    rows = permutation_scores(GivenRun(TASK, CONFIG, list(networks)), None, lambda n: None)
    return rows.pivot(index="metric", columns="step", values="value")


def test_a_wired_network_recalls_and_tells_every_y_that_it_sees():
    found = measured(recall_circuit())
    assert found.loc["recall", 0] == found.loc["told", 0] == 1


def test_without_values_nothing_is_told_or_recalled_beyond_one_guess():
    deaf = recall_circuit()
    deaf["blocks.0.attn.W_V"].zero_()
    found = measured(deaf)
    assert found.loc["recall", 0] < 0.5 and abs(found.loc["told", 0] - 1 / TASK.n_symbols) < 0.05


def test_untrained_networks_tell_what_they_see_no_more_than_chance_on_average():
    found = measured(*(init_weights(CONFIG, seed) for seed in range(40)))
    assert abs(found.loc["told"].mean() - 1 / TASK.n_symbols) < 0.05


def test_cutting_is_attention_without_that_key():
    """Held against a forward pass in which the score itself is put to minus infinity."""
    weights, batch = init_weights(CONFIG, 3), TASK.every_row("test", 50)
    net, n_told = Network(CONFIG, {name: value[None] for name, value in weights.items()}), 0
    found = tells(net, batch, TASK.answers)[:, 0]

    def attention(slot):
        """Logits at the last position, by hand from the layer's input, with one y hidden."""
        x = forward(CONFIG, weights, batch.tokens, record=["resid_pre.0"]).cache["resid_pre.0"]
        w = {name.removeprefix("blocks.0."): value for name, value in weights.items() if name.startswith("blocks.0.")}
        q, k, v = (torch.einsum("bpd,hdk->bhpk", x, w[f"attn.W_{c}"]) + w[f"attn.b_{c}"][:, None] for c in "QKV")
        scores = q[:, :, -1:] @ k.mT / CONFIG.d_head**0.5
        if slot is not None:
            scores[..., 2 * slot + 1] = -torch.inf
        z = scores.softmax(-1) @ v
        out = torch.einsum("bhpk,hkd->bpd", z, w["attn.W_O"])[:, 0] + w["attn.b_O"]
        x = norm(x[:, -1] + out, w, "ln1")
        hidden = (x @ w["mlp.W_in"] + w["mlp.b_in"]).relu()
        x = norm(x + hidden @ w["mlp.W_out"] + w["mlp.b_out"], w, "ln2")
        return (x @ weights["unembed.W_U"] + weights["unembed.b_U"])[:, 1:]

    for slot in range(TASK.n_symbols - 1):
        change = attention(slot) - attention(None)
        furthest = (change - change.mean(-1, keepdim=True)).abs().argmax(-1) + 1
        said = furthest == batch.tokens[:, 2 * slot + 1]
        assert torch.equal(said, found[slot])
        n_told += int(said.sum())
    assert 0 < n_told < found.numel()


def norm(x, weights, name):
    shape = x.shape[-1:]
    return torch.nn.functional.layer_norm(x, shape, weights[f"{name}.w"], weights[f"{name}.b"], CONFIG.norm_eps)
