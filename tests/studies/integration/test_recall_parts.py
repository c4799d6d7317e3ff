"""The sections that take a network of permutation recall apart, again by hand: one prompt and one edit at a time.

One layer's answer sees the read-out's row of attention alone, so that all else can be left out here.
"""

import dataclasses
import math

import numpy as np
import pytest
import torch
from given_run import GivenRun, picked, untrained
from torch.nn.functional import layer_norm

from circuitcore.metrics.instruments.battery import SECTIONS, BatterySpec, measure, open_session
from circuitcore.models import forward
from circuitcore.tasks import make_task
from retrieval_circuits.permutation_recall.design import model
from retrieval_circuits.permutation_recall.measures import SECTIONS as OWN
from retrieval_circuits.permutation_recall.measures import ffn as recall_ffn
from retrieval_circuits.permutation_recall.measures import parts as recall_parts


def name_of(section):
    return getattr(section, "section", section).__name__


TASK = make_task("permutation_recall", {"n_rows": 120})
CONFIG = model(5, 8, 2, 12)
NAMES = ("recall_roles", "recall_edges", "recall_interchanges", "recall_ffn")
SPEC = BatterySpec(
    n_bases=60, n_reference=16, n_split=60,
    left_out=tuple(name for name in map(name_of, (*SECTIONS, *OWN)) if name not in NAMES), own=OWN,
)  # fmt: skip
FACTORS = {"W_Q": 2, "W_K": 2, "W_V": 4, "W_O": 4, "W_in": 2, "W_out": 4, "b_in": 2}
HEADS = {"L0H0": (0,), "L0H1": (1,), "both": (0, 1)}
READ_OUT = 8


def lively(config, seed):
    """Untrained weights under which every part has a say."""
    weights = untrained(config, seed)
    for name, value in weights.items():
        value *= FACTORS.get(name.split(".")[-1], 1)
        value += 0.2 * torch.randn(value.shape, generator=torch.Generator().manual_seed(seed)) * (".b_" in name)
    weights["pos_embed.W_pos"][READ_OUT] *= 0.3
    return weights


def by_hand(weights, prompt, *, cut=None, places=None, z=None, **replaced):
    """Logits at the read-out of one prompt, and what is inside.

    ``cut``: head -> keys it cannot see; ``places``: head -> positions that its value vectors are made with; ``z``: head
    -> what stands in for its output; ``mlp_post``, ``mlp_out``: what stands in for these.
    """
    w = {name.removeprefix("blocks.0."): value for name, value in weights.items()}
    token, position = w["embed.W_E"][prompt], w["pos_embed.W_pos"]
    x = token + position
    found, added = {}, w["attn.b_O"]
    for head in range(2):
        q, k = (x @ w[f"attn.W_{part}"][head] + w[f"attn.b_{part}"][head] for part in "QK")
        v = (token + position[(places or {}).get(head, torch.arange(9))]) @ w["attn.W_V"][head] + w["attn.b_V"][head]
        sizes = torch.exp(k @ q[READ_OUT] / math.sqrt(4))
        sizes[(cut or {}).get(head, [])] = 0
        found["pattern", head] = sizes / sizes.sum()
        found["z", head] = (z or {}).get(head, found["pattern", head] @ v)
        added = added + found["z", head] @ w["attn.W_O"][head]
    mid = layer_norm(x[READ_OUT] + added, (8,), w["ln1.w"], w["ln1.b"], 1e-5)
    post = replaced.get("mlp_post", (mid @ w["mlp.W_in"] + w["mlp.b_in"]).clamp(min=0))
    out = replaced.get("mlp_out", post @ w["mlp.W_out"] + w["mlp.b_out"])
    end = layer_norm(mid + out, (8,), w["ln2.w"], w["ln2.b"], 1e-5)
    found |= {"resid_mid": mid, "mlp_post": post, "mlp_out": out, "resid_post": end}
    return end @ w["unembed.W_U"] + w["unembed.b_U"], found


def words(prompt):
    """What the pairs show, what is asked, and the y not shown."""
    *pairs, asked = prompt.tolist()
    shown = dict(zip(pairs[::2], pairs[1::2], strict=True))
    (unused,) = set(range(1, 6)) - set(shown.values())
    return shown, asked, unused


