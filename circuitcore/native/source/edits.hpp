// The read-out under many interventions: a clean pass of each chunk, kept, and of each intervention what lies behind
// the first site it edits.
#pragma once
#include "chunks.hpp"
#include "forward.hpp"

// New values at one site for one intervention. Values are read where they are: null means zero, and a stride of 0 gives
// every row, position or head the same ones. A cut forbids the keys where `keys` is set.
struct Edit {
  int64_t intervention, site, layer, head;        // head -1: all of them
  const uint8_t *positions, *keys;                // [batch positions]
  const float* value;
  int64_t row_stride, position_stride, head_stride;
};

struct Question {
  const void* inputs;       // as in Batch
  const int64_t* read_out;  // [batch]
  int64_t size, positions, edits;
  const Edit* edit;         // by intervention
  float *logits, *pattern;  // [intervention batch d_vocab], [intervention batch head positions]
};

// What a clean pass leaves to take up from: the tapes, and the stream before and within each layer.
struct CleanPass {
  std::vector<Buffer> pre, mid, mlp_out;
  Buffer last;  // the stream after the last layer
  const Buffer& after(long l) const { return l + 1 < long(pre.size()) ? pre[l + 1] : last; }
  explicit CleanPass(const Decoder& m) : last(zeros(m.capacity * m.d)) {
    pre = mid = mlp_out = std::vector<Buffer>(m.c.n_layers, last);
  }
};

// Keeps a clean pass as it goes by.
struct Keeping {
  static constexpr bool TRAINS = false;
  Decoder& m;
  CleanPass& clean;
  const Chunk& chunk;
  void operator()(Site site, long l, Over over, Rows x) {
    std::vector<Buffer>* to = site == Site::resid_pre   ? &clean.pre
                              : site == Site::resid_mid ? &clean.mid
                              : site == Site::mlp_out   ? &clean.mlp_out
                                                        : nullptr;
    long rows = over == Over::live ? chunk.live.size() : chunk.rows();
    if (to) copy_row((*to)[l].data(), x.data, rows * m.d);
    if (site == Site::resid_post && l + 1 == m.c.n_layers) copy_row(clean.last.data(), x.data, rows * m.d);
  }
  void scores(long, long, long, const Sequence&, float*, long) {}
  bool wants_mlp_out(long) { return true; }
};

// Makes the edits of one intervention as the pass comes by.
struct Editing {
  static constexpr bool TRAINS = false;
  Decoder& m;
  const Chunk& chunk;
  const Question& question;
  const Edit *begin, *end;

  void operator()(Site site, long l, Over over, Rows x) {
    for (const Edit* e = begin; e < end; e++)
      if (e->layer == l && Site(e->site) == site) replace(*e, site, over, x);
  }
  bool wants_mlp_out(long l) {
    return std::any_of(begin, end, [&](const Edit& e) { return e.layer == l && Site(e.site) == Site::mlp_out; });
  }
  void scores(long l, long sequence, long head, const Sequence& s, float* scores, long stride) {
    for (const Edit* e = begin; e < end; e++) {
      if (e->layer != l || Site(e->site) != Site::scores || (e->head >= 0 && e->head != head)) continue;
      long row = (chunk.first + sequence) * question.positions;
      for (long i = 0; i < s.queries; i++)
        for (long key = 0; e->positions[row + s.position[i]] && key < s.keys; key++)
          if (e->keys[row + key]) scores[i * stride + key] = -INFINITY;
    }
  }

