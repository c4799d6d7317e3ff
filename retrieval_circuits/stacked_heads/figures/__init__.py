"""The table behind each figure of the chapter and its appendix, with what its caption must say."""

from retrieval_circuits.stacked_heads.figures.appendix import APPENDIX_VIEWS
from retrieval_circuits.stacked_heads.figures.by_two import BY_TWO_VIEWS
from retrieval_circuits.stacked_heads.figures.deepest import DEEPEST_VIEWS
from retrieval_circuits.stacked_heads.figures.escapes import ESCAPE_VIEWS
from retrieval_circuits.stacked_heads.figures.four import FOUR_VIEWS
from retrieval_circuits.stacked_heads.figures.grid import GRID, PLATEAU
from retrieval_circuits.stacked_heads.figures.joining import JOINING_VIEWS
from retrieval_circuits.stacked_heads.figures.lessons import LESSON_VIEWS, found_in_words
from retrieval_circuits.stacked_heads.figures.longer import LONGER_VIEWS
from retrieval_circuits.stacked_heads.figures.prose import PROSE_VIEWS
from retrieval_circuits.stacked_heads.figures.rests import VIEWS as REST_VIEWS
from retrieval_circuits.stacked_heads.figures.three import THREE_VIEWS
from retrieval_circuits.stacked_heads.figures.trained import TRAINED_VIEWS
from retrieval_circuits.stacked_heads.figures.wait import WAIT_VIEWS
from retrieval_circuits.stacked_heads.figures.wiring import WIRING_VIEWS
from retrieval_circuits.stacked_heads.figures.words import WORD_VIEWS
from retrieval_circuits.stacked_heads.figures.words_prose import WORD_PROSE_VIEWS

__all__ = ["PLATEAU", "VIEWS", "found_in_words"]
VIEWS = (
    GRID
    | TRAINED_VIEWS
    | BY_TWO_VIEWS
    | LESSON_VIEWS
    | JOINING_VIEWS
    | WAIT_VIEWS
    | ESCAPE_VIEWS
    | REST_VIEWS
    | APPENDIX_VIEWS
    | THREE_VIEWS
    | LONGER_VIEWS
    | FOUR_VIEWS
    | DEEPEST_VIEWS
    | WIRING_VIEWS
    | PROSE_VIEWS
    | WORD_VIEWS
    | WORD_PROSE_VIEWS
)
