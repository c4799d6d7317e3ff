// Update rules over the flat parameters.
#pragma once
#include <cstdint>

#include "simd.hpp"

// Mirrored in library.py.
enum class RuleName : int64_t { adam, adamw, sgd };
struct Rule {
  double lr, beta1, beta2, eps, weight_decay, clip_norm, momentum;  // clip_norm 0: no clipping
  RuleName name;
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

// One update of Adam or AdamW: p, m and v are changed, g is read. `step` counts from 1.
inline void adam(const Rule& rule, long step, long n, float* p, float* m, float* v, const float* g, float g_scale) {
  double correction1 = 1 - std::pow(rule.beta1, step), correction2 = 1 - std::pow(rule.beta2, step);
  float rate = float(rule.lr / correction1), root = float(std::sqrt(correction2)), eps = float(rule.eps);
  float keep1 = float(rule.beta1), new1 = float(1 - rule.beta1);
  float keep2 = float(rule.beta2), new2 = float(1 - rule.beta2);
  bool decoupled = rule.name == RuleName::adamw;
  float shrink = decoupled ? float(1 - rule.lr * rule.weight_decay) : 1.f;
  float pull = decoupled ? 0.f : float(rule.weight_decay);
  for (long i = 0; i < n; i++) {
    float d = g[i] * g_scale + pull * p[i];
    m[i] = keep1 * m[i] + new1 * d;
    v[i] = keep2 * v[i] + new2 * d * d;
    p[i] = shrink * p[i] - rate * m[i] / (std::sqrt(v[i]) / root + eps);
  }
}

// One update of gradient descent: p and, where there is momentum, m are changed, g is read.
inline void sgd(const Rule& rule, long n, float* p, float* m, const float* g, float g_scale) {
  float rate = float(rule.lr), pull = float(rule.weight_decay), keep = float(rule.momentum);
  if (keep == 0) {
    for (long i = 0; i < n; i++) p[i] -= rate * (g[i] * g_scale + pull * p[i]);
    return;
  }
  for (long i = 0; i < n; i++) {
    m[i] = keep * m[i] + (g[i] * g_scale + pull * p[i]);
    p[i] -= rate * m[i];
  }
}

// One update; `moments` has a row of n for each of the rule's.
inline void update(const Rule& rule, long step, long n, float* p, float* moments, const float* g, float g_scale) {
  if (rule.name == RuleName::sgd)
    sgd(rule, n, p, moments, g, g_scale);
  else
    adam(rule, step, n, p, moments, moments + n, g, g_scale);
}