 private:
  void replace(const Edit& e, Site site, Over over, Rows x) {
    long rows = over == Over::live  ? chunk.live.size()
                : over == Over::all ? chunk.sequences * chunk.positions
                                    : chunk.rows();
    for (long i = 0; i < rows; i++) {
      long row = over == Over::live ? chunk.live[i] : i;
      long s = over == Over::all ? i / chunk.positions : chunk.sequence(row);
      long t = over == Over::all ? i % chunk.positions : chunk.position(row);
      if (e.positions[(chunk.first + s) * question.positions + t]) replace_row(e, site, chunk.first + s, t, x[i]);
    }
  }
  void replace_row(const Edit& e, Site site, long batch, long t, float* x) {
    bool by_head = site >= Site::q && site <= Site::z;
    long width = by_head ? m.c.d_head : site == Site::mlp_post ? m.c.d_mlp : m.c.d_model;
    long first = e.head >= 0 ? e.head : 0, last = e.head >= 0 ? e.head + 1 : by_head ? m.c.n_heads : 1;
    for (long head = first; head < last; head++) {
      float* to = x + head * width;
      if (e.value)
        copy_row(to, e.value + batch * e.row_stride + t * e.position_stride + head * e.head_stride, width);
      else
        std::fill_n(to, width, 0.f);
    }
  }
};

// Which rows of a clean pass an edited pass goes on with.
enum class Kept {
  open,  // the open rows, of clean rows at every position
  live,  // the live rows, of clean rows at every position
  same   // the live rows, which are the only ones the clean pass has: those of a narrow layer
};
inline void copy_kept(const Chunk& chunk, Kept kept, Buffer& to, const Buffer& from, long width) {
  if (kept == Kept::same) copy_row(to.data(), from.data(), chunk.live.size() * width);
  if (kept == Kept::live)
    for (std::size_t i = 0; i < chunk.live.size(); i++)
      copy_row(&to[i * width], &from[chunk.full(chunk.live[i]) * width], width);
  for (long s = 0; s < chunk.sequences && kept == Kept::open; s++)
    copy_row(&to[s * chunk.open() * width], &from[(s * chunk.positions + chunk.begin) * width], chunk.open() * width);
}

// The queries, keys and values of a clean layer, onto the working tape.
inline void take_projections(const Decoder& m, long l, const Chunk& chunk, Kept kept, Tape& work) {
  const Tape& tape = m.tapes[l];
  copy_row(work.qkv.data(), tape.qkv.data(), chunk.sequences * chunk.positions * 3 * m.q_width);
  if (kept == Kept::same) copy_row(work.queries.data(), tape.queries.data(), chunk.live.size() * m.q_width);
  for (long i = 0; i < chunk.rows() && chunk.begin && kept == Kept::open; i++)
    copy_row(&work.queries[i * m.q_width], &tape.qkv[chunk.full(i) * 3 * m.q_width], m.q_width);
}

// Lay out the clean pass before site `from` of layer l on the working tape; returns the stream there.
inline Rows take_up(Decoder& m, long l, Site from, const Chunk& chunk, Kept kept, const CleanPass& clean, Tape& work) {
  const Tape& tape = m.tapes[l];
  if (from >= Site::q && from <= Site::scores) take_projections(m, l, chunk, kept, work);
  if (from == Site::z) copy_kept(chunk, kept, work.z, tape.z, m.q_width);
  if (from >= Site::z && l + 1 == m.c.n_layers)
    copy_row(work.pattern.data(), tape.pattern.data(), m.c.n_heads * chunk.live.size() * padded(chunk.positions));
  if (from == Site::mlp_post) copy_kept(chunk, kept, work.hidden, tape.hidden, m.mlp_width);
  if (from == Site::mlp_out) copy_kept(chunk, kept, m.mlp_out, clean.mlp_out[l], m.d);
  const Buffer& before = from <= Site::z ? clean.pre[l] : from < Site::resid_post ? clean.mid[l] : clean.after(l);
  bool whole = from <= Site::z || kept == Kept::open;  // the stream at all open rows, from which live ones are gathered
  Buffer& stream = whole ? m.stream : m.live_stream;
  copy_kept(chunk, whole ? Kept::open : kept, stream, before, m.d);
  return m.rows_of(stream, m.d);
}

