"""What is trained beside the grid: other things to reward, other rows, other lengths of context, fresh seeds.

Arms that differ in one thing from a cell of the grid, each with a recipe of its own, so that the grid's stay what they
were. No pilot was run of what is taught; of longer contexts one network with eight chains, of a seed that is in no arm,
was looked at when the claims had been written: it learnt after 300 steps, where four chains take 160.
"""

from dataclasses import dataclass

from circuitcore.tasks.chain_lengths import ChainsOfLengths
from circuitcore.tasks.chains import ChainRetrieval


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What networks of one arm are taught.

    Attributes:
        words: what is particular about it.
        n_steps: look-ups a chain, D.
        n_layers: of the network.
        n_chains: chains a row, all of them asked for.
        targets: which symbols are wanted; none: all of them.
        stages: split -> its share of training; more than "train" alone: rows of several lengths, whose last symbol is
            wanted.
        longer: how many times as many steps its networks have as others on chains of this length.
    """

    words: str
    n_steps: int
    n_layers: int
    n_chains: int = 4
    targets: tuple[int, ...] = ()
    stages: tuple[tuple[str, float], ...] = (("train", 1.0),)
    longer: int = 1

    def __str__(self) -> str:
        return f"D {self.n_steps}, {self.words}, {self.depth}"

    @property
    def depth(self) -> str:
        """Its layers in words."""
        return f"{self.n_layers} layer{'s' * (self.n_layers > 1)}"

    def task(self, n_rows: int) -> ChainRetrieval:
        """The task, with ``n_rows`` test rows."""
        sizes = {"n_chains": self.n_chains, "n_steps": self.n_steps, "n_test": n_rows}
        lengths = [split for split, _ in self.stages] != ["train"]
        return ChainsOfLengths(**sizes) if lengths else ChainRetrieval(targets=self.targets, **sizes)


LAST = Lesson(words="the last alone", n_steps=2, n_layers=3, targets=(2,))
SHORT_FIRST = Lesson(words="short chains first", n_steps=2, n_layers=3, stages=(("train_1", 1 / 3), ("train", 2 / 3)))
MIXED = Lesson(words="short and long", n_steps=2, n_layers=3, stages=(("mixed", 1.0),))
TAUGHT = (LAST, SHORT_FIRST, MIXED)
"""Two look-ups in as few layers as one look-up a layer takes; the grid has the arm with every step rewarded."""
FRESH = Lesson(words="every step, fresh seeds", n_steps=2, n_layers=4)
"""The cell that is followed, once more: what the first networks suggested is tested on these."""
FRESH_ONE = Lesson(words="every step, fresh seeds", n_steps=1, n_layers=1)
"""One look-up in one layer, once more: what its first networks suggested of where they rest is tested on these."""
LONGER = tuple(Lesson(words=f"{n} chains", n_steps=1, n_layers=2, n_chains=n) for n in (8, 12))
"""One look-up in longer contexts; the grid has four chains."""
