// The forward pass of a chunk, leaving on the tapes what the backward pass needs.
#pragma once
#include "decoder.hpp"

inline void copy_row(float* to, const float* from, long n) { std::memcpy(to, from, n * sizeof(float)); }

// Rows of the residual stream at the first layer: tokens looked up or vectors mapped, plus learned positions.
inline void embed_rows(Decoder& m, const float* parameters, const void* inputs, long positions, const Chunk& chunk) {
  const Config& c = m.c;
  Rows x = m.rows_of(m.stream, m.d), vectors = m.rows_of(m.inputs, padded(c.d_in));
  for (long i = 0; i < chunk.rows(); i++) {
    long at = chunk.place(i, positions);
    if (c.d_in)
      copy_row(vectors[i], static_cast<const float*>(inputs) + at * c.d_in, c.d_in);
    else
      copy_row(x[i], parameters + m.places.embed + static_cast<const int64_t*>(inputs)[at] * c.d_model, c.d_model);
  }
  if (c.d_in) m.embed.forward(chunk.rows(), vectors, x);
  if (m.places.W_pos < 0) return;
  for (long i = 0; i < chunk.rows(); i++) {
    const float* position = parameters + m.places.W_pos + i % chunk.positions * c.d_model;
    for (long j = 0; j < c.d_model; j++) x[i][j] += position[j];
  }
}

// What a part reads: x through the norm before it, or x itself. Kept for the backward pass.
inline Rows part_input(Decoder& m, const Norm& norm, long rows, Rows x, Buffer& input, Buffer& inverse) {
  Rows kept = m.rows_of(input, m.d);
  if (norm.exists() && !m.c.post_norm)
    norm.normalise(rows, x, kept, inverse.data());
  else
    copy_row(kept.data, x.data, rows * m.d);
  return kept;
}

// The norm after a part has been added to the stream, in place.
inline void norm_after(Decoder& m, const Norm& norm, long rows, Rows x, Buffer& unit, Buffer& inverse) {
  if (!norm.exists() || !m.c.post_norm) return;
  norm.normalise(rows, x, m.rows_of(unit, m.d), inverse.data());
  norm.scale(rows, m.rows_of(unit, m.d), x);
}

// Queries, keys and values of one layer, as rows.
struct Projections {
  Rows q, k, v;
};
inline Projections projections(Decoder& m, Buffer& qkv, Buffer& queries, bool pruned) {
  Rows all = m.rows_of(qkv, 3 * m.q_width);
  Rows q = pruned ? m.rows_of(queries, m.q_width) : all;
  return {q, all.from_column(m.q_width), all.from_column(2 * m.q_width)};
}

inline void gather(const std::vector<int>& live, Rows from, Rows to, long n) {
  for (std::size_t i = 0; i < live.size(); i++) copy_row(to[i], from[live[i]], n);
}

inline void project(Decoder& m, const Layer& layer, const Chunk& chunk, bool pruned, Rows in, Projections to) {
  long rows = chunk.rows(), w = m.q_width;
  if (pruned) {
    Rows picked = m.rows_of(m.picked, m.d);
    gather(chunk.live, in, picked, m.d);
    layer.qkv.forward(chunk.live.size(), picked, to.q, 0, w);
    layer.qkv.forward(rows, in, to.k, w, 2 * w);
    for (std::size_t i = 0; i < chunk.live.size(); i++) m.rotation.turn(to.q[i], chunk.live_at[i], 1);
  } else {
    layer.qkv.forward(rows, in, to.q);
    for (long i = 0; i < rows; i++) m.rotation.turn(to.q[i], i % chunk.positions, 1);
  }
  for (long i = 0; i < rows; i++) m.rotation.turn(to.k[i], i % chunk.positions, 1);
}

// One sequence's share of what attention reads and writes.
struct Sequence {
  long queries, keys;
  const int* position;
  Projections p;
  long first_query, pattern_at;
};
inline Sequence sequence_of(Decoder& m, const Chunk& chunk, bool pruned, long s, Projections p) {
  long t = chunk.positions, first = pruned ? chunk.live_from[s] : s * t;
  long queries = pruned ? chunk.live_from[s + 1] - first : t;
  const int* position = pruned ? chunk.live_at.data() + first : m.every_position.data();
  Projections own{{p.q[first], p.q.stride}, {p.k[s * t], p.k.stride}, {p.v[s * t], p.v.stride}};
  return {queries, t, position, own, first, m.c.n_heads * first * padded(t)};
}

// Attention of layer l on the stream; pruned: its output goes on in the live rows only.
inline Rows attention_forward(Decoder& m, long l, const Chunk& chunk, bool pruned) {
  Layer& layer = m.layers[l];
  Tape& tape = m.tapes[l];
  Rows x = m.rows_of(m.stream, m.d), z = m.rows_of(tape.z, m.q_width);
  Rows in = part_input(m, layer.norm1, chunk.rows(), x, tape.input1, tape.inverse1);
  Projections p = projections(m, tape.qkv, tape.queries, pruned);
  project(m, layer, chunk, pruned, in, p);
  for (long s = 0; s < chunk.sequences; s++) {
    Sequence q = sequence_of(m, chunk, pruned, s, p);
    float* pattern = tape.pattern.data() + q.pattern_at;
    m.attention.forward(q.queries, q.position, q.keys, q.p.q, q.p.k, q.p.v, pattern, {z[q.first_query], z.stride});
  }
  long rows = pruned ? chunk.live.size() : chunk.rows();
  Rows to = pruned ? m.rows_of(m.live_stream, m.d) : x;
  if (pruned) gather(chunk.live, x, to, m.d);
  layer.out.forward_add(rows, z, to);
  norm_after(m, layer.norm1, rows, to, tape.unit1, tape.inverse1);
  return to;
}

inline void mlp_forward(Decoder& m, long l, long rows, Rows x) {
  if (m.activation == Activation::none) return;
  Layer& layer = m.layers[l];
  Tape& tape = m.tapes[l];
  Rows in = part_input(m, layer.norm2, rows, x, tape.input2, tape.inverse2);
  Rows before = m.rows_of(tape.before, layer.up.columns), hidden = m.rows_of(tape.hidden, m.mlp_width);
  layer.up.forward(rows, in, before);
  activate(m.activation, rows, m.mlp_width, before, hidden);
  layer.down.forward_add(rows, hidden, x);
  norm_after(m, layer.norm2, rows, x, tape.unit2, tape.inverse2);
}

// What the unembedding reads: the live rows through the final norm.
inline Rows final_input(Decoder& m, long rows, Rows x) {
  if (!m.final_norm.exists()) return x;
  Rows unit = m.rows_of(m.final_unit, m.d);
  m.final_norm.normalise(rows, x, unit, m.final_inverse.data());
  return unit;
}

// All layers; returns the stream at the live rows.
inline Rows forward(Decoder& m, const Chunk& chunk) {
  Rows x = m.rows_of(m.stream, m.d);
  for (long l = 0; l < m.c.n_layers; l++) {
    bool pruned = l + 1 == m.c.n_layers && chunk.pruned();
    x = attention_forward(m, l, chunk, pruned);
    mlp_forward(m, l, pruned ? chunk.live.size() : chunk.rows(), x);
  }
  return x;
}
