"""The check of each claim: results in, effect over seeds and control out."""

from collections.abc import Callable
from functools import partial

import pandas as pd

from circuitcore.emergence.seeds import share_interval
from livingpaper.claims.claim import Check, mean_check, share_check
from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.permutation_recall import readings
from retrieval_circuits.permutation_recall.claims import LEARNT
from retrieval_circuits.permutation_recall.design import (
    ANY_SOURCE,
    BALANCED_1,
    NORMAL,
    ONLY_FIRST,
    REPEATED,
    TASK_2,
    Cell,
    split_of,
)
from retrieval_circuits.permutation_recall.readings import (
    CEILINGS,
    ONE,
    STEPS,
    TWO,
    UNSURE,
    accuracies,
    cells_of,
    doublings,
    on_source_split,
    predicted_accuracy,
    present,
    recall_times,
    recalls,
    smallest_widths,
    source_values,
)

SMALL_REPEATED, ONE_HEAD = Cell(16, 1, 32, REPEATED), Cell(32, 1, 64, REPEATED)
SURE = 0.99
SHARE = (0.0, 1.0)


def recall_at_source(results: Results, arm: str) -> Check | None:
    """PR1, PR2: recall of one of the source's models when the source stopped."""
    sure = source_values(results, "elimination", arm, family="normal").min()
    return mean_check(
        source_values(results, "recall", arm, variable=""),
        control_passed=sure >= SURE, control_value=f"at least {sure:.3f}", within=SHARE,
    )  # fmt: skip


def share_that_recalls(
    results: Results, cells: tuple[Cell, ...], control: tuple[Cell, ...], least: float
) -> Check | None:
    """PR3, PR4: share of networks that recall; the control passes where that of other cells reaches ``least``."""
    born, able = recalls(results, cells), recalls(results, control).mean()
    return share_check(
        int(born.sum()), len(born), control_passed=able >= least, control_value=f"{able:.2f} of those networks do"
    )


def one_head(results: Results) -> Check | None:
    """PR5."""
    two = float(results.final_values("recall", TWO, variable="").mean())
    return mean_check(
        results.final_values("recall", str(ONE_HEAD), variable=""),
        control_passed=two >= 0.95, control_value=f"{two:.3f}", within=SHARE,
    )  # fmt: skip


def width_or_heads(results: Results) -> Check | None:
    """PR6: seeds that all four cells have."""
    times = recall_times(results)
    cells = cells_of(REPEATED, crossed=False)
    wide = doublings(results, cells)
    t = {(cell.d_model, cell.n_heads): wide[str(cell)] for cell in cells}
    width = (t[16, 1] + t[16, 2] - t[32, 1] - t[32, 2]) / 2
    heads = (t[16, 1] + t[32, 1] - t[16, 2] - t[32, 2]) / 2
    came = float(times.loc[times["arm"].isin([str(cell) for cell in cells]), "by"].notna().mean())
    return mean_check(width - heads, control_passed=came >= 0.5, control_value=f"in {came:.2f} of them")


def shortfall(results: Results) -> Check | None:
    """PR7."""
    found = accuracies(results, ONE)
    return mean_check(
        (pd.Series(CEILINGS)[list(UNSURE)] - found).mean(axis=1), **_last_step(results), within=(-1.0, 1.0)
    )


def balanced(results: Results) -> Check | None:
    """PR8."""
    if BALANCED_1 not in results.arms:
        return None
    first = accuracies(results, ONE)[STEPS[0]]
    on_source = float(on_source_split(first).mean())
    return mean_check(
        accuracies(results, BALANCED_1)[STEPS[0]],
        control_passed=on_source <= 0.13, control_value=f"{on_source:.3f} there", within=SHARE,
    )  # fmt: skip


def predicted(results: Results) -> Check | None:
    """PR9."""
    found = accuracies(results, ONE)
    counted = pd.DataFrame(
        [predicted_accuracy(split_of(seed), "shuffled", "marginal") for seed in found.index], found.index
    )
    missed = float((pd.Series(CEILINGS)[list(UNSURE)] - found).abs().mean(axis=None))
    return mean_check(
        (found - counted).abs().mean(axis=1),
        control_passed=missed >= 0.05, control_value=f"by {missed:.3f}", within=SHARE,
    )  # fmt: skip


def largest_error(results: Results, metric: str) -> Check | None:
    """PR10."""
    errors = source_values(results, metric, ONE, split="test", variable=STEPS[-1], family="")
    return mean_check(errors, **_last_step(results), within=SHARE)


def elimination_before_recall(results: Results) -> Check | None:
    """PR11."""
    times = recall_times(results)
    times = times[(times["arm"] == TWO) & times["by"].notna()]
    rows = with_epochs(results.curve("eliminates", TWO, variable=""), results)
    rows = rows.merge(times[["init_seed", "after"]], left_on=["init_seed", "epoch"], right_on=["init_seed", "after"])
    return mean_check(rows["value"], **_all_recall(results), within=SHARE)


def _last_step(results: Results) -> dict:
    """The control of the small model's steps: the last one is right."""
    last = source_values(results, "step_accuracy", ONE, split="test", variable=STEPS[-1], family="").min()
    return {"control_passed": last >= SURE, "control_value": f"at least {last:.4f}"}


