"""Agreement on roles: every level against enumeration in plain loops, and what the measures cannot tell apart."""

import itertools
import time

import numpy as np
import pandas as pd
import pytest

from circuitcore.emergence.agreement import AgreementError, agreement
from circuitcore.emergence.matching import match_heads
from circuitcore.emergence.roles import RolesError

LAYERS = (0, 0, 1, 1)


def profiles(cubes, layers=LAYERS, metrics=("routing", "copying", "drop")):
    """Rows from run -> scores [metric, head]; heads are numbered within their layer."""
    index = [sum(layer == other for other in layers[:place]) for place, layer in enumerate(layers)]
    rows = [
        (*run, metric, layers[place], index[place], value)
        for run, cube in cubes.items()
        for metric, scores in zip(metrics, cube, strict=False)
        for place, value in enumerate(scores)
    ]
    return pd.DataFrame(rows, columns=["arm", "init_seed", "metric", "layer", "head", "value"])


def random_cubes(n=4, heads=4, seed=0):
    rng = np.random.default_rng(seed)
    # Tenths: ties are common, as they are between saturated heads.
    return {("on" if run < 2 else "off", run): rng.integers(1, 6, (3, heads)) / 10 for run in range(n)}


def ranked(scores):
    return sorted(range(len(scores)), key=lambda head: (-scores[head], head))


def measure(name, a, b):
    if name == "same_identity":
        return float(ranked(a)[0] == ranked(b)[0])
    if name == "top3_overlap":
        return len(set(ranked(a)[:3]) & set(ranked(b)[:3])) / 3
    return sum(x * y for x, y in zip(a, b, strict=True)) / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5


def orders(layers):
    every = itertools.permutations(range(len(layers)))
    return [order for order in every if all(layers[j] == layers[i] for i, j in enumerate(order))]


@pytest.mark.parametrize("layers", [LAYERS, (0, 1, 1, 1), (0, 0, 0)])
def test_published_measures_and_both_levels_agree_with_enumeration(layers):
    cubes = random_cubes(heads=len(layers))
    found = agreement(profiles(cubes, layers), similarity="cosine").set_index(
        ["init_seed_a", "init_seed_b", "metric", "measure"]
    )
    within, everywhere = orders(layers), orders([0] * len(layers))
    runs = {seed: cube for (_, seed), cube in cubes.items()}
    for (a, b), (place, metric) in itertools.product(
        itertools.combinations(runs, 2), enumerate(("routing", "copying", "drop"))
    ):
        for name in ("same_identity", "top3_overlap", "profile_cosine"):
            row, x, y = found.loc[(a, b, metric, name)], runs[a][place], runs[b][place]
            assert row["value"] == pytest.approx(measure(name, x, y))
            for level, shuffles in (("chance_within_layers", within), ("chance_all_heads", everywhere)):
                by_hand = [measure(name, x[list(p)], y[list(q)]) for p in shuffles for q in shuffles]
                assert row[level] == pytest.approx(np.mean(by_hand)), (name, level)


def test_chance_without_ties_is_what_counting_says():
    cubes = {("on", 0): [[0.1, 0.2, 0.3, 0.9]], ("on", 1): [[0.3, 0.1, 0.9, 0.2]], ("off", 2): [[0.9, 0.1, 0.2, 0.3]]}
    found = agreement(profiles(cubes)).set_index(["init_seed_a", "init_seed_b", "measure"])
    assert found["chance_all_heads"].xs("same_identity", level="measure").tolist() == pytest.approx([1 / 4] * 3)
    assert found["chance_all_heads"].xs("top3_overlap", level="measure").tolist() == pytest.approx([3 / 4] * 3)
    # The leaders of the first two are in layer 1, which has two heads; the third run's is in layer 0.
    assert found.loc[(0, 1, "same_identity"), "chance_within_layers"] == pytest.approx(1 / 2)
    assert found.loc[(0, 2, "same_identity"), "chance_within_layers"] == 0
    assert found["top3_overlap" == found.index.get_level_values("measure")]["value"].min() >= 2 / 3
    assert found["same_arm"].xs("same_identity", level="measure").tolist() == [True, False, False]


def test_the_cosine_is_high_between_runs_with_different_heads_and_so_is_its_chance():
    cubes = {("on", 0): [[1 / 3, 1 / 3, 1.0, 0.9]], ("on", 1): [[1 / 3, 1 / 3, 0.9, 1.0]]}
    rows = agreement(profiles(cubes)).set_index("measure")
    assert rows["value"]["same_identity"] == 0
    assert rows["value"]["profile_cosine"] > 0.99 and rows["chance_within_layers"]["profile_cosine"] > 0.99


