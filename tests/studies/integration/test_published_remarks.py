"""What remarks beside verdicts count, by hand from the tables: shares and steps that no reading of a claim has."""

import numpy as np
import pandas as pd
import pytest
from published_stage import claims_of
from scipy import stats

from retrieval_circuits.composition import design as composition
from retrieval_circuits.sgd_formation import design as formation
from retrieval_circuits.sgd_selection import design as selection
from retrieval_circuits.stacked_heads import design as stacked

A_POINT, AFTER_WARM_UP = 0.01, 200


def found(study):
    claims, only = claims_of(study)
    return {name: claim.remark for name, claim in claims.items()}, only


def crossing(curve, level):
    """By hand: where the straight lines of one network's curve first pass below a level; its end where they do not."""
    steps, values = curve.index.to_numpy(float), curve.to_numpy()
    below = np.flatnonzero(values < level)
    if not len(below) or not below[0]:
        return steps[0] if len(below) else steps[-1]
    at = below[0]
    part = (values[at - 1] - level) / (values[at - 1] - values[at])
    return steps[at - 1] + part * (steps[at] - steps[at - 1])


def wide(rows):
    return rows.pivot(index="step", columns="init_seed", values="value").sort_index()


def joined_by(only, arm):
    """What each head of the first layer joins at the end: networks by head."""
    return only.at_final("joins", arm, layer=0).pivot(index="init_seed", columns="head", values="value")


def joined_in_any_layer(only, arm):
    """The same of every head, which is its layer and its number there."""
    return only.at_final("joins", arm).pivot(index="init_seed", columns=["layer", "head"], values="value")


def least_of(arm):
    """What a winner joins at least."""
    return 0.25 if arm == selection.DESCENT else 0.5


def with_a_winner(only, arm):
    """What heads join in the networks alone that read half and have a winner; under SGD it is ahead by ten points."""
    ends = joined_by(only, arm)
    ranked = np.sort(ends.to_numpy())
    ahead = ranked[:, -1] - ranked[:, -2] >= (0.1 if arm == selection.DESCENT else 0.0)
    right = only.final_values("accuracy", arm).reindex(ends.index) >= 0.5
    return ends[(ranked[:, -1] >= least_of(arm)) & ahead & right]


def interval(values):
    mean, error = np.mean(values), np.std(values, ddof=1) / len(values) ** 0.5
    return stats.t.interval(0.95, len(values) - 1, mean, error)


def pushed_before(only, arm):
    """Checkpoints of networks with a winner before it joins half: what is joined, gained next, and pushed, by head."""
    rows = only.rows("pushes", arm=arm)
    by = {
        metric: rows[rows["metric"] == metric].pivot(index=["init_seed", "step"], columns="head", values="value")
        for metric in ("joins", "push")
    }
    ends, curves = with_a_winner(only, arm), only.curve("joins", arm, layer=0)
    for seed in ends.index:
        own = curves[(curves["init_seed"] == seed) & (curves["head"] == ends.loc[seed].idxmax())]
        half = crossing(-own.set_index("step")["value"].sort_index(), -least_of(arm))
        joins, push = by["joins"].loc[seed], by["push"].loc[seed]
        gains = (joins.shift(-1) - joins).iloc[:-1]
        for step in gains.index[(gains.index >= AFTER_WARM_UP) & (gains.index < half)]:
            yield {
                "seed": seed, "before": half - step, "most": gains.loc[step].max(),
                "pushed": push.loc[step].idxmax() == gains.loc[step].idxmax(),
                "ahead": joins.loc[step].idxmax() == gains.loc[step].idxmax(),
            }  # fmt: skip


