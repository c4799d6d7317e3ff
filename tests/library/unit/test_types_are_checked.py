"""The tests run with types and shapes checked (``tests/conftest.py``): a check that is off would never fail."""

import pytest
import torch
from jaxtyping import TypeCheckError

from circuitcore.ground.durations import time_in_parallel
from circuitcore.metrics.scores.behavior import margin
from circuitcore.training.recipe import Optimizer


def test_shapes_that_do_not_agree_are_refused():
    with pytest.raises(TypeCheckError):
        margin(torch.zeros(3, 8), torch.zeros(4, dtype=torch.long))


def test_a_type_is_refused_where_nothing_has_a_shape():
    with pytest.raises(TypeCheckError):
        time_in_parallel("no loads", 2)


def test_a_field_of_a_dataclass_is_refused():
    with pytest.raises(TypeCheckError):
        Optimizer(lr="fast")
