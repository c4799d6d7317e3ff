"""Parameters of the chapter."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from circuitcore.tasks.limits import MAX_ROWS
from retrieval_circuits.design import EngineName, Seeds, SomeSeeds

STEPS_AN_EPOCH = 50
"""Steps between two checkpoints: an "epoch" here draws as many batches anew."""

WORDS_EVERY = 512
"""Steps between two checkpoints of networks that are trained on words."""

ROWS_A_TEST_ROW, GRID_ROWS_A_TEST_ROW = 1024, 4096
"""How many training rows the source's deep networks, and those of its grid, have for each of our test rows."""


class Params(BaseModel):
    """Parameters of the chapter; ``params/stacked_heads.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of each cell of the grid")]
    taught_seeds: Annotated[
        Seeds,
        Field(description="init seeds where other things are rewarded, rows are others or longer, or training differs"),
    ]
    fresh_seeds: Annotated[
        Seeds, Field(description="init seeds that test what the first ones suggest; some are trained on")
    ]
    three_seeds: Annotated[Seeds, Field(description="init seeds on chains of three and of four look-ups")]
    fresh_four_seeds: Annotated[
        Seeds, Field(description="init seeds that test what the first ones on chains of four suggest")
    ]
    source_seeds: Annotated[Seeds, Field(description="init seeds of the source's network of 24 layers")]
    deep_seeds: Annotated[
        Seeds, Field(description="init seeds of its networks of 12 layers: five hours of one core each")
    ]
    source_grid_seeds: Annotated[
        Seeds, Field(description="init seeds of its grid of 16 cells: some 90 hours of one core a seed")
    ]
    word_seeds: Annotated[Seeds, Field(description="init seeds, and rows of their own, of networks of words")]
    word_steps: Annotated[int, Field(ge=4, le=100_000, description="of training on words; of long rows a third")]
    d_model: Annotated[int, Field(ge=4, le=512, multiple_of=4, description="width; 4 heads, MLP four times as wide")]
    batch_size: Annotated[
        int, Field(ge=4, le=4096, description="rows of a batch; of words and by the source's recipes as these have it")
    ]
    steps: Annotated[int, Field(ge=STEPS_AN_EPOCH, le=100_000, multiple_of=STEPS_AN_EPOCH, description="of training")]
    unrewarded_steps: Annotated[
        int,
        Field(
            ge=STEPS_AN_EPOCH,
            le=100_000,
            multiple_of=STEPS_AN_EPOCH,
            description="of chains of two, the last alone rewarded",
        ),
    ]
    three_steps: Annotated[
        int,
        Field(
            ge=STEPS_AN_EPOCH,
            le=100_000,
            multiple_of=STEPS_AN_EPOCH,
            description="on chains of three or four; twice as many where needed",
        ),
    ]
    source_steps: Annotated[
        int, Field(ge=1, le=100_000, description="of the source's network of 24 layers; its others' in proportion")
    ]
    engine: EngineName
    n_rows: Annotated[
        int,
        Field(
            ge=8,
            le=20_000,
            description=f"test rows that losses are measured on; the source's networks train on {ROWS_A_TEST_ROW} "
            f"times as many, those of its grid on {GRID_ROWS_A_TEST_ROW}",
        ),
    ]

    @field_validator("n_rows")
    @classmethod
    def _can_all_be_trained_on(cls, given: int, of: Any) -> int:
        """No more rows are trained on than a task may have; ``of`` is pydantic's ``ValidationInfo``."""
        deep = dict.fromkeys(("source_seeds", "deep_seeds"), ROWS_A_TEST_ROW)
        for seeds, times in {"source_grid_seeds": GRID_ROWS_A_TEST_ROW, **deep}.items():
            if of.data.get(seeds) and given * times > MAX_ROWS:
                raise ValueError(
                    f"at most {MAX_ROWS // times} with {seeds}, which have {times} times as many to train on"
                )
        return given
