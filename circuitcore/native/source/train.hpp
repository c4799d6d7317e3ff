// Loss and gradient of a batch, chunk by chunk.
#pragma once
#include "backward.hpp"
#include "chunks.hpp"
#include "loss.hpp"
#include "update.hpp"

// A batch, and which of its positions carry a loss.
struct Batch {
  const void* inputs;      // int64 tokens [batch positions], or float vectors [batch positions d_in]
  const void* targets;     // int64 tokens [batch positions], or float vectors [batch positions d_vocab]
  const uint8_t* mask;     // [batch positions]
  int64_t size, positions;
  int64_t vector_targets;  // 1: squared error against vectors, 0: cross-entropy
};

inline bool ids_fit(const Config& c, const Batch& batch) {
  const int64_t* inputs = static_cast<const int64_t*>(batch.inputs);
  const int64_t* targets = static_cast<const int64_t*>(batch.targets);
  for (long i = 0; i < batch.size * batch.positions; i++) {
    if (!c.d_in && (inputs[i] < 0 || inputs[i] >= c.d_vocab)) return false;
    if (!batch.vector_targets && batch.mask[i] && (targets[i] < 0 || targets[i] >= c.d_vocab)) return false;
  }
  return true;
}

// Adds up the losses of one chunk's live rows; their gradient goes into m.logits. `weight`: 1 / rows with a loss.
inline void losses(Decoder& m, const Batch& batch, const Chunk& chunk, Rows logits, float weight, double& total) {
  long v = m.c.d_vocab;
  for (std::size_t i = 0; i < chunk.live.size(); i++) {
    long at = chunk.place(chunk.live[i], batch.positions);
    if (batch.vector_targets)
      total += squared_error(logits[i], v, static_cast<const float*>(batch.targets) + at * v, weight / v) / v;
    else
      total += cross_entropy(logits[i], v, static_cast<const int64_t*>(batch.targets)[at], weight);
  }
}

// Forward and backward pass of one chunk; adds up its losses and gradients.
inline void chunk_gradient(Decoder& m, const float* parameters, const Batch& batch, const Chunk& chunk, float weight,
                           float* gradient, double& loss) {
  embed_rows(m, parameters, batch.inputs, batch.positions, chunk);
  Untouched at;
  Rows x = forward(m, chunk, at), logits = m.rows_of(m.logits, stride_of(m.c.d_vocab));
  long live = chunk.live.size();
  Rows in = final_input(m, live, x);
  m.unembed.forward(live, in, logits);
  losses(m, batch, chunk, logits, weight, loss);
  m.unembed.backward_weights(live, in, logits);
  Rows dx = m.rows_of(chunk.pruned() ? m.d_live : m.d_stream, m.d);
  m.unembed.backward_input(live, logits, dx, false);
  if (m.final_norm.exists())
    m.final_norm.backward(live, dx, in, m.final_inverse.data(), dx, false);
  backward(m, chunk);
  embed_backward(m, batch.inputs, batch.positions, chunk, gradient);
}

// The mean loss over the positions in the mask; `gradient` [parameters] is overwritten.
inline double batch_gradient(Decoder& m, const float* parameters, const Batch& batch, float* gradient, long count) {
  long scored = 0;
  for (long i = 0; i < batch.size * batch.positions; i++) scored += batch.mask[i] != 0;
  m.pack(parameters);
  m.clear_gradient();
  std::fill_n(gradient, count, 0.f);
  double loss = 0;
  for (const Chunk& chunk : chunks_of(m, batch.size, batch.positions, batch.mask))
    chunk_gradient(m, parameters, batch, chunk, 1.f / scored, gradient, loss);
  m.unpack_gradient(parameters, gradient);
  return loss / scored;
}
