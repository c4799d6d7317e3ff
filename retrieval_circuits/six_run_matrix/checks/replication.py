"""Checks of what every run ends in: behaviour, the two roles, what can be read at the arrow."""

import pandas as pd

from livingpaper.claims.claim import Check, mean_check
from livingpaper.claims.results import Results
from retrieval_circuits.six_run_matrix.checks.controls import DIFFERENCE, SHARE, at_least, at_most
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.readings import per_seed


def held_out(results: Results) -> Check | None:
    """SR1."""
    worse = per_seed.per_curriculum(lambda arm: per_seed.accuracy(results, arm)).min(axis=1)
    untrained = per_seed.initial(results, "accuracy", split="test")
    return mean_check(worse, **at_most(untrained, 0.4, "untrained"), within=SHARE)


def retrieval_role(results: Results) -> Check | None:
    """SR2."""

    def best(layer: int) -> pd.DataFrame:
        return per_seed.per_curriculum(
            lambda arm: per_seed.best_head(results, "routing", arm, layer=layer, family="all")
        )

    lower = best(0).max(axis=1)
    return mean_check(best(1).min(axis=1), **at_most(lower, 0.45, "best layer-0 head"), within=SHARE)


def largest_loss(results: Results) -> Check | None:
    """SR3.published."""
    runs = pd.concat([per_seed.top_loss(results, arm).assign(arm=arm) for arm in MATRIX], ignore_index=True)
    runs = runs.assign(first=(runs["layer"] == 0).astype(float))
    in_first = runs.loc[runs["first"] == 1, "lead_over_layer"]
    lead = float(in_first.mean()) if len(in_first) else 0.0
    return mean_check(
        per_seed.mean_of_runs(runs, "first"), **at_least(lead, 0.02, "mean lead in those runs"), within=SHARE
    )


def layer_needed(results: Results) -> Check | None:
    """SR3."""
    lost = per_seed.per_curriculum(lambda arm: per_seed.heads_lost(results, arm, "mean@all", "L0H*")).min(axis=1)
    least = pd.concat([per_seed.singles_lost(results, arm).groupby("init_seed")["value"].min() for arm in MATRIX])
    return mean_check(lost, **at_most(float(least.mean()), 0.2, "least head, mean"), within=DIFFERENCE)


def published_probes(results: Results) -> Check | None:
    """SR4.published."""
    final = [_probe(results, "probe_published_best", variable, family="all") for variable in READ]
    untrained = pd.concat(
        [per_seed.initial(results, "probe_published_best", variable=name, family="all") for name in READ]
    )
    return mean_check(_worst(final), **at_most(untrained, 0.9, "untrained"), within=SHARE)


def probes(results: Results) -> Check | None:
    """SR4."""
    final = [_probe(results, "probe_chosen", variable) for variable in READ]
    random = pd.concat([_probe(results, "probe_chosen_random", variable).max(axis=1) for variable in READ])
    return mean_check(_worst(final), **at_most(random, 0.2, "random labels"), within=SHARE)


READ = ("query_key", "selected_value")


def _probe(results: Results, metric: str, variable: str, **where) -> pd.DataFrame:
    return per_seed.per_curriculum(lambda arm: results.final_values(metric, arm, variable=variable, **where))


def _worst(tables: list[pd.DataFrame]) -> pd.Series:
    return pd.concat([table.min(axis=1) for table in tables], axis=1).min(axis=1)


CHECKS = {
    "SR1": held_out,
    "SR2": retrieval_role,
    "SR3.published": largest_loss,
    "SR3": layer_needed,
    "SR4.published": published_probes,
    "SR4": probes,
}