def kind(prompt, logits):
    shown, asked, unused = words(prompt)
    said = int(logits[1:].argmax()) + 1
    if asked not in shown:
        return "elimination" if said == unused else "wrong"
    return {shown[asked]: "recall", unused: "eliminates"}.get(said, "other_shown")


class Slow:
    """Checkpoint 1 of two."""

    def __init__(self):
        self.session, self.weights = open_session(TASK, SPEC), lively(CONFIG, 3)
        self.table = measure(GivenRun(TASK, CONFIG, [lively(CONFIG, 0), self.weights]), SPEC)
        self.table = self.table[self.table["step"] == 1]
        self.all_normal, self.all_repeat = recall_parts.every_row(TASK)
        self.families = self.session.families

    def answer(self, prompt, **edits):
        return by_hand(self.weights, prompt, **edits)[0]

    def inside(self, prompt):
        return by_hand(self.weights, prompt)[1]

    def shares(self, batch, logits):
        """Of each kind of answer."""
        kinds = [kind(prompt, one) for prompt, one in zip(batch.tokens, logits, strict=True)]
        return {name: kinds.count(name) / len(kinds) for name in ("recall", "eliminates", "other_shown", "elimination")}

    def agrees(self, batch, logits, **where):
        """All rows that say what is answered under an edit; returns recall (or elimination)."""
        found, repeats = self.shares(batch, logits), int(batch.variables["source"][0]) < 5
        for name in ("recall", "eliminates", "other_shown") if repeats else ("elimination",):
            measured = self.table[self.table["metric"] == f"{name}_under"]
            for column, wanted in where.items():
                measured = measured[measured[column] == wanted]
            assert measured["value"].tolist() == [pytest.approx(found[name], abs=1e-12)], (name, where)
            assert measured["n"].tolist() == [len(batch)]
        return found["recall" if repeats else "elimination"]


@pytest.fixture(scope="module")
def slow():
    with pytest.MonkeyPatch.context() as patch:
        for cached in (recall_parts.every_row, recall_ffn.fit_rows):
            cached.cache_clear()
        patch.setattr(recall_parts, "MOST_ROWS", 90)
        patch.setattr(recall_ffn, "N_FIT", 120)
        yield Slow()
    for cached in (recall_parts.every_row, recall_ffn.fit_rows):
        cached.cache_clear()


def test_the_hand_computes_what_the_decoder_does(slow):
    prompts = slow.all_repeat.tokens[:6]
    whole = forward(CONFIG, slow.weights, prompts).logits[:, READ_OUT]
    torch.testing.assert_close(torch.stack([slow.answer(prompt) for prompt in prompts]), whole, atol=1e-10, rtol=0)


def test_every_probe_by_source(slow):
    batch = slow.all_repeat
    kinds = [kind(prompt, slow.answer(prompt)) for prompt in batch.tokens]
    assert picked(slow.table, "recall_all", variable="").item() == pytest.approx(kinds.count("recall") / 90)
    for slot in range(4):
        of_slot = [one for one, source in zip(kinds, batch.variables["source"].tolist(), strict=True) if source == slot]
        measured = picked(slow.table, "recall_all", variable=f"source {slot + 1}").item()
        assert measured == pytest.approx(of_slot.count("recall") / len(of_slot))
    normal = slow.shares(slow.all_normal, [slow.answer(prompt) for prompt in slow.all_normal.tokens])
    assert picked(slow.table, "elimination_all").item() == pytest.approx(normal["elimination"])


def test_parts_removed_three_ways(slow):
    reference, recalls = [slow.inside(prompt) for prompt in slow.session.reference.tokens], []
    parts = {"L0H0": [("z", 0)], "L0H1": [("z", 1)], "L0H0+L0H1": [("z", 0), ("z", 1)], "L0MLP": ["mlp_out"]}
    for batch in (slow.all_repeat, slow.all_normal):
        drawn = torch.randint(16, (len(batch),), generator=torch.Generator().manual_seed(0)).tolist()
        slow.agrees(batch, [slow.answer(prompt) for prompt in batch.tokens], site="none", edit="none")
        for site, names in parts.items():
            mean = {name: torch.stack([one[name] for one in reference]).mean(0) for name in names}
            stand_in = {
                "zero": lambda row, mean=mean: {name: 0 * value for name, value in mean.items()},
                "mean": lambda row, mean=mean: mean,
                "resample": lambda row, names=names, drawn=drawn: {name: reference[drawn[row]][name] for name in names},
            }
            for how, given in stand_in.items():
                logits = []
                for row, prompt in enumerate(batch.tokens):
                    values = given(row)
                    heads = {name[1]: value for name, value in values.items() if name != "mlp_out"}
                    other = {"mlp_out": values["mlp_out"]} if "mlp_out" in values else {}
                    logits.append(slow.answer(prompt, z=heads, **other))
                recalls.append(slow.agrees(batch, logits, site=site, edit=how))
    assert len(set(recalls[:12])) > 6, "the edits must do something, or nothing is tested"
    layers = slow.table[(slow.table["metric"] == "recall_under") & (slow.table["edit"] == "mean")].set_index("site")
    assert layers["head"].fillna(-1).to_dict() == {"L0H0": 0, "L0H1": 1, "L0H0+L0H1": -1, "L0MLP": -1}


