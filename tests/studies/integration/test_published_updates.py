"""Where updates go, in SGD formation: claims, remarks and prose computed once more, from the tables and by hand."""

import numpy as np
import pytest
from published_stage import claims_of
from scipy import stats

from retrieval_circuits.sgd_formation import design as formation


@pytest.fixture(scope="module")
def claims():
    return claims_of("sgd_formation")[0]


@pytest.fixture(scope="module")
def networks():
    """Seed -> shares by interval, gains by interval, accuracy by step, the dearest head of each layer at the end."""
    only = claims_of("sgd_formation")[1]
    needed = only.measurements[only.measurements["arm"] == formation.THROUGH].astype({"metric": str, "site": str})
    updates = only.tables[formation.SHARES].astype({"metric": str, "site": str})
    found = {}
    for seed, rows in needed.groupby("init_seed"):
        right = rows[rows["metric"] == "accuracy"].set_index("step")["value"].sort_index()
        if right.max() < 0.25:
            continue
        last = rows[(rows["step"] == 5000) & (rows["metric"] == "left") & (rows["edit"].astype(str) == "mean")]
        left = last.set_index("site")["value"]
        dearest = [min((f"L{layer}H{head}" for head in range(4)), key=left.get) for layer in (0, 1)]
        of = updates[(updates["init_seed"] == seed) & (updates["metric"] == "share")]
        shares = of.pivot(index="step", columns="site", values="value").sort_index()
        found[seed] = shares, right.diff().dropna(), right, dearest
    assert len(found) == 7 and all(len(shares) == 100 for shares, *_ in found.values())
    return found


def others(head):
    return [f"{head[:3]}{number}" for number in range(4) if f"{head[:3]}{number}" != head]


def ahead(network, phase):
    """Share of the first layer's dearest head over the mean of the others', less 1."""
    shares, _, right, (head, _) = network
    first = next(step for step, value in right.items() if value >= 0.25)
    begins = right.index[right.index.get_loc(first) - 1]
    ends = next((step for step, value in right.items() if value >= 0.9), 5000)
    chosen = shares[shares.index <= begins] if phase == "before" else shares.loc[begins + 1 : ends]
    return chosen[head].mean() / chosen[others(head)].to_numpy().mean() - 1


def shifted(network):
    """By how far gains are shifted: the closest link of any part, and which part that is."""
    shares, gains, *_ = network
    turned = np.stack([np.roll(gains.to_numpy(), shift) for shift in range(100)])
    links = np.abs(np.corrcoef(shares.to_numpy().T, turned)[:16, 16:])
    return links.max(axis=0), [shares.columns[part] for part in links.argmax(axis=0)]


def test_the_claims_are_what_a_second_computation_gives(claims, networks):
    results = claims_of("sgd_formation")[1]
    second = [stats.pearsonr(shares[heads[1]], gains)[0] for shares, gains, _, heads in networks.values()]
    numbers = {
        "SF67": second,
        "SF68": [ahead(network, "before") for network in networks.values()],
        "SF69": [ahead(network, "rise") for network in networks.values()],
    }
    for name, values in numbers.items():
        estimate = claims[name].verdict(results).finding.held.estimate
        low, high = stats.t.interval(0.95, 6, np.mean(values), stats.sem(values))
        assert (estimate.effect, estimate.low, estimate.high) == pytest.approx((np.mean(values), low, high))
    passing = [(shifted(network)[0] >= shifted(network)[0][0] - 1e-12).mean() <= 0.05 for network in networks.values()]
    assert not any(passing) and claims["SF70"].verdict(results).finding.held.estimate.effect == 0


def test_only_the_one_that_ends_at_six_in_ten_gives_its_dearest_head_less(claims, networks):
    (seed,) = [seed for seed, network in networks.items() if ahead(network, "rise") < 0]
    assert networks[seed][2].iloc[-1] == pytest.approx(0.6, abs=0.05) and seed == 25
    assert "in the one that ends at six in ten less" in claims["SF69"].remark


def test_which_shifts_come_as_close_and_who_would_pass_without_the_first_quarter(claims, networks):
    early, all_of_them, passing = 0, 0, []
    for network in networks.values():
        (shares, gains, _, heads), (links, closest) = network, shifted(network)
        peak = np.argmax(gains.to_numpy())
        falls_on = np.array([shares.index[(peak + shift) % 100] for shift in range(100)])
        close, is_early = links >= links[0] - 1e-12, falls_on <= 1250
        early, all_of_them = early + (close & is_early).sum(), all_of_them + close[1:].sum()
        if close[~is_early].mean() <= 0.05:
            passing.append(closest[0] == heads[0])
    assert early > all_of_them / 2
    assert passing == [True] * 4, "in all of which the closest link is that of the first layer's dearest head"
    assert "without these four of the seven would pass" in claims["SF70"].remark


def test_when_the_first_layers_dearest_head_has_most(networks):
    """What the appendix says of the six that read."""
    largest, risen, at_half = {}, [], {}
    for seed, (shares, _, right, (head, _)) in networks.items():
        if right.iloc[-1] < 0.9:
            continue
        half = 50 * round(float(np.interp(0.5, right.cummax(), right.index)) / 50)
        around = shares.loc[half - 600 : half + 600]
        before = around.loc[: half - 250, head].mean() / around.loc[: half - 250, others(head)].to_numpy().mean()
        assert 0.5 < before < 0.6 if seed == 21 else 0.8 < before < 1.2
        risen += [seed] if around.loc[half - 200, head] > 0.05 else []
        largest[seed], at_half[seed] = around[head].idxmax() - half, around.loc[half, head]
    assert risen == [27] and sorted(largest) == [21, 22, 23, 26, 27, 28]
    assert [seed for seed, share in at_half.items() if share < 0.08] == [23]
    assert (largest[23], largest[26]) == (100, 400) and all(abs(largest[seed]) <= 50 for seed in (21, 22, 27, 28))


def test_the_share_of_the_second_layers_dearest_head_rises_less(networks):
    """That of the second layer's dearest rises less, and with it those of its others."""
    rises = {0: [], 1: [], "others": []}
    for shares, _, right, heads in networks.values():
        if right.iloc[-1] < 0.9:
            continue
        half = 50 * round(float(np.interp(0.5, right.cummax(), right.index)) / 50)
        at, early = shares.loc[half], shares.loc[half - 600 : half - 250].mean()
        for layer, head in enumerate(heads):
            rises[layer].append(at[head] / early[head])
        rises["others"].append(at[others(heads[1])].mean() / early[others(heads[1])].mean())
    means = {who: np.mean(values) for who, values in rises.items()}
    assert means[0] > 2 * means[1] > 2 and means["others"] > 1.2
