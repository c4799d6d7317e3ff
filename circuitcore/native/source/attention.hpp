// Causal attention of one sequence at a time, head by head, and rotary positions.
//
// A sequence has `keys` positions; its queries may be fewer (only those whose output anything reads), each with its
// position. Rows of q, k and v hold all heads side by side.
#pragma once
#include <algorithm>

#include "linear.hpp"

constexpr float ROPE_BASE = 10000.f;

// Rotary positions: turns neighbouring channels (2i, 2i + 1) of every head by an angle proportional to the position.
class Rotation {
 public:
  Rotation() = default;
  Rotation(long positions, long heads, long d_head) : width(heads * d_head), stride(padded(width)) {
    cosines = sines = zeros(positions * stride);
    for (long t = 0; t < positions; t++)
      for (long j = 0; j < width; j++) {
        float rate = std::pow(ROPE_BASE, -float(j % d_head / 2 * 2) / float(d_head));
        float angle = float(t) * rate;
        cosines[t * stride + j] = std::cos(angle);
        sines[t * stride + j] = (j % 2 ? 1.f : -1.f) * std::sin(angle);
      }
  }
  // Turn one row forwards (sign 1) or back (-1), in place.
  void turn(float* x, long position, float sign) const {
    if (!width) return;
    const float *c = &cosines[position * stride], *s = &sines[position * stride];
    for (long j = 0; j < width; j += 2) {
      float even = x[j], odd = x[j + 1];
      x[j] = even * c[j] + sign * odd * s[j];
      x[j + 1] = odd * c[j + 1] + sign * even * s[j + 1];
    }
  }

 private:
  long width = 0, stride = 0;  // width 0: no rotation
  Buffer cosines, sines;
};

// Softmax of the first `count` floats of a row, in place; the rest of its `length` becomes 0.
inline void softmax_row(float* x, long count, long length, float scale) {
  vec top = splat(-INFINITY);
  for (long j = 0; j < count; j += LANES) top = larger(top, keep_below(load(x + j), count - j, -INFINITY));
  float highest = largest(top) * scale;
  vec total{};
  for (long j = 0; j < count; j += LANES) {
    vec e = keep_below(exponential(load(x + j) * scale - highest), count - j, 0.f);
    store(x + j, e);
    total += e;
  }
  float inverse = 1.f / sum(total);
  for (long j = 0; j < count; j += LANES) store(x + j, load(x + j) * inverse);
  for (long j = padded(count); j < length; j += LANES) store(x + j, vec{});
}

class Attention {
 public:
  Attention() = default;
  Attention(long heads, long d_head, long longest) : heads(heads), d_head(d_head) {
    across = zeros(padded(d_head) * padded(longest));
    scratch = zeros(longest * padded(d_head));
    gradient = zeros(longest * padded(longest));
  }

  // Scores, softmax and weighted values of one sequence. `pattern` is [head][query][padded keys].
  // cut(head, scores, stride) sees the scores of each head before the softmax.
  template <typename Cut>
  void forward(long queries, const int* position, long keys, Rows q, Rows k, Rows v, float* pattern, Rows z, Cut cut) {
    long stride = padded(keys);
    for (long head = 0; head < heads; head++, pattern += queries * stride) {
      long at = head * d_head;
      transpose(keys, k.from_column(at));
      multiply_across(queries, position, q.from_column(at), pattern, stride);
      cut(head, pattern, stride);
      float scale = 1.f / std::sqrt(float(d_head));
      for (long i = 0; i < queries; i++) softmax_row(pattern + i * stride, position[i] + 1, stride, scale);
      weighted_values(queries, position, pattern, stride, v.from_column(at), z.from_column(at));
    }
  }

