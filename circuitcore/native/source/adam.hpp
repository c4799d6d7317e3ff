// Adam and AdamW over the flat parameters.
#pragma once
#include "simd.hpp"

struct Adam {
  double lr, beta1, beta2, eps, weight_decay, clip_norm;  // clip_norm 0: no clipping
  int decoupled;                                          // 1: AdamW
};

inline double norm_of(long n, const float* x) {
  double total = 0;
  for (long i = 0; i < n; i += 1024) {
    float part = 0;
    vec squares{};
    long end = i + 1024 < n ? i + 1024 : n, j = i;
    for (; j + LANES <= end; j += LANES) squares += load(x + j) * load(x + j);
    for (; j < end; j++) part += x[j] * x[j];
    total += double(part) + sum(squares);
  }
  return std::sqrt(total);
}

// One update: p, m and v are changed, g is read. `step` counts from 1.
inline void update(const Adam& rule, long step, long n, float* p, float* m, float* v, const float* g, float g_scale) {
  double correction1 = 1 - std::pow(rule.beta1, step), correction2 = 1 - std::pow(rule.beta2, step);
  float rate = float(rule.lr / correction1), root = float(std::sqrt(correction2)), eps = float(rule.eps);
  float keep1 = float(rule.beta1), new1 = float(1 - rule.beta1);
  float keep2 = float(rule.beta2), new2 = float(1 - rule.beta2);
  float shrink = rule.decoupled ? float(1 - rule.lr * rule.weight_decay) : 1.f;
  float pull = rule.decoupled ? 0.f : float(rule.weight_decay);
  for (long i = 0; i < n; i++) {
    float d = g[i] * g_scale + pull * p[i];
    m[i] = keep1 * m[i] + new1 * d;
    v[i] = keep2 * v[i] + new2 * d * d;
    p[i] = shrink * p[i] - rate * m[i] / (std::sqrt(v[i]) / root + eps);
  }
}
