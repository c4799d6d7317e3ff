"""What could make networks wait: the followed cell once more, each time with one thing of its training changed.

The source's deepest network has no path for 3,600 steps, and its text names no cause. What is known of its recipe has
noise (batches of 256) and a fixed set of rows, seen again every 1,024 steps; weight decay (0.1) is that of its other
networks. No pilot was run of these arms. The times of the followed networks were known when the arms were chosen: they
are at the shortcut after 320 to 380 steps and learn the first symbol after 460 to 770. In so many steps decay takes six
hundredths of a weight, so that it could hardly make the wait.
"""

from dataclasses import dataclass, replace

from circuitcore.training.recipe import Recipe, Stage
from retrieval_circuits.stacked_heads.design.grid import FOLLOWED
from retrieval_circuits.stacked_heads.design.params import STEPS_AN_EPOCH

LOOKED_EVERY = 25
"""Steps between two checkpoints."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that is changed in the training of the followed cell.

    Attributes:
        words: what is particular about it.
        share: of the followed cell's steps: those without which a wait could seem shorter than it is.
        batch: rows a batch, in those of the followed cell.
        rate: learning rate, in that of the followed cell.
        decay: weight decay, in that of the followed cell.
        n_rows: of a fixed set, seen again and again; 0: fresh rows.
    """

    words: str
    share: float
    batch: int = 1
    rate: float = 1.0
    decay: float = 1.0
    n_rows: int = 0

    def __str__(self) -> str:
        return f"D {FOLLOWED.n_steps}, {self.words}, {FOLLOWED.depth}"

    def of(self, followed: Recipe) -> Recipe:
        """A network of the followed cell, trained with the change; its start and its data seed stay."""
        last = max(round(self.share * followed.n_steps / LOOKED_EVERY), 1) * LOOKED_EVERY
        size, fresh = self.batch * followed.batch_size, self.batch * STEPS_AN_EPOCH * followed.batch_size
        rows_an_epoch = self.n_rows or fresh
        epochs = -(-last * size // rows_an_epoch)
        optimizer = followed.optimizer
        return replace(
            followed,
            task_params=dict(followed.task_params) | ({"n_train": self.n_rows} if self.n_rows else {}),
            optimizer=replace(optimizer, lr=self.rate * optimizer.lr, weight_decay=self.decay * optimizer.weight_decay),
            batch_size=size,
            stages=(Stage(("train",), epochs, 0 if self.n_rows else fresh),),
            checkpoint_epochs=(),
            checkpoint_at=tuple(range(0, last + 1, LOOKED_EVERY)),
        )


NO_DECAY = Change(words="without weight decay", share=1 / 3, decay=0.0)
LESS_NOISE = Change(words="four times the rows a batch", share=1 / 3, batch=4)
FASTER = Change(words="three times the learning rate", share=1 / 3, rate=3.0)
FIXED = Change(words="a fixed set of 16,384 rows", share=1.0, n_rows=2**14)
"""The same for all seeds. In 600 steps each row is seen nearly five times; in the source's 3,600, three and a half."""
TINY = Change(words="a fixed set of 256 rows", share=2 / 3, n_rows=2**8)
CHANGES = (NO_DECAY, LESS_NOISE, FIXED, FASTER, TINY)
"""The last two are no suspects: they show that the wait can be moved, either way."""
