"""What claims of SGD formation ask over all networks is what is recorded; over those that read, as a sum by hand.

And what the page says in words of networks that read late values first.
"""

import math
import re

import pytest
from published_stage import evidence
from scipy import stats

from retrieval_circuits.sgd_formation.figures.known import cuts
from retrieval_circuits.sgd_formation.figures.late import ASKED, in_readers, late

CLAIMS = {
    "reads answered right": "SF8", "the same with one key more": "SF12",
    "pairs never trained on, less the same rows with trained ones": "SF36",
    "from a fifth to four fifths of the final accuracy": "SF20",
    "between half of the attention and half of the accuracy": "SF14", "from joining to looking": "SF15",
    "accuracy lost without the head that looks most": "SF16",
    "reads answered right without eight neurons of the first MLP": "SF38",
    "part of the margin that the first MLP writes": "SF21",
}  # fmt: skip
"""What the table tells -> the claim that asks it."""


@pytest.fixture(scope="module")
def found():
    of, (results, *_) = evidence("sgd_formation")
    return of.recorded, results, in_readers(results).table.set_index("what")


SLOW = {9: "seed 9, step 4,000", 16: "seed 16, step 10,000", 20: "seed 20, step 5,000"}
"""Networks that the page says read late values first, and their columns in the table of cuts."""


@pytest.mark.slow
def test_three_networks_read_late_values_first_and_all_others_both_kinds_at_once(found):
    recorded, results, _ = found
    rows = results.tables["known"]
    rows = rows[(rows["arm"] == "ours, fresh rows") & (rows["metric"] == "right_by_place")]
    half = {}  # the step at which a line between checkpoints first crosses half; the last one where none does
    for (seed, place), part in rows.astype({"variable": str}).groupby(["init_seed", "variable"]):
        steps, values = part.sort_values("step")["step"].to_list(), part.sort_values("step")["value"].to_list()
        crossed = next((n for n, value in enumerate(values) if value >= 0.5), None)
        half[seed, place] = (
            steps[-1]
            if crossed is None
            else steps[crossed - 1]
            + (steps[1] - steps[0]) * ((0.5 - values[crossed - 1]) / (values[crossed] - values[crossed - 1]))
        )
    later = {seed: half[seed, "early"] - half[seed, "late"] for seed in range(1, 21)}
    assert {seed for seed, lag in later.items() if lag >= 100} == set(SLOW)
    assert max(abs(lag) for seed, lag in later.items() if seed not in SLOW) < 65
    assert recorded["SF42"].finding.held.estimate.effect == pytest.approx(len(SLOW) / 20)
    assert list(cuts(results).table.columns) == ["cut", "mean of 18 that read", *SLOW.values(), "arm"]


@pytest.mark.slow
def test_what_cuts_say_of_them_is_what_the_page_says(found):
    table = cuts(found[1]).table.set_index("cut").drop(columns="arm")
    right, before, after = (
        table.map(lambda words, of=of: float(re.findall(r"\d+", words)[of])) for of in range(3)
    )  # fmt: skip
    (readers, *slow), lost = right.columns, right.loc["nothing"] - right
    needed = {"values, from the key before them", "the read, from the value asked for, later layers"}
    assert set(lost.index[lost[readers] > 50]) == needed and lost[readers].drop(list(needed)).max() == 0
    assert (lost.loc["the read, from the value asked for, first layer", slow] >= 50).all()
    assert (lost.loc["the last place of its key, from values, first layer", slow] >= 19).all()
    assert (lost.loc["the key before that place, from values, first layer", slow] <= 1).all()
    joins = lost.loc["values, from the key before them", slow]
    assert sorted(joins) == [0, 1, 12] and joins.idxmax() == SLOW[20]
    later = lost.loc["the read, from the value asked for, later layers"]
    assert later[SLOW[16]] <= 1 and later[[SLOW[9], SLOW[20]]].min() >= 25
    ruled_out = {"the read, from values that came after, later layers": (after, before),
                 "the read, from values that came earlier, later layers": (before, after)}  # fmt: skip
    for cut, (these, others) in ruled_out.items():
        gained = [part.loc[cut, SLOW[16]] - part.loc["nothing", SLOW[16]] for part in (these, others)]
        assert gained[0] >= 3 * gained[1] > 0


@pytest.mark.slow
@pytest.mark.parametrize("what", ASKED)
def test_over_all_networks_it_is_the_recorded_verdict_s(found, what):
    recorded, _, table = found
    unit, estimate = ASKED[what][0], recorded[CLAIMS[what]].finding.held.estimate
    interval = unit.interval(estimate.low, estimate.high, effect=estimate.effect)
    assert table.loc[what, "all"] == f"{unit.words(estimate.effect)} {interval}"


@pytest.mark.slow
def test_over_those_that_read_it_is_a_mean_by_hand(found):
    _, results, table = found
    rows = results.measurements[(results.measurements["arm"] == "ours, fresh rows")]
    last = rows[(rows["step"] == rows["step"].max()) & (rows["metric"] == "accuracy") & (rows["variable"] == "")]
    right = {int(row.init_seed): row.value for row in last[last["split"].astype(str) == "test"].itertuples()}
    reads = sorted(value for value in right.values() if value >= 0.9)
    assert len(right) == 20 and len(reads) == 18
    mean = sum(reads) / 18
    spread = math.sqrt(sum((value - mean) ** 2 for value in reads) / 17)
    half = stats.t.ppf(0.975, 17) * spread / math.sqrt(18)
    assert table.loc["reads answered right", "that read"] == (
        f"{100 * mean:.1f} % [{100 * (mean - half):.1f}, {100 * (mean + half):.1f}]"
    )
    assert set(late(results).table["init_seed"]) == {seed for seed, value in right.items() if value < 0.9}
