"""A decoder with a word more than there is today, for what must refuse it by name."""

import dataclasses
from dataclasses import dataclass
from typing import Literal, get_args, get_origin

from circuitcore.ground.hashed import later
from circuitcore.models import ModelConfig

SMALL = {"d_vocab": 6, "n_ctx": 5, "n_layers": 1, "n_heads": 1, "d_model": 8, "d_mlp": 8}


@dataclass(frozen=True, kw_only=True)
class Younger(ModelConfig):
    """With gates on what heads write."""

    gate: Literal["none", "output"] = later("none")


def assert_knows_all(known):
    """Whoever adds a word must decide: compute it there too, or say in this test that it is refused."""
    assert known.keys() == {field.name for field in dataclasses.fields(ModelConfig)}
    for field in dataclasses.fields(ModelConfig):
        if get_origin(field.type) is Literal and known[field.name]:
            assert set(known[field.name]) == set(get_args(field.type)), field.name
