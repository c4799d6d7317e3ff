"""Where updates go and what heads join, in SGD formation: claims and prose computed once more, by hand."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from published_stage import claims_of
from scipy import stats

from retrieval_circuits.sgd_formation import design as formation

HEADS = [[f"L{layer}H{head}" for head in range(4)] for layer in (0, 1)]


class Followed(NamedTuple):
    """A network: shares of updates and gains by interval, share right and joins by step, and its dearest heads.

    It begins at the last checkpoint before a quarter of the reads is right.
    """

    shares: pd.DataFrame
    gains: pd.Series
    right: pd.Series
    joins: pd.DataFrame
    begins: int
    before: str
    end: tuple[str, str]

    @property
    def half(self):
        """The checkpoint nearest to where half of the reads are right."""
        return 50 * round(float(np.interp(0.5, self.right.cummax(), self.right.index)) / 50)


@pytest.fixture(scope="module")
def networks():
    only = claims_of("sgd_formation")[1]
    text = {"metric": str, "site": str, "edit": str}
    tables = [only.measurements, only.tables[formation.SHARES], only.tables[formation.JOINED]]
    tables = [table[table["arm"] == formation.THROUGH].astype(text) for table in tables]
    found = {}
    for seed in tables[0]["init_seed"].unique():
        needed, updates, joined = (table[table["init_seed"] == seed] for table in tables)
        right = needed[needed["metric"] == "accuracy"].set_index("step")["value"].sort_index()
        if right.max() < 0.25:
            continue
        left = needed[(needed["metric"] == "left") & (needed["edit"] == "mean")]
        left = left.pivot(index="step", columns="site", values="value")
        begins = right.index[np.argmax(right.to_numpy() >= 0.25) - 1]
        ends = tuple(left.loc[5000, heads].idxmin() for heads in HEADS)
        shares = updates[updates["metric"] == "share"].pivot(index="step", columns="site", values="value")
        joins = joined.pivot(index="step", columns="site", values="value")[HEADS[0]]
        before = left.loc[begins, HEADS[0]].idxmin()
        found[int(seed)] = Followed(shares, right.diff().dropna(), right, joins, begins, before, ends)
    assert len(found) == 7 and all(one.shares.shape == (100, 16) for one in found.values())
    return found


@pytest.fixture(scope="module")
def readers(networks):
    """Those that read nine in ten at the end."""
    found = {seed: one for seed, one in networks.items() if one.right.iloc[-1] >= 0.9}
    assert sorted(found) == [21, 22, 23, 26, 27, 28]
    return found


def others(head):
    return [other for heads in HEADS for other in heads if head in heads and other != head]


def ahead(one, phase):
    """Share of the first layer's dearest head over the mean of the others', less 1."""
    ends = next((step for step, value in one.right.items() if value >= 0.9), 5000)
    chosen = one.shares.loc[: one.begins] if phase == "until then" else one.shares.loc[one.begins + 1 : ends]
    return chosen[one.end[0]].mean() / chosen[others(one.end[0])].to_numpy().mean() - 1


def links(one):
    """Links of all parts with the gains, by how far these are shifted."""
    turned = np.stack([np.roll(one.gains.to_numpy(), shift) for shift in range(100)])
    return pd.DataFrame(np.abs(np.corrcoef(one.shares.to_numpy().T, turned)[:16, 16:]), index=one.shares.columns)


def as_close(values):
    """Which shifts give at least what none gives."""
    return (values >= values[0] - 1e-12).to_numpy()


def estimate(name):
    claims, results = claims_of("sgd_formation")
    return claims[name].verdict(results).finding.held.estimate


def test_means_of_claims_are_what_a_second_computation_gives(networks):
    followed = networks.values()
    lengths = [one.shares[HEADS[0]].div(one.shares[HEADS[0]].sum(axis=1), axis=0) ** 0.5 for one in followed]
    joins = [(one.joins.loc[one.begins], one.end[0]) for one in followed]
    numbers = {
        "SF67": [stats.pearsonr(one.shares[one.end[1]], one.gains)[0] for one in followed],
        "SF68": [ahead(one, "until then") for one in followed],
        "SF69": [ahead(one, "rise") for one in followed],
        "SF71": [values[head] - values[others(head)].max() for values, head in joins],
        "SF73": [stats.pearsonr(of[one.end[0]], one.gains)[0] for of, one in zip(lengths, followed, strict=True)],
    }
    for name, values in numbers.items():
        low, high = stats.t.interval(0.95, 6, np.mean(values), stats.sem(values))
        found = estimate(name)
        assert (found.effect, found.low, found.high) == pytest.approx((np.mean(values), low, high)), name


def test_no_part_is_closer_than_at_nineteen_of_twenty_other_times(networks):
    assert not any(as_close(links(one).max()).mean() <= 0.05 for one in networks.values())
    assert estimate("SF70").effect == 0


def test_which_shifts_come_as_close_and_who_would_pass_otherwise(networks):
    mostly_early, passing, alone = [], [], []
    for seed, one in networks.items():
        peak = np.argmax(one.gains.to_numpy())
        is_early = np.array([one.gains.index[(peak + shift) % 100] for shift in range(100)]) <= 1250
        found = links(one)
        close = as_close(found.max())
        mostly_early += [seed] if (close & is_early).sum() > close[1:].sum() / 2 else []
        passing += [seed] if close[~is_early].mean() <= 0.05 else []
        alone += [seed] if as_close(found.loc[one.end[0]]).mean() <= 0.05 else []
    assert mostly_early == [21, 22, 23, 26, 27, 28] and passing == alone == [21, 22, 23, 28]


def test_early_shares_are_far_from_what_they_are_later(networks):
    for one in networks.values():
        far = ((one.shares - one.shares.mean()) / one.shares.std()).abs().max(axis=1)
        assert far.loc[:1250].mean() > 1.3 * far.loc[2500:].mean()


def test_only_the_one_that_ends_at_six_in_ten_gives_its_dearest_head_less(networks):
    assert [seed for seed, one in networks.items() if ahead(one, "rise") < 0] == [25]
    assert networks[25].right.iloc[-1] == pytest.approx(0.6, abs=0.05) and networks[25].right.max() < 0.9


def test_a_share_by_lot_is_one_in_forty():
    n_weights = 93 * 64 + 96 * 64 + 2 * 64 + 3 * (4 * 64 * 64 + 3 * 64 + 64 + 4 * 64 + 2 * 64 * 256 + 256 + 64)
    only = claims_of("sgd_formation")[1]
    assert set(only.tables[formation.SHARES]["n"]) == {n_weights}
    assert (4 * 64 * 16 + 3 * 16) / n_weights == pytest.approx(1 / 40, rel=0.05)


def test_the_dearest_heads_join_and_joining_moves_with_the_need(networks):
    at = {
        "before": {seed: one.joins.loc[one.begins].idxmax() == one.before for seed, one in networks.items()},
        "end": {seed: one.joins.loc[5000].idxmax() == one.end[0] for seed, one in networks.items()},
    }
    assert all([seed for seed, joins in of.items() if not joins] == [25] for of in at.values())
    assert estimate("SF72").effect == pytest.approx(6 / 7)
    assert [seed for seed, one in networks.items() if one.before != one.end[0]] == [21, 23]
    drawn = networks[25]
    assert drawn.before == drawn.end[0] and drawn.joins[drawn.before].loc[[drawn.begins, 5000]].max() < 0.1


def test_when_the_first_layers_dearest_head_has_most(readers):
    largest, at_half = {}, {}
    for seed, one in readers.items():
        head, around = one.end[0], one.shares.loc[one.half - 600 : one.half + 600]
        early = around.loc[: one.half - 250]
        ratio = early[head].mean() / early[others(head)].to_numpy().mean()
        assert 0.5 < ratio < 0.6 if seed == 21 else 0.8 < ratio < 1.2
        largest[seed], at_half[seed] = around[head].idxmax() - one.half, around.loc[one.half, head]
    assert [seed for seed, share in at_half.items() if share < 0.08] == [23]
    assert (largest[23], largest[26]) == (100, 400) and all(abs(largest[seed]) <= 50 for seed in (21, 22, 27, 28))
    one = readers[23]
    first = one.shares.loc[one.half - 600 : one.half + 600, one.before]
    assert one.before != one.end[0] and first.max() > 0.1 and first.idxmax() < one.half


def test_the_share_of_the_second_layers_dearest_head_rises_less(readers):
    flat = []
    for seed, one in readers.items():
        early, at = one.shares.loc[one.half - 600 : one.half - 250].mean(), one.shares.loc[one.half]
        risen = [at[head] / early[head] for head in one.end]
        flat += [seed] if risen[1] < 1.05 else []
        assert risen[1] < risen[0] or seed == 23
    assert flat == [21, 23]
