"""A claim with its verdicts as a page shows it: one line with badge, sentence and picture; the rest folds."""

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from livingpaper.claims.needed import NotKeptError, needed
from livingpaper.claims.predictions import predict
from livingpaper.claims.reading import SEED_DRAWS
from livingpaper.claims.rules import EvenOdds, Every, Outcome, one_decides
from livingpaper.claims.units import SEEDS
from livingpaper.claims.verdict import Declared, Guard, Stance, Status, Verdict
from livingpaper.figures.badges import ICONS, badge, status_class
from livingpaper.figures.caption import escape_markdown, markdown_to_html
from livingpaper.figures.draws_text import limits_of_draws
from livingpaper.figures.interval_mark import estimate_html, found_words

WHOSE = {"paper": "paper", "rerun": "your seeds"}
CONTROL = "the negative control"
NOT_MEASURED = "(not measured)"
NOTHING_NEW = "no new run of yours is measured here"
BY_ITS_POINT = "A control that it needs holds by its estimate alone: its interval does not exclude that it fails."
AMONG_MANY = "Alone it is decided; corrected for the number of this chapter's claims (Holm), it would not be."
ALONE = "taken alone"
LEAST_P = 0.0001  # smaller ones say nothing more
NEEDED_FOR = {"yes": "for a yes", "no": "for a no", "either": "for any answer"}


@dataclass(frozen=True)
class FalseAlarms:
    """What is known of the battery on networks that cannot have the circuit.

    Attributes:
        whole: the claim on the whole circuit.
        part: the claim on any part of it.
        study: whose claims they are; its chapter is linked to.
    """

    whole: Verdict
    part: Verdict
    study: str

    def __str__(self) -> str:
        both = (self.part, self.whole)
        said = " ".join(f"{verdict.sentence} [{verdict.claim.id}: {_in_short(verdict)}]" for verdict in both)
        return f"How far to trust this, from networks that cannot have the circuit: {said}"


def claim_markdown(
    verdicts: Sequence[Verdict],
    false_alarms: FalseAlarms | None = None,
    price: str = "",
    *,
    new: bool = True,
    lost: bool = False,
) -> str:
    """MyST for one claim: a box that search finds and ``claim-ID`` links to.

    Args:
        verdicts: one for each origin, the paper's first; all on the same claim.
        false_alarms: to be said beside a claim that a circuit exists.
        price: how long the seeds that would decide take here; "" where that is not known.
        new: whether the reader's verdict, where there is one, is on any run that is not published.
        lost: whether the first verdict would not stand if it were corrected for the number of claims.
    """
    claim = verdicts[0].claim
    lines = [_head(verdicts, f"**{escape_markdown(claim.id)}.**", escape_markdown, new=new)]
    lines += [f'<span class="claim-many">{escape_markdown(line)}</span>' for line in tempered_by(verdicts, lost=lost)]
    lines.append("<details><summary>What was asked and found</summary>")
    lines += [escape_markdown(line) for line in claim_lines(verdicts, price, new=new)]
    lines.append("</details>")
    if false_alarms:
        target = anchor(false_alarms.part.claim)
        lines.append(f"{escape_markdown(str(false_alarms))}; see {{ref}}`{CONTROL} <{target}>`.")
    body = "\n\n".join(lines)
    return f"::::{{container}} paper-claim {status_class(verdicts[0].status)}\n:name: {anchor(claim)}\n\n{body}\n::::\n"


