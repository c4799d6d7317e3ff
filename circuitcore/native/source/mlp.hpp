// The MLP's nonlinearities, row by row. A SwiGLU row holds the gate's columns, then the up-projection's.
#pragma once
#include "linear.hpp"

enum class Activation { none, relu, gelu, swiglu };

// hidden [rows x width] from the pre-activations, which give way to their slopes: what the gradient of hidden is to be
// multiplied by, if SLOPES.
template <bool SLOPES>
void activate(Activation kind, long rows, long width, Rows before, Rows hidden) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < width; j += LANES) {
      vec x = load(before[i] + j), y, slope;
      if (kind == Activation::gelu) {
        Normal at = normal(x);
        y = x * at.cumulative;
        slope = at.cumulative + x * at.density;
      } else if (kind == Activation::swiglu) {
        vec gate = sigmoid(x), up = load(before[i] + width + j);
        y = x * gate * up;
        slope = up * gate * (1.f + x * (1.f - gate));
        if (SLOPES) store(before[i] + width + j, x * gate);
      } else {
        y = x < 0.f ? vec{} : x;  // NaN stays NaN
        slope = x > 0.f ? splat(1.f) : vec{};
      }
      store(hidden[i] + j, y);
      if (SLOPES) store(before[i] + j, slope);
    }
}

// The gradient of the pre-activations, written over their slopes.
inline void activate_backward(Activation kind, long rows, long width, Rows slopes, Rows d_hidden) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < width; j += LANES) {
      vec d = load(d_hidden[i] + j);
      store(slopes[i] + j, load(slopes[i] + j) * d);
      if (kind == Activation::swiglu) store(slopes[i] + width + j, load(slopes[i] + width + j) * d);
    }
}
