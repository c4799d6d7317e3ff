"""Networks that were trained on: the same as before at the step at which they had been seen, and counted by hand."""

import pandas as pd
import pytest
from published_stage import evidence

from livingpaper.claims.results import Results
from retrieval_circuits.composition import design as composition
from retrieval_circuits.stacked_heads.design import FRESH_SCARCE, LONG_SCARCE

CONTINUED = {
    "composition": (tuple(zip(composition.LONG, composition.BY_DEPTH, strict=True)), "accuracy"),
    "stacked_heads": (((LONG_SCARCE, FRESH_SCARCE),), "partial_loss"),
}


@pytest.fixture(scope="module", params=CONTINUED)
def found(request):
    of, (results, *_) = evidence(request.param)
    return (request.param, of.recorded, results)


def rows_of(results: Results, arm: object, metric: str) -> pd.DataFrame:
    """Values of an arm's networks by seed, step and variable."""
    rows = results.measurements
    rows = rows[(rows["arm"] == str(arm)) & (rows["metric"] == metric)].astype({"variable": str})
    return rows.set_index(["init_seed", "variable", "step"])["value"]


@pytest.mark.slow
def test_networks_trained_on_are_those_that_had_been_seen(found):
    name, _, results = found
    pairs, metric = CONTINUED[name]
    for long, short in pairs:
        longer, before = (rows_of(results, arm, metric) for arm in (long, short))
        end = before.index.get_level_values("step").max()
        assert longer.index.get_level_values("step").max() == end * (8 if name == "composition" else 4)
        then = longer[longer.index.get_level_values("step") == end]
        assert then.index.get_level_values("init_seed").nunique() == 12
        assert then.equals(before.loc[then.index]), "the very numbers, to the bit"


@pytest.mark.slow
def test_what_they_answer_is_counted_by_hand(found):
    name, recorded, results = found
    asked = {
        "composition": {"KF25": ("4 layers", 4), "KF26": ("3 layers", 4), "KF27": ("2 layers", 3)},
        "stacked_heads": {"SH60": ("3 layers", 3)},
    }[name]
    for claim, (depth, place) in asked.items():
        (long,) = (arm for arm, _ in CONTINUED[name][0] if depth in str(arm))
        values = rows_of(results, long, CONTINUED[name][1])
        last = values[values.index.get_level_values("step") == values.index.get_level_values("step").max()]
        variable = f"hops_{place}" if name == "composition" else f"x_{place}"
        last = last[last.index.get_level_values("variable") == variable]
        right = (last >= 0.9) if name == "composition" else (last <= 0.5)
        estimate = recorded[claim].estimate
        assert len(last) == estimate.n == 12 and estimate.effect == pytest.approx(right.mean())