def claim_html(
    verdicts: Sequence[Verdict],
    false_alarms: FalseAlarms | None = None,
    price: str = "",
    *,
    new: bool = True,
    lost: bool = False,
) -> str:
    """The same for a live notebook."""
    claim = verdicts[0].claim
    facts = "".join(f"<p>{html.escape(line, quote=False)}</p>" for line in claim_lines(verdicts, price, new=new))
    folded = f"<details><summary>What was asked and found</summary>{facts}</details>"
    if false_alarms:
        folded += f'<p>{html.escape(str(false_alarms))}; see <a href="{false_alarms.study}.ipynb">{CONTROL}</a>.</p>'
    name = f"<strong>{html.escape(claim.id)}.</strong>"
    head = f"<p>{_head(verdicts, name, markdown_to_html, new=new)}</p>"
    head += "".join(
        f'<p class="claim-many">{html.escape(line, quote=False)}</p>' for line in tempered_by(verdicts, lost=lost)
    )
    return f'<div class="paper-claim {status_class(verdicts[0].status)}" id="{anchor(claim)}">{head}{folded}</div>'


def claim_text(
    verdicts: Sequence[Verdict],
    false_alarms: FalseAlarms | None = None,
    price: str = "",
    *,
    new: bool = True,
    lost: bool = False,
) -> str:
    """The same for a terminal."""
    statuses = " · ".join(
        f"{WHOSE[verdict.origin]}: {verdict.status if new or verdict is verdicts[0] else NOTHING_NEW}"
        for verdict in verdicts
    )
    lines = [f"{verdicts[0].claim.id} ({statuses}): {with_refuted(verdicts[0])}"]
    lines += [*tempered_by(verdicts, lost=lost), *claim_lines(verdicts, price, new=new)]
    return "\n".join([*lines, f"{false_alarms}; see {CONTROL}."] if false_alarms else lines)


def tempered_by(verdicts: Sequence[Verdict], *, lost: bool) -> list[str]:
    """What a reader must know of the first verdict before its badge is believed; whose it is where there are two.

    That it would not stand among so many claims; that a control holds by its point alone; what its claim remarks.
    """
    first, *others = verdicts
    whose = f"{WHOSE[first.origin].capitalize()}: " if others else ""
    found = ([AMONG_MANY] if lost else []) + ([BY_ITS_POINT] if _holds_by_its_point(first) else [])
    return [whose + line for line in found] + ([first.claim.remark] if first.claim.remark else [])


def _holds_by_its_point(verdict: Verdict) -> bool:
    """Whether a decided claim stands on a control whose interval is open."""
    if verdict.finding is None or verdict.status not in (Status.SUPPORTED, Status.REFUTED):
        return False
    guards = [guard for guard in verdict.finding.guards if guard.spoiled(verdict.finding.held.outcome)]
    return any(guard.held.outcome is Outcome.OPEN for guard in guards)


def anchor(claim: Declared) -> str:
    """The name other pages link to: ``claim-a1-published`` for ``A1.published``."""
    return "claim-" + re.sub(r"[^a-z0-9]+", "-", claim.id.lower()).strip("-")


def claim_lines(verdicts: Sequence[Verdict], price: str = "", *, new: bool = True) -> list[str]:
    """What the badges rest on, in plain sentences: claim, bound, numbers, controls, what would decide, source."""
    claim, both = verdicts[0].claim, len(verdicts) > 1
    seeds = f" over {claim.min_seeds} {claim.asked.draws} or more" if claim.min_seeds else ""
    fixed = "Fixed beforehand" if claim.declared == "before" else "Fixed, at least in part, after results were seen"
    lines = [
        f"Claimed: {claim.says.holds}",
        f"{fixed}: {claim.asked}{seeds}. The rule: {claim.asked.rule}. Why this bound: {claim.asked.bound.why}.",
    ]
    for verdict in verdicts if new else verdicts[:1]:
        whose = f"{WHOSE[verdict.origin].capitalize()}: " if both else ""
        lines += [whose + line for line in _found(verdict, price if verdict is verdicts[0] else "")]
    if both and new:
        lines.append(predict(verdicts[0], verdicts[1]).sentence)
    if claim.void:
        lines.append(f"Void, whatever is found: {claim.void}")
    if claim.source_verdict:
        lines.append(f"The source: {claim.source_verdict.rstrip('.')}.")
    return lines


