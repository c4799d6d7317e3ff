// What a decoder is made of, and where its weights lie in the flat parameters. Mirrored in library.py, field by field.
#pragma once
#include <cstdint>

struct Config {
  int64_t d_vocab, n_ctx, n_layers, n_heads, d_model, d_head, d_mlp, d_in;  // d_in 0: tokens, else vectors
  int64_t post_norm, rope, activation, tied;                               // activation: as in mlp.hpp
  double norm_eps;
};

// Places of one layer's tensors; -1 where the decoder has none.
struct LayerPlaces {
  int64_t W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O;
  int64_t ln1_w, ln1_b, ln2_w, ln2_b;
  int64_t W_gate, W_in, W_out, b_gate, b_in, b_out;
};

struct Places {
  int64_t embed, W_pos, ln_final_w, ln_final_b, W_U, b_U;
};
