"""The birth lab's second panel: how far births lie apart, which of two motifs is born first, and what badge it earns.

The arithmetic of ``emergence.spread``, ``emergence.order`` and the rule ``claims.rules.Share`` once more, as transforms
of the chart; a test holds them together. Vega has no quantiles: every interval that can come up stands in a table.
"""

import functools
import json
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from circuitcore.emergence.shares import Counted as CountedShare
from livingpaper.claims.claim import Claim
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT
from livingpaper.claims.verdict import Status
from livingpaper.figures import style
from livingpaper.figures.badges import ICONS

HALF, MIN_SEEDS = MORE_OFTEN_THAN_NOT.value, Claim.min_seeds
"""What claims of this kind are held against, and how many seeds decide one."""
LINE = 17
"""Height of a line of words, in pixels."""
LETTER = 6.2
"""Width of an average letter of a sentence of 12 pixels."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What is counted over births: the motif claimed to be first, the other, and those whose spread is taken."""

    first: str
    second: str
    apart: Sequence[str]


@dataclass(frozen=True)
class Size:
    """How many seeds there are at most, and how many runs a seed has at most."""

    seeds: int
    runs_per_seed: int

    @property
    def steps(self) -> int:
        """Into how many equal parts a seed's share of its runs can fall: thirds and halves make sixths."""
        return math.lcm(*range(1, self.runs_per_seed + 1))


def verdict(counted: Counted, whose: list[str], rule: list[str], width: int, size: Size) -> list[alt.LayerChart]:
    """Words, and the interval on a line from 0 to 1, for each origin of runs.

    The data are those of the chart around it: a row a run and motif with ``run``, ``runs`` (its origin in words),
    ``init_seed``, ``motif`` and ``born`` (an epoch, or invalid for never). Its parameter ``intervals`` is what that
    function gives.

    Args:
        counted: the motifs in question.
        whose: the origins in words, in the order drawn.
        rule: what counts as born: expressions of Vega, a line each.
        width: of the plots, in pixels.
        size: of the data.
    """
    over_runs = [*_orders(counted), *_interval(size)]
    y = alt.Y("runs:N", sort=whose, axis=None, title=None, scale=alt.Scale(type="band", padding=0), bandPosition=0)
    says, n_lines = _says(counted, int(width / LETTER))
    badge = _badge() if len(whose) == 1 else f"datum.runs + ': ' + ({_badge()})"
    look = {"align": "left", "baseline": "top", "lineBreak": "\n", "lineHeight": LINE, "tooltip": False}
    base = alt.Chart().encode(x=alt.value(0), y=y)
    words = alt.layer(
        base.transform_calculate(badge=badge).mark_text(**look, fontWeight=700, fontSize=13).encode(text="badge:N"),
        base.transform_calculate(says=says).mark_text(**look, dy=LINE + 2).encode(text="says:N"),
        transform=over_runs,
    )
    given = alt.TitleParams(alt.expr(f"[{', '.join(rule)}]"), fontSize=12, fontWeight="normal", offset=8)
    words = words.properties(width=width, height=((n_lines + 1) * LINE + 8) * len(whose), title=given)
    return [words, _strip(counted.first, whose, over_runs, width)]


def _orders(counted: Counted) -> list[dict[str, Any]]:
    """Births to counts over the runs of one origin.

    ``k`` runs have the first motif first, ``after`` the second; ``n_runs`` there are. Each of the ``n`` seeds with a
    run that decides counts with its share of them: ``first_in`` is their sum. ``spread`` is the mean over
    ``n_spread`` seeds of the mean over a seed's runs of the epochs from the first to the last birth; ``n_never`` of
    ``n_apart`` births are left out of it because they never happen.
    """
    first, second = json.dumps(counted.first), json.dumps(counted.second)
    births = {"first": ("min", "first_born"), "second": ("min", "second_born"), "earliest": ("min", "apart_born")}
    births |= {"latest": ("max", "apart_born"), "n_born": ("valid", "apart_born"), "n_apart": ("sum", "is_apart")}
    in_seed = {"k": ("sum", "before"), "after": ("sum", "after"), "n_runs": ("count", None)}
    in_seed |= {"spread": ("mean", "spread"), "n_born": ("sum", "n_born"), "n_apart": ("sum", "n_apart")}
    in_all = in_seed | {"k": ("sum", "k"), "n_runs": ("sum", "n_runs"), "n_spread": ("valid", "spread")}
    in_all |= {"n": ("valid", "share"), "first_in": ("sum", "share")}
    earlier = "isValid(datum.{0}) && (!isValid(datum.{1}) || datum.{0} < datum.{1}) ? 1 : 0"
    return [
        {"calculate": f"datum.motif === {first} ? datum.born : null", "as": "first_born"},
        {"calculate": f"datum.motif === {second} ? datum.born : null", "as": "second_born"},
        {"calculate": f"indexof({json.dumps(list(counted.apart))}, datum.motif) < 0 ? 0 : 1", "as": "is_apart"},
        {"calculate": "datum.is_apart ? datum.born : null", "as": "apart_born"},
        _aggregate(births, ["run", "runs", "init_seed"]),
        {"calculate": earlier.format("first", "second"), "as": "before"},
        {"calculate": earlier.format("second", "first"), "as": "after"},
        {"calculate": "datum.n_born > 0 ? datum.latest - datum.earliest : null", "as": "spread"},
        _aggregate(in_seed, ["runs", "init_seed"]),
        {"calculate": "datum.k + datum.after > 0 ? datum.k / (datum.k + datum.after) : null", "as": "share"},
        _aggregate(in_all, ["runs"]),
        {"calculate": "datum.n_apart - datum.n_born", "as": "n_never"},
    ]