def effect_words(verdict: Verdict) -> str:
    """Effect, interval and n in a few words; "" where nothing was checked."""
    return found_words(verdict.finding.held) if verdict.finding else ""


def what_would_decide(verdict: Verdict, price: str = "") -> str:
    """How many seeds would, if the effect stays; "" for what is decided, will never be, or cannot be told."""
    if verdict.status is not Status.UNDECIDED or verdict.finding is None:
        return ""
    try:
        found = needed(verdict.claim, verdict.finding)
    except NotKeptError:
        return ""
    stays = f"if the {'control' if found.by_control else 'effect'} stays"
    if found.spoiled:
        return "More seeds would not decide it if the effect stays: a failed control spoils the answer it leans to."
    if found.more is None:
        return f"No number of seeds that could be paid for would decide it {stays}: it lies too near the bound."
    kind = "data sets" if found.of_sets else verdict.claim.asked.draws
    if found.more == 1 and kind in ("data sets", SEED_DRAWS):
        kind = kind.removesuffix("s")
    return f"{found.more} more {kind} would decide it {stays}{f' ({price})' if price else ''}."


def verdict_words(verdict: Verdict, *, lost: bool = False) -> dict[str, str]:
    """A verdict as prose has it: ``status``, ``says`` (its sentence), ``found`` ("80 % [62, 98], 10 seeds").

    ``told`` is the sentence with its badge, which links to the claim: MyST for other pages; ``badge``
    is that alone, beside a title that rests on the claim. ``lost`` as for a card.

    A share of anything is ``percent`` "30 %", too, and one of seeds ``count`` "6 of 20": of prompts nobody knows here
    how many there are.
    """
    linked = f"{{ref}}`{ICONS[verdict.status]} {in_prose(verdict, lost=lost)} <{anchor(verdict.claim)}>`"
    words = {"status": str(verdict.status), "says": verdict.sentence}
    words["told"], words["badge"] = f"{escape_markdown(verdict.sentence)} ({linked})", f"({linked})"
    found = verdict.estimate
    words["found"] = effect_words(verdict) or NOT_MEASURED
    if not verdict.claim.asked.unit.of:
        return words
    words["percent"] = f"{100 * found.effect:.0f} %" if found else NOT_MEASURED
    if counts_seeds(verdict.claim):
        words["count"] = f"{round(found.effect * found.n)} of {found.n}" if found else NOT_MEASURED
    return words


def verdict_line(verdict: Verdict) -> str:
    """The sentence that a verdict allows, its status and what was found, in one line without markup."""
    return f"{verdict.sentence} ({in_prose(verdict)}; {effect_words(verdict) or NOT_MEASURED})"


def counts_seeds(claim: Declared) -> bool:
    """Whether the effect is the share of seeds that do something, not how far it lies from one half."""
    return claim.asked.unit == SEEDS and claim.asked.rule != EvenOdds.name


REFUTED: dict[Stance, str] = {
    "claimed": "the source’s claim is refuted",
    "elsewhere": "the claim does not hold here",
    "by another definition": "refuted by our definition",
    "left open": "refuted",
}


def in_prose(verdict: Verdict, *, lost: bool = False) -> str:
    """The badge as words after a sentence, which says the opposite of what was claimed where that is refuted.

    Args:
        verdict: on a claim.
        lost: whether it would not stand if it were corrected for the number of claims.
    """
    words = str(verdict.status).lower()
    if verdict.status is Status.REFUTED:
        ours = verdict.claim.source == "ours"
        words = "our claim is refuted" if ours else REFUTED[verdict.claim.source_stance]
    return f"{words}, {ALONE}" if lost else words


def key_of(claim: Declared) -> str:
    """A claim's id as part of a name: ``A1_published``."""
    return claim.id.replace(".", "_")


