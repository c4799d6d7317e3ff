// The forward pass of a chunk, leaving on the tapes what the backward pass needs.
#pragma once
#include "decoder.hpp"

// Where a pass can be looked into, in the order of the computation. Mirrored in library.py.
enum class Site { resid_pre, q, k, v, scores, z, resid_mid, mlp_post, mlp_out, resid_post };
// What the rows seen at a site are: open, live, or (keys and values) every position of every sequence.
enum class Over { open, live, all };

inline void copy_row(float* to, const float* from, long n) { std::memcpy(to, from, n * sizeof(float)); }

// Rows of the residual stream at the first layer: tokens looked up or vectors mapped, plus learned positions.
inline void embed_rows(Decoder& m, const float* parameters, const void* inputs, long positions, const Chunk& chunk) {
  const Config& c = m.c;
  Rows x = m.rows_of(m.stream, m.d), vectors = m.rows_of(m.inputs, padded(c.d_in));
  for (long i = 0; i < chunk.rows(); i++) {
    long at = chunk.place(i, positions);
    if (c.d_in) {
      copy_row(vectors[i], static_cast<const float*>(inputs) + at * c.d_in, c.d_in);
    } else {
      copy_row(x[i], parameters + m.places.embed + static_cast<const int64_t*>(inputs)[at] * c.d_model, c.d_model);
      // The norms read whole vectors; a NaN of the last pass may be there.
      std::fill(x[i] + c.d_model, x[i] + m.d, 0.f);
    }
  }
  if (c.d_in) m.embed.forward(chunk.rows(), vectors, x);
  if (m.places.W_pos < 0) return;
  for (long i = 0; i < chunk.rows(); i++) {
    const float* position = parameters + m.places.W_pos + chunk.position(i) * c.d_model;
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

// Queries, keys and values of one layer, as rows. There are keys and values at all positions, and queries of the open
// rows, or in a narrow layer of the live ones.
struct Projections {
  Rows q, k, v;
};
inline Projections projections(Decoder& m, Buffer& qkv, Buffer& queries, const Chunk& chunk, bool narrow) {
  Rows all = m.rows_of(qkv, 3 * m.q_width);
  Rows q = narrow || chunk.begin ? m.rows_of(queries, m.q_width) : all;
  return {q, all.from_column(m.q_width), all.from_column(2 * m.q_width)};
}

inline void add_rows(long rows, Rows from, Rows to) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < from.stride; j += LANES) store(to[i] + j, load(to[i] + j) + load(from[i] + j));
}
inline void gather(const std::vector<int>& live, Rows from, Rows to, long n) {
  for (std::size_t i = 0; i < live.size(); i++) copy_row(to[i], from[live[i]], n);
}

inline void project(Decoder& m, const Layer& layer, const Chunk& chunk, bool narrow, Rows in, Projections to) {
  long rows = chunk.rows(), w = m.q_width;
  Rows fresh = chunk.begin ? m.rows_of(m.d_qkv, 3 * w) : Rows{to.k.data - w, to.k.stride};
  if (narrow) {
    Rows picked = m.rows_of(m.picked, m.d);
    gather(chunk.live, in, picked, m.d);
    layer.qkv.forward(chunk.live.size(), picked, to.q, 0, w);
    layer.qkv.forward(rows, in, fresh.from_column(w), w, 2 * w);
    for (std::size_t i = 0; i < chunk.live.size(); i++) m.rotation.turn(to.q[i], chunk.live_at[i], 1);
  } else {
    layer.qkv.forward(rows, in, fresh);
    for (long i = 0; i < rows; i++) {
      if (chunk.begin) copy_row(to.q[i], fresh[i], w);
      m.rotation.turn(to.q[i], chunk.position(i), 1);
    }
  }
  for (long i = 0; i < rows; i++) {
    float* key = to.k[chunk.full(i)];
    if (chunk.begin) copy_row(key, fresh[i] + w, 2 * w);
    m.rotation.turn(key, chunk.position(i), 1);
  }
}

// One sequence's share of what attention reads and writes.
struct Sequence {
  long queries, keys;
  const int* position;
  Projections p;
  long first_query, pattern_at;
};
inline Sequence sequence_of(Decoder& m, const Chunk& chunk, bool narrow, long s, Projections p) {
  long t = chunk.positions, first = narrow ? chunk.live_from[s] : s * chunk.open();
  long queries = narrow ? chunk.live_from[s + 1] - first : chunk.open();
  const int* position = narrow ? &chunk.live_at[first] : &m.every_position[chunk.begin];
  Projections own{{p.q[first], p.q.stride}, {p.k[s * t], p.k.stride}, {p.v[s * t], p.v.stride}};
  return {queries, t, position, own, first, m.c.n_heads * first * padded(t)};
}

