"""Does a rerun's point lie where the published seeds expect it? Few seeds earn no verdict, but this they can answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from circuitcore.emergence.seeds import prediction_interval
from livingpaper.claims.rules import OnAverage, OverPairs
from livingpaper.claims.verdict import Verdict

LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What further seeds of the published design are expected to give, and whether a rerun gave it.

    Attributes:
        interval: (low, high) of their mean, in the metric's unit; None where the published seeds predict nothing.
        inside: whether the rerun's effect lies in it, bounds included; None without an interval.
        sentence: both in words; without an interval, the reason.
    """

    interval: tuple[float, float] | None
    inside: bool | None
    sentence: str


def predict(published: Verdict, rerun: Verdict) -> Prediction:
    """Hold a rerun's effect against what as many further seeds of the published design are expected to give.

    The interval is mean -+ t s sqrt(1/m + 1/n) for the mean of the rerun's m seeds, cut to what is possible. Where the
    published seeds come from several data sets, it is about the mean of their means, as the claim's effect is, and as
    wide as seeds scatter between sets and within (``prediction_interval``); then m counts the rerun's data sets.
    """
    reason = _why_not(published, rerun)
    if reason:
        return Prediction(interval=None, inside=None, sentence=f"No prediction interval: {reason}.")
    before, now, unit = published.estimate, rerun.estimate, published.claim.asked.unit
    # Of published data sets the next one is predicted, and seeds of one set are one draw of it.
    n_new = now.n_sets if before.of_sets and now.sets else now.n
    found = prediction_interval(before.values, n_new, LEVEL, before.sets if before.of_sets else ())
    low, high = unit.cut(found.low, found.high)
    # The last bits of a mean depend on the order of its terms.
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    inside = low - slack <= now.effect <= high + slack
    limits = f"95 % prediction interval {unit.interval(low, high)}"
    limits += ", cut to what is possible" if (low, high) != (found.low, found.high) else ""
    effect = f"{unit.words(now.effect)}{'' if now.n == 1 else ' on average'}, {'inside' if inside else 'outside'}"
    whose, more = ("Your seed", "one more seed") if now.n == 1 else (f"Your {now.n} seeds", f"{now.n} more seeds")
    sentence = f"{whose}: {effect} what {more} of the published design should give ({limits})."
    return Prediction(interval=(low, high), inside=inside, sentence=sentence)


def summary(found: Mapping[str, Prediction], changed: Sequence[str] = ()) -> str:
    """How many points lie inside, which outside, and how many would by chance.

    Args:
        found: by the claims' ids.
        changed: parameters that are not as published; no seed is then of the published design.
    """
    outside = [claim for claim, prediction in found.items() if prediction.inside is False]
    n_held = sum(prediction.inside is not None for prediction in found.values())
    if not n_held:
        return "No claim has a prediction interval to hold your seeds against."
    text = f"{n_held - len(outside)} of {n_held} effects lie inside what the published seeds predict for yours"
    text += f"; outside: {', '.join(outside)}" if outside else ""
    if changed:
        return f"{text}. Your runs are of another design than the published ones: {', '.join(changed)}."
    chance = (1 - LEVEL) * n_held
    return f"{text}. By chance alone, about {chance:.0f} would lie outside." if chance >= 0.5 else f"{text}."


def _why_not(published: Verdict, rerun: Verdict) -> str:
    """Why there is no interval, or nothing."""
    before, now = published.estimate, rerun.estimate
    if before is None or now is None:
        return f"not checked on {'the published runs' if before is None else 'your runs'}"
    if published.claim.asked.rule == OverPairs.name:
        return "the effect is a mean over pairs of seeds, of which a seed of its own has none"
    if published.claim.asked.rule != OnAverage.name:
        return "the effect is a share or a count, not a mean of one value for each seed"
    if before.n < 2:
        return "one published seed shows no spread"
    if len(before.values) < before.n:
        return "the values of the published seeds were not kept"
    if before.of_sets and len(before.sets) < before.n:
        return "which of the published seeds share a data set was not kept"
    if min(before.values) == max(before.values):
        unit = published.claim.asked.unit
        yours = "yours gave the same" if now.effect == before.effect else f"yours: {unit.words(now.effect)}"
        return f"all {len(before.values)} published seeds gave {unit.words(before.effect)}; {yours}"
    return "" if now.n else "no seed of yours"
