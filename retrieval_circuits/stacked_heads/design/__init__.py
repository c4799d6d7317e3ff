"""What is trained and measured: the grid of depths and rewards, and what is taught beside it."""

from retrieval_circuits.stacked_heads.design.grid import FOLLOWED, GRID, LAST_ALONE, ONE, REWARDED, Cell
from retrieval_circuits.stacked_heads.design.lessons import FRESH, LAST, LONGER, MIXED, SHORT_FIRST, TAUGHT, Lesson
from retrieval_circuits.stacked_heads.design.params import STEPS_AN_EPOCH, WORDS_EVERY, Params
from retrieval_circuits.stacked_heads.design.recipes import (
    BY_TWO,
    FLOW,
    FRESH_EVERY,
    KNOWN,
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
from retrieval_circuits.stacked_heads.design.words import EQUATIONS, RELATIVES, SPOKEN, Spoken, share_repeated

__all__ = [
    "BY_TWO",
    "EQUATIONS",
    "FLOW",
    "FOLLOWED",
    "FRESH",
    "FRESH_EVERY",
    "GRID",
    "KNOWN",
    "LAST",
    "LAST_ALONE",
    "LONGER",
    "MIXED",
    "ONE",
    "RELATIVES",
    "REWARDED",
    "SHORT_FIRST",
    "SPOKEN",
    "STEPS_AN_EPOCH",
    "TAUGHT",
    "WIRED",
    "WORDS_EVERY",
    "WORTH",
    "Cell",
    "Lesson",
    "Params",
    "Spoken",
    "experiments",
    "instruments",
    "lesson_steps",
    "published_epochs",
    "recipes",
    "share_repeated",
    "stages_of",
    "task_of",
]
