"""Weights set by hand that answer ``<bos> K3 V4 ; K1 V7 ; K5 V0 ; Q K5 ->`` exactly. Nothing here is trained.

The circuit, which trained networks are compared with, has three heads and two steps:

1. ``L0H0``, the *tagger*: every value looks one token back and writes down the key that stands there. Position of V0
   then says "value V0, and my key is K5".
2. ``L0H1``, the *carrier*: ``->`` looks one token back and writes down the key that is asked for: "the question is K5".
3. ``L1H0``, the *matcher*: ``->`` asks for the position whose written key is the asked one, and copies the value there.

``L1H1`` is *dead*: all its weights are zero. Two steps are needed because no single position holds both a value and
its key before layer 0 has moved one to the other.

The stream has 60 channels, in five blocks that no two parts share for different purposes:

    token     20  one-hot token                        written by the embedding
    position  16  one-hot position                     written by the positional embedding
    paired     8  key that stands before this value    written by the tagger
    asked      8  key that is asked for                written by the carrier
    answer     8  value to say                         written by the matcher, read by the unembedding

There is no norm and no MLP, so every number that comes out is known beforehand.
"""

import torch

from circuitcore.models import Head, ModelConfig, init_weights
from circuitcore.tasks.kv_prompts import READ_OUT
from circuitcore.tasks.symbolic_kv import SymbolicKV

TASK = SymbolicKV()
N_KEYS, N_VALUES = TASK.n_keys, TASK.n_values
FIRST_KEY, FIRST_VALUE = TASK.alphabet.first_key, TASK.alphabet.first_value

TAGGER, CARRIER, MATCHER, DEAD = Head(0, 0), Head(0, 1), Head(1, 0), Head(1, 1)

CONFIG = ModelConfig(
    d_vocab=len(TASK.vocab),
    n_ctx=TASK.max_length,
    d_model=60,
    d_head=16,  # as many as positions, so that "the token before" is one channel to match
    norm="none",
    positions="learned",
    mlp="none",
    tied=False,
)

TOKEN = slice(0, 20)
POSITION = slice(20, 36)
PAIRED = slice(36, 44)
ASKED = slice(44, 52)
ANSWER = slice(52, 60)
KEYS = slice(FIRST_KEY, FIRST_KEY + N_KEYS)  # channels of TOKEN that say "key k"
VALUES = slice(FIRST_VALUE, FIRST_VALUE + N_VALUES)

# Scores are this large (they are divided by sqrt(d_head) = 4), so that what softmax leaves elsewhere is exactly 0.
SHARP = 8000.0
LOGIT = 20.0  # of the answer; every other token has 0


def key_value_circuit():
    """Weights of the circuit above, by name, without a checkpoint axis."""
    weights = _empty()
    _embed(weights)
    # Who looks back: values for the tagger, the arrow for the carrier.
    _look_one_back(weights, TAGGER, tokens=range(FIRST_VALUE, FIRST_VALUE + N_VALUES))
    _look_one_back(weights, CARRIER, tokens=[READ_OUT])
    _move(weights, TAGGER, KEYS, PAIRED)
    _move(weights, CARRIER, KEYS, ASKED)
    # The matcher compares "asked" at the arrow with "paired" everywhere, and copies the value it finds.
    weights["blocks.1.attn.W_Q"][MATCHER.index, ASKED, :N_KEYS] = SHARP * torch.eye(N_KEYS)
    weights["blocks.1.attn.W_K"][MATCHER.index, PAIRED, :N_KEYS] = torch.eye(N_KEYS)
    _move(weights, MATCHER, VALUES, ANSWER)
    _unembed(weights)
    return weights


def first_slot_copier():
    """A network wired wrong: it always says the value of slot 0, whatever is asked. Layer 0 does nothing."""
    weights = _empty()
    _embed(weights)
    weights["blocks.1.attn.W_Q"][MATCHER.index, READ_OUT, 0] = SHARP
    weights["blocks.1.attn.W_K"][MATCHER.index, POSITION.start + 2, 0] = 1.0  # slot 0 has its value at position 2
    _move(weights, MATCHER, VALUES, ANSWER)
    _unembed(weights)
    return weights


def _empty():
    return {name: torch.zeros_like(value) for name, value in init_weights(CONFIG, 0).items()}


def _embed(weights):
    """Token and position, one channel each."""
    weights["embed.W_E"][:, TOKEN] = torch.eye(len(TASK.vocab))
    weights["pos_embed.W_pos"][:, POSITION] = torch.eye(CONFIG.n_ctx)


def _unembed(weights):
    weights["unembed.W_U"][ANSWER, VALUES] = LOGIT * torch.eye(N_VALUES)


def _look_one_back(weights, head, tokens):
    """At these tokens, attend to the position before; everywhere else to ``<bos>``, where there is nothing to copy.

    A key vector is the one-hot of its own position. A query vector is the one-hot of the position before its own; at
    all other tokens twice as much of ``<bos>``'s position is added, which wins.
    """
    w_q, w_k = (
        weights[f"blocks.{head.layer}.attn.W_Q"][head.index],
        weights[f"blocks.{head.layer}.attn.W_K"][head.index],
    )
    w_k[POSITION] = torch.eye(CONFIG.n_ctx)
    w_q[POSITION] = SHARP * torch.eye(CONFIG.n_ctx).roll(-1, 1)  # position p asks for p - 1
    others = torch.ones(len(TASK.vocab), dtype=torch.bool)
    others[list(tokens)] = False
    w_q[TOKEN, 0] = 2 * SHARP * others.float()


def _move(weights, head, read, write):
    """What the head copies: from the channels ``read`` where it looks, to the channels ``write`` where it stands."""
    width = read.stop - read.start
    weights[f"blocks.{head.layer}.attn.W_V"][head.index, read, :width] = torch.eye(width)
    weights[f"blocks.{head.layer}.attn.W_O"][head.index, :width, write] = torch.eye(width)
