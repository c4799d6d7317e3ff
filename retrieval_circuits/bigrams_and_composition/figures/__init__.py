"""The tables behind the figures of the chapter and of its appendix."""

from retrieval_circuits.bigrams_and_composition.figures.appendix import APPENDIX_VIEWS
from retrieval_circuits.bigrams_and_composition.figures.chapter import (
    CHAPTER_VIEWS,
    on_the_map,
    published_mean,
    steps_in_words,
)

__all__ = ["VIEWS", "on_the_map", "published_mean", "steps_in_words"]

VIEWS = CHAPTER_VIEWS | APPENDIX_VIEWS
