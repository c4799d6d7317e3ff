"""A claim with its verdicts as a page shows it: badge, sentence, and the numbers it was judged by."""

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from livingpaper.claims.claim import Check, Claim
from livingpaper.claims.predictions import number, predict
from livingpaper.claims.verdict import Verdict
from livingpaper.figures.badges import badge
from livingpaper.figures.caption import escape_markdown, markdown_to_html

WHOSE = {"paper": "paper", "rerun": "your seeds"}
CONTROL = "the negative control"
NOT_MEASURED = "(not measured)"


@dataclass(frozen=True)
class FalseAlarms:
    """How often the battery reported a circuit in networks that cannot have one.

    Attributes:
        whole: the claim on the whole circuit, with its check.
        part: the claim on any part of it, with its check.
        study: whose claims they are; its chapter is linked to.
    """

    whole: Verdict
    part: Verdict
    study: str

    def __str__(self) -> str:
        whole, part = (
            f"{_counted(verdict.check)} [{verdict.claim.id}: {verdict.status}]" for verdict in (self.whole, self.part)
        )
        return (
            f"On networks that cannot have it, this battery reported the circuit in {whole}, and a part of it in {part}"
        )


def claim_markdown(verdicts: Sequence[Verdict], false_alarms: FalseAlarms | None = None) -> str:
    """MyST for one claim: a box that search finds and ``claim-ID`` links to.

    Args:
        verdicts: one for each origin, the paper's first; all on the same claim.
        false_alarms: to be said beside a claim that a circuit exists.
    """
    claim = verdicts[0].claim
    lines = [f"{_badges(verdicts)} **{escape_markdown(claim.id)}.** {claim.sentence}"]
    lines += [escape_markdown(line) for line in claim_lines(verdicts)]
    if false_alarms:
        target = anchor(false_alarms.whole.claim)
        lines.append(f"{escape_markdown(str(false_alarms))}; see {{ref}}`{CONTROL} <{target}>`.")
    status = str(verdicts[-1].status).lower()
    body = "\n\n".join(lines)
    return f"::::{{container}} paper-claim status-{status}\n:name: {anchor(claim)}\n\n{body}\n::::\n"


def claim_html(verdicts: Sequence[Verdict], false_alarms: FalseAlarms | None = None) -> str:
    """The same for a live notebook."""
    claim, status = verdicts[0].claim, str(verdicts[-1].status).lower()
    facts = "".join(f"<p>{html.escape(line)}</p>" for line in claim_lines(verdicts))
    if false_alarms:
        facts += f'<p>{html.escape(str(false_alarms))}; see <a href="{false_alarms.study}.ipynb">{CONTROL}</a>.</p>'
    head = f"<p>{_badges(verdicts)} <strong>{html.escape(claim.id)}.</strong> {markdown_to_html(claim.sentence)}</p>"
    return f'<div class="paper-claim status-{status}" id="{anchor(claim)}">{head}{facts}</div>'


def claim_text(verdicts: Sequence[Verdict], false_alarms: FalseAlarms | None = None) -> str:
    """The same for a terminal."""
    statuses = " · ".join(f"{WHOSE[verdict.origin]}: {verdict.status}" for verdict in verdicts)
    lines = [f"{verdicts[0].claim.id} ({statuses}): {verdicts[0].claim.sentence}", *claim_lines(verdicts)]
    return "\n".join([*lines, f"{false_alarms}; see {CONTROL}."] if false_alarms else lines)


def anchor(claim: Claim) -> str:
    """The name other pages link to: ``claim-a1-published`` for ``A1.published``."""
    return "claim-" + re.sub(r"[^a-z0-9]+", "-", claim.id.lower()).strip("-")


def claim_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """What the badges rest on, in plain sentences.

    One for each origin; of a rerun beside published runs, whether its effect is one to expect; bound, control, source.
    """
    claim, both = verdicts[0].claim, len(verdicts) > 1
    lines = []
    for verdict in verdicts:
        whose = WHOSE[verdict.origin]
        lines.append((f"{whose[0].upper()}{whose[1:]}: " if both else "") + check_sentence(claim, verdict.check))
    if both:
        lines.append(predict(*(verdict.check for verdict in verdicts)).sentence)
    word = "at least" if claim.direction == "at_least" else "at most"
    seeds = f" over {claim.min_seeds} seeds or more" if claim.min_seeds else ""
    lines.append(f"Fixed beforehand: {word} {number(claim.smallest_effect)} ({claim.metric}){seeds}.")
    if claim.source_verdict:
        lines.append(f"The source: {claim.source_verdict.rstrip('.')}.")
    return lines


def check_sentence(claim: Claim, check: Check | None) -> str:
    """Effect, interval, n and control of one check."""
    if check is None:
        return "Not checked on these runs."
    seeds = "1 seed" if check.n_seeds == 1 else f"{check.n_seeds} seeds"
    control = "passed" if check.control_passed else "FAILED"
    shown = f": {check.control_value.rstrip('.')}" if check.control_value else ""
    few = check.n_seeds < claim.min_seeds
    spread = f"{seeds}, too few for a verdict ({claim.min_seeds} needed)" if few else f"{_interval(check)}, {seeds}"
    text = f"Effect {number(check.effect)}, {spread}. Control ({claim.control}) {control}{shown}."
    return f"{text} {check.note.rstrip('.')}." if check.note else text


def effect_words(check: Check) -> str:
    """Effect, interval and n in a few words."""
    return f"{number(check.effect)} ({_interval(check)}, n = {check.n_seeds})"


def verdict_words(verdict: Verdict) -> dict[str, str]:
    """A verdict's badge, and its effect as prose says it if it is a share: ``percent`` "30 %", ``count`` "6 of 20"."""
    words, check = {"status": str(verdict.status)}, verdict.check
    if check is None:
        return words | dict.fromkeys(("percent", "count"), NOT_MEASURED)
    count = f"{round(check.effect * check.n_seeds)} of {check.n_seeds}"
    return words | {"percent": f"{100 * check.effect:.0f} %", "count": count}


def _counted(check: Check) -> str:
    """A check of a share of runs: the count, the rate and its interval."""
    low, high = check.interval
    count = f"{round(check.effect * check.n_seeds)} of {check.n_seeds} runs"
    return f"{count} (false-positive rate {number(check.effect)}, 95 % interval {number(low)} to {number(high)})"


def _interval(check: Check) -> str:
    low, high = check.interval
    if math.isinf(low) and math.isinf(high):
        return "no interval"
    if low == high == check.effect:
        return "the same in every seed" if check.n_seeds > 1 else "no interval"
    return f"95 % interval {number(low)} to {number(high)}"


def _badges(verdicts: Sequence[Verdict]) -> str:
    if len(verdicts) == 1 and verdicts[0].origin == "paper":
        return badge(verdicts[0].status)
    return " · ".join(_whose(verdict) for verdict in verdicts)


def _whose(verdict: Verdict) -> str:
    n = f" (n = {verdict.check.n_seeds})" if verdict.origin == "rerun" and verdict.check else ""
    return f"{WHOSE[verdict.origin]}{n}: {badge(verdict.status)}"
