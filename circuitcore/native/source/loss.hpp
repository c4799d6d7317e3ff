// Losses of one row of outputs: the value, and its gradient written over the outputs.
#pragma once
#include "attention.hpp"

// -log softmax(x)[target], in nats; the gradient is multiplied by `weight`.
inline double cross_entropy(float* x, long classes, long target, float weight) {
  float wanted = x[target], top = -INFINITY;
  for (long j = 0; j < classes; j++) top = x[j] > top ? x[j] : top;
  vec total{};
  for (long j = 0; j < classes; j += LANES) {
    vec e = keep_below(exponential(load(x + j) - top), classes - j, 0.f);
    store(x + j, e);
    total += e;
  }
  float all = sum(total);
  for (long j = 0; j < classes; j += LANES) store(x + j, load(x + j) * (weight / all));
  x[target] -= weight;
  return std::log(double(all)) + top - wanted;
}

// The sum of squared differences; the gradient is multiplied by `weight`.
inline double squared_error(float* x, long outputs, const float* target, float weight) {
  double total = 0;
  for (long j = 0; j < outputs; j++) {
    float difference = x[j] - target[j];
    total += double(difference) * difference;
    x[j] = 2.f * weight * difference;
  }
  return total;
}