def test_ties_go_to_the_column_given_then_to_the_lower_head():
    table = profiles({("on", 0): [[0, 0, 1, 1]], ("on", 1): [[0, 0, 0.5, 1]]})
    plain = agreement(table).set_index("measure")["value"]
    broken = agreement(table.assign(worst=[0, 0, 0, 1] * 2), ties=["worst"]).set_index("measure")["value"]
    assert (plain["same_identity"], broken["same_identity"]) == (0, 1)
    assert plain["profile_cosine"] == broken["profile_cosine"]


def test_matching_sees_through_labels_within_layers_and_is_read_against_its_own_chance():
    rng = np.random.default_rng(5)
    a = rng.random((3, 4))
    cubes = {("on", 0): a, ("on", 1): a[:, [1, 0, 3, 2]], ("off", 2): rng.random((3, 4))}
    found = agreement(profiles(cubes))
    rows = found[found["measure"] == "matched"].set_index(["init_seed_a", "init_seed_b"])
    assert rows.loc[(0, 1), "value"] == pytest.approx(1)
    for (x, y), row in rows.iterrows():
        one, other = (next(cube for (_, seed), cube in cubes.items() if seed == wanted).T for wanted in (x, y))
        by_hand = match_heads(one, other, LAYERS)
        assert (row["value"], row["chance_all_heads"], row["p_value"]) == pytest.approx(
            (by_hand.similarity, by_hand.chance_best, by_hand.p_value)
        )
        shuffled = [match_heads(one, other[list(order)], LAYERS).similarity for order in orders(LAYERS)]
        assert row["chance_within_layers"] == pytest.approx(np.mean(shuffled))
    assert (rows["metric"] == "all").all() and found[found["measure"] != "matched"]["p_value"].isna().all()


def test_the_order_of_rows_is_of_no_account_and_one_metric_is_not_matched():
    table = profiles(random_cubes())
    shuffled = agreement(table.iloc[::-1], similarity="cosine").sort_values(["metric", "measure"], ignore_index=True)
    keys = ["init_seed_a", "init_seed_b"]
    shuffled[keys] = np.sort(shuffled[keys].to_numpy(), axis=1)
    wanted = agreement(table, similarity="cosine").set_index([*keys, "metric", "measure"])["value"].sort_index()
    assert shuffled.set_index([*keys, "metric", "measure"])["value"].sort_index().to_dict() == pytest.approx(
        wanted.to_dict()
    )
    assert "matched" not in set(agreement(table[table["metric"] == "routing"])["measure"])


def test_twenty_runs_are_compared_in_seconds():
    table = profiles(random_cubes(20))
    begin = time.process_time()
    found = agreement(table, similarity="cosine")
    assert len(found) == 190 * (3 * 3 + 1) and time.process_time() - begin < 10


def test_what_cannot_be_compared_is_refused_with_the_numbers():
    table = profiles(random_cubes())
    for rows, words in (
        (pd.concat([table, table.head(2)]), "2 scores are repeated"),
        (table.iloc[1:], "1 of 48 scores"),
        (table.assign(value=table["value"].where(table.index != 7)), "1 of 48 scores"),
        (table[table["init_seed"] == 0], "got 1 and 4"),
        (profiles(random_cubes(heads=9), (0,) * 9), "got 4 and 9"),
        (table.assign(value=table["value"] * (table["init_seed"] > 0)), "all 0"),
    ):
        with pytest.raises(AgreementError, match=words):
            agreement(rows)
    with pytest.raises(RolesError, match="no direction"):
        agreement(table.assign(value=table["value"].where(table["head"] > 0, 0.5)))


def test_runs_may_be_told_apart_by_a_column_of_any_name():
    table = profiles(random_cubes(2)).drop(columns="arm").rename(columns={"init_seed": "run"})
    found = agreement(table.assign(run="seed " + table["run"].astype(str)), by=["run"])
    assert set(found["run_a"]) == {"seed 0"} and set(found["run_b"]) == {"seed 1"}


def test_a_score_of_no_head_is_refused():
    table = profiles(random_cubes())
    table.loc[0, "head"] = np.nan
    with pytest.raises(AgreementError, match="1 scores are of no head"):
        agreement(table)
