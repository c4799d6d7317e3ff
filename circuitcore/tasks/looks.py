"""What a head may look at: from which positions, among which alternatives, and which of them is right.

A task declares its looks (``Task.looks``); ``circuitcore.metrics.instruments.looks`` measures all of them alike.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuitcore.tasks.errors import TaskError


@dataclass(frozen=True, kw_only=True, eq=False)
class Look:
    """A choice that a head may make, once for each entry.

    Attributes:
        row: row of the batch.
        at: position that looks.
        places: the alternatives, each a set of positions; one that is empty, or ahead of ``at``, cannot be chosen.
        right: number of the alternative that is the right one.
        copied: position whose word a head that looks right should copy; of a task of vectors None.
        answer: that word's token; None where ``copied`` is.

    Raises:
        TaskError: entries that disagree in number, or a right alternative that cannot be chosen.
    """

    row: Int[Tensor, " look"]
    at: Int[Tensor, " look"]
    places: Bool[Tensor, "look slot pos"]
    right: Int[Tensor, " look"]
    copied: Int[Tensor, " look"] | None = None
    answer: Int[Tensor, " look"] | None = None

    def __post_init__(self):
        given = (self.row, self.at, self.places, self.right, self.copied, self.answer)
        if sizes := {len(one) for one in given if one is not None} - {len(self.row)}:
            raise TaskError(f"a look of {len(self.row)} entries; others have {sorted(sizes)}")
        if (self.copied is None) != (self.answer is None):
            raise TaskError("a look names the position that is copied and its token, or neither")
        blind = ~self.open.gather(1, self.right[:, None]).squeeze(1)
        if blind.any():
            raise TaskError(f"in {int(blind.sum())} of {len(self)} entries the right alternative cannot be looked at")

    def __len__(self) -> int:
        return len(self.row)

    @property
    def seen(self) -> Bool[Tensor, "look slot pos"]:
        """The alternatives without what is ahead of who looks."""
        return self.places & (torch.arange(self.places.shape[-1]) <= self.at[:, None])[:, None]

    @property
    def open(self) -> Bool[Tensor, "look slot"]:
        """Which alternatives can be chosen."""
        return self.seen.any(-1)

    @property
    def chance_of_routing(self) -> Float[Tensor, " look"]:
        """Of choosing the right alternative by lot."""
        return 1 / self.open.sum(-1)

    @property
    def chance_of_mass(self) -> Float[Tensor, " look"]:
        """Attention on the right alternative of a head that looks evenly at everything up to its own position."""
        right = self.seen[torch.arange(len(self)), self.right]
        return right.sum(-1) / (self.at + 1)


def role_look(
    roles: dict[str, Int[Tensor, "batch ..."]],
    n_pos: int,
    query: str,
    keys: tuple[str, ...],
    right: Int[Tensor, " batch"] | None = None,
) -> Look:
    """From the positions of a role to the slots of others.

    Args:
        roles: of a batch.
        n_pos: positions of its rows.
        query: ``[batch]``, or ``[batch slot]``.
        keys: ``[batch slot]`` each; together they make up a slot.
        right: the right slot of each row; None where slot i of ``query`` should look at slot i.
    """
    slots = torch.stack([roles[key] for key in keys], -1)  # [batch slot part]
    n_rows, n_slots, _ = slots.shape
    places = torch.zeros(n_rows, n_slots, n_pos, dtype=torch.bool).scatter(-1, slots, value=True)
    looking = roles[query].reshape(n_rows, -1)
    n_looking = looking.shape[1]
    own = torch.arange(n_looking).expand(n_rows, -1) if right is None else right[:, None].expand(-1, n_looking)
    return Look(
        row=torch.arange(n_rows).repeat_interleave(n_looking),
        at=looking.flatten(),
        places=places.repeat_interleave(n_looking, 0),
        right=own.flatten(),
    )
