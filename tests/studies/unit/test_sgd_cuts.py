"""Looks that are cut: which, as pairs of places, by the words of the rows; what is answered then; and the tables."""

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
from retrieval_circuits.sgd_formation.measures import steps as at_steps
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.sizes import SIZES
from retrieval_circuits.sgd_formation.measures.steps import last_below
from retrieval_circuits.sgd_formation.readings.known import gives_one, left_at_half

TASK = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
CONFIG = ModelConfig(
    d_vocab=len(TASK.vocab), n_ctx=TASK.max_length, n_layers=2, n_heads=2, d_model=8, d_mlp=16, norm="layer",
    positions="learned", mlp="gelu", bias="inside",
)  # fmt: skip
STEPS, N_ROWS = (0, 50), 6


class Run:
    """Checkpoints of a network, as instruments see them."""

    run_id, final_step, all_steps = "planted", STEPS[-1], STEPS
    steps = STEPS

    def __init__(self, weights, config=CONFIG):
        self.weights, self.recipe = weights, type("Recipe", (), {"model": config, "make_task": lambda self: TASK})()

    def stack(self, steps):
        return {name: value[[STEPS.index(step) for step in steps]] for name, value in self.weights.items()}

    def tokens_seen(self, step):
        return step


@pytest.fixture(scope="module")
def weights():
    generator = torch.Generator().manual_seed(5)
    return {
        name: value + torch.randn((len(STEPS), *value.shape), generator=generator)
        for name, value in init_weights(CONFIG, 0).items()
    }


@pytest.fixture(scope="module")
def found():
    return asked(TASK, "test", N_ROWS)


def row_by_hand(words, at):
    """Of a read at ``at`` what stands where: its key's last place, the value's, all other values before and behind."""
    key, answer = words[at], words[at + 1]
    values = range(3, at, 3)
    shown = [place for place in values if words[place] == answer]
    last = max(shown)
    others = [place for place in values if place not in shown]
    keys = [place for place in range(2, last - 1, 3) if words[place] != key]
    before, after = ([place for place in others if (place > last) == is_after] for is_after in (False, True))
    return {"key": last - 1, "another": keys[-1:], "shown": shown, "before": before, "after": after}


def key_that_sees(words, row, one):
    """The last place of another key behind all places of one value and before the place of the read's key."""
    keys = [place for place in range(2, row["key"], 3) if words[place] != words[row["key"]]]
    return [place for place in keys if one and place > max(one)][-1:]


def edges_by_hand(words, at, one):
    """Cut -> which looks a row may not have, ``(layer, from, to)``; ``one``: the places of one other value."""
    row = row_by_hand(words, at)

    def looks(layer, of, to):
        return {(layer, of, place) for place in to or [at + 1]}  # a place that it does not see, where there is none

    return {
        cuts.NOTHING: set(),
        cuts.VALUES_FROM_KEYS: {(layer, key + 1, key) for layer in (0, 1) for key in range(2, len(words) - 1, 3)},
        cuts.VALUES_FROM_OTHER_KEYS: {(layer, key + 4, key) for layer in (0, 1) for key in range(2, len(words) - 4, 3)},
        cuts.FIRST_FROM_VALUE: looks(0, at, row["shown"]),
        cuts.LATER_FROM_VALUE: looks(1, at, row["shown"]),
        cuts.KEY_FROM_OTHERS: looks(0, row["key"], row["before"]),
        cuts.KEY_FROM_VALUE: looks(0, row["key"], row["shown"]),
        cuts.OTHER_KEY_FROM_OTHERS: {edge for key in row["another"] or [at + 1]
                                     for edge in looks(0, key, row["before"])},
        cuts.KEY_FROM_ONE: looks(0, row["key"], one),
        cuts.OTHER_KEY_FROM_ONE: {edge for key in key_that_sees(words, row, one) or [at + 1]
                                  for edge in looks(0, key, one)},
        cuts.FROM_AFTER: looks(1, at, row["after"]),
        cuts.FROM_BEFORE: looks(1, at, row["before"]),
    }  # fmt: skip