def test_attention_masses(slow):
    batch = slow.all_repeat
    for head in (0, 1):
        totals = dict.fromkeys(("x_source", "y_source", "all_y", "all_x", "last_y", "self"), 0.0)
        for prompt in batch.tokens:
            row, at = slow.inside(prompt)["pattern", head], prompt.tolist()[:8:2].index(int(prompt[8])) * 2
            masses = (row[at], row[at + 1], row[1:8:2].sum(), row[:8:2].sum(), row[7], row[8])
            totals = {name: totals[name] + float(mass) for name, mass in zip(totals, masses, strict=True)}
        for name, total in totals.items():
            measured = picked(slow.table, f"mass_{name}", family="repeat", variable="", head=head).item()
            assert measured == pytest.approx(total / len(batch), abs=1e-9)
        assert sum(totals[name] for name in ("all_y", "all_x", "self")) / len(batch) == pytest.approx(1)
        itself = sum(float(slow.inside(prompt)["pattern", head][8]) for prompt in slow.all_normal.tokens)
        measured = picked(slow.table, "mass_self", family="normal", head=head).item()
        assert measured == pytest.approx(itself / len(slow.all_normal), abs=1e-9)
    patterns = forward(CONFIG, slow.weights, slow.all_normal.tokens, record=["pattern.0"]).cache["pattern.0"]
    for step in range(2, 6):
        row = 2 * (step - 1)
        for head in (0, 1):
            wanted = sum(float(patterns[:, head, row, key].mean()) for key in range(1, row, 2))
            measured = picked(slow.table, "mass_all_y", family="normal", variable=f"step {step}", head=head).item()
            assert measured == pytest.approx(wanted, abs=1e-9)


def keys_of(cut, prompt):
    """Positions that a cut forbids, from the words."""
    at = prompt.tolist()[:8:2].index(int(prompt[8])) * 2 if "other" in cut or "source" in cut else None
    return {
        "cut y_source": lambda: [at + 1],
        "cut x_source": lambda: [at],
        "cut other y": lambda: [key for key in (1, 3, 5, 7) if key != at + 1],
        "cut other x": lambda: [key for key in (0, 2, 4, 6) if key != at],
        "cut self": lambda: [8],
        "cut all y": lambda: [1, 3, 5, 7],
        "cut all x": lambda: [0, 2, 4, 6],
    }[cut]()


@pytest.mark.parametrize(
    ("family", "cuts"),
    [
        ("repeat", ["cut y_source", "cut x_source", "cut other y", "cut other x", "cut self"]),
        ("normal", ["cut all y", "cut all x", "cut self"]),
    ],
)
def test_edges_cut(slow, family, cuts):
    batch, found = slow.families[family], []
    for site, heads in HEADS.items():
        for cut in cuts:
            logits = [slow.answer(prompt, cut=dict.fromkeys(heads, keys_of(cut, prompt))) for prompt in batch.tokens]
            found.append(slow.agrees(batch, logits, site="all heads" if site == "both" else site, edit=cut))
    assert len(set(found)) > len(found) / 3