// Keys and values of a clean layer before the open positions.
inline void take_earlier(const Decoder& m, long l, const Chunk& chunk, Tape& work) {
  for (long s = 0; s < chunk.sequences && chunk.begin; s++) {
    long at = s * chunk.positions * 3 * m.q_width;
    copy_row(&work.qkv[at], &m.tapes[l].qkv[at], chunk.begin * 3 * m.q_width);
  }
}

// Logits and the last layer's pattern at the read-outs of a chunk, into the answers of one intervention.
inline void answer(Decoder& m, const Chunk& chunk, const Question& q, long intervention, Rows x, const Tape& tape) {
  long vocab = m.c.d_vocab, stride = padded(chunk.positions);
  Rows logits = m.rows_of(m.logits, stride_of(vocab));
  m.unembed.forward(chunk.live.size(), final_input(m, chunk.live.size(), x), logits);
  for (long s = 0; s < chunk.sequences; s++) {
    long at = intervention * q.size + chunk.first + s;
    copy_row(q.logits + at * vocab, logits[s], vocab);
    for (long head = 0; head < m.c.n_heads; head++)
      copy_row(q.pattern + (at * m.c.n_heads + head) * q.positions, &tape.pattern[(s * m.c.n_heads + head) * stride],
               chunk.positions);
  }
}

// The first position that an intervention edits in any row, or the first read-out if that comes earlier.
inline long first_position(const Question& q, const Edit* begin, const Edit* end) {
  long first = *std::min_element(q.read_out, q.read_out + q.size);
  for (const Edit* e = begin; e < end; e++)
    for (long row = 0; row < q.size; row++)
      for (long t = 0; t < first; t++)
        if (e->positions[row * q.positions + t]) first = t;
  return first;
}

// The first site that an intervention edits.
inline const Edit* first_edit(const Edit* begin, const Edit* end) {
  return std::min_element(begin, end, [](const Edit& a, const Edit& b) {
    return std::make_pair(a.layer, a.site) < std::make_pair(b.layer, b.site);
  });
}

// Chunks whose live rows are the read-outs.
inline std::vector<Chunk> chunks_to_read_out(const Decoder& m, const Question& q) {
  std::vector<uint8_t> mask(q.size * q.positions);
  for (long row = 0; row < q.size; row++) mask[row * q.positions + q.read_out[row]] = 1;
  return chunks_of(m, q.size, q.positions, mask.data());
}

// The chunk whose live rows are those that edits touch up to layer l.
inline Chunk touched_by(const Chunk& chunk, const Question& q, long l, const Edit* begin, const Edit* end) {
  Chunk touched = chunk;
  touched.live.clear(), touched.live_at.clear(), touched.live_from.clear();
  for (long i = 0; i < chunk.rows(); i++) {
    long at = chunk.place(i, q.positions);
    bool edited = std::any_of(begin, end, [&](const Edit& e) { return e.layer <= l && e.positions[at]; });
    if (edited) touched.live.push_back(i), touched.live_at.push_back(chunk.position(i));
  }
  return touched;
}

// A layer first edited after its attention: what follows in it is made row by row, so only the touched rows change.
inline Rows edit_rows(Decoder& m, long l, Site from, const Chunk& chunk, const CleanPass& clean, Editing edit,
                      Tape& work) {
  Chunk touched = touched_by(chunk, edit.question, l, edit.begin, edit.end);
  Rows x = take_up(m, l, from, touched, Kept::live, clean, work);
  Editing of_touched{m, touched, edit.question, edit.begin, edit.end};
  Rows changed = layer_forward(m, l, work, touched, true, x, of_touched, from);
  copy_kept(chunk, Kept::open, m.stream, clean.after(l), m.d);
  for (std::size_t i = 0; i < touched.live.size(); i++) copy_row(&m.stream[touched.live[i] * m.d], changed[i], m.d);
  return m.rows_of(m.stream, m.d);
}