// Attention of layer l, from site `from` on, added to the stream x; narrow: its output goes on in the live rows only.
// Returns the stream in which it goes on.
template <typename At>
Rows attention_forward(Decoder& m, long l, Tape& tape, const Chunk& chunk, bool narrow, Rows x, At& at, Site from) {
  Layer& layer = m.layers[l];
  Rows z = m.rows_of(tape.z, m.q_width);
  Projections p = projections(m, tape.qkv, tape.queries, chunk, narrow);
  Over open = narrow ? Over::live : Over::open;
  if (from <= Site::resid_pre) {
    at(Site::resid_pre, l, Over::open, x);
    project(m, layer, chunk, narrow, part_input(m, layer.norm1, chunk.rows(), x, tape.input1, tape.inverse1), p);
  }
  if (from <= Site::scores) {
    at(Site::q, l, open, p.q), at(Site::k, l, Over::all, p.k), at(Site::v, l, Over::all, p.v);
    for (long s = 0; s < chunk.sequences; s++) {
      Sequence q = sequence_of(m, chunk, narrow, s, p);
      float* pattern = tape.pattern.data() + q.pattern_at;
      auto cut = [&](long head, float* scores, long stride) { at.scores(l, s, head, q, scores, stride); };
      m.attention.forward(q.queries, q.position, q.keys, q.p.q, q.p.k, q.p.v, pattern, {z[q.first_query], z.stride},
                          cut);
    }
  }
  at(Site::z, l, open, z);
  long rows = narrow ? chunk.live.size() : chunk.rows();
  Rows to = narrow ? m.rows_of(m.live_stream, m.d) : x;
  if (narrow) gather(chunk.live, x, to, m.d);
  layer.out.forward_add(rows, z, to);
  norm_after(m, layer.norm1, rows, to, tape.unit1, tape.inverse1);
  return to;
}

// The MLP of layer l, from site `from` on, added to the stream x in place.
template <typename At>
void mlp_forward(Decoder& m, long l, Tape& tape, long rows, Over over, Rows x, At& at, Site from) {
  if (m.activation == Activation::none) return;
  Layer& layer = m.layers[l];
  Rows before = m.rows_of(tape.before, layer.up.columns), hidden = m.rows_of(tape.hidden, m.mlp_width);
  if (from <= Site::resid_mid) {
    layer.up.forward(rows, part_input(m, layer.norm2, rows, x, tape.input2, tape.inverse2), before);
    activate<At::TRAINS>(m.activation, rows, m.mlp_width, before, hidden);
  }
  if (from <= Site::mlp_post) at(Site::mlp_post, l, over, hidden);
  if (at.wants_mlp_out(l)) {
    Rows out = m.rows_of(m.mlp_out, m.d);
    if (from <= Site::mlp_post) layer.down.forward(rows, hidden, out);
    at(Site::mlp_out, l, over, out);
    add_rows(rows, out, x);
  } else {
    layer.down.forward_add(rows, hidden, x);
  }
  norm_after(m, layer.norm2, rows, x, tape.unit2, tape.inverse2);
}

// Whether a layer is computed only where something reads it: the last one, where some rows are not live.
inline bool is_narrow(const Decoder& m, long l, const Chunk& chunk) { return l + 1 == m.c.n_layers && chunk.pruned(); }

// Layer l from site `from` on; x is the stream before that site. Narrow: in the live rows only, but for keys and
// values. Returns the stream after the layer.
template <typename At>
Rows layer_forward(Decoder& m, long l, Tape& tape, const Chunk& chunk, bool narrow, Rows x, At& at, Site from) {
  if (from <= Site::z) x = attention_forward(m, l, tape, chunk, narrow, x, at, from);
  Over over = narrow ? Over::live : Over::open;
  if (from <= Site::resid_mid) at(Site::resid_mid, l, over, x);
  long rows = narrow ? chunk.live.size() : chunk.rows();
  if (from <= Site::mlp_out) mlp_forward(m, l, tape, rows, over, x, at, from);
  at(Site::resid_post, l, over, x);
  return x;
}

// A pass that nothing looks into.
struct Untouched {
  static constexpr bool TRAINS = true;  // whether a backward pass will want the slopes of the MLP
  void operator()(Site, long, Over, Rows) {}
  void scores(long, long, long, const Sequence&, float*, long) {}
  bool wants_mlp_out(long) { return false; }
};

// What the unembedding reads: the live rows through the final norm.
inline Rows final_input(Decoder& m, long rows, Rows x) {
  if (!m.final_norm.exists()) return x;
  Rows unit = m.rows_of(m.final_unit, m.d);
  m.final_norm.normalise(rows, x, unit, m.final_inverse.data());
  return unit;
}

// All layers; returns the stream at the live rows.
template <typename At>
Rows forward(Decoder& m, const Chunk& chunk, At& at) {
  Rows x = m.rows_of(m.stream, m.d);
  for (long l = 0; l < m.c.n_layers; l++)
    x = layer_forward(m, l, m.tapes[l], chunk, is_narrow(m, l, chunk), x, at, Site::resid_pre);
  return x;
}
