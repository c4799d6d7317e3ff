"""The words that all studies share: seeds, engines, what a caption calls the interval over seeds."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

# The order of the batches has a seed of its own, so that it never equals the one of the weights.
DATA_SEED_OFFSET = 10_000


def distinct(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """The same seeds, if each is there once; for parameters."""
    if len(set(seeds)) < len(seeds):
        raise ValueError("each seed once")
    return seeds


Seed = Annotated[int, Field(ge=0, lt=DATA_SEED_OFFSET)]
Seeds = Annotated[tuple[Seed, ...], AfterValidator(distinct)]
SomeSeeds = Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(distinct)]


EngineName = Literal["torch", "native", "stacked"]

N_BESIDE = 10
"""Networks of a chapter's main arms whose weights at the end are shipped: those of its first seeds. Their circuits
stand beside each other on the page."""

FALSE_ALARMS = ("story_control", ("SC5", "SC6"))
"""The study of networks that cannot have the circuit, and its claims on all of it and on a part of it."""

BAND = "95 % t interval of the mean over seeds"
"""What captions call the interval that is drawn."""
SHARES = "95 % Clopper-Pearson interval of the share over seeds"
"""The same of shares of runs."""
