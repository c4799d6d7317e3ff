"""The check of each claim: results in, effect over seeds and control out."""

from collections.abc import Callable
from functools import partial

from circuitcore.tasks import make_task
from livingpaper.claims.claim import Check, mean_check, share_check
from livingpaper.claims.results import Results
from retrieval_circuits.story_control.design import COULD_FAIL, PHRASES, PLANTED, PROBE_ROWS, STORY
from retrieval_circuits.story_control.readings import (
    ANY,
    N_BASES,
    OURS,
    PUBLISHED,
    WHOLE,
    ceilings,
    detection,
    possible_births,
    runs_reported,
)

ABLE, LEARNT, MEMORISED = 0.5, 0.9, 0.99


def births(results: Results, arms: tuple[str, ...], definitions: str, motif: str) -> Check | None:
    """Share of runs with a birth; the control passes where the same definitions find half of the positive controls."""
    born = runs_reported(results, arms, definitions, motif)
    found = detection(results, definitions)
    return share_check(
        int(born.sum()), len(born), control_passed=found >= ABLE, control_value=f"planted repeats: {found:.2f} of runs"
    )


def detected(results: Results, arm: str, definitions: str) -> Check | None:
    """Share of runs of a positive control in which the whole circuit is reported; all must have learnt their task."""
    born = runs_reported(results, (arm,), definitions, WHOLE)
    worst = float(results.final_values("accuracy", arm, split="test").min())
    return share_check(
        int(born.sum()), len(born), control_passed=worst >= LEARNT, control_value=f"at least {worst:.3f}"
    )


def could_have_failed(results: Results) -> Check:
    """SC2: a count in the rows of the story, which no seed enters."""
    births_of = {
        arm: possible_births(ceilings(make_task(name, {}), N_BASES, PROBE_ROWS[arm]))
        for arm, name in {STORY: "story", PLANTED: "planted_repeats"}.items()
    }
    count = births_of[STORY]
    return Check(
        effect=count, interval=(count, count), n_seeds=0, control_passed=births_of[PLANTED] == 4,
        control_value=f"planted repeats: {births_of[PLANTED]} of four",
    )  # fmt: skip


def commonest_word(results: Results) -> Check | None:
    """SC3."""
    best = results.curve("accuracy", STORY, split="val").groupby("init_seed")["value"].max()
    learnt = float(results.final_values("accuracy", STORY, split="train").min())
    return mean_check(
        best - make_task("story", {}).chance["val"],
        control_passed=learnt >= MEMORISED,
        control_value=f"at least {learnt:.3f}",
        within=(-1, 1),
    )


def _both(claim: str, check: Callable[..., Check | None], **chosen) -> dict[str, Callable[[Results], Check | None]]:
    """A claim under the source's definitions, and under ours."""
    return {
        f"{claim}.published": partial(check, definitions=PUBLISHED, **chosen),
        claim: partial(check, definitions=OURS, **chosen),
    }


CHECKS: dict[str, Callable[[Results], Check | None]] = {
    **_both("SC1", births, arms=(STORY,), motif=ANY),
    "SC2": could_have_failed,
    "SC3": commonest_word,
    **_both("SC4", detected, arm=PLANTED),
    **_both("SC5", births, arms=COULD_FAIL, motif=WHOLE),
    **_both("SC6", births, arms=COULD_FAIL, motif=ANY),
    **_both("SC7", detected, arm=PHRASES),
}
