"""Looks that are cut: which, as pairs of places, by the words of the rows; and what is read without them."""

import pandas as pd
import pytest
import torch

from circuitcore.metrics.network import Network
from circuitcore.models import forward
from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import init_weights
from circuitcore.tasks.balanced_stream import BalancedStream
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import FRESH, TRAINED_ON
from retrieval_circuits.sgd_formation.figures import known as view
from retrieval_circuits.sgd_formation.measures import cuts
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.known import stands_late
from retrieval_circuits.sgd_formation.measures.sizes import SIZES

TASK = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
CONFIG = ModelConfig(
    d_vocab=len(TASK.vocab), n_ctx=TASK.max_length, n_layers=2, n_heads=2, d_model=8, d_mlp=16, norm="layer",
    positions="learned", mlp="gelu", bias="inside",
)  # fmt: skip
STEP, N_ROWS = 50, 4


class Run:
    """The last checkpoint of a network, as instruments see it."""

    run_id, final_step, all_steps = "planted", STEP, (0, STEP)

    def __init__(self, weights):
        self.weights, self.recipe = weights, type("Recipe", (), {"model": CONFIG, "make_task": lambda self: TASK})()

    def stack(self, steps):
        return {name: value[None].expand(len(steps), *value.shape) for name, value in self.weights.items()}

    def tokens_seen(self, step):
        return step


@pytest.fixture(scope="module")
def weights():
    generator = torch.Generator().manual_seed(5)
    return {
        name: value + torch.randn(value.shape, generator=generator) for name, value in init_weights(CONFIG, 0).items()
    }


@pytest.fixture(scope="module")
def found():
    return asked(TASK, "test", N_ROWS)


def edges_by_hand(words, at):
    """Cut -> which looks a row may not have, ``(layer, from, to)``; ``at``: where its key is asked for."""
    key, answer = words[at], words[at + 1]
    own = [place for place in range(2, at, 3) if words[place] == key]
    shown = [place + 1 for place in own if words[place + 1] == answer]
    values, others = range(3, at, 3), [place for place in range(2, max(own), 3) if words[place] != key]
    return {
        "none": set(),
        "joins": {(layer, place + 1, place) for layer in (0, 1) for place in range(2, len(words) - 1, 3)},
        "finds in the first layer": {(0, at, place) for place in shown},
        "finds in later layers": {(1, at, place) for place in shown},
        "what stood before its key": {(0, max(own), value) for value in values},
        "what stood before another key": {(0, max(others, default=at + 1), value) for value in values},
        "what came after": {(1, at, value) for value in values if value > max(shown)} or {(1, at, at + 1)},
        "what came earlier": {(1, at, value) for value in values if value < max(shown) and value not in shown},
    }


