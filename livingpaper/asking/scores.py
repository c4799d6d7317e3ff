"""How good the answers were: as the source counts, and what its counting leaves out."""

from collections.abc import Iterable

import pandas as pd

from circuitcore.emergence.seeds import share_interval
from livingpaper.asking.questions import Asked, Question, accepted

MEASURES = {
    "accuracy": "right answers, of questions that got an acceptable one (as the source counts)",
    "accuracy_of_all": "right answers, of all questions asked",
    "first_try": "right at the first reply, of all questions asked",
    "accepted_replies": "acceptable replies, of all replies: what asking again hides",
    "answered": "questions that got an acceptable reply at all",
}


def scores(questions: Iterable[Question], asked: Iterable[Asked]) -> pd.DataFrame:
    """A row for each of ``MEASURES``, over the questions that were asked.

    The source draws replies until one is acceptable and reports the first measure alone. That conditions on what the
    model can be brought to say: one that mostly rambles, and is right when it does not, looks perfect.

    Returns:
        ``measure``, ``share`` in [0, 1], ``low`` and ``high`` (Wilson's 95 %; empty where there is nothing to count),
        ``n`` (of what), ``chance`` (of guessing among the acceptable answers, if that is what it measures).
    """
    by_name = {question.name: question for question in questions}
    known = [one for one in asked if one.question in by_name]
    answered = [one for one in known if one.answer is not None]
    right = sum(one.right for one in answered)
    first = sum(
        accepted(one.replies[0], by_name[one.question].acceptable) == by_name[one.question].answer for one in known
    )
    replies = sum(len(one.replies) for one in known)
    guess = [1 / len(by_name[one.question].acceptable) for one in known]
    chance = sum(guess) / len(guess) if guess else None
    counts = {
        "accuracy": (right, len(answered), chance),
        "accuracy_of_all": (right, len(known), chance),
        "first_try": (first, len(known), chance),
        "accepted_replies": (len(answered), replies, None),
        "answered": (len(answered), len(known), None),
    }
    return pd.DataFrame([_row(name, *counts[name]) for name in MEASURES])


def score_lines(table: pd.DataFrame) -> list[str]:
    """The table for a terminal, a line each."""
    lines = []
    for row in table.itertuples():
        share = f"{row.share:7.1%} [{row.low:.1%}, {row.high:.1%}]" if row.n else "      -"
        chance = "" if pd.isna(row.chance) else f", chance {row.chance:.1%}"
        lines.append(f"{share:26} of {row.n}{chance}: {MEASURES[row.measure]}")
    return lines


def _row(measure: str, count: int, n: int, chance: float | None) -> dict[str, object]:
    found = share_interval(count, n) if n else None
    return {
        "measure": measure,
        "share": found.mean if found else float("nan"),
        "low": found.low if found else float("nan"),
        "high": found.high if found else float("nan"),
        "n": n,
        "chance": float("nan") if chance is None else chance,
    }