def in_words(places):
    return [[TASK.vocab[word] for word in row] for row in places.batch.tokens]


def ones_by_hand(row, words):
    """Values that last stand before the value asked for, and late: value -> its places."""
    last_stands = {words[place]: place for place in row["before"] + row["after"]}
    late = {word for word, place in last_stands.items() if place in row["before"] and place // 3 - 1 >= 10}
    return {word: [place for place in row["before"] if words[place] == word] for word in late}


def test_cuts_are_the_looks_that_the_words_say(weights, found):
    places = cuts._Places.of(TASK, found)
    net = Network(CONFIG, weights)
    batch, made = places.batch, cuts._cuts(net, (places.batch.tokens.shape[1] - 1) // 3)
    some_have_one = 0
    for number, words in enumerate(in_words(places)):
        at = batch.roles["read_out"][number].item()
        row = row_by_hand(words, at)
        possible, one = ones_by_hand(row, words), places.one[number].nonzero()[:, 0].tolist()
        assert len(one) == bool(possible) and all(words[place] in possible for place in one)
        some_have_one += len(one)
        wanted = edges_by_hand(words, at, [place for of in one for place in possible[words[of]]])
        assert list(made) == list(wanted)
        for name, edges in wanted.items():
            got = {
                (edit.head.layer, edit.head.index, query, key)
                for edit in made[name]
                for query in batch.roles[edit.query][number].reshape(-1).tolist()
                for key in batch.roles[edit.key][number].reshape(-1).tolist()
            }
            assert got == {(layer, head, *of) for layer, *of in edges for head in (0, 1)}, name
    assert 0 < some_have_one < len(batch)


KINDS = {"right_without": "value", "gives_before": "before", "gives_after": "after"}


def test_every_number_is_of_its_cut_its_reads_and_its_checkpoint(weights, found):
    settings = cuts.Cut(n_rows=N_ROWS, split="test", steps=(0,))
    table = cuts.cut_looks(Run(weights), settings, lambda n: None)
    table = table.astype({"metric": str, "variable": str, "family": str})
    told = table.set_index(["step", "family", "metric", "variable"])["value"]
    places = cuts._Places.of(TASK, found)
    rows = [row_by_hand(words, at) for words, at in zip(in_words(places), found.reads.at.tolist(), strict=True)]
    of_family = {"late": [row["key"] // 3 >= 10 for row in rows], "early": [row["key"] // 3 < 10 for row in rows],
                 "shown": [len(row["shown"]) > 1 for row in rows]}  # fmt: skip
    checked, some_one = 0, [row.nonzero()[:, 0].tolist() or [0] for row in places.one]
    for number, step in enumerate(STEPS):
        net = Network(CONFIG, {name: value[number : number + 1] for name, value in weights.items()})
        for name, edits in cuts._cuts(net, (places.batch.tokens.shape[1] - 1) // 3).items():
            given = net.answers_under(places.batch, [edits], {}).logits[0, 0].argmax(-1).tolist()
            kinds = [kind_by_hand(words, row, TASK.vocab[word]) for words, row, word in
                     zip(in_words(places), rows, given, strict=True)]  # fmt: skip
            for family, mine in of_family.items():
                of_mine = [kind for kind, is_mine in zip(kinds, mine, strict=True) if is_mine]
                for metric, kind in KINDS.items():
                    assert told[step, family, metric, name] == pytest.approx(of_mine.count(kind) / len(of_mine))
                    checked += kind in of_mine
                ones = [
                    word == words[at]
                    for word, words, (at, *_), is_mine in zip(
                        map(TASK.vocab.__getitem__, given), in_words(places), some_one, mine, strict=True
                    )
                    if is_mine and at
                ]
                assert told[step, family, "gives_one", name] == pytest.approx(
                    sum(ones) / len(ones) if ones else float("nan"), nan_ok=True
                )
                seen = [
                    word == words[one[0]]
                    for word, words, row, one, is_mine in zip(
                        map(TASK.vocab.__getitem__, given), in_words(places), rows, some_one, mine, strict=True
                    )
                    if is_mine and one[0] and key_that_sees(words, row, places_of(words, row, one[0]))
                ]
                assert told[step, family, "gives_one_seen", name] == pytest.approx(
                    sum(seen) / len(seen) if seen else float("nan"), nan_ok=True
                )
    assert checked > 20
    whole = forward(CONFIG, {name: value[1] for name, value in weights.items()}, found.batch.tokens).logits
    right = (found.at_reads(whole).argmax(-1) == found.reads.answer)[torch.tensor(of_family["late"])]
    assert told[STEPS[1], "late", "right_without", cuts.NOTHING] == pytest.approx(right.double().mean().item())


def places_of(words, row, one):
    """All places of a value before the value asked for."""
    return [place for place in row["before"] if words[place] == words[one]]


def kind_by_hand(words, row, given):
    """What an answer is: the value asked for, another value that last stands before it, or behind it; or nothing."""
    last_stands = {words[place]: place for place in sorted(row["before"] + row["after"])}
    if given == words[row["key"] + 1]:
        return "value"
    if given not in last_stands:
        return "none"
    return "after" if last_stands[given] in row["after"] else "before"


def test_values_are_counted_once_where_they_last_stand(weights, found):
    table = cuts.cut_looks(Run(weights), cuts.Cut(n_rows=N_ROWS, split="test", steps=()), lambda n: None)
    table = table.astype({"metric": str, "family": str}).set_index(["family", "metric"])["value"]
    places = cuts._Places.of(TASK, found)
    shares = []
    for words, at in zip(in_words(places), found.reads.at.tolist(), strict=True):
        row = row_by_hand(words, at)
        behind = {words[place] for place in row["after"]}
        every = behind | {words[place] for place in row["before"]}
        if row["key"] // 3 < 10:
            shares.append(len(behind) / len(every))
    assert table["early", "are_after"] == pytest.approx(sum(shares) / len(shares))


def test_a_network_of_one_layer_has_no_later_ones(weights):
    one = ModelConfig(d_vocab=8, n_ctx=8, n_layers=1, n_heads=1, d_model=8)
    with pytest.raises(ValueError, match="two layers or more; this network has n_layers = 1"):
        cuts.cut_looks(Run(weights, one), cuts.Cut(n_rows=1, split="test", steps=()), lambda n: None)


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
    whole, cut = net.answers_under(batch, [made[cuts.NOTHING], made[cuts.FIRST_FROM_VALUE]], {}).logits[:, 0]
    row = torch.arange(len(batch))
    assert (whole[row, found.reads.answer] > 0).all()
    assert (cut[row, found.reads.answer] == 0).all()


def rows(arm, seed, step, metric, value, **more):
    at = {"layer": pd.NA, "head": pd.NA, "site": "", "variable": "", "edit": "", "split": "test", "family": "", **more}
    return {"arm": arm, "init_seed": seed, "run_id": f"{arm} {seed}", "step": step, "metric": metric, "value": value,
            "n": 9, "tokens_seen": 0, **at}  # fmt: skip


NAMES = list(cuts._cuts(Network(CONFIG, {name: one[None] for name, one in init_weights(CONFIG, 0).items()}), 1))
"""Of all cuts, in their order."""


def network(arm, seed, step, read, places):
    """How much a network reads; of late values with each look cut a twentieth less; what else, by the cut's number."""
    cut = [rows(arm, seed, step, "are_after", 0.25, family="late", variable=cuts.NOTHING)]
    for family, right in zip(("late", "early"), places, strict=True):
        for n, name in enumerate(NAMES):
            given = {"right_without": right - n / 20, "gives_before": n / 100, "gives_after": 0.01, "gives_one": n / 10}
            cut += [rows(arm, seed, step, metric, value, family=family, variable=name)
                    for metric, value in given.items()]  # fmt: skip
    return [rows(arm, seed, step, "accuracy", read)], cut


def told(*networks, of=view.cuts):
    measured, cut = ([row for one in networks for row in one[part]] for part in (0, 1))
    return of(Results(pd.DataFrame(measured), pd.DataFrame(), "paper", {"cuts": pd.DataFrame(cut)})).table


SOME = (
    network(FRESH, 1, 4000, 0.3, (0.6, 0.2)), network(FRESH, 1, 5000, 1.0, (0.9, 0.9)),
    network(FRESH, 2, 5000, 0.95, (0.7, 0.9)), network(FRESH, 3, 4000, 0.5, (0.8, 0.1)),
    network(FRESH, 3, 5000, 0.5, (0.6, 0.2)), network(TRAINED_ON, 3, 5000, 0.9, (1.0, 0.4)),
    network(FRESH, 4, 5000, 0.2, (0.4, 0.1)),
)  # fmt: skip


def test_networks_that_read_are_told_on_average_and_each_that_reads_late_values_only():
    found = told(*SOME).set_index(["network", "step"])
    assert found.index.tolist() == [("mean of 2 that read", "5,000"), ("seed 1", "4,000"), ("seed 3", "10,000")]
    assert list(found.columns) == ["arm", *view.CUT.values()]
    for cut, name in view.CUT.items():
        lost = NAMES.index(cut) / 20
        assert found[name].to_list() == [f"{right - lost:.0%}" for right in (0.8, 0.6, 1.0)]


def test_what_is_ruled_out_is_told_of_the_same_networks():
    found = told(*SOME, of=view.ruled_out).set_index(["network", "step"])
    number = NAMES.index(cuts.FROM_AFTER)
    after = 0.01 / (0.01 + number / 100)
    assert (
        found.loc[("seed 3", "10,000"), "the read cut from values after"] == f"{1 - number / 20:.0%}; {after:.0%} after"
    )
    assert found["answers one other value"].to_list() == ["0%"] * 3
    assert (
        found["the same, its key's last place cut from it"].to_list()
        == [f"{NAMES.index(cuts.KEY_FROM_ONE) / 10:.0%}"] * 3
    )
    assert found["after, by lot"].to_list() == ["25%"] * 3


def test_where_none_reads_the_mean_is_of_all():
    assert told(network(FRESH, 1, 50, 0.1, (0.4, 0.1)))["network"].to_list() == ["mean of all 1"]


def test_a_share_of_nothing_is_none():
    assert view._share(float("nan")) == "none" and view._share(0.5) == "50%" and view._share(-0.001) == "0%"


@pytest.mark.parametrize(("right", "steps"), [((0.0, 0.6), (0, 50)), ((0.6, 0.0), (50,)), ((0.0, 0.0), (50,))])
def test_looks_are_cut_at_the_last_checkpoint_below_a_share_too(weights, right, steps):
    """Outputs that are right on so many reads stand in for a network's own; its last checkpoint is cut anyway."""
    settings = cuts.Cut(n_rows=N_ROWS, split="test", steps=(), below=0.5, n_asked=N_ROWS)
    reads = asked(TASK, "test", N_ROWS)

    class Net:
        def __init__(self, share):
            hits = torch.arange(len(reads.reads)) < share * len(reads.reads)
            self.logits = torch.zeros(1, *reads.batch.tokens.shape, len(TASK.vocab))
            self.logits[0, reads.reads.row, reads.reads.at, torch.where(hits, reads.reads.answer, 0)] = 1

        def run(self, batch):
            return self

    done, nets = [], [((step,), Net(share)) for step, share in zip(STEPS, right, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(at_steps, "stacks", lambda run: nets)
        table = cuts.cut_looks(Run(weights), settings, done.append)
    assert sum(done) == len(STEPS)
    assert tuple(table["step"].unique()) == steps
    for step in steps:
        assert set(table.loc[table["step"] == step, "variable"]) == set(NAMES)


def test_the_last_below_is_the_one_before_a_bound_is_first_reached():
    values = torch.tensor([0.1, 0.6, 0.2, 0.9])
    assert [last_below(values, bound) for bound in (0.05, 0.5, 0.7, 1.0)] == [None, 0, 2, 3]


@pytest.mark.parametrize("metric", ["gives_one", "gives_one_seen"])
@pytest.mark.parametrize(("before", "table"), [(0.25, "cuts"), (0.5, "cuts_by_half")])
def test_what_is_given_once_it_is_hidden_is_read_at_the_last_checkpoint_before_a_share_is_right(metric, before, table):
    measured, cut = [], []
    for seed, given in ((1, 0.3), (2, 0.0)):
        for step, right in ((4000, 0.1), (4500, before - 0.05), (5000, before), (5050, 0.1)):
            measured += [rows(FRESH, seed, step, "accuracy", right)]
            for name, value in ((cuts.NOTHING, 0.05), (cuts.KEY_FROM_ONE, 0.05 + given), ("other", 0.5)):
                value = value if step == 4500 else 0.9
                cut += [rows(FRESH, seed, step, metric, value, family="late", variable=name)]
                cut += [rows(FRESH, seed, step, metric, 0.7, family="early", variable=name)]
    results = Results(pd.DataFrame(measured), pd.DataFrame(), "paper", {table: pd.DataFrame(cut)})
    values = gives_one(cuts.KEY_FROM_ONE, metric, before=before)
    assert values(results).to_dict() == pytest.approx({1: 0.3, 2: 0.0})
    elsewhere = Results(pd.DataFrame(measured[:1]), pd.DataFrame(), "paper", {table: pd.DataFrame(cut[:1])})
    assert values(elsewhere).empty


def test_the_table_before_half_has_each_network_where_it_comes_to_read():
    measured, cut = [], []
    for seed, at in ((1, 50), (7, 1_000)):
        for step in (50, 1_000, 1_050):
            share = 0.4 if step <= at else 0.7
            measured += [rows(FRESH, seed, step, "accuracy", share)]
            for n, name in enumerate(NAMES):
                right = 0.8 - n / 20 if step == at else 0.1
                cut += [rows(FRESH, seed, step, "right_without", right, family="late", variable=name)]
                given = 0.5 if name == cuts.KEY_FROM_ONE else 0.2
                cut += [rows(FRESH, seed, step, "gives_one", given, family="late", variable=name)]
    results = Results(pd.DataFrame(measured), pd.DataFrame(), "paper", {"cuts_by_half": pd.DataFrame(cut)})
    found = view.before_half(results).table
    assert found[["network", "step"]].to_numpy().tolist() == [["seed 1", "50"], ["seed 7", "1,000"]]
    assert set(found["late reads right"]) == {"80%"} and set(found["one other value, hidden"]) == {"30%"}
    for name in view.LEFT:
        assert set(found[view.CUT[name]]) == {f"{(0.8 - NAMES.index(name) / 20) / 0.8:.0%}"}


def test_what_is_left_of_late_reads_is_a_share_of_those_right_with_nothing_cut():
    measured, cut = [], []
    for seed, right, left in ((1, 0.8, 0.2), (2, 0.5, 0.6), (3, 0.0, 0.0)):
        for step, share in ((50, 0.4), (100, 0.7)):
            measured += [rows(FRESH, seed, step, "accuracy", share)]
            for name, value in ((cuts.NOTHING, right), (cuts.VALUES_FROM_KEYS, left)):
                value = value if step == 50 else 0.9
                cut += [rows(FRESH, seed, step, "right_without", value, family="late", variable=name)]
                cut += [rows(FRESH, seed, step, "right_without", 0.7, family="early", variable=name)]
    results = Results(pd.DataFrame(measured), pd.DataFrame(), "paper", {"cuts_by_half": pd.DataFrame(cut)})
    left = left_at_half(cuts.VALUES_FROM_KEYS)(results).to_dict()
    assert left == pytest.approx({1: 0.25, 2: 1.2}), "who gets no late read right has no share"