def test_rows_before_the_read_out_matter_only_to_a_second_layer(slow):
    assert picked(slow.table, "largest_change", site="all heads", edit="zero rows before").tolist() == [0]
    deep, spec = model(5, 8, 2, 12, 2), dataclasses.replace(SPEC, n_bases=20)
    weights = lively(deep, 1)
    table = measure(GivenRun(TASK, deep, [weights]), spec)
    assert picked(table, "largest_change").item() > 1e-3
    assert {"L0H0", "L1H1", "L0H0+L0H1", "L1H0+L1H1", "L1MLP"} <= set(table["site"])
    assert set(table[table["metric"] == "neurons_needed"]["site"]) == {"L1MLP"}
    assert set(table[table["metric"] == "decodes_source"]["site"]) == {"L1.z", "L1.resid_mid", "L1.resid_post"}


def test_values_with_their_positions_swapped(slow):
    batch, found = slow.families["repeat"], []
    for site, heads in HEADS.items():
        logits, hits = [], 0
        for prompt in batch.tokens:
            shown, asked, _ = words(prompt)
            at = list(shown).index(asked)
            other = (at + 1) % 4
            places = torch.arange(9)
            places[2 * at + 1], places[2 * other + 1] = 2 * other + 1, 2 * at + 1
            logits.append(slow.answer(prompt, places=dict.fromkeys(heads, places)))
            hits += int(logits[-1][1:].argmax()) + 1 == list(shown.values())[other]
        where = {"site": "all heads" if site == "both" else site, "edit": "swap values' positions"}
        found.append(slow.agrees(batch, logits, **where))
        assert picked(slow.table, "answers_swapped_under", **where).item() == pytest.approx(hits / len(batch))
    clean = [int(slow.answer(prompt)[1:].argmax()) for prompt in batch.tokens]
    assert clean != [int(one[1:].argmax()) for one in logits], "the swap must do something"


def test_interchanges(slow):
    sites = {"L0H0": [0], "L0H1": [1], "all heads": [0, 1], "L0.mlp_out": []}
    moved = set()
    for test in slow.session.interchanges:
        unrelated = torch.randperm(len(test), generator=torch.Generator().manual_seed(0)).tolist()
        sources = [slow.inside(prompt) for prompt in test.source.tokens]
        for site, heads in sites.items():
            for edit in ("", "random_source"):
                counts = dict.fromkeys(("source_answer", "base_answer", "unused"), 0)
                for row, (prompt, other) in enumerate(zip(test.base.tokens, test.source.tokens, strict=True)):
                    given = sources[unrelated[row] if edit else row]
                    mlp = {} if heads else {"mlp_out": given["mlp_out"]}
                    logits = slow.answer(prompt, z={head: given["z", head] for head in heads}, **mlp)
                    said, (shown, asked, unused) = int(logits[1:].argmax()) + 1, words(prompt)
                    wanted = (words(other)[0][int(other[8])], shown[asked], unused)
                    counts = {name: counts[name] + (said == one) for name, one in zip(counts, wanted, strict=True)}
                for variable, count in counts.items():
                    where = {"family": test.name, "site": site, "edit": edit, "variable": variable}
                    measured = picked(slow.table, "interchange", **where).item()
                    assert measured == pytest.approx(count / len(test)), where
                    moved.add(measured)
    assert len(moved) > 10


def test_the_linear_map_in_place_of_the_ffn(slow):
    rows = [slow.inside(prompt) for batch in recall_ffn.fit_rows(TASK) for prompt in batch.tokens]
    assert len(rows) == 120
    x = np.stack([np.append(row["resid_mid"].numpy(), 1) for row in rows])
    fitted = np.linalg.lstsq(x, np.stack([row["mlp_out"].numpy() for row in rows]), rcond=1e-10)[0]
    for family in ("repeat", "normal"):
        batch, logits = slow.families[family], []
        for prompt in batch.tokens:
            given = torch.from_numpy(np.append(slow.inside(prompt)["resid_mid"].numpy(), 1) @ fitted)
            logits.append(slow.answer(prompt, mlp_out=given))
        slow.agrees(batch, logits, site="L0MLP", edit="linear")


def test_neurons(slow):
    batch = slow.families["repeat"]

    def recall_without(neurons):
        logits = []
        for prompt in batch.tokens:
            post = slow.inside(prompt)["mlp_post"].clone()
            post[list(neurons)] = 0
            logits.append(slow.answer(prompt, mlp_post=post))
        return slow.shares(batch, logits)["recall"]

    drops = [recall_without([]) - recall_without([neuron]) for neuron in range(12)]
    assert picked(slow.table, "neurons_needed").item() == sum(drop > 0.05 for drop in drops)
    assert picked(slow.table, "largest_neuron_drop").item() == pytest.approx(max(drops))
    order = sorted(range(12), key=lambda neuron: -round(drops[neuron], 9))
    sizes = slow.table[slow.table["metric"] == "recall_without_top"].set_index("variable")["value"]
    assert list(sizes.index) == ["1", "2", "4", "8"], "there are no sixteen neurons here"
    for size, value in sizes.items():
        assert value == pytest.approx(recall_without(order[: int(size)])), size
    assert len(set(drops)) > 4


