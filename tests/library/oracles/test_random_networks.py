"""Networks with random weights know nothing: every score of the battery must lie at its chance level.

One network says nearly the same token whatever it is asked, so its own score is far from chance either way; the mean
over seeds is what must be near it. Bounds are four standard deviations of that mean.
"""

import pytest
from given_run import GivenRun, picked

from circuitcore.metrics.instruments.battery import BatterySpec, measure
from circuitcore.models import ModelConfig, init_weights
from circuitcore.tasks import make_task

TASK = make_task("symbolic_kv", {})
SPEC = BatterySpec(n_bases=12, n_edge_bases=6, n_reference=96, n_probe=192, n_split=120)
N_SEEDS = 8
THREE_PAIRS = ("query_key_sweep", "slot_permutation", "value_permutation")
N_VALUES, N_KEYS, N_TOKENS = 8, 8, 20


@pytest.fixture(scope="module")
def table():
    config = ModelConfig(d_vocab=N_TOKENS, n_ctx=16, tied=False)
    return measure(GivenRun(TASK, config, [init_weights(config, seed) for seed in range(N_SEEDS)]), SPEC)


def spread(chance, n):
    """Four standard deviations of the share of hits in ``n`` independent trials."""
    return 4 * (chance * (1 - chance) / n) ** 0.5


def near(values, chance, n):
    """The mean of the values lies at chance, as far as ``n`` independent trials can tell."""
    assert abs(values.mean() - chance) <= spread(chance, n), (values.mean(), chance, spread(chance, n))


def test_accuracy_is_one_over_the_vocabulary(table):
    # One trial a network: what it says hardly depends on the prompt.
    for where in ({"split": ("train", "val", "test", "ood")}, {"family": THREE_PAIRS}):
        near(picked(table, "accuracy", **where), 1 / N_TOKENS, N_SEEDS)
        assert picked(table, "accuracy", **where).max() < 1 / 3
        assert picked(table, "margin", **where).max() < 0


def test_layer_0_cannot_route(table):
    """Its query at the arrow is the same for all prompts: over the three queries of a context it is right once."""
    found = picked(table, "routing", layer=0, family="query_key_sweep")
    assert (found - 1 / 3).abs().max() < 1e-9
    assert picked(table, "choice_follows_query", layer=0).max() == 0
    assert picked(table, "query_spread", layer=0).max() < 1e-5


def test_layer_1_routes_at_chance(table):
    n_contexts = SPEC.n_bases * N_SEEDS  # the two heads of a network and the queries of a context are not independent
    for family in THREE_PAIRS:
        near(picked(table, "routing", layer=1, family=family), 1 / 3, n_contexts)
        near(picked(table, "routing_value", layer=1, family=family), 1 / 3, n_contexts)
    near(picked(table, "routing", layer=1, family="longer_context"), 1 / 4, n_contexts)
    assert picked(table, "routing", family="all").max() < 0.6
    assert picked(table, "routing_worst_base", family="all").max() < 0.5


def test_attention_is_spread_out(table):
    for metric in ("query_key_mass", "value_mass"):
        found = picked(table, metric, family=THREE_PAIRS)
        assert abs(found.mean() - 1 / 13) < 0.04, (metric, found.mean())
    # Values sit at positions 2, 5 and 8 and see that many positions and their own.
    uniform = (1 / 3 + 1 / 6 + 1 / 9) / 3
    assert abs(picked(table, "own_key_mass", family=THREE_PAIRS).mean() - uniform) < 0.08


def test_operators_match_nothing(table):
    n_heads = 4 * N_SEEDS
    near(picked(table, "copying", family="all"), 1 / N_VALUES, n_heads * N_VALUES / 2)
    near(picked(table, "ov_diagonal"), 1 / N_VALUES, n_heads * N_VALUES / 2)
    near(picked(table, "qk_diagonal"), 1 / N_KEYS, 2 * N_SEEDS * N_KEYS)  # 8 a network, which share their heads
    assert picked(table, "copying_worst_base", family="all").max() < 0.5


def test_no_part_carries_the_answer(table):
    found = picked(table, "attribution")
    assert abs(found.mean()) < 4 * found.std() / len(found) ** 0.5
    for metric in ("edge_switch", "edge_kept", "ablated_accuracy"):
        near(picked(table, metric), 1 / N_TOKENS, N_SEEDS)
    for hypothesis in ("query_key", "matching_slot", "selected_value", "source_answer"):
        near(picked(table, "interchange", variable=hypothesis, edit=""), 1 / N_TOKENS, N_SEEDS)


def test_attention_does_not_follow_a_patched_query(table):
    found = picked(table, "attention_follows_source", family=("query_key", "separating"))
    near(found, 1 / 3, SPEC.n_bases * N_SEEDS)


def test_probes_with_random_labels_read_nothing(table):
    """The key is written at the arrow even by random weights, so a probe gives all prompts of a key one class."""
    for variable, chance, n_groups in (
        ("query_key", 1 / 8, N_KEYS),
        ("selected_value", 1 / 8, 8),
        ("matching_slot", 1 / 3, 8),
    ):
        found = picked(table, "probe_random_labels", variable=variable)
        near(found, chance, n_groups)
        assert found.max() < chance + spread(chance, n_groups)


def test_a_probe_reads_the_key_that_layer_0_mixes_in_by_itself(table):
    """Readable is not used: random weights pass a key on to the arrow, and nothing comes of it."""
    assert picked(table, "probe", variable="query_key", site="L0.resid_post").min() > 0.9
    assert picked(table, "probe", variable="matching_slot").max() < 0.5
    layer_0 = [f"L0H{head}.{name}" for head in (0, 1) for name in "qkv"]
    assert picked(table, "probe", variable="query_key", site=layer_0).max() < 1 / 8 + spread(1 / 8, SPEC.n_split)
