// The backward pass of a chunk: every function turns the gradient of what its forward twin wrote into that of what it
// read, and adds the gradients of the weights it used.
#pragma once
#include "forward.hpp"

// What a part has read, as part_input returned it.
inline Rows part_input_again(Decoder& m, const Norm& norm, long rows, Buffer& unit, Buffer& input) {
  if (m.c.post_norm || !norm.exists()) return m.rows_of(input, m.d);
  norm.scale(rows, m.rows_of(unit, m.d), m.rows_of(m.normed, m.d));
  return m.rows_of(m.normed, m.d);
}

inline void norm_after_backward(Decoder& m, Norm& norm, long rows, Rows dx, Buffer& unit, Buffer& inverse) {
  if (m.c.post_norm && norm.exists()) norm.backward(rows, dx, m.rows_of(unit, m.d), inverse.data(), dx, false);
}

inline void mlp_backward(Decoder& m, long l, long rows, Rows dx) {
  if (m.activation == Activation::none) return;
  Layer& layer = m.layers[l];
  Tape& tape = m.tapes[l];
  norm_after_backward(m, layer.norm2, rows, dx, tape.unit2, tape.inverse2);
  Rows hidden = m.rows_of(tape.hidden, m.mlp_width), d_hidden = m.rows_of(m.d_hidden, m.mlp_width);
  layer.down.backward_weights(rows, hidden.data, hidden.stride, dx);
  layer.down.backward_input(rows, dx, d_hidden, false);
  Rows d_before = m.rows_of(tape.before, layer.up.columns);
  activate_backward(m.activation, rows, m.mlp_width, d_before, d_hidden);
  Rows in = part_input_again(m, layer.norm2, rows, tape.unit2, tape.input2);
  layer.up.backward_weights(rows, in.data, in.stride, d_before);
  if (m.c.post_norm || !layer.norm2.exists()) {
    layer.up.backward_input(rows, d_before, dx, true);
    return;
  }
  Rows d_normed = m.rows_of(m.d_normed, m.d);
  layer.up.backward_input(rows, d_before, d_normed, false);
  layer.norm2.backward(rows, d_normed, m.rows_of(tape.unit2, m.d), tape.inverse2.data(), dx, true);
}

// Gradients of queries, keys and values from that of z, turned back to where the projections left them.
inline void heads_backward(Decoder& m, Tape& tape, const Chunk& chunk, bool pruned, Rows dz, Projections to) {
  Projections p = projections(m, tape.qkv, tape.queries, pruned);
  for (long s = 0; s < chunk.sequences; s++) {
    Sequence q = sequence_of(m, chunk, pruned, s, p), d = sequence_of(m, chunk, pruned, s, to);
    const float* pattern = tape.pattern.data() + q.pattern_at;
    m.attention.backward(q.queries, q.position, q.keys, q.p.q, q.p.k, q.p.v, pattern,
                         {dz[q.first_query], dz.stride}, d.p.q, d.p.k, d.p.v);
  }
  long queries = pruned ? chunk.live.size() : chunk.rows();
  for (long i = 0; i < queries; i++)
    m.rotation.turn(to.q[i], pruned ? chunk.live_at[i] : i % chunk.positions, -1);
  for (long i = 0; i < chunk.rows(); i++) m.rotation.turn(to.k[i], i % chunk.positions, -1);
}

inline void scatter(const std::vector<int>& live, Rows from, Rows to, long n, bool add) {
  for (std::size_t i = 0; i < live.size(); i++)
    for (long j = 0; j < n; j += LANES) {
      vec v = load(from[i] + j);
      store(to[live[i]] + j, add ? load(to[live[i]] + j) + v : v);
    }
}

