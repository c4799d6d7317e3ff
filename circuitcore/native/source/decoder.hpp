// The decoder: its parts, their weights, and the memory that one chunk of a batch needs on its way through them.
//
// A chunk is a few sequences, so that its activations stay in the cache. In the last layer only the rows that something
// reads (those with a loss) go through queries, attention output, MLP and unembedding: the chunk's *live* rows.
#pragma once
#include <unistd.h>

#include "attention.hpp"
#include "config.hpp"
#include "mlp.hpp"
#include "norm.hpp"

constexpr long CHUNK_ROWS = 144;  // positions of a chunk at most; a longer sequence is a chunk of its own

// Positions of a chunk whose stream, normalised stream and the gradients of both fill little more than half of the
// core's own cache. No number depends on it: sums run on from chunk to chunk in the order of the positions.
inline long chunk_rows(long stride) {
  long cache = 1 << 20;
#ifdef _SC_LEVEL2_CACHE_SIZE
  if (long found = sysconf(_SC_LEVEL2_CACHE_SIZE); found > 0) cache = found;
#endif
  return std::min<long>(CHUNK_ROWS, 0.6 * cache / (4 * stride * sizeof(float)));
}

struct Layer {
  Linear qkv, out, up, down;
  Norm norm1, norm2;
};

// What one layer's forward pass leaves for its backward pass.
struct Tape {
  Buffer input1, input2;      // what attention and MLP read: normalised rows (before gain and shift), or x itself
  Buffer unit1, unit2;        // normalised rows of the norms after a part
  Buffer inverse1, inverse2;  // 1 / scale of each row
  Buffer qkv, queries;        // rotated q and k, and v, at all positions; apart from them the queries of some
  Buffer pattern, z, before, hidden;  // before, hidden: the MLP's pre-activations and activations
};

// Some sequences of a batch, cut after the last position that matters. Its rows are the *open* positions: from `begin`
// on, sequence by sequence. (Only edited passes begin later than 0; what comes before is then the clean pass's.)
struct Chunk {
  long first, sequences, positions;  // first: of its sequences in the batch
  std::vector<int> live;             // live rows, increasing
  std::vector<int> live_at;          // their positions
  std::vector<int> live_from;        // per sequence the index of its first live row; one more entry at the end
  long begin = 0;
  bool whole = false;  // every position of every sequence of the batch is live: nothing can be left out
  long open() const { return positions - begin; }
  long rows() const { return sequences * open(); }
  long sequence(long row) const { return row / open(); }
  long position(long row) const { return begin + row % open(); }
  // The row among those of all positions.
  long full(long row) const { return sequence(row) * positions + position(row); }
  // The place of a row in a batch whose sequences have `length` positions.
  long place(long row, long length) const { return (first + sequence(row)) * length + position(row); }
  // A word on the batch, not on the chunk: else numbers would depend, in their last bits, on where chunks begin.
  bool pruned() const { return !whole; }
  // The same sequences, open from a later position on; none of the live rows may lie before it.
  Chunk opened_at(long later) const {
    Chunk chunk = *this;
    chunk.begin = later;
    for (std::size_t i = 0; i < live.size(); i++) chunk.live[i] = sequence(live[i]) * chunk.open() + live_at[i] - later;
    return chunk;
  }
};

struct Decoder {
  Config c;
  Places places;
  Activation activation;
  Linear embed, unembed;
  std::vector<Layer> layers;
  Norm final_norm;
  Rotation rotation;
  Attention attention;
  long d, q_width, mlp_width;       // floats between rows of the stream; widths of q (and k, v, z) and of the MLP
  long at_once, capacity;           // rows of a chunk; and at most, if one sequence has more
  std::vector<int> every_position;  // 0, 1, 2, ...
  std::vector<Tape> tapes;
  Buffer inputs, stream, live_stream, picked, mlp_out, final_unit, final_inverse, logits;
  Buffer d_stream, d_live, d_unit, d_qkv, d_queries, d_z, d_hidden;

  Decoder(const Config& config, const Places& places, const LayerPlaces* of_layer)
      : c(config), places(places), activation(Activation(config.activation)) {
    d = stride_of(c.d_model);
    q_width = padded(c.n_heads * c.d_head);
    mlp_width = activation == Activation::none ? 0 : padded(c.d_mlp);
    at_once = chunk_rows(d);
    capacity = std::max<long>(at_once, c.n_ctx);
    if (c.d_in) embed = Linear(c.d_in, {whole(places.embed, -1, c.d_model)});
    Piece out = whole(c.tied ? places.embed : places.W_U, places.b_U, c.d_vocab);
    if (c.tied) out.row = 1, out.column = c.d_model;
    unembed = Linear(c.d_model, {out});
    final_norm = Norm(c.d_model, places.ln_final_w, places.ln_final_b, float(c.norm_eps));
    attention = Attention(c.n_heads, c.d_head, c.n_ctx);
    if (c.rope) rotation = Rotation(c.n_ctx, c.n_heads, c.d_head);
    for (long l = 0; l < c.n_layers; l++) layers.push_back(make_layer(of_layer[l]));
    for (int t = 0; t < capacity; t++) every_position.push_back(t);
    allocate();
  }