def _all_recall(results: Results) -> dict:
    """The control of whatever is taken apart: there is something to take apart."""
    worst = float(results.final_values("recall", TWO, variable="").min())
    return {"control_passed": worst >= LEARNT, "control_value": f"at least {worst:.3f}"}


def mean_reading(
    results: Results, reading: Callable[[Results], pd.Series], within: tuple[float, float]
) -> Check | None:
    """PR12, PR13, PR15, PR17, PR18: a mean over networks that all recall."""
    return mean_check(reading(results), **_all_recall(results), within=within)


def attention_alone(results: Results) -> Check | None:
    """PR14."""
    after = float(readings.decoding_accuracy(results, "resid_post").mean())
    return mean_check(
        readings.decoding_accuracy(results, "resid_mid"),
        control_passed=after >= 0.95, control_value=f"{after:.3f} after it", within=SHARE,
    )  # fmt: skip


def value_and_match(results: Results) -> Check | None:
    """PR16."""
    together = float(readings.share_moved_together(results).min())
    return mean_check(
        readings.separation_of_moves(results),
        control_passed=together >= LEARNT, control_value=f"at least {together:.3f}", within=SHARE,
    )  # fmt: skip


def earlier_rows(results: Results) -> Check | None:
    """PR19."""
    lost = float(readings.lost_without_edge(results, "cut y_source").mean())
    return mean_check(
        readings.change_without_earlier_rows(results),
        control_passed=lost >= 0.5, control_value=f"it falls by {lost:.2f}",
    )  # fmt: skip


def roles_apart(results: Results) -> Check | None:
    """PR20."""
    apart = readings.role_separation(results) > readings.ROLES_APART
    return share_check(int(apart.sum()), len(apart), **_all_recall(results))


def which_head(results: Results) -> Check | None:
    """PR21: the interval of the share's distance from one half is that of the share, folded."""
    first = readings.first_head_eliminates(results)
    found = share_interval(int(first.sum()), len(first))
    ends = (abs(found.low - 0.5), abs(found.high - 0.5))
    inside = found.low <= 0.5 <= found.high
    return Check(
        effect=abs(found.mean - 0.5), interval=(0.0 if inside else min(ends), max(ends)), n_seeds=len(first),
        note=f"{int(first.sum())} of {len(first)}", **_all_recall(results),
    )  # fmt: skip


def by_position(results: Results) -> Check | None:
    """PR22."""
    if ONLY_FIRST not in results.arms:
        return None
    able = float(_later_sources(results, ANY_SOURCE).mean())
    return mean_check(
        _later_sources(results, ONLY_FIRST),
        control_passed=able >= 0.5, control_value=f"{able:.2f} of them", within=SHARE,
    )  # fmt: skip


def without_ffn(results: Results) -> Check | None:
    """PR23."""
    if ANY_SOURCE not in results.arms:
        return None
    whole = float(results.final_values("recall", ANY_SOURCE, variable="").min())
    return mean_check(
        results.final_values("recall_under", ANY_SOURCE, site="L0MLP", edit="zero"),
        control_passed=whole >= LEARNT, control_value=f"at least {whole:.3f}", within=SHARE,
    )  # fmt: skip


def widths_needed(results: Results) -> Check | None:
    """PR24: over the seeds of the scan."""
    found = smallest_widths(results)
    if found is None:
        return None
    grown = found.growth(1) - found.growth(2)
    return mean_check(grown, control_passed=found.two_layers_always, control_value=found.words)


def _later_sources(results: Results, arm: str) -> pd.Series:
    rows = results.at_final("recall", arm, variable=["source 2", "source 3", "source 4"])
    return rows.groupby("init_seed")["value"].mean()


CHECKS: dict[str, Callable[[Results], Check | None]] = {
    "PR1": partial(recall_at_source, arm=ONE),
    "PR2": partial(recall_at_source, arm=TWO),
    "PR3": lambda results: share_that_recalls(
        results, present(results, cells_of(NORMAL)), present(results, cells_of(REPEATED)), 0.5
    ),
    "PR4": partial(share_that_recalls, cells=(SMALL_REPEATED,), control=(TASK_2,), least=0.8),
    "PR5": one_head,
    "PR6": width_or_heads,
    "PR7": shortfall,
    "PR8": balanced,
    "PR9": predicted,
    "PR10.published": partial(largest_error, metric="bayes_max_batched"),
    "PR10": partial(largest_error, metric="bayes_max"),
    "PR11": elimination_before_recall,
    "PR12": partial(mean_reading, reading=readings.recall_without_y, within=SHARE),
    "PR13": partial(mean_reading, reading=readings.lost_without_either, within=(-1.0, 1.0)),
    "PR14": attention_alone,
    "PR15": partial(mean_reading, reading=readings.recall_with_linear_map, within=SHARE),
    "PR16": value_and_match,
    "PR17": partial(mean_reading, reading=partial(readings.answers_traded, path="values"), within=SHARE),
    "PR18": partial(mean_reading, reading=partial(readings.answers_traded, path="keys"), within=SHARE),
    "PR19": earlier_rows,
    "PR20": roles_apart,
    "PR21": which_head,
    "PR22": by_position,
    "PR23": without_ffn,
    "PR24": widths_needed,
}
