"""What happens to a tensor of the forward pass that has a name: taken from the clean pass, edited, kept."""

from collections.abc import Callable

from torch import Tensor

from circuitcore.models.plan import Plan
from circuitcore.models.sites import SITES, site_rank
from circuitcore.models.window import WHOLE


class Hooks:
    """Applies the plan at each site as the forward pass reaches it, and keeps what is asked for.

    What the window's clean pass holds is taken from there; the function that would compute it is never called.
    """

    def __init__(self, plan: Plan | None, record: frozenset[str], stack_dims: int, n_pos: int):
        self.plan, self.record, self.stack_dims, self.n_pos = plan, record, stack_dims, n_pos
        self.window = WHOLE if plan is None else plan.window
        self.cache: dict[str, Tensor] = {}

    def __call__(self, name: str, layer: int, compute: Callable[[], Tensor]) -> Tensor:
        """The tensor called ``name`` in ``layer``; ``compute`` gives it where the clean pass does not."""
        key, value = f"{name}.{layer}", self.clean(name, layer, compute)
        if self.plan is not None and key in self.plan.replacements:
            value = self.plan.replacements[key].apply(self.with_edit_axis(value, site_rank(name)), self.stack_dims)
        if key in self.record:
            self.cache[key] = value
        return value

    def clean(self, name: str, layer: int, compute: Callable[[], Tensor]) -> Tensor:
        """The same before any edit of it."""
        if self.window.holds(name, layer):
            return self.window.part(name, layer, self.window.clean[f"{name}.{layer}"])
        return compute()

    def with_edit_axis(self, value: Tensor, rank: int) -> Tensor:
        """Give ``value`` its edit axis unless an earlier edit did; up to the first edit, all edits share one copy."""
        if self.plan is None or value.dim() > rank + self.stack_dims:
            return value
        return value.expand(self.plan.n_edits, *value.shape)

    def positions(self, name: str, layer: int, like: Tensor) -> Tensor:
        """Where a site is computed: ``[pos]`` or ``[batch 1]``."""
        return self.window.positions(name, layer, self.n_pos, like)

    def check_all_recorded(self) -> None:
        """Sites before the one the pass takes up at are the clean pass's; any other that was not met does not exist."""
        for key in self.record - self.cache.keys():
            name, _, layer = key.partition(".")
            if not (name in SITES and layer.isdigit() and self.window.holds(name, int(layer))):
                raise ValueError(f"no tensor {key!r} in this model; sites are named like 'pattern.1'")
            self.cache[key] = self.window.part(name, int(layer), self.window.clean[key])