// Gradients of the projections' weights; adds that of their input to `to`, or overwrites it.
inline void project_backward(Decoder& m, Layer& layer, const Chunk& chunk, bool pruned, Rows in, Projections dp, Rows to,
                             bool add) {
  long rows = chunk.rows(), w = m.q_width;
  if (!pruned) {
    layer.qkv.backward_weights(rows, in.data, in.stride, dp.q);
    layer.qkv.backward_input(rows, dp.q, to, add);
    return;
  }
  Rows picked = m.rows_of(m.picked, m.d);
  gather(chunk.live, in, picked, m.d);
  layer.qkv.backward_weights(chunk.live.size(), picked.data, m.d, dp.q, 0, w);
  layer.qkv.backward_weights(rows, in.data, in.stride, dp.k, w, 2 * w);
  layer.qkv.backward_input(rows, dp.k, to, add, w, 2 * w);
  layer.qkv.backward_input(chunk.live.size(), dp.q, picked, false, 0, w);
  scatter(chunk.live, picked, to, padded(m.c.d_model), true);
}

// From the gradient at the output rows (the live ones, if pruned) to that of the whole stream, in m.d_stream.
inline void attention_backward(Decoder& m, long l, const Chunk& chunk, bool pruned, Rows d_out) {
  Layer& layer = m.layers[l];
  Tape& tape = m.tapes[l];
  long rows = pruned ? chunk.live.size() : chunk.rows();
  norm_after_backward(m, layer.norm1, rows, d_out, tape.unit1, tape.inverse1);
  Rows z = m.rows_of(tape.z, m.q_width), dz = m.rows_of(m.d_z, m.q_width), dx = m.rows_of(m.d_stream, m.d);
  layer.out.backward_weights(rows, z.data, z.stride, d_out);
  layer.out.backward_input(rows, d_out, dz, false);
  Projections dp = projections(m, m.d_qkv, m.d_queries, pruned);
  heads_backward(m, tape, chunk, pruned, dz, dp);
  if (pruned) {
    std::fill_n(dx.data, chunk.rows() * m.d, 0.f);
    scatter(chunk.live, d_out, dx, padded(m.c.d_model), false);
  }
  Rows in = part_input_again(m, layer.norm1, chunk.rows(), tape.unit1, tape.input1);
  if (m.c.post_norm || !layer.norm1.exists()) {
    project_backward(m, layer, chunk, pruned, in, dp, dx, true);
    return;
  }
  Rows d_normed = m.rows_of(m.d_normed, m.d);
  project_backward(m, layer, chunk, pruned, in, dp, d_normed, false);
  layer.norm1.backward(chunk.rows(), d_normed, m.rows_of(tape.unit1, m.d), tape.inverse1.data(), dx, true);
}

inline void embed_backward(Decoder& m, const void* inputs, long positions, const Chunk& chunk, float* gradient) {
  const Config& c = m.c;
  Rows dx = m.rows_of(m.d_stream, m.d);
  for (long i = 0; i < chunk.rows(); i++) {
    long t = i % chunk.positions, at = (chunk.first + i / chunk.positions) * positions + t;
    if (c.d_in) {
      m.embed.backward_weights(1, static_cast<const float*>(inputs) + at * c.d_in, c.d_in, {dx[i], m.d});
    } else {
      float* row = gradient + m.places.embed + static_cast<const int64_t*>(inputs)[at] * c.d_model;
      for (long j = 0; j < c.d_model; j++) row[j] += dx[i][j];
    }
    if (m.places.W_pos >= 0) {
      float* row = gradient + m.places.W_pos + t * c.d_model;
      for (long j = 0; j < c.d_model; j++) row[j] += dx[i][j];
    }
  }
}

// All layers, from the gradient at the live rows (m.d_live, or m.d_stream where every row is live) to the embedding.
inline void backward(Decoder& m, const Chunk& chunk) {
  for (long l = m.c.n_layers - 1; l >= 0; l--) {
    bool pruned = l + 1 == m.c.n_layers && chunk.pruned();
    Rows dx = m.rows_of(pruned ? m.d_live : m.d_stream, m.d);
    mlp_backward(m, l, pruned ? chunk.live.size() : chunk.rows(), dx);
    attention_backward(m, l, chunk, pruned, dx);
  }
}
