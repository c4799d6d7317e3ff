"""Parameters of the chapter."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from retrieval_circuits.design import EngineName, Seeds, SomeSeeds

STEPS_AN_EPOCH = 50
"""Steps between two checkpoints: an "epoch" here draws as many batches anew."""

WORDS_EVERY = 512
"""Steps between two checkpoints of networks that are trained on words."""


class Params(BaseModel):
    """Parameters of the chapter; ``params/stacked_heads.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of each cell of the grid")]
    taught_seeds: Annotated[
        Seeds,
        Field(description="init seeds where other things are rewarded, rows are others or longer, or training differs"),
    ]
    fresh_seeds: Annotated[Seeds, Field(description="init seeds that test what the first ones suggest")]
    three_seeds: Annotated[Seeds, Field(description="init seeds on chains of three and of four look-ups")]
    fresh_four_seeds: Annotated[
        Seeds, Field(description="init seeds that test what the first ones on chains of four suggest")
    ]
    source_seeds: Annotated[Seeds, Field(description="init seeds of the source's network of 24 layers")]
    deep_seeds: Annotated[
        Seeds, Field(description="init seeds of its networks of 12 layers: five hours of one core each")
    ]
    its_grid_seeds: Annotated[
        Seeds, Field(description="init seeds of its grid of 16 cells: some 45 hours of one core a seed")
    ]
    word_seeds: Annotated[Seeds, Field(description="init seeds, and rows of their own, of networks of words")]
    word_steps: Annotated[int, Field(ge=4, le=100_000, description="of training on words; of long rows a third")]
    d_model: Annotated[int, Field(ge=4, le=512, multiple_of=4, description="width; 4 heads, MLP four times as wide")]
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
    source_steps: Annotated[int, Field(ge=1, le=100_000, description="of the source's network of 24 layers")]
    engine: EngineName
    n_rows: Annotated[int, Field(ge=8, le=20_000, description="test rows that losses are measured on")]