def _aggregate(made: dict[str, tuple[str, str | None]], groupby: list[str]) -> dict[str, Any]:
    ops = [{"op": op, "as": name} | ({"field": field} if field else {}) for name, (op, field) in made.items()]
    return {"aggregate": ops, "groupby": groupby}


def _interval(size: Size) -> list[dict[str, Any]]:
    """``share`` of the ``n`` seeds that decide, its Clopper-Pearson interval ``low`` to ``high``, and ``status``."""
    ends = f"intervals[datum.n][round({size.steps} * datum.first_in)]"
    status = f"datum.low >= {HALF} ? '{Status.SUPPORTED}' : datum.high < {HALF} ? '{Status.REFUTED}' : "
    made = {
        "share": "datum.first_in / datum.n",
        "low": f"datum.n > 0 ? {ends}[0] : 0",
        "high": f"datum.n > 0 ? {ends}[1] : 1",
        "status": f"datum.n < {MIN_SEEDS} ? '{Status.UNDECIDED}' : {status}'{Status.UNDECIDED}'",
    }
    return [{"calculate": how, "as": name} for name, how in made.items()]


@functools.lru_cache(maxsize=4)  # the layouts for a page and a phone have the same
def intervals(size: Size) -> list[list[list[float]]]:
    """The interval of every share that can come up: by number of seeds, then by successes in parts of a seed."""
    found: list[list[list[float]]] = [[]]
    for n in range(1, size.seeds + 1):
        shares = (CountedShare(k / size.steps, n).interval() for k in range(n * size.steps + 1))
        found.append([[round(one.low, 6), round(one.high, 6)] for one in shares])
    return found


def _badge() -> str:
    """Icon, word, and what it was held against."""
    why = f"datum.n < {MIN_SEEDS} ? ': fewer than {MIN_SEEDS} seeds decide' : ' at one half'"
    return f"({json.dumps(ICONS, ensure_ascii=False)})[datum.status] + ' ' + datum.status + ({why})"


def _says(counted: Counted, letters: int) -> tuple[str, int]:
    """The sentences below the badge as one expression, and the most lines they take."""
    first, second = counted.first, counted.second
    order = f"{first[:1].upper()}{first[1:]} is born before {second} in {{k}} of {{of_runs}} runs that decide,"
    interval = "of {n} seeds; Clopper-Pearson interval over seeds [{low},\u00a0{high}]; {rest} of {runs} runs do not "
    interval += "decide."
    none = f"No run decides whether {first} is born before {second}."
    names = [motif.replace(", ", " ") for motif in counted.apart]  # "slot, patch" would read as two in a list
    motifs = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    spread = f"The births of {motifs} in one run lie {{spread}} epochs apart, first to last "
    spread += "(mean over {of} seeds; not born and left out: {never} of {apart})."
    values = {
        "k": "datum.k", "n": "datum.n", "low": "format(datum.low, '.2f')", "high": "format(datum.high, '.2f')",
        "of_runs": "(datum.k + datum.after)", "rest": "(datum.n_runs - datum.k - datum.after)", "runs": "datum.n_runs",
        "spread": "format(datum.spread, '.1f')",
        "of": "datum.n_spread", "never": "datum.n_never", "apart": "datum.n_apart",
    }  # fmt: skip
    decided = f"{_wrapped(order, letters)}\n{_wrapped(interval, letters)}"
    undecided, spread = _wrapped(none, letters), _wrapped(spread, letters)
    order = f"datum.n > 0 ? {_filled(decided, values)} : {_filled(undecided, values)}"
    far = f"datum.n_spread > 0 ? {_filled(spread, values)} : 'Nothing is born.'"
    return f"({order}) + '\\n' + ({far})", decided.count("\n") + spread.count("\n") + 2


def _wrapped(words: str, letters: int) -> str:
    return "\n".join(textwrap.wrap(words, letters, break_long_words=False))


def _filled(words: str, values: dict[str, str]) -> str:
    """An expression that says the words with every {name} replaced by what its expression gives."""
    parts = re.split(r"\{(\w+)\}", words)
    return " + ".join(values[part] if place % 2 else json.dumps(part) for place, part in enumerate(parts))


def _strip(first: str, whose: list[str], counted: list[dict[str, Any]], width: int) -> alt.LayerChart:
    """The share with its interval on a line, and a rule at one half."""
    y = alt.Y("runs:N", sort=whose, axis=None, title=None)
    title = style.axis_title(f"share of the seeds that decide in which {first} is first", width)
    axis = alt.Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1], labelFlush=True)
    x = alt.X("share:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=axis)
    tips = [
        alt.Tooltip("share:Q", format=".2f"), alt.Tooltip("low:Q", title="interval from", format=".2f"),
        alt.Tooltip("high:Q", title="to", format=".2f"), alt.Tooltip("n:Q", title="seeds that decide"),
        alt.Tooltip("runs:N", title="from"),
    ]  # fmt: skip
    base = alt.Chart().transform_filter("datum.n > 0").encode(y=y, tooltip=tips)
    half = alt.Chart(alt.Data(values=[{"share": HALF, "label": "one half"}])).encode(x=x)
    low = alt.X(**{**x.to_dict(), "field": "low"})
    layers = [
        half.mark_rule(style="chance", tooltip=False),
        half.mark_text(style="chance-label", align="left", baseline="bottom", dx=4, tooltip=False).encode(
            y=alt.value(-2), text="label:N"
        ),
        base.mark_rule(style="ink", strokeWidth=2.4).encode(x=low, x2="high:Q"),
        base.mark_point(style="ink", filled=True, size=90, opacity=1).encode(x=x),
    ]  # fmt: skip
    return alt.layer(*layers, transform=counted, width=width, height=22 * len(whose))