def _found(verdict: Verdict, price: str) -> list[str]:
    """Numbers and controls of one origin."""
    if verdict.finding is None:
        return ["Not checked on these runs."]
    found = verdict.estimate
    tested = found.p_value is not None and not one_decides(verdict.claim.asked.rule, found)
    p_value = f"; {_p(found.p_value)} against the bound" if tested else ""
    against = (
        f" Against it: {found.against} of {found.n}."
        if found.against and verdict.claim.asked.rule == Every.name
        else ""
    )
    few = f" Too few for a verdict: {verdict.claim.min_seeds} needed." if found.n < verdict.claim.min_seeds else ""
    lines = [f"Found: {effect_words(verdict)}{p_value}.{against}{few}", *limits_of_draws(verdict)]
    lines += [_control(guard) for guard in verdict.finding.guards]
    if decide := what_would_decide(verdict, price):
        lines.append(decide)
    return lines


def _p(value: float) -> str:
    return f"p < {LEAST_P}" if value < LEAST_P else f"p = {value:.2g}"


def _control(guard: Guard) -> str:
    if guard.held.outcome is Outcome.NO:
        came = "It FAILED"
    elif guard.leans is Outcome.OPEN:
        came = "It misses its bound, though its interval does not exclude that it holds"
    elif guard.held.outcome is Outcome.OPEN:
        came = "It holds on these seeds, though its interval does not exclude that it fails"
    else:
        came = "It holds"
    return f"Control, needed {NEEDED_FOR[guard.spoils]}: {guard.held.asked}. {came}: {found_words(guard.held)}."


def with_refuted(verdict: Verdict) -> str:
    """A verdict's sentence, after the claim in quotation marks where it is refuted: the badge is about the claim."""
    refuted = verdict.status is Status.REFUTED
    return f"“{verdict.claim.says.holds}” {verdict.sentence}" if refuted else verdict.sentence


def _head(verdicts: Sequence[Verdict], name: str, words: Callable[[str], str], *, new: bool) -> str:
    """Badge, name, sentence and picture; of two verdicts the paper's sentence, and under it a line for each.

    Args:
        verdicts: one for each origin.
        name: the claim's id, marked up.
        words: makes plain text safe in that markup.
        new: as in ``claim_markdown``.
    """
    first, *others = verdicts
    sentence = words(with_refuted(first))
    if not others:
        whose = "" if first.origin == "paper" else f"{WHOSE[first.origin]}: "
        return f"{whose}{badge(first.status)} {name} {sentence} {_picture(first)}"
    lines = [_line(first, f"{badge(first.status)} {_picture(first, others)}")]
    for other in others:
        own = f"{badge(other.status)} {_picture(other, [first])} {words(_own_sentence(other, first))}"
        lines.append(_line(other, own if new else NOTHING_NEW))
    return f"{name} {sentence} {' '.join(lines)}"


def _line(verdict: Verdict, came: str) -> str:
    """Whose verdict it is, and what it came to."""
    return f'<span class="claim-of"><span class="claim-whose">{WHOSE[verdict.origin]}:</span> {came}</span>'


def _own_sentence(verdict: Verdict, first: Verdict) -> str:
    """What a verdict says, where it decides otherwise than the one whose sentence stands above."""
    decided = verdict.status in (Status.SUPPORTED, Status.REFUTED)
    return verdict.sentence if decided and verdict.status != first.status else ""


def _picture(verdict: Verdict, beside: Sequence[Verdict] = ()) -> str:
    """Interval and numbers; on one scale with those beside it."""
    if verdict.finding is None:
        return ""
    others = [other.finding.held for other in beside if other.finding]
    return f'<span class="claim-found">{estimate_html(verdict.finding.held, others)}</span>'


def _in_short(verdict: Verdict) -> str:
    found = f", {effect_words(verdict)}" if verdict.finding and not verdict.claim.void else ""
    return f"{verdict.status}{found}"
