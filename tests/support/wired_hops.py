"""Networks wired by hand that compose: one hop a layer, or as many as are known already (doubling).

The words of permutations do the work. A word of hop i that takes b to c knows where a row must stand after i - 1 hops
to get to it, and where it stands then, after i hops. In every layer but the last each word looks for the word that
leads to it. It takes over the start from which that one is reached, once that one knows (one hop a layer), or how far
that one reaches back by then (doubling). In the last layer the query looks for the word that reaches back to its own
start and ends after as many hops as are asked for. In ``wired_meeting`` the query has made a hop by then, too.
"""

import torch

from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import weight_shapes
from circuitcore.tasks.k_fold_composition import KFoldComposition

SHARP = 40.0
"""Score of a match: softmax leaves nothing for anything else."""


def wired_hops(task: KFoldComposition, n_layers: int, *, doubling: bool) -> tuple[ModelConfig, dict[str, torch.Tensor]]:
    """Architecture and weights, of one head a layer, without norms and MLPs.

    Channels: ``reach[r]``, a state (hops done, symbol) for each time r that something was looked up, of which a word
    fills the first; ``ends``, the state after its own hop; ``hop``, its number; ``asks`` and ``start`` of a query.
    """
    n, k = task.n_symbols, task.n_hops
    states, slots = n * (k + 1), n_layers if doubling else 2
    at = {"ends": slots * states, "hop": (slots + 1) * states}
    at |= {"asks": at["hop"] + k, "start": at["hop"] + 2 * k, "answer": at["hop"] + 2 * k + n}
    d_model = at["answer"] + n
    config = ModelConfig(
        d_vocab=len(task.vocab), n_ctx=task.max_length, n_layers=n_layers, n_heads=1, d_model=d_model, d_head=states,
        d_mlp=0, norm="none", positions="none", mlp="none", tied=False,
    )  # fmt: skip
    weights = {name: torch.zeros(shape, dtype=torch.float64) for name, (shape, _) in weight_shapes(config).items()}
    _embed(task, weights["embed.W_E"], at, states * (slots - 1))
    every = torch.arange(states)
    for layer in range(n_layers - 1):
        q, key, v, out = (weights[f"blocks.{layer}.attn.W_{c}"][0] for c in "QKVO")
        mine, theirs, taken = (layer, layer, layer + 1) if doubling else (0, 1, 1)
        q[mine * states + every, every], key[at["ends"] + every, every] = SHARP, SHARP
        v[theirs * states + every, every], out[every, taken * states + every] = 1, 1
    q, key, v, out = (weights[f"blocks.{n_layers - 1}.attn.W_{c}"][0] for c in "QKVO")
    hops, symbols = torch.arange(k), torch.arange(n)
    # The hop matters most: a word may have taken over its start several times.
    q[at["asks"] + hops, hops], key[at["hop"] + hops, hops] = 10 * SHARP, 10 * SHARP
    q[at["start"] + symbols, k + symbols], key[(slots - 1) * states + symbols, k + symbols] = SHARP, SHARP
    v[at["answer"] + symbols, symbols], out[symbols, at["answer"] + symbols] = 1, 1
    weights["unembed.W_U"][at["answer"] + symbols, symbols] = 1
    return config, weights


def _embed(task: KFoldComposition, embed: torch.Tensor, at: dict[str, int], last_reach: int) -> None:
    """What words of permutations and queries are, before anything is looked up."""
    n, k = task.n_symbols, task.n_hops
    for hop in range(1, k + 1):
        undo = task.hidden[hop - 1].argsort()
        for b in range(n):
            for c in range(n):
                word = embed[n + ((hop - 1) * n + b) * n + c]
                comes_from = (hop - 1) * n + int(undo[b])
                word[comes_from] = word[at["ends"] + hop * n + c] = word[at["hop"] + hop - 1] = 1
                word[at["answer"] + c] = 1
                if hop == 1:  # nothing leads to it but itself
                    word[at["ends"] + comes_from] = word[last_reach + comes_from] = 1
            query = embed[n + k * n * n + (hop - 1) * n + b]
            query[at["asks"] + hop - 1] = query[at["start"] + b] = 1


