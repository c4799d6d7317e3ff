"""What claims of SGD formation ask over all networks is what is recorded; over those that read, as a sum by hand."""

import math

import pytest
from published_stage import evidence
from scipy import stats

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
