"""Roles and features: whether seeds agree, what sparse features stand for."""

import functools
from collections.abc import Callable

import pandas as pd

from circuitcore.emergence.agreement import agreement
from livingpaper.claims.results import Results
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.readings import per_seed
from retrieval_circuits.six_run_matrix.readings.births import in_matrix

SITE = ["arm", "init_seed", "site"]
PUBLISHED, CONVERGED = "sae_published", "sae"
"""The source's autoencoders, and those trained until their loss stands still."""
PROFILE = {"routing": "all", "copying": "all", "query_key_mass": per_seed.SWEEP, "own_key_mass": per_seed.SWEEP}
"""Metric -> family it is read on; together the profile of a head."""


@functools.lru_cache(maxsize=4)  # of two claims and a figure
def agreements(results: Results, *, untrained: bool = False) -> pd.DataFrame:
    """Agreement of every pair of seeds of one curriculum; see ``emergence.agreement``."""
    parts = []
    for metric, family in PROFILE.items():
        rows = in_matrix(results, metric, family=family)
        at = 0 if untrained else rows.groupby("run_id", observed=True)["step"].transform("max")
        parts.append(rows[rows["step"] == at])
    found = agreement(pd.concat(parts, ignore_index=True))
    return found[found["same_arm"]].rename(columns={"arm_a": "arm"})


def mean_over_pairs(pairs: pd.DataFrame, values: pd.Series) -> pd.Series:
    """Mean over all pairs that a seed is in. Such means share pairs: the rule ``OverPairs`` knows how much."""
    both = pd.concat([pairs.assign(init_seed=pairs[side], read=values) for side in ("init_seed_a", "init_seed_b")])
    return both.groupby("init_seed")["read"].mean()


def of_pairs(
    results: Results, measure: str, metric: str, values: Callable[[pd.DataFrame], pd.Series], *, untrained: bool = False
) -> pd.Series | None:
    """A number of every pair of seeds under one measure of agreement, as a mean of each seed; None with one seed."""
    if min(len(results.seeds(arm)) for arm in MATRIX) < 2:
        return None
    pairs = agreements(results, untrained=untrained)
    pairs = pairs[(pairs["measure"] == measure) & (pairs["metric"] == metric)]
    return mean_over_pairs(pairs, values(pairs))


def above_shuffled(pairs: pd.DataFrame) -> pd.Series:
    """Agreement less what it is when either run's scores fall on any of its heads."""
    return pairs["value"] - pairs["chance_all_heads"]


def slot_sites(results: Results, kind: str) -> pd.Series:
    """Share of the sites of a seed's runs whose best sparse feature is labelled slot.

    Converged features count only at sites that vary among prompts of one length, and only beyond their null.
    """
    sites = _labelled(results, kind)
    named = sites["label"].eq("matching_slot") & (sites["beyond"] if kind == CONVERGED else True)
    return _by_seed(sites, named)


def explained(results: Results) -> pd.Series:
    """Share of variance that converged autoencoders explain, mean over the sites that vary."""
    sites = _labelled(results, CONVERGED)
    return _by_seed(sites, sites["explained_variance"])


def _labelled(results: Results, kind: str) -> pd.DataFrame:
    sites = site_labels(results, kind)
    return sites[~sites["constant"].astype(bool)] if kind == CONVERGED else sites


def _by_seed(sites: pd.DataFrame, values: pd.Series) -> pd.Series:
    return values.astype(float).groupby(sites["init_seed"]).mean()


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
