"""Weights set by hand that recall and eliminate: 100 % of all probes of permutation recall, in one layer.

The architecture is the chapter's (PyTorch's encoder layer: LayerNorm after attention and after the FFN, ReLU, learned
positions, biases), nothing is trained. At every x, two heads and five comparisons:

1. ``L0H0``, the *match head* M: the last x looks for the same symbol at an earlier x and reads its slot's number w
   there. Where nothing matches it reads 0.
2. ``L0H1``, the *read head* R: it spreads over the y, with the weight w of each one's slot. Its values are the symbols.
   So what it writes says of each symbol y how much of the attention it got: w of the slot where it stands, or 0.
3. The FFN compares: a pair of neurons for each y computes the distance between what R says of y and what M asks for.
   The y at distance 0 is the answer. If M asks for 0, these are the y that were not shown: elimination is the same
   comparison.

A value vector is linear in symbol plus position. Therefore a head that spread evenly over the y would write the sum of
their symbols plus a constant, whichever stands where: **the pairing of y and slot can only be in the weights**. It
follows that positions in the value path bind nothing here (nor in any one layer), while positions in the key path of R
do: exchanging those of two y makes the network answer the other y.

The stream has 20 features, each in two channels of opposite sign, so that every mean is 0 and a norm only scales:

    symbol   5  one-hot symbol of x or y        embedding            read by M (query, key) and R (value)
    key of M 1  x, y or read-out                position             read by M (key)
    key of R 1  log w of the slot of a y        position             read by R (key)
    slot     1  w of the slot of an x, else 0   position             read by M (value) and FFN
    first    1  is this position 0?             position             read by FFN
    asked    1  w that is asked for             written by M         read by FFN
    weight   5  attention that each y got       written by R         read by FFN
    answer   5  minus the distance              written by the FFN   read by the unembedding

The FFN has no biases and the answer is a comparison, so that the norms' scales do not matter.
"""

import torch

from circuitcore.models import Head, ModelConfig, init_weights
from circuitcore.tasks.permutation import PermutationRecall

TASK = PermutationRecall()
V = TASK.n_symbols
MATCH, READ = Head(0, 0), Head(0, 1)

SYMBOL, KEY_OF_MATCH, KEY_OF_READ, SLOT, FIRST = slice(0, 5), 5, 6, 7, 8
ASKED, WEIGHT, ANSWER, N_FEATURES = 9, slice(10, 15), slice(15, 20), 20

CONFIG = ModelConfig(
    d_vocab=V + 1, n_ctx=2 * V - 1, n_layers=1, n_heads=2, d_model=2 * N_FEATURES, d_head=6, d_mlp=2 * V,
    norm="layer", norm_position="post", norm_eps=1e-5, positions="learned", mlp="relu", init="encoder", tied=False,
    bias="all",
)  # fmt: skip

# w of slots 0..3. They sum to 1, and if one y is hidden from R, another one comes nearer to what is asked for than a y
# without any weight: then the answer is always a wrong one that was shown.
W = torch.tensor([2.0, 3.0, 4.0, 5.0], dtype=torch.float64) / 14
SHARP = 60.0  # least lead of the position that M looks at, before the softmax
NEVER = -60.0  # score of an x, for R
LOUD = 10.0  # answer per distance
LOGIT = 50.0
NO_ANSWER = -1000.0  # logit of the token that never occurs


def recall_circuit(dtype=torch.float32):
    """Weights of the circuit above, by name, without a checkpoint axis."""
    weights = {name: torch.zeros_like(value, dtype=torch.float64) for name, value in init_weights(CONFIG, 0).items()}
    for norm in ("ln1", "ln2"):
        weights[f"blocks.0.{norm}.w"][:] = 1
    _embed(weights)
    _match_head(weights)
    _read_head(weights)
    _compare(weights)
    weights["unembed.W_U"][:N_FEATURES][ANSWER, 1:] = LOGIT * torch.eye(V, dtype=torch.float64)
    weights["unembed.b_U"][0] = NO_ANSWER
    return {name: value.to(dtype) for name, value in weights.items()}


def _embed(weights):
    """Symbols and positions; position 2 s holds the x of slot s and 2 s + 1 its y."""
    tokens, places = weights["embed.W_E"], weights["pos_embed.W_pos"]
    tokens[1:, :N_FEATURES][:, SYMBOL] = torch.eye(V, dtype=torch.float64)
    places[:-1:2, KEY_OF_MATCH] = 1  # an x that may match
    places[-1, KEY_OF_MATCH] = -0.5  # the last x, which always has its own symbol
    places[::2, KEY_OF_READ] = 1
    places[1::2, KEY_OF_READ] = W.log() / NEVER
    places[:-1:2, SLOT] = W
    places[0, FIRST] = 1
    for table in (tokens, places):
        _mirror(table)


def _match_head(weights):
    """Scores, in units of 2 SHARP: 2 for the same symbol, plus the key of the position.

    The last x scores 3 with an x like it, 2 with a y that happens to be the same symbol, 1.5 with itself, 1 with other
    x, 0 with other y. It has an x to look at or reads 0. Every other x looks at itself, and the FFN takes that off.
    """
    w_q, w_k, b_q, w_v, w_o = _head(weights, MATCH)
    w_q[SYMBOL, :V] = 2 * torch.eye(V, dtype=torch.float64)
    b_q[V] = 1
    w_k[SYMBOL, :V] = torch.eye(V, dtype=torch.float64)
    w_k[KEY_OF_MATCH, V] = 1
    w_k *= 2 * SHARP * CONFIG.d_head**0.5
    w_v[SLOT, 0] = 1
    w_o[0, ASKED] = 1
    _mirror(w_o)


def _read_head(weights):
    """Scores: log w for a y, NEVER for an x."""
    _, w_k, b_q, w_v, w_o = _head(weights, READ)
    b_q[0] = 1
    w_k[KEY_OF_READ, 0] = NEVER * CONFIG.d_head**0.5
    w_v[SYMBOL, :V] = torch.eye(V, dtype=torch.float64)
    w_o[:V, WEIGHT] = torch.eye(V, dtype=torch.float64)
    _mirror(w_o)


def _compare(weights):
    """Two neurons for each y, of whose activations one is the distance and the other 0; all are 0 at position 0."""
    w_in, w_out = weights["blocks.0.mlp.W_in"], weights["blocks.0.mlp.W_out"]
    every = torch.eye(V, dtype=torch.float64)
    for neurons, sign in ((slice(0, V), 1), (slice(V, 2 * V), -1)):
        w_in[WEIGHT, neurons] = sign * every
        w_in[ASKED, neurons] = -sign
        w_in[SLOT, neurons] = sign  # of an x that looks at itself
        w_in[FIRST, neurons] = -4
        w_out[neurons, ANSWER] = -LOUD * every
    _mirror(w_out)


def _head(weights, head):
    """W_Q, W_K, b_Q, W_V and W_O of a head, to write into."""
    return [weights[f"blocks.0.attn.{name}"][head.index] for name in ("W_Q", "W_K", "b_Q", "W_V", "W_O")]


def _mirror(table):
    """The second half of the channels is minus the first. Whoever reads, reads the first."""
    table[:, N_FEATURES:] = -table[:, :N_FEATURES]