def test_what_a_linear_probe_reads(slow):
    train, test = TASK.probes("train", 120), slow.all_repeat
    shuffled = torch.randperm(120, generator=torch.Generator().manual_seed(0))

    def at(site, batch):
        rows = [slow.inside(prompt) for prompt in batch.tokens]
        return torch.stack([torch.cat([row["z", 0], row["z", 1]]) if site == "z" else row[site] for row in rows])

    for site in ("z", "resid_mid", "resid_post"):
        x, seen = at(site, train), at(site, test)
        mean, std = x.mean(0), x.std(0)
        x, seen = ((x - mean) / std).numpy(), ((seen - mean) / std).numpy()
        for variable in ("y_source", "source"):
            for edit, labels in (
                ("", train.variables[variable]),
                ("random_labels", train.variables[variable][shuffled]),
            ):
                target = np.eye(6)[labels.numpy()]
                solved = np.linalg.solve(x.T @ x + 1e-3 * 120 * np.eye(8), x.T @ (target - target.mean(0)))
                said = (seen @ solved + target.mean(0)).argmax(1)
                share = float((said == test.variables[variable].numpy()).mean())
                where = {"site": f"L0.{site}", "variable": variable, "edit": edit}
                assert picked(slow.table, f"decodes_{variable}", **where).item() == pytest.approx(share), where


def test_random_networks_are_at_chance():
    """The mean over networks, each of which says nearly the same whatever it is asked."""
    spec = dataclasses.replace(SPEC, n_bases=1440)
    networks = [untrained(CONFIG, seed, torch.float32) for seed in range(6)]
    table = measure(GivenRun(TASK, CONFIG, networks), spec)
    for metric in ("recall_under", "eliminates_under", "elimination_under", "recall_all", "interchange"):
        assert abs(picked(table, metric).mean() - 1 / 5) < 0.03, metric
    assert abs(picked(table, "decodes_y_source", edit="random_labels").mean() - 1 / 5) < 0.03
    assert abs(picked(table, "decodes_source", edit="random_labels").mean() - 1 / 4) < 0.03
    assert picked(table, "neurons_needed").max() == 0


@pytest.mark.parametrize(
    ("n_symbols", "n_heads", "more"), [(4, 1, {"n_train": 19}), (3, 2, {"n_train": 4}), (5, 2, {"repeat_ratio": 0.0})]
)
def test_other_sizes_of_the_task_and_the_network(slow, n_symbols, n_heads, more):
    task = make_task("permutation_recall", {"n_symbols": n_symbols, "n_rows": 60, **more})
    made = model(n_symbols, 8, n_heads, 12)
    table = measure(GivenRun(task, made, [lively_of(made)]), dataclasses.replace(SPEC, n_bases=8))
    assert ("all heads" in set(table[table["edit"] == "cut self"]["site"])) is (n_heads > 1)
    shares = [picked(table, f"{name}_under").to_numpy() for name in ("recall", "eliminates", "other_shown")]
    assert np.allclose(sum(shares), 1)
    assert picked(table, "largest_change").item() == 0


def lively_of(config):
    return {name: value * 2 for name, value in untrained(config, 0).items()}


def test_probes_ask_for_every_slot_even_where_training_repeats_but_one(slow):
    task = make_task("permutation_recall", {"n_rows": 60, "repeat_sources": [0], "repeat_ratio": 0.5})
    spec = dataclasses.replace(SPEC, left_out=tuple(name for name in SPEC.left_out if name != "recall_skills"))
    table = measure(GivenRun(task, CONFIG, [lively(CONFIG, 0)]), spec)
    for metric in ("recall", "recall_all"):
        rows = table[table["metric"] == metric]
        assert set(rows["variable"]) == {"", "source 1", "source 2", "source 3", "source 4"}
    assert "interchange" not in set(table["metric"]), "the task's own have but one slot to move from"
