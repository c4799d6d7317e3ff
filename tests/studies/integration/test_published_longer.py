"""Networks that were trained on: the same as before at the step at which they had been seen, and counted by hand."""

import pandas as pd
import pytest
from published_stage import evidence
from scipy.stats import binomtest

from livingpaper.claims.results import Results
from retrieval_circuits.composition.design import BY_DEPTH, FRESH_TWO, LONG, LONG_FOUR, LONG_THREE, LONG_TWO, TWO
from retrieval_circuits.stacked_heads.design import FRESH_SCARCE, LONG_SCARCE

ASKED = {"KF25": (LONG_FOUR, 4, 12), "KF26": (LONG_THREE, 4, 22), "KF27": (LONG_TWO, 3, 12), "KF30": (FRESH_TWO, 4, 10)}


@pytest.fixture(scope="module")
def found():
    of, (results, *_) = evidence("composition")
    return of.recorded, results


def accuracy(results: Results, arm: object) -> pd.Series:
    """Of an arm's networks, by seed, hops and step."""
    rows = results.measurements
    rows = rows[(rows["arm"] == str(arm)) & (rows["metric"] == "accuracy")].astype({"variable": str})
    return rows.set_index(["init_seed", "variable", "step"])["value"]


@pytest.mark.slow
def test_networks_trained_on_are_those_that_had_been_seen(found):
    _, results = found
    for long, short in zip((*LONG, FRESH_TWO), (*BY_DEPTH, TWO), strict=True):
        longer, before = accuracy(results, long), accuracy(results, short)
        end = before.index.get_level_values("step").max()
        assert longer.index.get_level_values("step").max() == 8 * end
        then = longer[longer.index.get_level_values("step") == end]
        assert len(then) >= 4 * 10 and then.equals(before.loc[then.index]), "the very numbers, to the bit"


@pytest.mark.slow
def test_what_they_answer_is_counted_by_hand(found):
    recorded, results = found
    for claim, (arm, hops, n_networks) in ASKED.items():
        values = accuracy(results, arm).xs(f"hops_{hops}", level="variable").unstack("step")
        right = values[values.columns.max()] >= 0.9
        estimate = recorded[claim].estimate
        assert len(right) == estimate.n == n_networks and estimate.effect == pytest.approx(right.mean())


@pytest.mark.slow
def test_what_is_looked_at_twice_stands_corrected_for_that(found):
    recorded, results = found
    values = accuracy(results, LONG_THREE).xs("hops_4", level="variable").unstack("step").iloc[:, -1]
    right = int((values >= 0.9).sum())
    assert recorded["KF26"].status == "Supported" and "two looks it stands" in recorded["KF26"].claim.remark
    assert binomtest(right, len(values)).proportion_ci(0.975).low > 0.5


@pytest.mark.slow
def test_what_words_hold_is_the_mean_of_those_that_answer(found):
    recorded, results = found
    exchanges = results.tables["exchanges"].astype({"variable": str, "edit": str, "site": str, "family": str})
    for claim, (arm, hops, words) in {
        "KF28": (LONG_THREE, 4, 2), "KF29": (LONG_THREE, 4, 4), "KF31": (FRESH_TWO, 3, 3),
    }.items():  # fmt: skip
        last = accuracy(results, arm).xs(f"hops_{hops}", level="variable").unstack("step").iloc[:, -1]
        rows = exchanges[(exchanges["arm"] == str(arm)) & (exchanges["family"] == f"hops_{hops}")]
        rows = rows[(rows["variable"] == f"maps_{words}") & (rows["edit"] == "hops_2")]
        held = rows[rows["site"] == "L0.resid_post"].set_index("init_seed")["value"]
        held = held[held.index.isin(last.index[last >= 0.9])]
        assert recorded[claim].estimate.effect == pytest.approx(held.mean())


@pytest.mark.slow
def test_chains_trained_on_are_those_that_had_been_seen_and_counted_by_hand():
    of, (results, *_) = evidence("stacked_heads")
    rows = results.measurements.astype({"metric": "str", "variable": "str"})
    rows = rows[(rows["metric"] == "partial_loss") & rows["arm"].isin([str(FRESH_SCARCE), str(LONG_SCARCE)])]
    errors = rows.set_index(["init_seed", "variable", "step"]).groupby("arm")["value"]
    before, longer = errors.get_group(str(FRESH_SCARCE)), errors.get_group(str(LONG_SCARCE))
    end = before.index.get_level_values("step").max()
    then = longer[longer.index.get_level_values("step") == end]
    assert len(then) == 12 * 3 and then.equals(before.loc[then.index]), "the very numbers, to the bit"
    third = longer.xs("x_3", level="variable").xs(4 * end, level="step")
    assert of.recorded["SH60"].estimate.effect == pytest.approx((third < 0.5).mean())
    needed = results.tables["needed"].astype({"metric": "str", "variable": "str", "site": "str"})
    needed = needed[(needed["arm"] == str(LONG_SCARCE)) & (needed["variable"] == "x_3")]
    ahead = needed[(needed["metric"] == "error_without") & (needed["site"] == "value_1>value_2")]
    lost = ahead.groupby("init_seed")["value"].max().reindex(third.index[third < 0.5]) >= 0.5
    assert of.recorded["SH61"].estimate.n == len(lost) and of.recorded["SH61"].estimate.effect == lost.mean()
