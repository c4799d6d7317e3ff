"""What is removed, patched and sent, in which order, and the table it ends in."""

import dataclasses

import pytest
import torch

from circuitcore.metrics.network import Network, at_role, concat, read_out
from circuitcore.metrics.scores import interchange, localization, paths
from circuitcore.metrics.scores.attention import slot_mass, slot_mass_of_row
from circuitcore.metrics.table import COLUMNS, Rows, head_labels
from circuitcore.models import Head, Mlp, ModelConfig, Site, init_weights
from circuitcore.tasks import make_task

TASK = make_task("symbolic_kv", {})
BATCH = TASK.families(4)["query_key_sweep"]  # 12 rows of 13 positions; three queries a context
N_ROWS, N_POS = BATCH.tokens.shape


def network(**words):
    """Two untrained checkpoints."""
    config = ModelConfig(**{"d_vocab": 20, "n_ctx": 16, "d_model": 8, "d_mlp": 6} | words)
    both = [init_weights(config, seed) for seed in (0, 1)]
    return Network(config, {name: torch.stack([weights[name] for weights in both]) for name in both[0]})


def test_every_subset_of_heads_and_every_mlp_is_removed():
    groups = localization.parts_to_remove(network())
    assert list(groups)[:6] == ["none", "L0H0", "L0H1", "L1H0", "L1H1", "L0H0+L0H1"]
    assert len(groups) == 2**4 + 3
    assert groups["L0H0+L1H0+L1H1"] == (Head(0, 0), Head(1, 0), Head(1, 1))
    assert groups["L0MLP+L1MLP"] == (Mlp(0), Mlp(1))
    assert list(localization.parts_to_remove(network(mlp="none", n_layers=1))) == ["none", "L0H0", "L0H1", "L0H0+L0H1"]
    assert len(localization.parts_to_remove(network(n_layers=1))) == 4 + 1


def test_many_heads_are_removed_singly_by_layer_and_all():
    groups = localization.parts_to_remove(network(n_heads=4, mlp="none"))
    assert len(groups) == 1 + 8 + 2 + 1
    assert {"none", "L1H3", "L0H0+L0H1+L0H2+L0H3"} <= groups.keys()


def test_ablations_are_labelled_in_the_order_of_their_logits():
    net = network(mlp="none", n_layers=1)
    cache = net.run(BATCH, ["z.0"]).cache
    zeros = {"z.0": torch.zeros_like(cache["z.0"])}
    labels, logits = localization.ablation_logits(net, BATCH, {"mean": zeros, "resample": cache})
    found = dict(zip(labels, logits, strict=True))
    assert len(labels) == len(found) == 4 * 3 * 2 == len(logits)
    clean = read_out(net.run(BATCH).logits, BATCH)
    for (parts, edit), values in found.items():
        if parts == "none" or edit.startswith("resample"):  # resampled from itself
            torch.testing.assert_close(values, clean)
        else:  # here "mean" is zero too, and one layer's answer sees the read-out alone
            torch.testing.assert_close(values, found[parts, "zero@read_out"])
            assert (values - clean).abs().max() > 1e-3


def test_edges_go_from_every_sender_into_every_input():
    test = TASK.edge_tests(2)[0]
    edges, logits = paths.edge_logits(network(), 0, 1, test)
    senders = ["embed", "L0H0", "L0H1", "L0MLP", "L0H0>MLP", "L0H1>MLP", "L0H*", "L0H*>MLP", "all"]
    expected = [f"{s}->{r}.{i}" for s in senders for r in ("L1H0", "L1H1", "L1H*") for i in "qkv"]
    assert [str(edge) for edge in edges] == expected
    assert logits.shape == (len(edges), 2, len(test), 20)
    assert len(paths.edge_logits(network(mlp="none"), 0, 1, test)[0]) == 5 * 3 * 3


def test_wanted_edges_are_the_same_among_others_and_alone():
    test, net = TASK.edge_tests(2)[0], network()
    edges, logits = paths.edge_logits(net, 0, 1, test)
    wanted, found = paths.edge_logits(net, 0, 1, test, lambda edge: edge.sender == "L0H1" and edge.input != "v")
    assert [str(edge) for edge in wanted] == [f"L0H1->{r}.{i}" for r in ("L1H0", "L1H1", "L1H*") for i in "qk"]
    torch.testing.assert_close(found, logits[[edges.index(edge) for edge in wanted]])