def test_when_heads_gain_and_what_tells_it_then():
    remarks, only = found("sgd_selection")
    all_of = pd.DataFrame(pushed_before(only, selection.NETWORKS))
    late = all_of[all_of["before"] <= 200]
    assert (all_of["most"] < A_POINT).mean() == pytest.approx(0.75, abs=0.02), "three of four"
    assert (late["pushed"].sum(), late["ahead"].sum(), len(late)) == (11, 20, 20)
    low, high = interval(late.groupby("seed")["pushed"].mean())
    assert low < 0.5 < high, "which would be open"
    assert "three checkpoints of four" in remarks["SS14"] and "at eleven of twenty" in remarks["SS14"]
    by_sgd = pd.DataFrame(pushed_before(only, selection.DESCENT))
    assert (by_sgd["most"] < A_POINT).mean() == pytest.approx(2 / 3, abs=0.02)
    assert "two checkpoints of three" in remarks["SS30"]


def test_what_other_rows_and_earlier_freezing_do():
    remarks, only = found("sgd_selection")
    early = selection.FROZEN_EARLY
    assert only.final_values("accuracy", early).max() < 0.1
    looks = only.curve("attention", early).astype({"site": str})
    looks = looks[looks["site"].isin(["support", "answered"])]
    looks = looks.groupby(["init_seed", "layer", "head", "step"])["value"].sum()
    looks = looks.groupby(["init_seed", "step"]).max().unstack()
    assert (looks.iloc[:, -1] - looks.iloc[:, 0]).max() < 0, "attention does not move there"
    first, late = (only.curve("accuracy", arm)["step"].min() for arm in (early, selection.FROZEN))
    assert late - first == 800
    assert "eight hundred steps earlier, hardly one read in ten" in remarks["SS10"]
    ends, parent = joined_by(only, selection.ORDERS[1]), joined_by(only, selection.PARENT).iloc[0].idxmax()
    assert (int((ends.idxmax(axis=1) != parent).sum()), len(ends)) == (11, 18)
    assert "eleven of eighteen orders" in remarks["SS4"]