def wired_meeting(task: KFoldComposition) -> tuple[ModelConfig, dict[str, torch.Tensor]]:
    """Up to three hops in two layers, of two heads: words double, and beside them the query makes the first hop.

    In the second layer the query looks for the word that ends after as many hops as are asked for and reaches back
    either to its start or to where it is after one hop. Channels as of ``wired_hops``, and ``now``, a state.
    """
    n, k = task.n_symbols, task.n_hops
    states = n * (k + 1)
    at = {"ends": 2 * states, "now": 3 * states, "hop": 4 * states}
    at |= {"asks": at["hop"] + k, "start": at["hop"] + 2 * k, "answer": at["hop"] + 2 * k + n}
    config = ModelConfig(
        d_vocab=len(task.vocab), n_ctx=task.max_length, n_layers=2, n_heads=2, d_model=at["answer"] + n,
        d_head=states + k, d_mlp=0, norm="none", positions="none", mlp="none", tied=False,
    )  # fmt: skip
    weights = {name: torch.zeros(shape, dtype=torch.float64) for name, (shape, _) in weight_shapes(config).items()}
    _embed(task, weights["embed.W_E"], at, states)
    every, hops, symbols = torch.arange(states), torch.arange(k), torch.arange(n)
    q, key, v, out = (weights[f"blocks.0.attn.W_{c}"] for c in "QKVO")
    q[0, every, every], key[0, at["ends"] + every, every] = SHARP, SHARP
    v[0, every, every], out[0, every, states + every] = 1, 1
    # Of a word of the first hop the first reach is the symbol that it starts from.
    q[1, at["start"] + symbols, symbols], key[1, symbols, symbols] = SHARP, SHARP
    v[1, at["ends"] + every[n:], every[n:]], out[1, every[n:], at["now"] + every[n:]] = 1, 1
    q, key, v, out = (weights[f"blocks.1.attn.W_{c}"][0] for c in "QKVO")
    q[at["asks"] + hops, states + hops], key[at["hop"] + hops, states + hops] = 10 * SHARP, 10 * SHARP
    q[at["start"] + symbols, symbols], q[at["now"] + every, every] = SHARP, SHARP
    key[states + every, every] = SHARP
    v[at["answer"] + symbols, symbols], out[symbols, at["answer"] + symbols] = 1, 1
    weights["unembed.W_U"][at["answer"] + symbols, symbols] = 1
    return config, weights


def wired_gates(task: KFoldComposition) -> tuple[ModelConfig, dict[str, torch.Tensor]]:
    """Four hops in two layers, of a head for each symbol: more than words that double, and a query that hops, make.

    In the first layer words double, and the query makes its first hop and takes over the whole table of the fourth
    permutation. In the second each head stands for an answer. It looks at the word of the third permutation that goes
    on from where the query is *and* ends where the table has that answer; where no word does both it looks at a query,
    which says nothing. So one head speaks. Channels as of ``wired_meeting``; ``table``, a symbol and where it goes.
    """
    n, k = task.n_symbols, task.n_hops
    states = n * (k + 1)
    at = {"ends": 2 * states, "now": 3 * states, "hop": 4 * states}
    at |= {"asks": at["hop"] + k, "start": at["hop"] + 2 * k, "answer": at["hop"] + 2 * k + n}
    at |= {"pair": at["answer"] + n, "table": at["answer"] + n + n * n}
    config = ModelConfig(
        d_vocab=len(task.vocab), n_ctx=task.max_length, n_layers=2, n_heads=n, d_model=at["table"] + n * n,
        d_head=states, d_mlp=0, norm="none", positions="none", mlp="none", tied=False,
    )  # fmt: skip
    weights = {name: torch.zeros(shape, dtype=torch.float64) for name, (shape, _) in weight_shapes(config).items()}
    _embed(task, weights["embed.W_E"], at, states)
    undo, cells = task.hidden[3].argsort(), torch.arange(n * n)
    for b in range(n):
        words = weights["embed.W_E"][n + (3 * n + b) * n :][:n]
        words[torch.arange(n), at["pair"] + int(undo[b]) * n + torch.arange(n)] = 1
    every, symbols, first = torch.arange(states), torch.arange(n), torch.arange(n, 2 * n)
    q, key, v, out = (weights[f"blocks.0.attn.W_{c}"] for c in "QKVO")
    q[0, every, every], key[0, at["ends"] + every, every] = SHARP, SHARP
    v[0, every, every], out[0, every, states + every] = 1, 1
    q[1, at["start"] + symbols, symbols], key[1, symbols, symbols] = SHARP, SHARP
    v[1, at["ends"] + first, first], out[1, first, at["now"] + first] = 1, 1
    q[2, at["asks"] + 3, 0], key[2, at["hop"] + 3, 0] = SHARP, SHARP
    v[2, at["pair"] + cells, cells], out[2, cells, at["table"] + cells] = 1, n  # a mean over as many words
    q, key, v, out = (weights[f"blocks.1.attn.W_{c}"] for c in "QKVO")
    for answer in range(n):
        q[answer, at["now"] + first, symbols], key[answer, states + first, symbols] = SHARP, SHARP
        q[answer, at["table"] + symbols * n + answer, n + symbols] = SHARP
        key[answer, at["ends"] + 3 * n + symbols, n + symbols] = SHARP
        q[answer, at["asks"] + 3, 2 * n] = SHARP
        key[answer, at["hop"] + 2, 2 * n] = 10 * SHARP
        key[answer, at["asks"] : at["asks"] + k, 2 * n] = 11.5 * SHARP  # between one condition met and both
        v[answer, at["hop"] + 2, 0], out[answer, 0, at["answer"] + answer] = 1, 1
    weights["unembed.W_U"][at["answer"] + symbols, symbols] = 1
    return config, weights
