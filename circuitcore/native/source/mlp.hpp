// The MLP's nonlinearities, row by row. A SwiGLU row holds the gate's columns, then the up-projection's.
#pragma once
#include "linear.hpp"

enum class Activation { none, relu, gelu, swiglu };

// hidden [rows x width] from the pre-activations.
inline void activate(Activation kind, long rows, long width, Rows before, Rows hidden) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < width; j += LANES) {
      vec x = load(before[i] + j);
      if (kind == Activation::relu) x = larger(x, vec{});
      if (kind == Activation::gelu) x = x * normal(x).cumulative;
      if (kind == Activation::swiglu) x = x * sigmoid(x) * load(before[i] + width + j);
      store(hidden[i] + j, x);
    }
}

// The gradient of the pre-activations, written over them, from that of hidden.
inline void activate_backward(Activation kind, long rows, long width, Rows before, Rows d_hidden) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < width; j += LANES) {
      vec x = load(before[i] + j), d = load(d_hidden[i] + j);
      if (kind == Activation::relu) d = x > 0.f ? d : vec{};
      if (kind == Activation::gelu) {
        Normal at = normal(x);
        d *= at.cumulative + x * at.density;
      }
      if (kind == Activation::swiglu) {
        vec gate = sigmoid(x), up = load(before[i] + width + j);
        store(before[i] + width + j, d * x * gate);
        d *= up * gate * (1.f + x * (1.f - gate));
      }
      store(before[i] + j, d);
    }
}
