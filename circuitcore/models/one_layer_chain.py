"""One attention layer, wired by hand, that follows a chain of D look-ups: where the theorem's assumption fails.

Musat 2025 (Theorem 1) lets a position attend only where it finds a piece of information that it already has; then D
look-ups need log_3(2D) layers, so two for D = 2, 3 or 4. But where the answer's *block* stands is known beforehand, and
attention by position alone needs no common piece. So:

1. **Attention.** One head for each of the 2 N D positions of pairs, which looks there whatever stands there (its query
   is a bias, its key the positional code) and copies the symbol into channels of its own. (One head that spread evenly
   over a block would collect all N candidates too, but as a sum: who was whose key would be lost, as values are linear
   in symbol plus code.) The query's position now holds the whole sequence, after one layer.
2. **MLP.** For each of the N^D ways to pick one pair of every step, a number z: how much the query differs from the
   first pair's key, plus the first pair's value from the second's key, and so on, all seen in one direction. z = 0 only
   on the way that the chain takes (but for accidents, below). 2 (K + 1) neurons let the last value through if z = 0:
   with v one of its K components, they make the two steps of

       [relu(v + C + B z) - relu(C + B z)] - [relu(v + C + B (z - width)) - relu(C + B (z - width))],

   which is v at z = 0, and 0 where z <= -width or z >= width, if |v| <= C and B = 2 C / width.

The inputs are those of the source's minimal formulation, symbols drawn anew for every sequence: there is no vocabulary
to learn. What it costs is width: 2 N D heads and 2 (K + 1) N^D neurons. With N = K = 4 these are 16 heads and 160
neurons for D = 2, and 24 heads and 640 neurons for D = 3, in a stream of 76 and 108 channels: the size of a layer of
the source's networks (128 channels, usually 512 neurons). With fewer neurons the last ways are left out, and their
share of the queries is answered by 0. Symbols that look alike within ``width`` are confused; how small that can be is a
question of the numbers' precision.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product

import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import forward, init_weights

LARGEST = 6.0  # |component| of a symbol that is let through: C. A standard normal one is larger once in 500 million
SHARP = 60.0  # least lead of the position that a head looks at, before the softmax
MAX_WIRED = 100_000  # neurons


@dataclass(frozen=True, kw_only=True, eq=False)
class OneLayerChain:
    """The network for one shape of the task.

    Rows are blocks of N pairs (key, value), the block of step D, which holds the answer, first; then the N queries:
    2 N D + N positions, each a symbol of K numbers followed by the positional code.

    Attributes:
        codes: positional code of every position, all equally long and no two alike.
        n_chains: N, the pairs of a block.
        depth: D, the look-ups.
        n_symbol: K, the numbers of a symbol.
        d_mlp: neurons; 0 for as many as all ways need. Ways for which there are none are not followed.
        width: how far z may be from 0 to count as 0.

    Raises:
        ValueError: sizes below 1, codes of another number of positions, or of unlike length, or too many neurons.
    """

    codes: Float[Tensor, "pos code"]
    n_chains: int = 4
    depth: int = 2
    n_symbol: int = 4
    d_mlp: int = 0
    width: float = 1e-3

    def __post_init__(self):
        for name in ("n_chains", "depth", "n_symbol"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}; allowed: at least 1")
        if not 0 < self.width < 1 or self.d_mlp < 0:
            raise ValueError(f"width = {self.width}, d_mlp = {self.d_mlp}; allowed: between 0 and 1, and at least 0")
        positions = self.n_chains * (2 * self.depth + 1)
        if len(self.codes) != positions:
            raise ValueError(f"codes of {len(self.codes)} positions; {positions} are needed, N (2 D + 1)")
        lengths = self.codes.norm(dim=1)
        if not torch.allclose(lengths, lengths[:1]) or self._lead <= 0:
            raise ValueError("codes must be equally long and all different, so that each is nearest to itself")
        if self.needed > MAX_WIRED and not self.d_mlp:
            raise ValueError(
                f"{self.needed:,} neurons for all N^D ways; allowed: {MAX_WIRED:,}, or a d_mlp that is less"
            )

    @property
    def needed(self) -> int:
        """Neurons that all ways need: 2 (K + 1) N^D."""
        return 2 * (self.n_symbol + 1) * self.n_chains**self.depth

    @property
    def followed(self) -> float:
        """Share of the N^D ways, and so of the queries, for which there are neurons."""
        return len(self._ways) / self.n_chains**self.depth

    @cached_property
    def config(self) -> ModelConfig:
        """The architecture, in words of the library: one layer, no norm, biases."""
        n_copied, d_in = 2 * self.n_chains * self.depth, self.n_symbol + self.codes.shape[1]
        return ModelConfig(
            d_vocab=self.n_symbol, n_ctx=len(self.codes), n_layers=1, n_heads=n_copied,
            d_model=d_in + (n_copied + 1) * self.n_symbol, d_head=max(self.n_symbol, self.codes.shape[1]), d_in=d_in,
            d_mlp=self.d_mlp or self.needed, norm="none", positions="none", mlp="relu", tied=False, bias="all",
        )  # fmt: skip

    def weights(self, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
        """All weights, by name. They are made in float64 and rounded once."""
        made = {
            name: torch.zeros_like(zero, dtype=torch.float64) for name, zero in init_weights(self.config, 0).items()
        }
        k, d_in, eye = self.n_symbol, self.config.d_in, torch.eye(self.n_symbol, dtype=torch.float64)
        made["embed.W_in"][:, :d_in] = torch.eye(d_in, dtype=torch.float64)
        codes, attn = self.codes.double(), "blocks.0.attn"
        made[f"{attn}.b_Q"][:, : codes.shape[1]] = (
            SHARP / self._lead * math.sqrt(self.config.d_head) * codes[: self.config.n_heads]
        )
        made[f"{attn}.W_K"][:, k:d_in, : codes.shape[1]] = torch.eye(codes.shape[1], dtype=torch.float64)
        made[f"{attn}.W_V"][:, :k, :k] = eye
        for head in range(self.config.n_heads):
            made[f"{attn}.W_O"][head, :k, self._copy_of(head)] = eye
        self._follow(made)
        made["unembed.W_U"][-k:] = eye
        return {name: value.to(dtype) for name, value in made.items()}

    def error(
        self,
        inputs: Float[Tensor, "row pos d_in"],
        answers: Float[Tensor, "row chain symbol"],
        dtype: torch.dtype = torch.float64,
    ) -> float:
        """Mean squared error over rows, queries and components; to answer 0 always makes 1 of standard normal symbols.

        Args:
            inputs: rows as described above.
            answers: x_D of each query, in the order of the queries.
            dtype: of all the network's arithmetic.
        """
        logits = forward(self.config, self.weights(dtype), inputs.to(dtype)).logits
        return float((logits[:, -self.n_chains :].double() - answers.double()).square().mean())

    @cached_property
    def _lead(self) -> float:
        """How much nearer, as a product, each code is to itself than any other code is."""
        products = self.codes.double() @ self.codes.double().T
        others = products.masked_fill(torch.eye(len(products), dtype=torch.bool), -torch.inf)
        return float((products.diagonal() - others.amax(1)).min())

    @cached_property
    def _ways(self) -> Int[Tensor, "way step"]:
        """The pair of each step that a way takes, for as many ways as there are neurons."""
        places = product(range(self.n_chains), repeat=self.depth)
        most = self.config.d_mlp // (2 * (self.n_symbol + 1))
        return torch.tensor(list(islice(places, most))).reshape(-1, self.depth)

    def _copy_of(self, position: int) -> slice:
        """The channels into which the head of a position copies."""
        start = self.config.d_in + position * self.n_symbol
        return slice(start, start + self.n_symbol)

    def _follow(self, made: dict[str, Tensor]) -> None:
        """The MLP: for each way, two steps of K + 1 neurons."""
        k, slope = self.n_symbol, 2 * LARGEST / self.width
        read, bias = made["blocks.0.mlp.W_in"], made["blocks.0.mlp.b_in"]
        write, out = made["blocks.0.mlp.W_out"], slice(-k, None)
        side = torch.arange(
            2, k + 2, dtype=torch.float64
        ).sqrt()  # the one direction in which symbols are seen: crooked,
        side *= slope / side.norm()  # so that symbols on a grid are seldom alike in it
        for number, way in enumerate(self._ways.tolist()):
            z = torch.zeros(self.config.d_model, dtype=torch.float64)
            z[:k] = side
            for step, slot in enumerate(way):
                key = 2 * ((self.depth - 1 - step) * self.n_chains + slot)
                z[self._copy_of(key)] -= side
                if step < self.depth - 1:
                    z[self._copy_of(key + 1)] += side
            for half, sign in enumerate((1.0, -1.0)):
                first = (2 * number + half) * (k + 1)
                neurons = slice(first, first + k + 1)
                read[:, neurons] = z[:, None]
                read[self._copy_of(key + 1), first : first + k] += torch.eye(k, dtype=torch.float64)
                bias[neurons] = LARGEST - half * slope * self.width
                write[first : first + k, out] = sign * torch.eye(k, dtype=torch.float64)
                write[first + k, out] = -sign
