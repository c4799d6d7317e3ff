"""The tables behind the figures of the chapter and of its appendix."""

from retrieval_circuits.bigrams_and_composition.figures.appendix import APPENDIX_VIEWS
from retrieval_circuits.bigrams_and_composition.figures.chapter import (
    CHAPTER_VIEWS,
    on_the_map,
    published_mean,
    steps_in_words,
)
from retrieval_circuits.bigrams_and_composition.figures.words import (
    WORD_VIEWS,
    context_in_words,
    counting_in_words,
    off_noise_in_words,
)

__all__ = [
    "VIEWS",
    "context_in_words",
    "counting_in_words",
    "off_noise_in_words",
    "on_the_map",
    "published_mean",
    "steps_in_words",
]

VIEWS = CHAPTER_VIEWS | APPENDIX_VIEWS | WORD_VIEWS
