"""Numbers that stand in sentences beside verdicts, counted again from the tables by other means."""

import json
from pathlib import Path

import numpy as np
import pytest
from published_stage import evidence

from retrieval_circuits.associative_memory.design import FACTS, JUDGED
from retrieval_circuits.associative_memory.figures import begins_in_words
from retrieval_circuits.bigrams_and_composition import figures as bigrams
from retrieval_circuits.emergence_laws import figures as laws
from retrieval_circuits.emergence_laws.design import PAIRS, SEQUENCE


def found(study):
    of, results = evidence(study)
    return of, results, results[0]


def words(of, results, *names):
    return [of.view(name, results) for name in names]


def test_what_a_constant_says_beside_the_closed_form():
    of, results, only = found("bigrams_and_composition")
    said = bigrams.counting_in_words(*words(of, results, "layers", "letters"))
    rows = (
        only.tables["learning"]
        .query("way == 'one layer'")
        .sort_values("step")
        .drop_duplicates("init_seed", keep="last")
    )
    one, form = rows["accuracy"].to_numpy(), rows["predicted"].to_numpy()
    assert said["form_off"] == f"{100 * np.abs(one - form).mean():.0f} points"
    assert said["half_off"] == f"{100 * np.abs(one - 0.5).mean():.0f} points"
    x, y = one - one.mean(), form - form.mean()
    assert said["form_r"] == f"{(x @ y) / np.sqrt((x @ x) * (y @ y)):.2f}"


def test_cells_that_are_not_full_and_what_a_milder_cut_does():
    of, results, only = found("bigrams_and_composition")
    off, context = words(of, results, "off_noise", "context_kept")
    said, kept = bigrams.off_noise_in_words(off), bigrams.context_in_words(context)
    rows = only.tables["steps_by_both"].query("order == 'W_O2, W_K2, W_K1'")
    away, seeds = np.abs(rows["W_O2"] - rows["predicted"]), rows["init_seed"].nunique()
    few = rows["predicted"] < 0.98
    assert (said["cells"], said["open_cells"]) == (f"{len(rows) / seeds:.0f}", f"{few.sum() / seeds:.0f}")
    assert said["open_off"] == f"{100 * away[few].mean():.0f} points"
    noisy = only.tables["noisy"]
    last = noisy[noisy["step"] == noisy["step"].max()]
    by_cut = {cut: part.set_index("init_seed")["context"] for cut, part in last.groupby("cut", observed=True)}
    rises = sum(by_cut["0.1"][seed] > by_cut["none"][seed] for seed in by_cut["none"].index)
    assert kept["context_rises"] == f"{rises} of {len(by_cut['none'])}"
    assert kept["context_falls"] == f"{100 * (1 - (by_cut['0'] / by_cut['none']).min()):.0f} %"


def formed(only, shape, metric, look, layer):
    """By hand: where a straight line between two measurements of the best head is three quarters of its way."""
    rows = only.tables["looks"]
    rows = rows[(rows["arm"] == shape) & (rows["variable"] == look)]
    chance = rows.loc[rows["metric"] == f"{metric}_chance", "value"].iloc[0]
    rows = rows[(rows["metric"] == metric) & rows["site"].astype(str).str.startswith(f"L{layer}H")]
    times = {}
    for seed, of_seed in rows.groupby("init_seed"):
        curve = of_seed.groupby("step")["value"].max().sort_index()
        level = chance + 0.75 * (curve.iloc[-1] - chance)
        at = int(np.argmax(curve.to_numpy() >= level))
        low, high = curve.iloc[at - 1], curve.iloc[at]
        steps = curve.index.to_numpy()
        times[seed] = steps[at - 1] + (level - low) / (high - low) * (steps[at] - steps[at - 1])
    return np.array([times[seed] for seed in sorted(times)])


@pytest.mark.parametrize("shape", [PAIRS, SEQUENCE])
def test_the_order_of_parts_at_three_quarters_of_the_way(shape):
    of, results, only = found("emergence_laws")
    said = laws.order_in_words(*words(of, results, "order_by_level"))
    copying, match, before = (
        formed(only, shape, *part)
        for part in (("copying", "read_out>values", 1), ("mass", "read_out>values", 1), ("mass", "values>keys", 0))
    )
    first = (np.minimum(match, before) - copying).mean()
    if shape == PAIRS:
        assert first < 0 and said["laws_copying_later_pairs"] == f"{-first:,.0f}"
    else:
        assert said["laws_copying_later_sequence"] == f"{first:,.0f}"
        assert said["laws_back_later_sequence"] == f"{(before - match).mean():,.0f}"


def test_guessing_begins_later_than_predicted():
    of, results, only = found("associative_memory")
    said = begins_in_words(*words(of, results, "begins"))
    rows, late = only.tables["recall"], {}
    for facts in FACTS:
        of_way = rows[(rows["way"] == facts.name) & (rows["from_guess"] < 0.1)]
        if facts.name in JUDGED:
            begins = of_way.groupby("init_seed")["step"].min().mean()
            late[facts.name] = begins / facts.predicted["relation"] - 1
    assert (said["late_least"], said["late_most"]) == tuple(
        f"{100 * end:.0f} %" for end in (min(late.values()), max(late.values()))
    )