def test_over_all_pairs_of_layers_each_edge_is_there_once():
    test, net = TASK.edge_tests(2)[0], network(n_layers=3, mlp="none")
    found = [str(edge) for pair in ((0, 1), (0, 2), (1, 2)) for edge in paths.edge_logits(net, *pair, test)[0]]
    assert len(set(found)) == len(found) == 9 * (5 + 4 + 4)
    assert {"embed->L2H0.q", "L0H1->L2H0.k", "L1H1->L2H*.v", "all->L2H1.q"} <= set(found)


@pytest.mark.parametrize(
    "words, pair", [({}, (1, 2)), ({"n_layers": 1}, (0, 1)), ({"norm_position": "post"}, (0, 1)), ({}, (1, 1))]
)
def test_edges_need_a_later_layer_and_a_stream_that_is_a_sum(words, pair):
    with pytest.raises(ValueError, match="from layer {} into layer {} needs a pre-norm model".format(*pair)):
        paths.edge_logits(network(**words), *pair, TASK.edge_tests(2)[0])


def test_interchange_sites():
    found = interchange.sites(network(), set(BATCH.roles))
    assert found["L1H0.q"] == ((Site("q", 1, 0), "read_out"),)
    assert found["L1H*.z"] == ((Site("z", 1, 0), "read_out"), (Site("z", 1, 1), "read_out"))
    assert found["L1H*.k"] == ((Site("k", 1, 0), "slot_value"), (Site("k", 1, 1), "slot_value"))
    per_layer = 3 + 2 * (2 + 1)
    assert len(found) == 2 * per_layer + 2
    assert len(interchange.sites(network(), {"read_out"})) == 2 * per_layer
    assert len(interchange.sites(network(mlp="none", n_layers=1), set(BATCH.roles))) == per_layer - 1


def test_interchange_runs_each_site_with_its_controls():
    net, test = network(), TASK.interchanges(2)[0]
    patched = interchange.patch_everywhere(net, test)
    sites = interchange.sites(net, set(BATCH.roles))
    assert patched.labels == [(site, control) for site in sites for control in ("", "wrong_position", "random_source")]
    assert patched.answers.logits.shape == (len(patched.labels), 2, len(test), 20)
    assert patched.answers.pattern.shape == (len(patched.labels), 2, len(test), 2, N_POS)
    found = dict(zip(patched.labels, patched.answers.logits, strict=True))
    torch.testing.assert_close(found["L1.resid_post", ""], read_out(net.run(test.source).logits, test.source))
    torch.testing.assert_close(found["L1.resid_post", "wrong_position"], read_out(net.run(test.base).logits, test.base))


def test_a_control_that_is_misspelt_is_not_taken_for_the_patch_itself():
    net, test = network(), TASK.interchanges(2)[0]
    with pytest.raises(ValueError, match="unknown control 'wrong_postion'; did you mean 'wrong_position'"):
        interchange.patch(net, test, interchange.sites(net, set(BATCH.roles)), ("", "wrong_postion"))


def test_patching_a_prompt_from_itself_changes_nothing():
    net, test = network(), TASK.interchanges(2)[0]
    same = type(test)(name="same", base=test.base, source=test.base, expected=test.expected)
    patched, clean = interchange.patch_everywhere(net, same), read_out(net.run(test.base).logits, test.base)
    for (_, control), logits in zip(patched.labels, patched.answers.logits, strict=True):
        if control != "random_source":
            torch.testing.assert_close(logits, clean)


def test_a_kept_pass_is_the_pass_and_is_run_once():
    net, plain, record = network(), network(), ["z.0", "pattern.1"]
    kept = net.keep(BATCH, record)
    assert net.run(BATCH, ["z.0"]) is kept and net.run(BATCH) is kept
    fresh = plain.run(BATCH, record)
    assert torch.equal(kept.logits, fresh.logits)
    assert all(torch.equal(kept.cache[key], fresh.cache[key]) for key in record)
    torch.testing.assert_close(net.answers(BATCH), plain.answers(BATCH))
    assert net.run(BATCH, ["q.0"]).cache.keys() == {"q.0"}  # more than was kept is run anew
    other = BATCH.rows(slice(0, 4))
    assert torch.equal(net.run(other).logits, plain.run(other).logits)


