"""The tables behind the figures of the chapter and of its appendix."""

from retrieval_circuits.associative_memory.figures.appendix import APPENDIX_VIEWS
from retrieval_circuits.associative_memory.figures.chapter import CHAPTER_VIEWS
from retrieval_circuits.associative_memory.figures.layers import LAYER_VIEWS, recomposed_in_words, removal_in_words
from retrieval_circuits.associative_memory.figures.words import WORD_VIEWS, begins_in_words

__all__ = ["VIEWS", "begins_in_words", "recomposed_in_words", "removal_in_words"]

VIEWS = CHAPTER_VIEWS | LAYER_VIEWS | APPENDIX_VIEWS | WORD_VIEWS