def test_whether_adams_own_forks_keep_the_winner_where_sgd_does_not():
    remarks, only = found("sgd_selection")
    adam, forks = joined_by(only, selection.NETWORKS), joined_by(only, selection.ELSEWHERE[0])
    has = with_a_winner(only, selection.DESCENT).index
    labels = [label for label in forks.index if label // selection.LABEL in has]
    formed = only.final_values("accuracy", selection.ELSEWHERE[0])
    kept = [
        forks.loc[label].max() >= 0.5
        and formed[label] >= 0.5
        and forks.loc[label].idxmax() == adam.loc[label // selection.LABEL].idxmax()
        for label in labels
    ]
    assert (len(has), len(labels), sum(kept)) == (6, 18, 3)
    assert "these six starts keep its winner in three of eighteen" in remarks["SS28"]


def test_the_gradient_is_too_short_to_tell_more():
    remarks, only = found("sgd_selection")
    rows = only.rows("updates", arm=selection.TRACED)
    length = rows[rows["metric"] == "length"]["value"].mean()
    assert rows[rows["metric"] == "raw_length"]["value"].mean() / length < 0.01
    assert "less than a hundredth" in remarks["SS15"]


@pytest.mark.parametrize(("claim", "table", "count"), [("SF44", "cuts", 8), ("SF46", "cuts_by_half", 7)])
def test_networks_that_miss_looks_at_all_other_values(claim, table, count):
    remarks, only = found("sgd_formation")
    rows = only.tables[table].astype({"metric": str, "variable": str, "family": str})
    rows = rows[(rows["arm"] == formation.FRESH) & (rows["metric"] == "right_without") & (rows["family"] == "late")]
    rows = rows[rows["step"] == rows.groupby("init_seed")["step"].transform("min")]
    right = rows.pivot(index="init_seed", columns="variable", values="value")
    lost = right["nothing"] - right["its key from other values"]
    assert (len(lost), int((lost >= 0.05).sum())) == (20, count)
    assert (right["nothing"] - right["another key from other values"]).max() < 0.02, "as many looks of another key"
    words = {8: "eight", 7: "seven"}[count]
    assert f"{words} of twenty lose five points" in remarks[claim]


def test_answers_that_stay_once_half_of_three_keys_are_right():
    remarks, only = found("sgd_formation")
    split = formation.REPORTED[formation.FULL]
    right = wide(only.curve("accuracy", formation.FULL, variable="keys 3", split=split))
    stays = wide(only.curve("unmoved", formation.FULL, split=split))
    assert (right >= 0.5).any().all()
    at = {seed: right.index[np.argmax(right[seed].to_numpy() >= 0.5)] for seed in right}
    values = [stays.loc[step, seed] for seed, step in at.items()]
    assert len(values) == 5 and all(0.65 < value < 0.75 for value in values)
    assert interval(values)[0] > 0.5, "which would be decided"
    assert "seven of ten answers stay in each start" in remarks["SF27"]


def test_paths_of_whole_layers():
    remarks, only = found("stacked_heads")
    rows = only.curve("attention", str(stacked.FOLLOWED)).astype({"site": str})
    layers = rows.groupby(["site", "layer", "step", "init_seed"])["value"].sum()

    def appears(link, level):
        curves = layers[link].groupby(["step", "init_seed"]).max().unstack().sort_index()
        return np.array([crossing(-curves[seed], -level) for seed in curves])

    low, high = interval(appears("queries>value_0", 1.0) - appears("value_0>key_0", 1.0))
    assert low < 50 < high, "the bound of the claim: it would be open"
    assert interval(appears("queries>value_0", 0.5) - appears("value_0>key_0", 0.5))[1] < 50, "it stays"
    assert "as one head has in all, twice the threshold, it would be open" in remarks["SH8"]


def test_most_of_the_time_goes_by_before_the_shortcut():
    remarks, only = found("stacked_heads")
    arms = {str(stacked.ONE[1]): 4, **{str(lesson): lesson.n_chains for lesson in stacked.LONGER}}
    shares, waits = {}, {}
    for arm, n_chains in arms.items():
        curves = wide(only.curve("partial_loss", arm, variable="x_1"))
        level = 1 - (1 / (2 * n_chains) + 1 / n_chains) / 2
        start, learnt = (np.array([crossing(curves[seed], at) for seed in curves]) for at in (level, 0.5))
        shares[n_chains], waits[n_chains] = np.mean(start / learnt), pd.Series(learnt - start, curves.columns)
    table = np.log(pd.DataFrame(waits).dropna())
    lengths = np.log(np.array(list(waits), float))
    slopes = [np.polyfit(lengths, row, 1)[0] for row in table.to_numpy()]
    assert all(0.65 < share < 0.85 for share in shares.values())
    assert np.mean(slopes) == pytest.approx(0.4, abs=0.06)
    assert "Seven to eight tenths" in remarks["SH24"] and "about four tenths" in remarks["SH24"]


def test_another_path_tells_as_much():
    remarks, only = found("stacked_heads")
    fresh = str(stacked.FRESH)
    paths = only.tables["paths"]
    paths = paths[paths["arm"] == fresh]

    def appears(link):
        rows = paths[paths["site"].astype(str) == link]
        curves = rows.groupby(["step", "init_seed"])["value"].max().unstack().sort_index()
        return np.array([crossing(-curves[seed], -0.5) for seed in curves])

    def learnt(variable):
        curves = wide(only.curve("partial_loss", fresh, variable=variable))
        return np.array([crossing(curves[seed], 0.5) for seed in curves])

    def nearer(path, loss):
        far = np.abs(path[:, None] - loss[None])
        return np.mean((far - np.diag(far)[:, None])[~np.eye(len(far), dtype=bool)])

    joins, first = appears("value_0>key_0"), appears("queries>value_0")
    assert nearer(joins, learnt("x_1")) == pytest.approx(177, abs=1)
    assert nearer(first, learnt("x_2")) == pytest.approx(129, abs=1)
    assert "a hundred and seventy-seven steps" in remarks["SH22"]
    assert "a hundred and " in remarks["SH23"] and "twenty-nine steps" in remarks["SH23"]


def test_what_the_query_holds_where_three_hops_are_answered():
    _, only = found("composition")
    three = composition.Arm(composition.MIXTURE, 3)
    rows = only.tables["exchanges"].astype({"metric": str, "site": str, "variable": str, "family": str})
    rows = rows[(rows["arm"] == str(three)) & (rows["metric"] == "query_holds") & (rows["family"] == "hops_3")]
    rows = rows[rows["site"] == "L1.resid_post"]
    held = rows.pivot(index="init_seed", columns="variable", values="value") >= 0.5
    scores = only.at_final("accuracy", str(three)).astype({"variable": str})
    answers = scores[scores["variable"] == "hops_3"].set_index("init_seed")["value"].reindex(held.index) >= 0.9
    counted = [(int(part["x_2"].sum()), int(part["x_3"].sum())) for part in (held[answers], held[~answers])]
    assert (int(answers.sum()), len(held), counted) == (21, 32, [(16, 3), (0, 1)])
    assert int((~held[~answers].any(axis=1)).sum()) == 10


def test_two_orders_from_the_start_agree_where_weights_are_drawn_wide():
    _, only = found("sgd_selection")
    arms = {
        "wide": (selection.DRAWN_WIDE, selection.DRAWN_WIDE_FORKS),
        "small": (selection.NETWORKS, selection.ELSEWHERE[0]),
    }
    counts = {}
    for name, (networks, forks) in arms.items():
        own, ends = (joined_in_any_layer(only, arm) for arm in (networks, forks))
        alike = again = 0
        for seed in own.index.intersection(ends.index // selection.LABEL):
            first, second = (ends.loc[selection.LABEL * seed + order] for order in (1, 2))
            joined = min(first.max(), second.max()) >= 0.5
            alike += joined and first.idxmax() == second.idxmax()
            again += joined and {first.idxmax(), second.idxmax()} == {own.loc[seed].idxmax()}
        counts[name] = (int(alike), int(again))
    assert counts == {"wide": (8, 5), "small": (1, 0)}


def test_starts_trained_twice_mostly_have_one_winner():
    _, only = found("sgd_selection")
    ends = [joined_in_any_layer(only, arm) for arm in selection.TWICE]
    first, second = (table.idxmax(axis=1) for table in ends)
    won = pd.concat([table.max(axis=1) >= 0.5 for table in ends], axis=1).all(axis=1)
    assert (int((first == second).sum()), int(((first == second) & won).sum()), len(won)) == (16, 15, 20)
    winners = pd.concat([first, second])
    assert {head for layer, head in winners if layer == 0} == {0, 1, 2, 3}
    assert len({seed for seed, (layer, _) in winners.items() if layer == 1}) == 1


def test_starts_drawn_small_have_one_winner_less_often():
    """Of those all of whose trainings read, and of all; what is joined again is counted pair by pair."""
    remarks, only = found("sgd_selection")
    wide, small = (
        [joined_in_any_layer(only, arm) for arm in arms] for arms in (selection.TWICE, selection.TWICE_SMALL)
    )
    starts = [*small[0].index]
    reads = [
        seed
        for seed in starts
        if all(only.final_values("accuracy", arm)[seed] >= 0.9 for arm in (*selection.TWICE, *selection.TWICE_SMALL))
    ]

    def again(pair, seed):
        first, second = (table.loc[seed] for table in pair)
        return (first[second.idxmax()] + second[first.idxmax()]) / 2

    def kept(pair, seed):
        first, second = (table.loc[seed] for table in pair)
        return min(first.max(), second.max()) >= 0.5 and first.idxmax() == second.idxmax()

    assert (len(starts), len(reads)) == (18, 14)
    assert [sum(kept(pair, seed) for seed in reads) for pair in (small, wide)] == [5, 10]
    more = np.array([again(wide, seed) - again(small, seed) for seed in starts])
    low, high = stats.t.interval(0.95, len(more) - 1, more.mean(), stats.sem(more))
    assert [round(100 * value) for value in (more.mean(), low, high)] == [36, 15, 57]
    assert "36 points [15, 57]" in remarks["SS42"]