def test_answers_are_the_clean_pass_at_the_read_out():
    for words in ({}, {"n_layers": 1}, {"norm_position": "post", "positions": "learned"}):
        net, long = network(**words), dataclasses.replace(BATCH, roles={**BATCH.roles, "read_out": early_and_late()})
        for batch in (BATCH, long):
            torch.testing.assert_close(net.answers(batch), read_out(net.run(batch).logits, batch))


def early_and_late():
    return torch.arange(N_ROWS) % (N_POS - 2)


def test_slots_of_a_row_are_those_of_the_pattern():
    cache = network().run(BATCH, ["pattern.1"]).cache
    row = cache["pattern.1"][..., -1, :]  # every row is read out at the last position
    parts = ("slot_key", "slot_value")
    assert torch.equal(slot_mass_of_row(row, BATCH, parts), slot_mass(cache["pattern.1"], BATCH, parts))


def test_values_at_roles():
    values = torch.arange(2 * N_ROWS * N_POS, dtype=torch.float32).view(2, N_ROWS, N_POS, 1)
    assert torch.equal(read_out(values, BATCH), values[:, :, -1])
    assert torch.equal(at_role(values, BATCH, "query_key"), values[:, :, -2])
    longer = concat([{"a": values}, {"a": values[:1]}])
    assert longer["a"].shape[0] == 3


def test_normed_is_the_forward_pass_s_norm():
    net = network(norm="layer")
    cache = net.run(BATCH, ["resid_post.1", "resid_final.1"]).cache
    found = net.normed(read_out(cache["resid_post.1"], BATCH), "ln_final")
    torch.testing.assert_close(found, read_out(cache["resid_final.1"], BATCH))


def test_more_interventions_than_fit_at_once_keep_their_order(monkeypatch):
    net = network()
    groups = localization.parts_to_remove(net)
    interventions = [
        tuple(localization.Ablate(part, "zero", where) for part in parts)
        for parts in groups.values()
        for where in ("all", "read_out")
    ]
    whole = net.answers_under(BATCH, interventions, {}).logits
    monkeypatch.setattr("circuitcore.metrics.edited.EDITS_AT_ONCE", 1)
    torch.testing.assert_close(net.answers_under(BATCH, interventions, {}).logits, whole)
    reordered = net.answers_under(BATCH, interventions[::-1], {}).logits
    torch.testing.assert_close(reordered.flip(0), whole)


def test_rows_become_the_tidy_table():
    rows = Rows("run", (0, 10), (0, 500))
    rows.add("accuracy", torch.tensor([0.25, 1.0]), 40, split="test")
    rows.add("routing", torch.tensor([[0.1, 0.2], [0.3, 0.4]]), 12, head_labels([(0, 0), (1, 1)]), family="all")
    table = rows.frame()
    assert tuple(table.columns) == COLUMNS
    assert len(table) == 2 + 4
    last = table.iloc[-1]
    assert (last["step"], last["tokens_seen"], last["layer"], last["head"], last["site"]) == (10, 500, 1, 1, "L1H1")
    assert last["value"] == pytest.approx(0.4) and last["n"] == 12 and last["family"] == "all" and last["split"] == ""
    first = table.iloc[0]
    assert first["run_id"] == "run" and first["split"] == "test"
    assert table["layer"].isna().tolist() == [True, True, False, False, False, False]
    assert set(table["variable"]) == {""}  # a text column that no row used
    assert str(table["head"].dtype) == "Int64" and str(table["value"].dtype) == "float64"


def test_rows_refuse_values_without_labels():
    rows = Rows("run", (0, 10), (0, 500))
    with pytest.raises(ValueError, match="routing: 2 values per checkpoint but 3 labels"):
        rows.add("routing", torch.zeros(2, 2), 4, [{}, {}, {}])
    with pytest.raises(ValueError, match="accuracy: 2 values per checkpoint but 1 labels"):
        rows.add("accuracy", torch.zeros(2, 2), 4)


def test_rows_refuse_unknown_columns():
    rows = Rows("run", (0,), (0,))
    rows.add("accuracy", torch.zeros(1), 4, spilt="test")
    with pytest.raises(ValueError, match=r"unknown columns \['spilt'\]; allowed: .*split"):
        rows.frame()


def test_rows_need_one_token_count_a_step():
    with pytest.raises(ValueError):
        Rows("run", (0, 10), (0,))
