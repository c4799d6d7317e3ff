"""All weights of a decoder in one flat vector, seen by name as tensors that share its memory."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from circuitcore.models import ModelConfig
from circuitcore.models.transformer import require_weights, shapes_of


class FlatWeights:
    """Names and places of a decoder's weights in one vector.

    Attributes:
        size: floats in all.
        places: name -> where the tensor begins.
    """

    def __init__(self, config: ModelConfig):
        self._shapes = shapes_of(config)
        self.places, self.size = {}, 0
        for name, shape in self._shapes.items():
            self.places[name] = self.size
            self.size += math.prod(shape)

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """Every tensor by name, as a view into ``flat [size]``."""
        return {
            name: flat[place : place + math.prod(self._shapes[name])].view(self._shapes[name])
            for name, place in self.places.items()
        }

    def join(self, weights: Mapping[str, Tensor]) -> Tensor:
        """The tensors of ``weights``, in any order, as one vector ``[size]`` of float32.

        Raises:
            ValueError: tensors that are missing, left over or of another shape.
        """
        require_weights(self._shapes, weights)
        return torch.cat([weights[name].detach().reshape(-1).float() for name in self._shapes])
