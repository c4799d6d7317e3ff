// The parts of a batch that go through the decoder together.
#pragma once
#include "decoder.hpp"

// The chunks of a batch: as many sequences as the decoder takes at once, cut after the last position in the mask; the
// positions in the mask are the live ones.
inline std::vector<Chunk> chunks_of(const Decoder& m, long size, long positions, const uint8_t* mask) {
  long last = 0;
  for (long i = 0; i < size; i++)
    for (long t = positions - 1; t > last; t--)
      if (mask[i * positions + t]) last = t;
  long kept = last + 1, at_once = std::max<long>(1, m.at_once / kept);
  std::vector<Chunk> chunks;
  for (long first = 0; first < size; first += at_once) {
    Chunk chunk{first, std::min(at_once, size - first), kept, {}, {}, {}};
    for (long s = 0; s < chunk.sequences; s++) {
      chunk.live_from.push_back(chunk.live.size());
      for (long t = 0; t < kept; t++)
        if (mask[(first + s) * positions + t]) chunk.live.push_back(s * kept + t), chunk.live_at.push_back(t);
    }
    chunk.live_from.push_back(chunk.live.size());
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}
