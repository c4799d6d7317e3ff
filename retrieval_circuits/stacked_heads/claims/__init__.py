"""Claims on how deep a chain of look-ups must be, on what is rewarded, and on the order in which paths appear."""

from retrieval_circuits.stacked_heads.claims.four import FOUR_LOOK_UPS
from retrieval_circuits.stacked_heads.claims.grid import GRID
from retrieval_circuits.stacked_heads.claims.lessons import LESSONS
from retrieval_circuits.stacked_heads.claims.longer import TRAINED_ON
from retrieval_circuits.stacked_heads.claims.needed import NEEDED
from retrieval_circuits.stacked_heads.claims.rests import RESTS
from retrieval_circuits.stacked_heads.claims.three import THREE_LOOK_UPS
from retrieval_circuits.stacked_heads.claims.wait import WAIT
from retrieval_circuits.stacked_heads.claims.words import WORDS

CLAIMS = (*GRID, *NEEDED, *LESSONS, *WAIT, *RESTS, *THREE_LOOK_UPS, *TRAINED_ON, *FOUR_LOOK_UPS, *WORDS)
