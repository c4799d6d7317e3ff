"""Checks of roles and features: which head leads, whether seeds agree, what sparse features stand for."""

import pandas as pd

from livingpaper.claims.claim import Check, mean_check
from livingpaper.claims.results import Results
from retrieval_circuits.six_run_matrix.checks.controls import DIFFERENCE, MOST, SHARE, at_least, at_most
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.readings import curriculum, per_seed
from retrieval_circuits.six_run_matrix.readings.roles import agreements, mean_over_pairs, site_labels


def identifiable(results: Results) -> Check | None:
    """SR15."""
    leaders = pd.concat([curriculum.final_leaders(results, "routing", arm).reset_index() for arm in MATRIX])
    runs = leaders.assign(clear=1 - leaders["tied"].astype(float))
    routed = float((leaders["value"] >= 0.85).mean())
    return mean_check(per_seed.mean_of_runs(runs, "clear"), **at_least(routed, MOST, "runs that route"), within=SHARE)


def profile_cosine(results: Results) -> Check | None:
    """SR16.published."""
    found = _of_pairs(results, "profile_cosine")
    found = found[found["metric"] == "routing"]
    if found.empty:
        return None
    chance = at_most(float(found["chance_all_heads"].mean()), 0.9, "shuffled, mean")
    return mean_check(mean_over_pairs(found, found["value"]), **chance, within=DIFFERENCE)


def relabelled(results: Results) -> Check | None:
    """SR16."""
    trained, untrained = (_of_pairs(results, "matched", untrained=untrained) for untrained in (False, True))
    if trained.empty:
        return None
    above = [pairs["value"] - pairs["chance_all_heads"] for pairs in (trained, untrained)]
    return mean_check(mean_over_pairs(trained, above[0]), **at_most(float(above[1].mean()), 0.1, "untrained, mean"))


def _of_pairs(results: Results, measure: str, *, untrained: bool = False) -> pd.DataFrame:
    if min(len(results.seeds(arm)) for arm in MATRIX) < 2:
        return pd.DataFrame(columns=["metric", "value", "chance_all_heads"])
    found = agreements(results, untrained=untrained)
    return found[found["measure"] == measure]


def slot_sites(kind: str, results: Results) -> Check | None:
    """SR17.published, SR17: the converged features count only beyond their null and at sites that vary."""
    sites = site_labels(results, kind)
    if sites.empty:
        return None
    published = kind == "sae_published"
    if published:
        constant = int((sites["constant"] & sites["label"].ne("")).sum())
        control = {"control_passed": constant == 0, "control_value": f"constant sites with a label: {constant}"}
    else:
        sites = sites[~sites["constant"]]
        control = at_least(float(sites["explained_variance"].mean()), 0.9, "explained variance, mean")
    named = sites["label"].eq("matching_slot") & (True if published else sites["beyond"])
    share = named.astype(float).groupby(sites["init_seed"]).mean()
    return mean_check(share, **control, within=SHARE)


CHECKS = {
    "SR15": identifiable,
    "SR16.published": profile_cosine,
    "SR16": relabelled,
    "SR17.published": lambda results: slot_sites("sae_published", results),
    "SR17": lambda results: slot_sites("sae", results),
}
