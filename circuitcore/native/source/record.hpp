// A clean pass that hands out what it comes by.
#pragma once
#include "chunks.hpp"
#include "forward.hpp"

struct Wanted {
  int64_t site, layer;  // site: as in forward.hpp, or one of the two below
  float* to;            // [batch positions ...]; a pattern: [batch head query key]
};
constexpr int64_t PATTERN = 100, RESID_FINAL = 101;  // mirrored in library.py

struct Recording {
  const void* inputs;  // as in Batch
  const uint8_t* at;   // [batch positions]: where anything is wanted; everywhere, for logits and patterns
  int64_t size, positions, wanted;
  const Wanted* each;
  float* logits;  // [batch positions d_vocab], or null
};

// Floats of one position of a site.
inline long width_of(const Config& c, Site site) {
  if (site >= Site::q && site <= Site::z) return c.n_heads * c.d_head;
  return site == Site::mlp_post ? c.d_mlp : c.d_model;
}

// Copies the wanted sites as the pass comes by.
struct Listening {
  static constexpr bool TRAINS = false;
  const Decoder& m;
  const Chunk& chunk;
  const Recording& recording;

  void operator()(Site site, long l, Over over, Rows x) {
    if (float* to = find(int64_t(site), l)) deliver(over, x, to, width_of(m.c, site));
  }
  // The rows that are wanted, which are the live ones.
  void deliver(Over over, Rows x, float* to, long width) {
    for (std::size_t i = 0; i < chunk.live.size(); i++)
      copy_row(to + chunk.place(chunk.live[i], recording.positions) * width,
               x[over == Over::live ? long(i) : chunk.live[i]], width);
  }
  bool wants_mlp_out(long l) { return find(int64_t(Site::mlp_out), l); }
  void scores(long, long, long, const Sequence&, float*, long) {}
  float* find(int64_t site, long l) {
    for (long n = 0; n < recording.wanted; n++)
      if (recording.each[n].layer == l && recording.each[n].site == site) return recording.each[n].to;
    return nullptr;
  }
};

// The patterns of one layer, which its tape holds [sequence][head][query][padded keys].
inline void deliver_pattern(const Decoder& m, const Chunk& chunk, const Tape& tape, float* to) {
  long t = chunk.positions, rows = m.c.n_heads * t;
  for (long i = 0; i < chunk.sequences * rows; i++)
    copy_row(to + (chunk.first * rows + i) * t, &tape.pattern[i * padded(t)], t);
}

inline void record(Decoder& m, const float* parameters, const Recording& r) {
  m.pack(parameters);
  for (const Chunk& chunk : chunks_of(m, r.size, r.positions, r.at)) {
    Listening listen{m, chunk, r};
    embed_rows(m, parameters, r.inputs, r.positions, chunk);
    long live = chunk.live.size();
    Rows x = forward(m, chunk, listen), in = final_input(m, live, x);
    if (r.logits) {
      Rows logits = m.rows_of(m.logits, stride_of(m.c.d_vocab));
      m.unembed.forward(live, in, logits);
      listen.deliver(Over::live, logits, r.logits, m.c.d_vocab);
    }
    for (long l = 0; l < m.c.n_layers; l++)
      if (float* to = listen.find(PATTERN, l)) deliver_pattern(m, chunk, m.tapes[l], to);
    if (float* to = listen.find(RESID_FINAL, m.c.n_layers - 1)) {
      Rows final = m.final_norm.exists() ? m.rows_of(m.stream, m.d) : x;
      if (m.final_norm.exists()) m.final_norm.scale(live, in, final);
      listen.deliver(Over::live, final, to, m.c.d_model);
    }
  }
}
