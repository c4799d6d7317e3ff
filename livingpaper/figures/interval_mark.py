"""An estimate as a picture of one line: its interval, its point, and the bound with the side that was claimed."""

import html
import math
from collections.abc import Sequence

from livingpaper.claims.verdict import Asked, Held

WIDTH, HEIGHT, ROOM = 168, 22, 6
MIDDLE = HEIGHT / 2


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
    asked, found = held.asked, held.estimate
    effect = asked.unit.words(found.effect, asked.bound.value)
    if found.n == 0:
        return effect
    seeds = "1 seed" if found.n == 1 else f"{found.n} seeds"
    seeds += f" of {found.n_sets} data sets" if found.of_sets else ""
    return f"{effect}{_interval(asked, held)}, {seeds}"


def _interval(asked: Asked, held: Held) -> str:
    found = held.estimate
    if math.isinf(found.low) and math.isinf(found.high):
        return ""
    if found.low == found.high:
        return " in every one" if found.n > 1 else ""
    return f" {asked.unit.interval(found.low, found.high, asked.bound.value, found.effect)}"


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
