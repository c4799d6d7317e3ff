"""What is trained on chains of three look-ups: several depths, and what is rewarded or shown.

Three is the source's own length where the last symbol alone is rewarded. Width, batch and rate are those of the grid.
Pilot networks of a seed that no arm has (0): four layers learnt all three symbols in 2,250 steps; as wide as the
source's (128, eight heads, batches of 256) in 1,500; of chains of five, six layers learnt two symbols in 6,000 steps.
"""

from retrieval_circuits.stacked_heads.design.grid import Cell
from retrieval_circuits.stacked_heads.design.lessons import Lesson

THREE = tuple(Cell(3, n_layers, rewarded=True) for n_layers in (2, 3, 4, 6))
"""Every step rewarded. Doubling takes three layers, one look-up a layer four."""
SCARCE, ONE_EACH, TO_SPARE = THREE[1:]
"""As few layers as doubling takes; one to join pairs and one a look-up; two more."""
FRESH_SCARCE = Lesson(words="every step, fresh seeds", n_steps=3, n_layers=3)
"""As few layers as doubling takes, once more: what the first six networks suggested is tested on these."""
LONG_SCARCE = Lesson(words="every step, four times as long", n_steps=3, n_layers=3, longer=4)
"""The first ``N_LONG`` of these fresh networks, trained on: whether what they lack is time."""
N_LONG = 12
THREE_LAST = Cell(3, 4, rewarded=False)
LAST_TWO = Lesson(words="the last two", n_steps=3, n_layers=4, targets=(2, 3))
ENDS = Lesson(words="the first and the last", n_steps=3, n_layers=4, targets=(1, 3))
SHORTEST_FIRST = Lesson(
    words="short chains first", n_steps=3, n_layers=4, stages=(("train_1", 1 / 4), ("train_2", 1 / 4), ("train", 1 / 2))
)
ALL_LENGTHS = Lesson(words="short and long", n_steps=3, n_layers=4, stages=(("mixed", 1.0),))
THREE_TAUGHT = (LAST_TWO, ENDS, SHORTEST_FIRST, ALL_LENGTHS)
"""In as few layers as one look-up a layer takes, by what is rewarded and which rows are seen."""
