"""Checks of roles and features: which head leads, whether seeds agree, what sparse features stand for."""

import functools

import pandas as pd

from circuitcore.emergence.agreement import agreement
from livingpaper.claims.claim import Check, Results, mean_check
from retrieval_circuits.six_run_matrix.checks import curriculum
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.readings import per_seed as of
from retrieval_circuits.six_run_matrix.readings.births import in_matrix

SITE = ["arm", "init_seed", "site"]
PROFILE = {"routing": "all", "copying": "all", "query_key_mass": of.SWEEP, "own_key_mass": of.SWEEP}
"""Metric -> family it is read on; together the profile of a head."""


def identifiable(results: Results) -> Check | None:
    """SR15."""
    leaders = pd.concat([curriculum.final_leaders(results, "routing", arm).reset_index() for arm in MATRIX])
    runs = leaders.assign(clear=1 - leaders["tied"].astype(float))
    routed = float((leaders["value"] >= 0.85).mean())
    return mean_check(
        of.mean_of_runs(runs, "clear"), **of.at_least(routed, of.MOST, "runs that route"), within=of.SHARE
    )


@functools.lru_cache(maxsize=4)  # of two checks and a figure
def agreements(results: Results, *, untrained: bool = False) -> pd.DataFrame:
    """Agreement of every pair of seeds of one curriculum; see ``emergence.agreement``."""
    parts = []
    for metric, family in PROFILE.items():
        rows = in_matrix(results, metric, family=family)
        at = 0 if untrained else rows.groupby("run_id", observed=True)["step"].transform("max")
        parts.append(rows[rows["step"] == at])
    found = agreement(pd.concat(parts, ignore_index=True))
    return found[found["same_arm"]].rename(columns={"arm_a": "arm"})


def profile_cosine(results: Results) -> Check | None:
    """SR16.published."""
    found = _of_pairs(results, "profile_cosine")
    found = found[found["metric"] == "routing"]
    if found.empty:
        return None
    chance = of.at_most(float(found["chance_all_heads"].mean()), 0.9, "shuffled, mean")
    return mean_check(per_seed(found, found["value"]), **chance, within=of.DIFFERENCE)


def relabelled(results: Results) -> Check | None:
    """SR16."""
    trained, untrained = (_of_pairs(results, "matched", untrained=untrained) for untrained in (False, True))
    if trained.empty:
        return None
    above = [pairs["value"] - pairs["chance_all_heads"] for pairs in (trained, untrained)]
    return mean_check(per_seed(trained, above[0]), **of.at_most(float(above[1].mean()), 0.1, "untrained, mean"))


def _of_pairs(results: Results, measure: str, *, untrained: bool = False) -> pd.DataFrame:
    if min(len(results.seeds(arm)) for arm in MATRIX) < 2:
        return pd.DataFrame(columns=["metric", "value", "chance_all_heads"])
    found = agreements(results, untrained=untrained)
    return found[found["measure"] == measure]


def per_seed(pairs: pd.DataFrame, values: pd.Series) -> pd.Series:
    """Mean over all pairs that a seed is in: pairs are not independent, seeds are."""
    both = pd.concat([pairs.assign(init_seed=pairs[side], read=values) for side in ("init_seed_a", "init_seed_b")])
    return both.groupby("init_seed")["read"].mean()


def site_labels(results: Results, kind: str) -> pd.DataFrame:
    """One row per run and tracked site, with what its autoencoder reached.

    Beside its scores: ``label`` (the variable its best feature tells apart best), whether the site is ``constant``
    among prompts of one length, and whether the label is ``beyond`` the null that shuffles whole base prompts.
    """
    rows = results.features
    rows = rows[(rows["kind"] == kind) & rows["arm"].isin(list(MATRIX))] if len(rows) else rows
    if rows.empty:
        return pd.DataFrame(columns=[*SITE, "label", "constant", "beyond", "explained_variance", "density"])
    rows = rows.astype({"site": "str"})
    wide = rows.pivot_table("value", SITE, "metric", observed=True)
    label = rows[rows["metric"] == "eta2"].set_index(SITE)["variable"].astype(str)
    constant = wide["constant"] > 0 if "constant" in wide else False
    return wide.assign(label=label, constant=constant, beyond=wide["eta2"] > wide["null95_bases"]).reset_index()


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
        control = of.at_least(float(sites["explained_variance"].mean()), 0.9, "explained variance, mean")
    named = sites["label"].eq("matching_slot") & (True if published else sites["beyond"])
    share = named.astype(float).groupby(sites["init_seed"]).mean()
    return mean_check(share, **control, within=of.SHARE)


CHECKS = {
    "SR15": identifiable,
    "SR16.published": profile_cosine,
    "SR16": relabelled,
    "SR17.published": lambda results: slot_sites("sae_published", results),
    "SR17": lambda results: slot_sites("sae", results),
}
