// Vectors of floats, as wide as the processor has them, and the functions of them that a decoder needs.
#pragma once
#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
constexpr int LANES = 16;
constexpr int REGISTERS = 32;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr int LANES = 8;
constexpr int REGISTERS = 16;
#else
#error "this processor has no AVX2 with FMA"
#endif

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));

inline long ceiling(long n, long by) { return (n + by - 1) / by; }
// Any count of floats rounded up to whole vectors.
inline long padded(long n) { return ceiling(n, LANES) * LANES; }

inline vec load(const float* p) {
  vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, vec v) { std::memcpy(p, &v, sizeof v); }
inline vec splat(float x) { return x - vec{}; }  // x - 0 is x, so only the broadcast is left
// a b + c, rounded once. Compilers tuned for AMD's Zen write a product and a sum where one sum waits for the next, as in
// the smallest tile alone; its rows would then differ in the last bit from the same rows in a larger one.
inline vec fused(vec a, vec b, vec c) {
#if defined(__AVX512F__)
  return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#else
  return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#endif
}
inline vec larger(vec a, vec b) { return a > b ? a : b; }

// Lane i of the result is lane from[i] of a, or lane from[i] - LANES of b.
inline vec chosen(vec a, vec b, ivec from) {
#if defined(__clang__)
  vec result;
  for (int i = 0; i < LANES; i++) result[i] = from[i] < LANES ? a[from[i]] : b[from[i] - LANES];
  return result;
#else
  return __builtin_shuffle(a, b, from);
#endif
}
// Lane i of the result is lane i ^ BY of v.
template <int BY>
inline vec swapped(vec v) {
  ivec from;
  for (int i = 0; i < LANES; i++) from[i] = i ^ BY;
  return chosen(v, v, from);
}
inline float sum(vec v) {
  if (LANES == 16) v += swapped<LANES / 2>(v);
  v += swapped<4>(v);
  v += swapped<2>(v);
  v += swapped<1>(v);
  return v[0];
}
inline float largest(vec v) {
  if (LANES == 16) v = larger(v, swapped<LANES / 2>(v));
  v = larger(v, swapped<4>(v));
  v = larger(v, swapped<2>(v));
  v = larger(v, swapped<1>(v));
  return v[0];
}

// Transpose a block of LANES x LANES: exchange its off-diagonal quarters, then those of the quarters, and so on.
template <int BY = LANES / 2>
inline void transpose_block(vec* rows) {
  ivec upper, lower;
  for (int j = 0; j < LANES; j++) {
    upper[j] = j & BY ? LANES + (j ^ BY) : j;
    lower[j] = j & BY ? LANES + j : j ^ BY;
  }
  for (int i = 0; i < LANES; i++) {
    if (i & BY) continue;
    vec a = rows[i], b = rows[i + BY];
    rows[i] = chosen(a, b, upper);
    rows[i + BY] = chosen(a, b, lower);
  }
  if constexpr (BY > 1) transpose_block<BY / 2>(rows);
}

// Lanes from `count` on become `other`.
inline vec keep_below(vec v, long count, float other) {
  ivec lane;
  for (int i = 0; i < LANES; i++) lane[i] = i;
  return lane < int32_t(count > LANES ? LANES : count) ? v : splat(other);
}

// e^x to a relative error of 2e-7; x is held at or above -87, below which the result would be denormal.
inline vec exponential(vec x) {
  const float to_integer = 12582912.f;  // adding 1.5 * 2^23 leaves the rounded integer in the low bits
  x = x < splat(-87.f) ? splat(-87.f) : x > splat(88.f) ? splat(88.f) : x;  // NaN passes through
  vec shifted = x * 1.44269504f + to_integer;
  vec n = shifted - to_integer;
  vec r = x - n * 0.693359375f;  // ln 2 in two parts: the first has few enough bits for n times it to be exact
  r = r + n * 2.12194440e-4f;
  vec p = splat(1.f / 5040);  // the Taylor series; |r| < 0.35
  p = p * r + 1.f / 720;
  p = p * r + 1.f / 120;
  p = p * r + 1.f / 24;
  p = p * r + 1.f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.f;
  p = p * r + 1.f;
  ivec bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 23) + 0x3f800000;  // 2^n as the exponent field of a float
  vec scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

inline vec sigmoid(vec x) { return 1.f / (1.f + exponential(-x)); }

// The normal distribution at x: its density and its cumulative probability (relative error 4e-7 in both tails).
struct Normal {
  vec density, cumulative;
};
inline Normal normal(vec x) {
  vec z = (x < 0.f ? -x : x) * 0.707106781f;
  vec gauss = exponential(-z * z);
  vec t = 1.f / (1.f + 0.4f * z);
  // erfc(z) = exp(-z^2) * t * p(t), with p fitted on 0 <= z <= 7.5 for the smallest relative error, 3e-9.
  const float p[] = {2.257329173e-01f, 2.244743674e-01f, 2.186935590e-01f, 1.128272388e-01f, 3.189625075e-01f,
                     -3.688215857e-01f, 6.460076545e-01f, -5.708256916e-01f, 2.279442686e-01f, -3.499523294e-02f};
  vec tail = splat(p[9]);
  for (int i = 8; i >= 0; i--) tail = tail * t + p[i];
  tail = tail * t * gauss * 0.5f;
  return {gauss * 0.398942280f, x < 0.f ? tail : 1.f - tail};
}