def test_cuts_are_the_looks_that_the_words_say(weights, found):
    batch = cuts._Places.of(TASK, found).batch
    net = Network(CONFIG, {name: value[None] for name, value in weights.items()})
    made = cuts._cuts(net, (batch.tokens.shape[1] - 1) // 3)
    for row in range(0, len(batch), 7):
        words, at = [TASK.vocab[word] for word in batch.tokens[row]], batch.roles["read_out"][row].item()
        for name, wanted in edges_by_hand(words, at).items():
            got = {
                (edit.head.layer, edit.head.index, query, key)
                for edit in made[name]
                for query in batch.roles[edit.query][row].reshape(-1).tolist()
                for key in batch.roles[edit.key][row].reshape(-1).tolist()
            }
            assert got == {(layer, head, *places) for layer, *places in wanted for head in (0, 1)}, name
    assert list(made) == list(edges_by_hand(words, at))


def test_what_is_read_without_them_is_read_by_the_whole_network_first(weights, found):
    table = cuts.cut_looks(Run(weights), cuts.Cut(n_rows=N_ROWS, split="test", steps=(0,)), lambda n: None)
    table = table.astype({"metric": str, "variable": str, "family": str})
    assert list(table["step"].unique()) == [0, STEP]
    values = table[(table["metric"] == "right_without") & (table["step"] == STEP)].set_index(["family", "variable"])[
        "value"
    ]
    logits = forward(CONFIG, weights, found.batch.tokens).logits
    right = found.at_reads(logits).argmax(-1) == found.reads.answer
    late = stands_late(TASK, found)
    assert 0 < late.sum() < len(late)
    for place, of_place in {"late": late, "early": ~late}.items():
        assert values[place, "none"] == pytest.approx(right[of_place].double().mean().item())
        assert len(values[place]) == 8


def test_answers_are_told_apart_by_whether_they_stand_before_or_after(found):
    places = cuts._Places.of(TASK, found)
    words = [[TASK.vocab[word] for word in row] for row in places.batch.tokens]
    given = torch.randint(TASK.words.first_value, len(TASK.vocab), (2, len(words)), generator=torch.manual_seed(0))
    given[0] = places.batch.tokens[:, 3]  # the first value of each row
    told, by_lot = places.gives(given), places.after_by_lot()
    for number, (row, at) in enumerate(zip(words, found.reads.at.tolist(), strict=True)):
        answer = row[at + 1]
        last = max(place for place in range(3, at, 3) if row[place] == answer)
        before = [row[place] for place in range(3, last, 3) if row[place] != answer]
        after = [row[place] for place in range(last + 3, at, 3)]
        assert by_lot[number].item() == pytest.approx(len(after) / len(before + after))
        for cut in (0, 1):
            word = TASK.vocab[given[cut, number]]
            assert told["gives_after"][cut, number] == (word in after)
            assert told["gives_before"][cut, number] == (word in before and word not in after)
    assert told["gives_before"][0].any() and told["gives_after"][0].any()


def test_a_network_that_copies_where_it_looks_reads_nothing_without_that_look(found):
    """A head that looks from a read evenly at all values, and copies them: cut from the asked one it is never right."""
    config = ModelConfig(
        d_vocab=len(TASK.vocab), n_ctx=TASK.max_length, n_layers=1, n_heads=1, d_model=len(TASK.vocab), norm="none",
        positions="learned", mlp="none", tied=False,
    )  # fmt: skip
    weights = {name: torch.zeros_like(value) for name, value in init_weights(config, 0).items()}
    values = torch.zeros(len(TASK.vocab))
    values[TASK.words.first_value :] = 1.0
    weights["embed.W_E"], weights["unembed.W_U"] = torch.eye(len(TASK.vocab)), torch.eye(len(TASK.vocab))
    weights["blocks.0.attn.W_V"][0] = weights["blocks.0.attn.W_O"][0] = torch.diag(values)
    net = Network(config, {name: value[None] for name, value in weights.items()})
    batch = cuts._Places.of(TASK, found).batch
    made = cuts._cuts(net, (batch.tokens.shape[1] - 1) // 3)
    whole, cut = net.answers_under(batch, [made["none"], made["finds in the first layer"]], {}).logits[:, 0]
    row = torch.arange(len(batch))
    assert (whole[row, found.reads.answer] > 0).all()
    assert (cut[row, found.reads.answer] == 0).all()


def rows(arm, seed, step, metric, value, **more):
    at = {"layer": pd.NA, "head": pd.NA, "site": "", "variable": "", "edit": "", "split": "test", "family": "", **more}
    return {"arm": arm, "init_seed": seed, "run_id": f"{arm} {seed}", "step": step, "metric": metric, "value": value,
            "n": 9, "tokens_seen": 0, **at}  # fmt: skip


def network(arm, seed, step, read, places):
    """How much a network reads; of late values with each look cut a twentieth less, and twice that stands before."""
    cut = [
        rows(arm, seed, step, metric, value, family=family, variable=name)
        for family, right in zip(("late", "early"), places, strict=True)
        for n, name in enumerate(view.CUT)
        for metric, value in {"right_without": right - n / 20, "gives_before": n / 10, "gives_after": 0.01}.items()
    ]
    return [rows(arm, seed, step, "accuracy", read)], cut


def told(*networks):
    measured, cut = ([row for one in networks for row in one[part]] for part in (0, 1))
    return view.cuts(Results(pd.DataFrame(measured), pd.DataFrame(), "paper", {"cuts": pd.DataFrame(cut)}))


def test_networks_that_read_are_told_on_average_and_each_that_reads_late_values_only():
    found = told(
        network(FRESH, 1, 400, 0.3, (0.6, 0.2)), network(FRESH, 1, 500, 1.0, (0.9, 0.9)),
        network(FRESH, 2, 500, 0.95, (0.7, 0.9)), network(FRESH, 3, 400, 0.5, (0.8, 0.1)),
        network(FRESH, 3, 500, 0.5, (0.6, 0.2)), network(TRAINED_ON, 3, 500, 0.9, (1.0, 0.4)),
        network(FRESH, 4, 500, 0.2, (0.4, 0.1)),
    ).table.set_index("cut")  # fmt: skip
    assert list(found.columns) == ["mean of 2 that read", "seed 1, step 400", "seed 3, step 1,000", "arm"]
    assert list(found.index) == list(view.CUT.values())
    assert found.loc["nothing"].to_list()[:3] == ["80% (0, 1)", "60% (0, 1)", "100% (0, 1)"]
    assert found.loc[view.CUT[cuts.AFTER]].to_list()[:3] == ["50% (60, 1)", "30% (60, 1)", "70% (60, 1)"]


def test_where_none_reads_the_mean_is_of_all():
    assert list(told(network(FRESH, 1, 50, 0.1, (0.4, 0.1))).table.columns) == ["cut", "mean of 1", "arm"]