  // Take up new weights.
  void pack(const float* parameters) {
    for_each_norm([&](Norm& norm) { norm.pack(parameters); });
    for_each_map([&](Linear& map, Norm* before) { map.pack(parameters, before); });
  }
  void clear_gradient() {
    for_each_norm([](Norm& norm) { norm.clear_gradient(); });
    for_each_map([](Linear& map, Norm*) { map.clear_gradient(); });
  }
  void unpack_gradient(const float* parameters, float* flat) {
    for_each_map([&](Linear& map, Norm* before) { map.unpack_gradient(parameters, flat, before); });
    for_each_norm([&](Norm& norm) { norm.unpack_gradient(flat); });
  }

  Rows rows_of(Buffer& buffer, long stride) { return {buffer.data(), stride}; }

 private:
  template <typename Do>
  void for_each_norm(Do action) {
    action(final_norm);
    for (Layer& layer : layers) action(layer.norm1), action(layer.norm2);
  }
  // Every linear map, with the norm that it reads its input through.
  template <typename Do>
  void for_each_map(Do action) {
    auto before = [&](Norm& norm) { return norm.exists() && !c.post_norm ? &norm : nullptr; };
    action(embed, nullptr), action(unembed, before(final_norm));
    for (Layer& layer : layers) {
      action(layer.qkv, before(layer.norm1)), action(layer.out, nullptr);
      action(layer.up, before(layer.norm2)), action(layer.down, nullptr);
    }
  }

  // A matrix [inputs outputs] in one piece.
  static Piece whole(long place, long bias, long outputs) {
    return {place, bias, outputs, outputs, outputs, 0, 1, 0};
  }
  // The matrices [head d_model d_head] of all heads side by side.
  Piece by_head(long place, long bias) const {
    return {place, bias, c.n_heads * c.d_head, c.d_head, c.d_head, c.d_model * c.d_head, 1, 0};
  }
  Layer make_layer(const LayerPlaces& at) const {
    Layer layer;
    layer.qkv = Linear(c.d_model, {by_head(at.W_Q, at.b_Q), by_head(at.W_K, at.b_K), by_head(at.W_V, at.b_V)});
    layer.out = Linear(c.n_heads * c.d_head, {whole(at.W_O, at.b_O, c.d_model)});
    layer.norm1 = Norm(c.d_model, at.ln1_w, at.ln1_b, float(c.norm_eps));
    if (activation == Activation::none) return layer;
    std::vector<Piece> up;
    if (activation == Activation::swiglu) up.push_back(whole(at.W_gate, at.b_gate, c.d_mlp));
    up.push_back(whole(at.W_in, at.b_in, c.d_mlp));
    layer.up = Linear(c.d_model, up);
    layer.down = Linear(c.d_mlp, {whole(at.W_out, at.b_out, c.d_model)});
    layer.norm2 = Norm(c.d_model, at.ln2_w, at.ln2_b, float(c.norm_eps));
    return layer;
  }

  void allocate() {
    for (Buffer* b : {&stream, &live_stream, &picked, &mlp_out, &final_unit, &d_stream, &d_live, &d_unit})
      *b = zeros(capacity * d);
    inputs = zeros(capacity * padded(c.d_in));
    final_inverse = zeros(capacity);
    logits = zeros(capacity * stride_of(c.d_vocab));
    d_qkv = zeros(capacity * 3 * q_width);
    d_queries = d_z = zeros(capacity * q_width);
    d_hidden = zeros(capacity * mlp_width);
    for (long l = 0; l < c.n_layers; l++) tapes.push_back(make_tape());
  }

 public:
  Tape make_tape() const {
    Tape tape;
    tape.input1 = tape.input2 = tape.unit1 = tape.unit2 = zeros(capacity * d);
    tape.inverse1 = tape.inverse2 = zeros(capacity);
    tape.qkv = zeros(capacity * 3 * q_width);
    tape.queries = tape.z = zeros(capacity * q_width);
    tape.pattern = zeros(capacity * c.n_heads * padded(c.n_ctx));
    tape.before = zeros(capacity * layers[0].up.columns);
    tape.hidden = zeros(capacity * mlp_width);
    return tape;
  }
};
