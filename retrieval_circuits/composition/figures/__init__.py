"""The table behind each figure of the chapter and its appendix, with what its caption must say."""

from retrieval_circuits.composition.design import HOPS
from retrieval_circuits.composition.figures.curves import (
    GUESS,
    UNABLE_TO_STOP,
    answering,
    begin_at,
    beyond,
    depths,
    longer,
    median_answered,
    questions,
    right_at_end,
    shallow,
    times_asked,
    training,
    turn_lengths,
    turns,
)
from retrieval_circuits.composition.figures.heads import by_heads, by_width, costs, numbers, shared, width_numbers
from retrieval_circuits.composition.figures.held import (
    HELD_BETWEEN,
    held,
    held_deep,
    held_gates,
    held_longer,
    held_two,
    share_held,
)
from retrieval_circuits.composition.figures.hops import errors, every_arm, frontier
from retrieval_circuits.composition.figures.times import arrivals, passing, raced

__all__ = [
    "GUESS",
    "HELD_BETWEEN",
    "HOPS",
    "UNABLE_TO_STOP",
    "VIEWS",
    "answering",
    "begin_at",
    "beyond",
    "median_answered",
    "numbers",
    "questions",
    "raced",
    "right_at_end",
    "share_held",
    "times_asked",
    "turn_lengths",
    "width_numbers",
]

CHAPTER = (training, turns, shallow, arrivals, depths, longer, passing, frontier, held, held_longer, by_heads, shared)
APPENDIX = (by_width, held_two, held_deep, held_gates, costs, errors, every_arm)
VIEWS = {view.__name__: view for view in (*CHAPTER, *APPENDIX)}
