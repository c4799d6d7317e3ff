"""What is trained and measured: the grid of depths and rewards, and what is taught beside it."""

from retrieval_circuits.stacked_heads.design.grid import FOLLOWED, GRID, LAST_ALONE, ONE, REWARDED, Cell
from retrieval_circuits.stacked_heads.design.lessons import FRESH, LAST, LONGER, MIXED, SHORT_FIRST, TAUGHT, Lesson
from retrieval_circuits.stacked_heads.design.params import STEPS_AN_EPOCH, Params
from retrieval_circuits.stacked_heads.design.recipes import (
    BY_TWO,
    FLOW,
    FRESH_EVERY,
    WIRED,
    WORTH,
    experiments,
    instruments,
    lesson_steps,
    published_epochs,
    recipes,
    stages_of,
    task_of,
)

__all__ = [
    "BY_TWO",
    "FLOW",
    "FOLLOWED",
    "FRESH",
    "FRESH_EVERY",
    "GRID",
    "LAST",
    "LAST_ALONE",
    "LONGER",
    "MIXED",
    "ONE",
    "REWARDED",
    "SHORT_FIRST",
    "STEPS_AN_EPOCH",
    "TAUGHT",
    "WIRED",
    "WORTH",
    "Cell",
    "Lesson",
    "Params",
    "experiments",
    "instruments",
    "lesson_steps",
    "published_epochs",
    "recipes",
    "stages_of",
    "task_of",
]
