"""One attention layer that follows a chain through a small vocabulary: all pairs of a block at once, in superposition.

``OneLayerChain`` beats the theorem (Musat 2025) with a head for every position. With symbols from a vocabulary of V two
heads a block are enough, as in permutation recall, where a trained layer does the same with V = 5:

1. **Attention**, by position alone. For each step one head spreads over the keys of its block and one over the values,
   with the same weights w_1 ... w_N for the pairs, all different; a symbol is copied as a one-hot of V channels. What a
   head writes says of each symbol at which pair it stands, or that it does not (0). Were the weights equal, only the
   sum of the symbols would be left, and no longer whose key was whose.
2. **MLP.** For each ordered choice of D + 1 different symbols u_0 ... u_D, a whole number z: how far the pair at which
   u_0 is a key is from the pair at which u_1 is a value, and so on with larger factors, so that z = 0 if and only if
   every pair is right. Three neurons make a tent over z = 0, which is heard only where the query is u_0:

       relu(z + 1 - big (1 - q)) - 2 relu(z - big (1 - q)) + relu(z - 1 - big (1 - q)).

The price is the vocabulary: 3 V! / (V - D - 1)! neurons, in a stream of about (2 D + 2) V channels. 512 neurons, as in
a layer of the source's networks, serve V = 13 for one look-up and V = 6 for two; the shortest sequences, of two chains,
need V = 4 and V = 6 for their symbols to be different. With fewer neurons the last choices are left out.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, permutations

import torch
from jaxtyping import Int
from torch import Tensor

from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import forward, init_weights

NEVER = -80.0  # score of a position that a head must not see
MAX_WIRED = 100_000  # neurons


@dataclass(frozen=True, kw_only=True)
class OneLayerVocabulary:
    """The network for one shape of the task; rows are laid out as for ``OneLayerChain``, a token for a symbol.

    Attributes:
        vocabulary: V, the symbols there are; those of a row are all different.
        n_chains: N, the pairs of a block.
        depth: D, the look-ups.
        d_mlp: neurons; 0 for as many as all choices need.

    Raises:
        ValueError: sizes below 1, fewer symbols than a row needs, or too many neurons.
    """

    vocabulary: int
    n_chains: int = 2
    depth: int = 2
    d_mlp: int = 0

    def __post_init__(self):
        if min(self.n_chains, self.depth) < 1 or self.d_mlp < 0:
            raise ValueError(
                f"n_chains = {self.n_chains}, depth = {self.depth}, d_mlp = {self.d_mlp}; allowed: >= 1, 1, 0"
            )
        least = self.n_chains * (self.depth + 1)
        if self.vocabulary < least:
            raise ValueError(f"vocabulary = {self.vocabulary}; the symbols of a row need {least}, N (D + 1)")
        if self.needed > MAX_WIRED and not self.d_mlp:
            raise ValueError(
                f"{self.needed:,} neurons for all choices; allowed: {MAX_WIRED:,}, or a d_mlp that is less"
            )

    @property
    def needed(self) -> int:
        """Neurons that all choices of symbols need: 3 V! / (V - D - 1)!."""
        return 3 * math.perm(self.vocabulary, self.depth + 1)

    @property
    def followed(self) -> float:
        """Share of the choices, and so of the queries, for which there are neurons."""
        return len(self._choices) / math.perm(self.vocabulary, self.depth + 1)

    @cached_property
    def config(self) -> ModelConfig:
        """The architecture, in words of the library: one layer, no norm, biases, a learned position."""
        positions = self.n_chains * (2 * self.depth + 1)
        return ModelConfig(
            d_vocab=self.vocabulary, n_ctx=positions, n_layers=1, n_heads=2 * self.depth, d_head=self.vocabulary,
            d_model=positions + (2 * self.depth + 2) * self.vocabulary, d_mlp=self.d_mlp or self.needed, norm="none",
            positions="learned", mlp="relu", tied=False, bias="all",
        )  # fmt: skip

    def weights(self, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
        """All weights, by name."""
        made = {
            name: torch.zeros_like(zero, dtype=torch.float64) for name, zero in init_weights(self.config, 0).items()
        }
        eye = torch.eye(self.vocabulary, dtype=torch.float64)
        n_ctx, attn = self.config.n_ctx, "blocks.0.attn"
        made["embed.W_E"][:, self._copy(-1)] = eye
        made["pos_embed.W_pos"][:, -n_ctx:] = torch.eye(n_ctx, dtype=torch.float64)
        made[f"{attn}.b_Q"][:, 0] = math.sqrt(self.config.d_head)
        made[f"{attn}.W_K"][:, -n_ctx:, 0] = NEVER
        for head in range(2 * self.depth):  # of step head // 2, whose block stands before those of earlier steps
            first = 2 * self.n_chains * (self.depth - 1 - head // 2) + head % 2
            shown = made[f"{attn}.W_K"][head, -n_ctx:, 0]
            shown[first : first + 2 * self.n_chains : 2] = torch.arange(1.0, self.n_chains + 1).double().log()
            made[f"{attn}.W_V"][head, self._copy(-1)] = eye
            made[f"{attn}.W_O"][head, :, self._copy(head)] = eye
        self._follow(made)
        made["unembed.W_U"][self._copy(2 * self.depth)] = eye
        return {name: value.to(dtype) for name, value in made.items()}

    def draw(self, n_rows: int, seed: int) -> tuple[Int[Tensor, "row pos"], Int[Tensor, "row chain"]]:
        """Rows of different tokens, laid out as ``ChainRetrieval`` has them, and x_D of each query."""
        generator = torch.Generator().manual_seed(seed)

        def orders(n: int) -> Int[Tensor, "row n"]:
            return torch.rand(n_rows, n, generator=generator).argsort(1)

        symbols = orders(self.vocabulary)[:, : self.n_chains * (self.depth + 1)]
        chains = symbols.view(n_rows, self.n_chains, self.depth + 1)
        blocks = [
            chains[:, :, step : step + 2].take_along_dim(orders(self.n_chains)[..., None], 1).flatten(1)
            for step in reversed(range(self.depth))
        ]
        asked = chains.take_along_dim(orders(self.n_chains)[..., None], 1)
        return torch.cat([*blocks, asked[:, :, 0]], 1), asked[:, :, -1]

    def accuracy(
        self, tokens: Int[Tensor, "row pos"], answers: Int[Tensor, "row chain"], dtype: torch.dtype = torch.float32
    ) -> float:
        """Share of queries whose likeliest symbol is x_D. Chance is 1 / V, or 1 / N for whoever knows the block.

        Args:
            tokens: rows, in which no symbol belongs to two chains.
            answers: x_D of each query, in the order of the queries.
            dtype: of all the network's arithmetic.
        """
        logits = forward(self.config, self.weights(dtype), tokens).logits[:, -self.n_chains :]
        return float((logits.argmax(-1) == answers).double().mean())

    @cached_property
    def _choices(self) -> list[tuple[int, ...]]:
        """The symbols u_0 ... u_D of every choice, as many as there are neurons for."""
        return list(islice(permutations(range(self.vocabulary), self.depth + 1), self.config.d_mlp // 3))

    def _copy(self, head: int) -> slice:
        """The channels of the token (-1), of what a head writes, and after the last head of the answer."""
        start = (head + 1) * self.vocabulary
        return slice(start, start + self.vocabulary)

    def _follow(self, made: dict[str, Tensor]) -> None:
        """The MLP: three neurons for each choice."""
        whole = self.n_chains * (self.n_chains + 1) / 2  # makes whole numbers of attention, whose weights are 1 ... N
        base = 2 * self.n_chains + 1  # two places differ by N at the most
        big = 2.0 * self.n_chains * base**self.depth
        read, bias = made["blocks.0.mlp.W_in"], made["blocks.0.mlp.b_in"]
        write, answer = made["blocks.0.mlp.W_out"], self._copy(2 * self.depth).start
        for number, symbols in enumerate(self._choices):
            neurons = slice(3 * number, 3 * number + 3)
            for step in range(self.depth):
                key, value = (
                    self._copy(2 * step).start + symbols[step],
                    self._copy(2 * step + 1).start + symbols[step + 1],
                )
                read[key, neurons] += whole * base**step
                read[value, neurons] -= whole * base**step
            read[self._copy(-1).start + symbols[0], neurons] += big
            bias[neurons] = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64) - big
            write[neurons, answer + symbols[-1]] = torch.tensor([1.0, -2.0, 1.0], dtype=torch.float64)