def text_of(page):
    cells = json.loads((Path(__file__).parents[3] / "book" / f"{page}.ipynb").read_text())["cells"]
    return " ".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def test_which_sizes_recall_by_the_epoch_at_which_the_source_stopped():
    _, _, only = found("permutation_recall")
    sizes = [f"d {d}, {h} head{'s' * (h > 1)}, FFN {f}, repeats" for d in (16, 32) for h in (1, 2) for f in (32, 64)]
    early, end = {}, {}
    for size in sizes:
        rows = only.curve("recall", size, variable="")
        rows = rows[rows["init_seed"].isin(only.seeds(sizes[0]))]
        wide = rows.pivot(index="step", columns="init_seed", values="value")
        assert wide.shape[1] == 20
        early[size], end[size] = wide.loc[wide.index[-1] * 50 / 120], wide.iloc[-1]

    def by_then(part):
        return sum(int((early[size] > 0.5).sum()) for size in sizes if part in size)

    assert [by_then(part) for part in ("d 32", "d 16", "2 heads", "1 head,")] == [75, 33, 68, 40]
    smallest = end[sizes[0]]
    assert [int((smallest >= bar).sum()) for bar in (0.9, 0.99)] == [4, 2]
    assert int((early[sizes[0]] > 0.5).sum()) == 1
    said = text_of("permutation_recall")
    for words in (
        "seventy-five of eighty wide",
        "thirty-three narrow",
        "with two heads sixty-eight and with one forty",
    ):
        assert words in said
    assert "four recall nine in ten and two all but one in a hundred; by the epoch" in said


def test_what_networks_say_that_see_the_first_x_alone_repeated():
    _, _, only = found("permutation_recall")
    arm = "repeats of x1 alone"
    first = only.at_final("recall", arm, variable="source 1")["value"]
    plain = only.at_final("elimination", arm)["value"]
    assert (1 - plain - first).min() > 0.05, "not less often, the first y, where nothing is repeated"
    for other in ("repeats of any x, half", "d 16, 1 head, FFN 32, normal", "d 32, 2 heads, FFN 64, repeats"):
        assert only.at_final("elimination", other)["value"].min() > 0.99, "which others of the figure answer"
    assert "in two of five probes of it, and not less often where nothing is repeated" in text_of("permutation_recall")


def test_the_mean_recalls_more_slowly_than_most_networks():
    of, results, _ = found("permutation_recall")
    rows = of.view("skills", results).table.astype({"series": str})
    rows = rows[rows["series"].str.contains("(recall)", regex=False) & (rows["epoch"] > 0)]
    curves = rows.pivot(index="epoch", columns="init_seed", values="value")

    def takes(curve):
        return np.subtract(*(np.interp(level, curve.cummax(), curve.index) for level in (0.75, 0.25)))

    slower = sum(takes(curves[seed]) >= takes(curves.mean(axis=1)) for seed in curves)
    assert 0 < slower < curves.shape[1] / 4
    assert "recall rises more slowly in the mean than in most of them" in text_of("permutation_recall")


def test_networks_of_four_heads_do_not_give_a_head_to_each_answer_either():
    of, results, _ = found("composition")
    rows = of.view("shared", results).table
    by_answer = rows[rows["group"].astype(str) == "by where it ends"].groupby("series", observed=True)["value"]
    assert by_answer.count().to_dict()["4 heads"] == 4 and by_answer.mean().max() < 0.05
    assert "nor do those with four heads" in text_of("composition")


def test_all_four_ways_still_gain_at_the_last_look():
    of, results, _ = found("associative_memory")
    rows = of.view("by_steps", results).table
    means = rows.groupby(["series", "group"], observed=True)["value"].mean().unstack()
    means = means[["64 steps", "256 steps", "1,024 steps"]]
    assert means.shape == (4, 3) and (means.iloc[:, 2] > means.iloc[:, 1] + 0.02).all()
    assert "All four ways still gain at the last look" in text_of("appendix/associative_memory")


def test_what_the_layers_of_three_are_worth_at_the_read_out():
    of, _, only = found("six_run_matrix")
    told = [claim.id for claim in of.study.CLAIMS if "six of ten networks at the arrow" in claim.remark]
    assert told == ["SR21"], "the claim that it would leave open"
    later = {}
    for read_out in ("arrow", "query"):
        rows = only.at_final("joint_ablation_drop", f"{read_out}, 3 x 2", edit="mean@read_out")
        wide = rows.astype({"site": str}).pivot(index="init_seed", columns="site", values="value")
        later[read_out] = wide["L2H*"] > wide["L1H*"]
        if read_out == "arrow":
            alone = wide[(wide[["L0H*", "L1H*"]] == 0).all(axis=1)]
    assert [int(found.sum()) for found in later.values()] == [6, 0]
    assert len(alone) == 4
    assert (alone["L2H*"] > 0.85).all()
    assert "in six of ten networks at the arrow" in text_of("six_run_matrix")
