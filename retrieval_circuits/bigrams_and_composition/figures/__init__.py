"""The tables behind the figures of the chapter and of its appendix."""

from retrieval_circuits.bigrams_and_composition.figures.appendix import APPENDIX_VIEWS
from retrieval_circuits.bigrams_and_composition.figures.chapter import CHAPTER_VIEWS, published_mean

__all__ = ["VIEWS", "published_mean"]

VIEWS = CHAPTER_VIEWS | APPENDIX_VIEWS
