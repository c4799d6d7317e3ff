"""The chapter's parameters, and the names of the arms that they are checked against."""

from itertools import pairwise
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from retrieval_circuits.design import EngineName, Seed, Seeds, SomeSeeds, distinct
from retrieval_circuits.sgd_formation.design import EVERY
from retrieval_circuits.sgd_selection.design.arms import ELSEWHERE, LABEL, N_FORKS, N_LAGS, ORDERS, TRACED


def _increasing(steps: tuple[int, ...]) -> tuple[int, ...]:
    if any(later <= step for step, later in pairwise(steps)):
        raise ValueError("each later than the one before")
    return steps


class Params(BaseModel):
    """Parameters of the chapter; ``params/sgd_selection.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[
        SomeSeeds,
        Field(
            description="init seeds of the networks whose winners are predicted; a hundred and two hundred higher are "
            "starts trained twice"
        ),
    ]
    parent: Annotated[Seed, Field(description="init seed of the network that is forked")]
    order_seeds: Annotated[SomeSeeds, Field(description="orders of the data at each point")]
    act_seeds: Annotated[SomeSeeds, Field(description="orders under which heads are held, or queries and keys frozen")]
    boost_seeds: Annotated[Seeds, Field(description="orders under which heads are boosted; may be empty")]
    exchange_seeds: Annotated[
        SomeSeeds, Field(description="orders under which heads are damped, or exchanged with a fork")
    ]
    frozen_seeds: Annotated[
        Seeds,
        Field(description="init seeds of networks whose queries and keys never move, or a head is told where to look"),
    ]
    fork_at: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...],
        Field(min_length=N_FORKS, max_length=N_FORKS, description="steps of the parent, increasing"),
        AfterValidator(_increasing),
    ]
    elsewhere_at: Annotated[
        tuple[Annotated[int, Field(ge=0, multiple_of=EVERY)], ...],
        Field(
            min_length=len(ELSEWHERE),
            max_length=len(ELSEWHERE),
            description="steps at which other networks are left, increasing",
        ),
        AfterValidator(_increasing),
    ]
    elsewhere_orders: Annotated[
        tuple[Annotated[int, Field(ge=0, lt=LABEL)], ...],
        Field(
            min_length=1,
            description="orders of the data at each of them; the first two of them where networks are drawn wide",
        ),
        AfterValidator(distinct),
    ]
    large_seed: Annotated[Seed, Field(description="init seed of the source's network that is forked")]
    large_orders: Annotated[SomeSeeds, Field(description="orders of the data of its forks")]
    d_model: Annotated[int, Field(ge=8, le=512, multiple_of=8, description="width")]
    batch_size: Annotated[int, Field(ge=1, le=4096, description="rows a step")]
    parent_steps: Annotated[int, Field(ge=EVERY, le=100_000, multiple_of=EVERY, description="of parent and networks")]
    steps: Annotated[
        int,
        Field(ge=EVERY, le=100_000, multiple_of=EVERY, description="at which forks end, counted as the parent's"),
    ]
    n_rows: Annotated[int, Field(ge=16, le=1024, description="rows on which networks are asked")]
    engine: EngineName

    @field_validator("parent_steps", "steps")
    @classmethod
    def _lets_forks_train(cls, given: int, of: Any) -> int:
        """Forks leave the parent while it trains; of those that are traced, gradients of an update can be followed.

        ``of`` is pydantic's ``ValidationInfo``, a protocol that nothing can be checked for when it is called.
        """
        if fork_at := of.data.get("fork_at"):
            last, traced = fork_at[-1], fork_at[ORDERS.index(TRACED)]
            most = max(last, traced + N_LAGS) if of.field_name == "steps" else last
            if given <= most:
                why = f"{N_LAGS} after the sixth of fork_at" if most > last else "the last of fork_at"
                raise ValueError(f"more than {most}, {why}")
        if of.field_name == "steps" and given > (most := of.data.get("parent_steps", given)):
            raise ValueError(f"at most parent_steps, {most}: the replay is compared with its parent")
        return given

    @field_validator("parent")
    @classmethod
    def _is_not_alone(cls, given: int, of: Any) -> int:
        """There are other networks, which are forked, too; ``of`` is pydantic's ``ValidationInfo``."""
        if of.data.get("seeds") == (given,):
            raise ValueError("another than the only one of seeds")
        return given

    @field_validator("parent_steps")
    @classmethod
    def _lets_networks_be_left(cls, given: int, of: Any) -> int:
        """The other networks are left while they train; ``of`` is pydantic's ``ValidationInfo``."""
        if (last := of.data.get("elsewhere_at", (0,))[-1]) >= given:
            raise ValueError(f"more than {last}, the last of elsewhere_at")
        return given
