// The backward pass of a chunk: every function turns the gradient of what its forward twin wrote into that of what it
// read, and adds the gradients of the weights it used. Weights come last: by then the norm
// has read the layer's input in order, and so brought it back into the cache.
#pragma once
#include "forward.hpp"

inline void norm_after_backward(Decoder& m, Norm& norm, long rows, Rows dx, Buffer& unit, Buffer& inverse) {
  if (!norm.exists() || !m.c.post_norm) return;
  norm.scale_backward(rows, m.rows_of(unit, m.d), dx);
  norm.backward(rows, dx, m.rows_of(unit, m.d), inverse.data(), dx, false);
}

inline void mlp_backward(Decoder& m, long l, long rows, Rows dx) {
  if (m.activation == Activation::none) return;
  Layer& layer = m.layers[l];
  Tape& tape = m.tapes[l];
  norm_after_backward(m, layer.norm2, rows, dx, tape.unit2, tape.inverse2);
  Rows hidden = m.rows_of(tape.hidden, m.mlp_width), d_hidden = m.rows_of(m.d_hidden, m.mlp_width);
  layer.down.backward_weights(rows, hidden, dx);
  layer.down.backward_input(rows, dx, d_hidden, false);
  Rows d_before = m.rows_of(tape.before, layer.up.columns);
  activate_backward(m.activation, rows, m.mlp_width, d_before, d_hidden);
  Rows in = m.rows_of(tape.input2, m.d), d_unit = m.rows_of(m.d_unit, m.d);
  if (m.c.post_norm || !layer.norm2.exists()) {
    layer.up.backward_input(rows, d_before, dx, true);
  } else {
    layer.up.backward_input(rows, d_before, d_unit, false);
    layer.norm2.backward(rows, d_unit, in, tape.inverse2.data(), dx, true);
  }
  layer.up.backward_weights(rows, in, d_before);
}

// Gradients of queries, keys and values from that of z, turned back to where the projections left them.
inline void heads_backward(Decoder& m, Tape& tape, const Chunk& chunk, bool pruned, Rows dz, Projections to) {
  Projections p = projections(m, tape.qkv, tape.queries, chunk, pruned);
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

// Adds the gradient of what the projections read to `to`, or overwrites it.
inline void project_backward(Decoder& m, Layer& layer, const Chunk& chunk, bool pruned, Projections dp, Rows to,
                             bool add) {
  long w = m.q_width;
  if (!pruned) return layer.qkv.backward_input(chunk.rows(), dp.q, to, add);
  Rows picked = m.rows_of(m.picked, m.d);
  layer.qkv.backward_input(chunk.rows(), dp.k, to, add, w, 2 * w);
  layer.qkv.backward_input(chunk.live.size(), dp.q, picked, false, 0, w);
  scatter(chunk.live, picked, to, padded(m.c.d_model), true);
}
inline void project_backward_weights(Decoder& m, Layer& layer, const Chunk& chunk, bool pruned, Rows in,
                                     Projections dp) {
  long w = m.q_width;
  if (!pruned) return layer.qkv.backward_weights(chunk.rows(), in, dp.q);
  Rows picked = m.rows_of(m.picked, m.d);
  gather(chunk.live, in, picked, m.d);
  layer.qkv.backward_weights(chunk.live.size(), picked, dp.q, 0, w);
  layer.qkv.backward_weights(chunk.rows(), in, dp.k, w, 2 * w);
}

// From the gradient at the output rows (the live ones, if pruned) to that of the whole stream, in m.d_stream.
inline void attention_backward(Decoder& m, long l, const Chunk& chunk, bool pruned, Rows d_out) {
  Layer& layer = m.layers[l];
  Tape& tape = m.tapes[l];
  long rows = pruned ? chunk.live.size() : chunk.rows();
  norm_after_backward(m, layer.norm1, rows, d_out, tape.unit1, tape.inverse1);
  Rows z = m.rows_of(tape.z, m.q_width), dz = m.rows_of(m.d_z, m.q_width), dx = m.rows_of(m.d_stream, m.d);
  layer.out.backward_weights(rows, z, d_out);
  layer.out.backward_input(rows, d_out, dz, false);
  Projections dp = projections(m, m.d_qkv, m.d_queries, chunk, pruned);
  heads_backward(m, tape, chunk, pruned, dz, dp);
  if (pruned) {
    std::fill_n(dx.data, chunk.rows() * m.d, 0.f);
    scatter(chunk.live, d_out, dx, padded(m.c.d_model), false);
  }
  Rows in = m.rows_of(tape.input1, m.d), d_unit = m.rows_of(m.d_unit, m.d);
  project_backward_weights(m, layer, chunk, pruned, in, dp);
  if (m.c.post_norm || !layer.norm1.exists()) {
    project_backward(m, layer, chunk, pruned, dp, dx, true);
  } else {
    project_backward(m, layer, chunk, pruned, dp, d_unit, false);
    layer.norm1.backward(chunk.rows(), d_unit, in, tape.inverse1.data(), dx, true);
  }
}

inline void embed_backward(Decoder& m, const void* inputs, long positions, const Chunk& chunk, float* gradient) {
  const Config& c = m.c;
  Rows dx = m.rows_of(m.d_stream, m.d);
  auto add_row = [&](long at, long i) {
    for (long j = 0; j < c.d_model; j++) gradient[at + j] += dx[i][j];
  };
  if (c.d_in) m.embed.backward_weights(chunk.rows(), m.rows_of(m.inputs, padded(c.d_in)), dx);
  for (long i = 0; i < chunk.rows(); i++) {
    long at = chunk.place(i, positions);
    if (!c.d_in) add_row(m.places.embed + static_cast<const int64_t*>(inputs)[at] * c.d_model, i);
    if (m.places.W_pos >= 0) add_row(m.places.W_pos + i % chunk.positions * c.d_model, i);
  }
}

// All layers, from the gradient at the live rows (m.d_live, or m.d_stream where every row is live) to the embedding.
inline void backward(Decoder& m, const Chunk& chunk) {
  for (long l = m.c.n_layers - 1; l >= 0; l--) {
    bool pruned = is_narrow(m, l, chunk);
    Rows dx = m.rows_of(pruned ? m.d_live : m.d_stream, m.d);
    mlp_backward(m, l, pruned ? chunk.live.size() : chunk.rows(), dx);
    attention_backward(m, l, chunk, pruned, dx);
  }
}