// Enter layer l by the stream x. Where edits touch but some of the rows, the projections of those are made, and the
// clean ones taken at the others. Returns the site to go on from.
inline Site project_touched(Decoder& m, long l, const Chunk& chunk, Rows x, Editing& edit, Tape& work) {
  Chunk touched = touched_by(chunk, edit.question, l, edit.begin, edit.end);
  long count = touched.live.size(), w = m.q_width;
  if (count == chunk.rows()) return Site::resid_pre;
  edit(Site::resid_pre, l, Over::open, x);
  bool narrow = is_narrow(m, l, chunk);
  Rows picked = m.rows_of(m.picked, m.d), fresh = m.rows_of(m.d_qkv, 3 * w);
  Projections to = projections(m, work.qkv, work.queries, chunk, narrow);
  take_projections(m, l, chunk, narrow ? Kept::same : Kept::open, work);
  gather(touched.live, x, picked, m.d);
  m.layers[l].qkv.forward(count, part_input(m, m.layers[l].norm1, count, picked, work.input1, work.inverse1), fresh);
  for (long i = 0, live = 0; i < count; i++) {
    long row = touched.live[i], last = chunk.live.size();
    m.rotation.turn(fresh[i], touched.live_at[i], 1);
    m.rotation.turn(fresh[i] + w, touched.live_at[i], 1);
    copy_row(to.k[chunk.full(row)], fresh[i] + w, 2 * w);
    while (live < last && chunk.live[live] < row) live++;
    if (!narrow)
      copy_row(to.q[row], fresh[i], w);
    else if (live < last && chunk.live[live] == row)
      copy_row(to.q[live], fresh[i], w);
  }
  return Site::q;
}

// One intervention on one chunk, from its first site on.
inline void intervene(Decoder& m, const Chunk& chunk, const CleanPass& clean, Editing edit, Tape& work) {
  const Edit* first = first_edit(edit.begin, edit.end);
  long l = first->layer;
  Site from = Site(first->site);
  Rows x;
  if (from >= Site::z && l + 1 < m.c.n_layers) {
    x = edit_rows(m, l++, from, chunk, clean, edit, work);
    from = Site::resid_pre;
  } else {
    x = take_up(m, l, from, chunk, is_narrow(m, l, chunk) ? Kept::same : Kept::open, clean, work);
  }
  if (from == Site::resid_pre) from = project_touched(m, l, chunk, x, edit, work);
  for (; l < m.c.n_layers; l++, from = Site::resid_pre) {
    if (from == Site::resid_pre) take_earlier(m, l, chunk, work);
    x = layer_forward(m, l, work, chunk, is_narrow(m, l, chunk), x, edit, from);
  }
  answer(m, chunk, edit.question, edit.begin->intervention, x, work);
}

// Intervention 0 is the clean pass; edits are numbered from 1, in the order of their interventions.
inline void answers(Decoder& m, const float* parameters, const Question& q) {
  m.pack(parameters);
  CleanPass clean(m);
  Tape work = m.make_tape();
  std::vector<long> starts{0}, opens{0};  // per intervention: its first edit, and where its rows open
  for (long i = 0; i < q.edits; i++)
    if (i + 1 == q.edits || q.edit[i + 1].intervention != q.edit[i].intervention) {
      opens.push_back(first_position(q, q.edit + starts.back(), q.edit + i + 1));
      starts.push_back(i + 1);
    }
  for (const Chunk& chunk : chunks_to_read_out(m, q)) {
    embed_rows(m, parameters, q.inputs, q.positions, chunk);
    Keeping keep{m, clean, chunk};
    answer(m, chunk, q, 0, forward(m, chunk, keep), m.tapes.back());
    for (std::size_t i = 0; i + 1 < starts.size(); i++) {
      Chunk open = chunk.opened_at(opens[i + 1]);
      intervene(m, open, clean, {m, open, q, q.edit + starts[i], q.edit + starts[i + 1]}, work);
    }
  }
}