  // Gradients of q, k and v of one sequence from that of z.
  void backward(long queries, const int* position, long keys, Rows q, Rows k, Rows v, const float* pattern, Rows dz,
                Rows dq, Rows dk, Rows dv) {
    long stride = padded(keys);
    float scale = 1.f / std::sqrt(float(d_head));
    for (long head = 0; head < heads; head++, pattern += queries * stride) {
      long at = head * d_head;
      transpose(keys, v.from_column(at));
      multiply_across(queries, position, dz.from_column(at), gradient.data(), stride);
      for (long i = 0; i < queries; i++)
        softmax_backward(pattern + i * stride, &gradient[i * stride], position[i] + 1, stride, scale);
      weighted_values(queries, position, gradient.data(), stride, k.from_column(at), dq.from_column(at));
      gather_over_queries(queries, position, keys, gradient.data(), q.from_column(at), dk.from_column(at));
      gather_over_queries(queries, position, keys, pattern, dz.from_column(at), dv.from_column(at));
    }
  }

 private:
  long heads = 0, d_head = 0;
  Buffer across;    // keys or values of one head, transposed: [d_head][padded keys]
  Buffer scratch;   // rows of one head's output where d_head does not fill its vectors
  Buffer gradient;  // gradient of one head's scores

  void transpose(long keys, Rows x) {
    long stride = padded(keys);
    for (long j = 0; j < keys; j += LANES)
      for (long i = 0; i < d_head; i += LANES) {
        vec block[LANES];
        for (long n = 0; n < LANES; n++) block[n] = j + n < keys ? load(x[j + n] + i) : vec{};
        transpose_block(block);
        for (long n = 0; n < LANES && i + n < d_head; n++) store(&across[(i + n) * stride + j], block[n]);
      }
  }

  // out [query][key] = rows [query][d_head] times `across`, for the keys up to each query's position.
  void multiply_across(long queries, const int* position, Rows rows, float* out, long stride) const {
    for (long i = 0; i < queries; i += LANES) {
      long count = std::min<long>(LANES, queries - i), seen = padded(position[i + count - 1] + 1);
      matmul(count, seen / LANES, d_head, {rows[i], rows.stride, 1}, {across.data(), stride, LANES}, {},
             out + i * stride, stride);
    }
  }

  // From the gradient of one row of the pattern to that of its scores, in place.
  static void softmax_backward(const float* pattern, float* d, long count, long length, float scale) {
    vec along{};
    for (long j = 0; j < count; j += LANES) along += load(pattern + j) * load(d + j);
    float mean = sum(along);
    for (long j = 0; j < count; j += LANES) store(d + j, load(pattern + j) * (load(d + j) - mean) * scale);
    for (long j = padded(count); j < length; j += LANES) store(d + j, vec{});
  }

  // out [query][d_head] = weights [query][key] values [key][d_head]; a query sees the keys up to its position.
  void weighted_values(long queries, const int* position, const float* weights, long stride, Rows values, Rows out) {
    Rows to = target(out);
    for (long i = 0; i < queries; i += LANES) {
      long count = std::min<long>(LANES, queries - i), seen = position[i + count - 1] + 1;
      matmul(count, padded(d_head) / LANES, seen, {weights + i * stride, stride, 1},
             {values.data, values.stride, LANES}, {}, to[i], to.stride);
    }
    deliver(queries, to, out);
  }
  // out [key][d_head] = the transpose of weights [query][key], times values [query][d_head].
  void gather_over_queries(long queries, const int* position, long keys, const float* weights, Rows values, Rows out) {
    Rows to = target(out);
    long stride = padded(keys), first = 0;
    for (long j = 0; j < keys; j += LANES) {
      while (first < queries && position[first] < j) first++;  // queries before the key do not see it
      matmul(std::min<long>(LANES, keys - j), padded(d_head) / LANES, queries - first,
             {weights + first * stride + j, 1, stride}, {values[first], values.stride, LANES}, {}, to[j], to.stride);
    }
    deliver(keys, to, out);
  }

  // A head's columns are written in whole vectors, which would run into the next head's: by way of scratch rows then.
  Rows target(Rows out) { return d_head % LANES ? Rows{scratch.data(), padded(d_head)} : out; }
  void deliver(long rows, Rows from, Rows out) const {
    if (from.data == out.data) return;
    for (long i = 0; i < rows; i++) std::memcpy(out[i], from[i], d_head * sizeof(float));
  }
};
