"""What is trained: depths against lengths of chains, with and without the rewards in between, and many seeds of one.

Source: Musat, "Mechanism and Emergence of Stacked Attention Heads in Multi-Layer Transformers" (ICLR 2025), section 7.
Its recipe (d 128, 8 heads, batch 512, 10,000 steps at rate 1e-3, a fixed set of 2^20 rows) takes more than two
hundred hours of one core; ours is smaller. Width, batch and steps come from a pilot on a seed that no arm has (0):
with four layers both symbols of a chain of two were learnt within 750 steps, with three the second was not in 8,000.
"""

from typing import NamedTuple


class Cell(NamedTuple):
    """One cell of the grid: look-ups a chain, layers, and whether every symbol on the way is rewarded."""

    n_steps: int
    n_layers: int
    rewarded: bool

    def __str__(self) -> str:
        return f"D {self.n_steps}, {'every step' if self.rewarded else 'only the last'}, {self.depth}"

    @property
    def depth(self) -> str:
        """Its layers in words."""
        return f"{self.n_layers} layer{'s' * (self.n_layers > 1)}"

    @property
    def targets(self) -> tuple[int, ...]:
        """The symbols that are wanted; none stands for all."""
        return () if self.rewarded else (self.n_steps,)


ONE = tuple(Cell(1, n_layers, rewarded=True) for n_layers in (1, 2, 3))
"""One look-up: the last step is every step."""
ONE_DEEP = tuple(Cell(1, n_layers, rewarded=True) for n_layers in (4, 5, 6))
"""The same at the grid's other depths, which were trained last: of its first ``N_ALONE`` seeds."""
REWARDED = tuple(Cell(2, n_layers, rewarded=True) for n_layers in (1, 2, 3, 4, 5, 6))
LAST_ALONE = (Cell(2, 4, rewarded=False),)
ALONE = tuple(Cell(2, n_layers, rewarded=False) for n_layers in (1, 2, 3, 5))
"""The last symbol alone rewarded, at other depths of the grid: of its first ``N_ALONE`` seeds."""
SIX_ALONE = Cell(2, 6, rewarded=False)
"""The same at the grid's last depth, which was trained when the others had been judged."""
N_ALONE = 5
GRID = (*ONE, *REWARDED, *LAST_ALONE)
FOLLOWED = Cell(2, 4, rewarded=True)
"""The cell whose heads are followed through training."""
