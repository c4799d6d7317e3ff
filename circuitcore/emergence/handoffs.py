"""When the leading head of an operator changes: every change, the changes beyond noise, and the source's count."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real

import numpy as np
import pandas as pd
from jaxtyping import Float

from circuitcore.emergence.leaders import leading_head

NOBODY = -1  # no head has led by more than noise yet
RUN = ("arm", "init_seed")


class HandoffError(ValueError):
    """Scores from which no handoffs can be counted; the message says what is wrong with them."""


def noise_margin(n_rows: Integral) -> float:
    """By how much one head must lead another before the lead means anything: two standard errors of a share.

    Rows made from one base prompt are right or wrong together, so ``n_rows`` is the number of base prompts (128 behind
    the source's 2560 rows), not of rows. The error of a share p is sqrt(p (1 - p) / n); it is taken where it is
    largest, at p = 1/2, because one margin must serve heads at chance and heads that have learnt. Two heads are scored
    on the same prompts: their difference has this error when one is right and the other wrong on a quarter of them.

    Returns:
        1 / sqrt(n_rows), in the unit of the share; 0.088 for 128.

    Raises:
        HandoffError: fewer than one row.
    """
    if n_rows < 1:
        raise HandoffError(f"a share needs at least one row; got {n_rows}")
    return 2 * 0.5 / float(n_rows) ** 0.5


def handoffs(table: pd.DataFrame, margin: Real, by: Sequence[str] = RUN) -> pd.DataFrame:
    """Changes of the leading head along each run, in the order of training.

    A raw handoff is any change of the leading head (highest value, ties to the lower layer and head) from one
    checkpoint to the next. Beyond noise, a head is *established* once it leads all others by more than ``margin``, and
    hands off only to a head that leads it by more than ``margin``: heads that tie swap the lead but hand nothing off.

    Args:
        table: one row per run, checkpoint and head: the ``by`` columns, ``step``, ``site``, ``layer``, ``head`` and
            ``value``. Checkpoints may differ between runs, and so may heads.
        margin: in the unit of ``value``; see ``noise_margin``.
        by: the columns that tell runs apart.

    Returns:
        One row per run: the ``by`` columns, ``raw``, ``beyond_noise`` (never more than ``raw``), ``final_site``,
        ``final_lead`` (of the last checkpoint's leader over the second; missing with one head) and ``tied``: whether
        that lead is within the margin.

    Raises:
        HandoffError: a head with two values at one checkpoint, a value that is not finite, or a negative margin.

    Source: the count of raw changes is Alex 2026's; the rest is ours.
    """
    by = list(by)
    if not margin >= 0:
        raise HandoffError(f"the margin is a distance and at least 0; got {margin}")
    _check(table, by)
    leaders = leading_head(table, case=[*by, "step"])
    runs = leaders.groupby(by, observed=True)
    changed = leaders["site"].astype(str) != runs["site"].shift().astype(str)
    counts = (changed & (runs.cumcount() > 0)).groupby([leaders[name] for name in by], observed=True).sum()
    # Not ``last``, which passes over a lead that is unknown: a head alone at the last checkpoint has none.
    final = runs.tail(1).set_index(by).sort_index().rename(columns={"site": "final_site", "lead": "final_lead"})
    found = final.assign(raw=counts, tied=final["final_lead"] <= margin).reset_index()
    found = found.merge(_beyond_noise(table, float(margin), by), on=by)
    return found[[*by, "raw", "beyond_noise", "final_site", "final_lead", "tied"]]


def source_order_handoffs(
    table: pd.DataFrame,
    best: Mapping[tuple, Sequence[Integral]],
    scheduled: Sequence[Integral],
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    """Raw handoffs as the source counts them: over checkpoint files in the order of their names.

    That order is ``best_val_*`` (rising epochs), ``final_*`` (the last scheduled epoch), ``scheduled_*`` (rising
    epochs). The walk counts changes between early checkpoints twice and adds a leap from the end of training back to
    epoch 0, so its count is no number of events in training.

    Args:
        table: as in ``handoffs``, with epochs in ``step``; other epochs than those walked over are not looked at. To
            break ties as another rule does, give only the rows of the heads that it chose.
        best: run (its ``by`` values) -> epochs at which validation accuracy was better than ever before.
        scheduled: epochs saved in every run.
        by: the columns that tell runs apart.

    Returns:
        One row per run: the ``by`` columns and ``file_order``, the number of changes.

    Raises:
        HandoffError: a checkpoint of the walk is not in the table, or what ``handoffs`` refuses.

    Source: Alex 2026, whose code lists a folder.
    """
    by = list(by)
    _check(table, by)
    leaders = leading_head(table, case=[*by, "step"])
    planned = sorted(int(epoch) for epoch in scheduled)
    found = []
    for run, rows in leaders.groupby(by, observed=True):
        if run not in best:
            raise HandoffError(f"no epochs of best validation accuracy for run {run}; runs given: {list(best)}")
        walk = [*sorted(int(epoch) for epoch in best[run]), planned[-1], *planned]
        sites = rows.set_index("step")["site"].astype(str)
        missing = sorted(set(walk) - set(sites.index))
        if missing:
            raise HandoffError(f"run {run} has no scores at epochs {missing}, which the source's walk visits")
        walked = sites.loc[walk].to_numpy()
        found.append((*run, int((walked[1:] != walked[:-1]).sum())))
    return pd.DataFrame(found, columns=[*by, "file_order"])


def _check(table: pd.DataFrame, by: list[str]) -> None:
    repeated = table[table.duplicated([*by, "step", "site"])]
    if not repeated.empty:
        where = ", ".join(f"{name}={repeated[name].iloc[0]}" for name in [*by, "step", "site"])
        raise HandoffError(f"two values for one head at one checkpoint ({where}); select one metric and family")
    strange = table[~np.isfinite(table["value"].to_numpy(dtype=float))]
    if not strange.empty:
        where = ", ".join(f"{name}={strange[name].iloc[0]}" for name in [*by, "step", "site"])
        raise HandoffError(f"{len(strange)} values are not finite, the first at {where}")


def _beyond_noise(table: pd.DataFrame, margin: float, by: list[str]) -> pd.DataFrame:
    """Handoffs between established leaders, all runs at once."""
    rows = table.sort_values(["layer", "head"])
    case = rows.groupby([*by, "step"], observed=True).ngroup()
    place = case - case.groupby([rows[name] for name in by], observed=True).transform("min")
    run = rows.groupby(by, observed=True).ngroup()
    site = pd.factorize(rows["site"].astype(str))[0]
    # Heads and checkpoints that a run lacks never lead.
    scores = np.full((run.max() + 1, place.max() + 1, site.max() + 1), -np.inf)
    scores[run, place, site] = rows["value"]
    counts = _established_changes(scores, margin)
    return rows[by].iloc[np.unique(run, return_index=True)[1]].assign(beyond_noise=counts)


def _established_changes(scores: Float[np.ndarray, "run checkpoint head"], margin: float) -> np.ndarray:
    """Changes of the established leader of each run. Heads in the order that decides ties; -inf is not measured."""
    n_runs = len(scores)
    every = np.arange(n_runs)
    established, changes = np.full(n_runs, NOBODY), np.zeros(n_runs, dtype=np.int64)
    for at in scores.swapaxes(0, 1):  # who is established depends on who was: time cannot be batched
        best = at.argmax(axis=1)
        others = at.copy()
        others[every, best] = -np.inf
        rival = np.where(established == NOBODY, others.max(axis=1), at[every, established])
        # Between two unmeasured heads there is no lead (inf - inf).
        with np.errstate(invalid="ignore"):
            takes = (at[every, best] - rival > margin) & (best != established)
        changes += takes & (established != NOBODY)
        established = np.where(takes, best, established)
    return changes
