"""An estimate as a picture of one line: its interval, its point, and the bound with the side that was claimed."""

import html
import math
from collections.abc import Sequence

from livingpaper.claims.reading import SEED_DRAWS
from livingpaper.claims.rules import Every, Share, Some, one_decides
from livingpaper.claims.verdict import Held

WIDTH, HEIGHT, ROOM = 168, 22, 6
MIDDLE = HEIGHT / 2
SHARES = frozenset({Share.name, Every.name, Some.name})
"""Rules whose effect is the share of seeds that do what was claimed."""


def interval_mark(held: Held, beside: Sequence[Held] = ()) -> str:
    """Inline SVG in the colours of the text around it; a screen reader hears the numbers.

    Args:
        held: what is drawn.
        beside: what of the same claim is drawn next to it, on the same scale.
    """
    asked, found = held.asked, held.estimate
    low, high = _limits(held, *beside)

    def x(value: float) -> float:
        inside = min(max(value, low), high)
        return round(ROOM + (WIDTH - 2 * ROOM) * (inside - low) / (high - low), 1)

    bound = x(asked.bound.value)
    left, right = (bound, WIDTH - ROOM) if asked.bound.direction == "at_least" else (ROOM, bound)
    parts = [
        f'<rect class="claimed" x="{left}" y="2" width="{round(max(right - left, 0.5), 1)}" height="{HEIGHT - 4}"/>',
        f'<line class="axis" x1="{ROOM}" y1="{MIDDLE}" x2="{WIDTH - ROOM}" y2="{MIDDLE}"/>',
        f'<line class="bound" x1="{bound}" y1="1" x2="{bound}" y2="{HEIGHT - 1}"/>',
    ]
    if found.low < found.high and not math.isinf(found.high - found.low):
        ends = f'x1="{x(found.low)}" y1="{MIDDLE}" x2="{x(found.high)}" y2="{MIDDLE}"'
        parts.append(f'<line class="interval" {ends}/>')
    parts.append(f'<circle class="effect" cx="{x(found.effect)}" cy="{MIDDLE}" r="4"/>')
    words = html.escape(f"{found_words(held)}; claimed: {asked.bound.words(asked.unit)}", quote=True)
    return (
        f'<svg class="interval-mark" role="img" aria-label="{words}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}"><title>{words}</title>{"".join(parts)}</svg>'
    )


def found_words(held: Held) -> str:
    """Effect, interval and n in a few words: "80 % [62, 98], 10 seeds"."""
    found = held.estimate
    if found.n == 0:
        return _effect(held)
    draws = held.asked.draws
    seeds = "1 seed" if found.n == 1 and draws == SEED_DRAWS else f"{found.n} {draws}"
    seeds += f" of {found.n_sets} data sets" if found.of_sets else ""
    return f"{_effect(held)}, {seeds}"


def as_counted(held: Held) -> str:
    """The same, and that a share is of seeds that do as claimed: the sentence beside it may say the opposite.

    Where one seed decides, it is said that one does, and of how many it was found.
    """
    rule, found = held.asked.rule, held.estimate
    if one_decides(rule, found):
        told = (found.against, "speak against it") if rule == Every.name else (found.n - found.against, "do")
        return f"{told[0]} of {found.n} {held.asked.draws} {told[1]}, and one decides"
    claimed = rule in SHARES and held.asked.bound.direction == "at_least"  # of a share that is to be small, it is not
    return f"as claimed in {found_words(held)}" if claimed else found_words(held)


def estimate_html(held: Held, beside: Sequence[Held] = ()) -> str:
    """The picture and what it says; words alone where one seed decides, as its bound then decides nothing."""
    words = html.escape(as_counted(held))
    return words if one_decides(held.asked.rule, held.estimate) else f"{interval_mark(held, beside)} {words}"


def _effect(held: Held) -> str:
    """With its interval, where there is one."""
    unit, bound, found = held.asked.unit, held.asked.bound.value, held.estimate
    if found.low < found.high and not (math.isinf(found.low) and math.isinf(found.high)):
        return unit.estimate(found.effect, found.low, found.high, bound)
    alike = found.low == found.high and found.n > 1
    return unit.words(found.effect, bound) + (" in every one" if alike else "")


def _limits(held: Held, *beside: Held) -> tuple[float, float]:
    """What the picture spans: all that is possible where that is limited, else what there is and some room."""
    unit, found = held.asked.unit, [one.estimate for one in (held, *beside)]
    values = [held.asked.bound.value, *(value for one in found for value in (one.low, one.effect, one.high))]
    shown = [value for value in values if math.isfinite(value)]
    if math.isfinite(unit.low) and math.isfinite(unit.high) and unit.low >= 0:
        return float(unit.low), float(unit.high)
    low, high = min(*shown, 0.0), max(*shown, 0.0)
    room = 0.08 * (high - low) or 1.0
    return low - room, high + room
