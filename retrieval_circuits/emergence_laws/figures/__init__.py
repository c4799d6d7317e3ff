"""The tables behind the figures of the chapter and of its appendix."""

from retrieval_circuits.emergence_laws.figures.appendix import APPENDIX_VIEWS, order_in_words
from retrieval_circuits.emergence_laws.figures.chapter import (
    CHAPTER_VIEWS,
    TELLINGS,
    change_in_words,
    channel_powers_in_words,
    fitted_in_words,
    powers_in_words,
    settings_in_words,
    spread_in_words,
)

__all__ = [
    "TELLINGS",
    "VIEWS",
    "change_in_words",
    "channel_powers_in_words",
    "fitted_in_words",
    "order_in_words",
    "powers_in_words",
    "settings_in_words",
    "spread_in_words",
]

VIEWS = CHAPTER_VIEWS | APPENDIX_VIEWS
